//! The waiter in a semaphore of a [`PollDesc`](super::poll_desc::PollDesc): a goroutine that has
//! parked, or a [`Later`], from which a goroutine is made when the wait is over.
//!
//! A goroutine that waits keeps the page in which its stack begins, because pointers to that page
//! may be anywhere. So a goroutine that needs nothing on its stack after the wait ends instead of
//! parking, and leaves a `Later`.

use crate::runtime::data::runtime2::G;

/// Stands for a goroutine that is yet to be made. It is the first field of a struct with the
/// goroutine's data.
#[repr(C, align(8))]
pub(crate) struct Later {
    /// Makes the goroutine, which waits to be made ready, and takes ownership of the struct that
    /// contains this.
    pub(crate) make: unsafe fn(*mut Later) -> &'static G,
}

/// A bit beside the address of a [`Later`]. The constants of a semaphore are less than that.
const LATER: usize = 4;

/// A goroutine that has parked, or a [`Later`], with its bit.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Waiter(*mut G);

impl Waiter {
    /// A goroutine that is yet to be made.
    pub(in crate::runtime) fn later(later: *mut Later) -> Self {
        Waiter(later.map_addr(|addr| addr | LATER).cast())
    }

    /// The waiter that was found in a semaphore.
    pub(super) fn found(semaphore: *mut G) -> Self {
        Waiter(semaphore)
    }

    /// The waiter's representation in a semaphore.
    pub(in crate::runtime) fn in_semaphore(self) -> *mut G {
        self.0
    }

    /// The goroutine, to be made ready. The caller holds no lock, and has room on its stack.
    ///
    /// # Safety
    /// The caller has taken the waiter out of the semaphore, or has never put it there, so no other
    /// thread calls this for the waiter. The `make` of a `Later` may be called with that `Later`,
    /// on any thread.
    #[inline(always)]
    pub(in crate::runtime) unsafe fn goroutine(self) -> &'static G {
        if self.0.addr() & LATER == 0 {
            // SAFETY: without the bit it is a G that was parked, and G's are never freed.
            return unsafe { &*self.0 };
        }
        let later: *mut Later = self.0.map_addr(|addr| addr & !LATER).cast();
        // SAFETY: the `Later` stays until `make` takes it, and `make` is called once, as the caller
        // says.
        unsafe { ((*later).make)(later) }
    }
}
