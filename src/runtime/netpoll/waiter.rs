//! Who is in a semaphore of a [`PollDesc`](super::poll_desc::PollDesc): a goroutine that has parked, or what one
//! is made of when the wait is over.
//!
//! A goroutine that waits keeps the page in which its stack begins, whatever is on that: pointers to it may be
//! anywhere. So who has nothing there that the wait needs ends, and leaves a [`Later`].

use crate::runtime::data::runtime2::G;

/// Stands for a goroutine that is yet to be made. It is the first field of what that needs.
#[repr(C, align(8))]
pub(crate) struct Later {
    /// Makes the goroutine, which waits to be made ready, and takes the memory that this is in.
    pub(crate) make: unsafe fn(*mut Later) -> &'static G,
}

/// A bit beside the address of a [`Later`]. The constants of a semaphore are less than that.
const LATER: usize = 4;

/// A goroutine that has parked, or a [`Later`], with its bit.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Waiter(*mut G);

impl Waiter {
    /// One that is to be made.
    pub(in crate::runtime) fn later(later: *mut Later) -> Self {
        Waiter(later.map_addr(|addr| addr | LATER).cast())
    }

    /// Who was found in a semaphore.
    pub(super) fn found(semaphore: *mut G) -> Self {
        Waiter(semaphore)
    }

    /// What a semaphore has for it.
    pub(in crate::runtime) fn in_semaphore(self) -> *mut G {
        self.0
    }

    /// The goroutine, to be made ready. The caller holds no lock, and has room on its stack.
    ///
    /// # Safety
    /// The caller has taken it out of the semaphore, where it was, or has never put it there: so it is the only
    /// one that does this. And the `make` of a `Later` may be called with that, on any thread.
    #[inline(always)]
    pub(in crate::runtime) unsafe fn goroutine(self) -> &'static G {
        if self.0.addr() & LATER == 0 {
            // SAFETY: without the bit it is a G that was parked, and G's are never freed.
            return unsafe { &*self.0 };
        }
        let later: *mut Later = self.0.map_addr(|addr| addr & !LATER).cast();
        // SAFETY: it is there until `make` takes it, which is called once, as the caller says.
        unsafe { ((*later).make)(later) }
    }
}
