//! Futures that wait at a channel, and its queues, as they ship; and a channel of numbers with room
//! for one value or none.

#[path = "../../../../../src/runtime/chan/future.rs"]
pub(crate) mod future;
mod models_future;
#[path = "../../../../../src/runtime/chan/waitq.rs"]
mod waitq;

/// The channel doesn't grow.
pub(crate) mod grow {
    use crate::runtime::data::hchan::Hchan;
    use crate::runtime::data::runtime2::{G, M};

    pub(crate) fn make_room(_: Option<&'static M>, _: &Hchan) -> (Option<&'static G>, Option<&'static M>) {
        unreachable!("the channel doesn't grow")
    }
}

/// No timer feeds the channel.
pub(crate) mod make {
    use std::ptr::NonNull;

    use crate::runtime::data::hchan::Hchan;
    use crate::runtime::data::timer::Timer;

    /// # Safety
    /// None.
    pub(crate) unsafe fn timer_of(_: NonNull<Hchan>) -> Option<&'static Timer> {
        None
    }
}

/// Sends, and a buffer for one value.
pub(crate) mod ops {
    use std::cell::Cell;
    use std::ffi::c_void;
    use std::sync::atomic::Ordering;

    use crate::runtime::base::this::Held;
    use crate::runtime::chan::future::{Woken, end_future_wait};
    use crate::runtime::data::hchan::Hchan;
    use crate::runtime::data::runtime2::{M, Sudog};

    /// The place of the value. Used with the lock held.
    pub(crate) fn buffer(c: &Hchan) -> &Cell<u32> {
        // SAFETY: a model makes the channel with such a buffer.
        unsafe { &*c.buf.get().cast() }
    }

    /// # Safety
    /// `c` is locked, and `sg` off its queue; `ep` points to a value.
    pub(crate) unsafe fn send(
        _: Option<&'static M>,
        _: &Hchan,
        sg: &'static Sudog,
        ep: *const c_void,
        unlockf: impl FnOnce() -> Option<Held>,
        wake: impl FnOnce(Woken),
    ) {
        // SAFETY: the waiting receiver has a place for a value.
        unsafe { *sg.elem.load(Ordering::Relaxed).cast::<u32>() = *ep.cast() };
        let woken = end_future_wait(sg, true);
        drop(unlockf());
        wake(woken);
    }

    /// # Safety
    /// `ep` points to a value.
    pub(crate) unsafe fn bufunrecv(c: &Hchan, ep: *const c_void) {
        // SAFETY: as the caller says.
        buffer(c).set(unsafe { *ep.cast() });
        assert_eq!(c.qcount.swap(1, Ordering::Relaxed), 0);
    }

    /// # Safety
    /// `ep` points to a value.
    pub(crate) unsafe fn swap_last(c: &Hchan, ep: *mut c_void) {
        // SAFETY: as the caller says.
        unsafe { *ep.cast() = buffer(c).replace(*ep.cast()) };
    }
}
