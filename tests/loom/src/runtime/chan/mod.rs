//! Futures that wait at a channel, its observers, and its queues, as they ship; and a channel of
//! numbers with room for one value or none.

#[path = "../../../../../src/runtime/chan/block.rs"]
pub(crate) mod block;
#[path = "../../../../../src/runtime/chan/future.rs"]
pub(crate) mod future;
mod models_future;
mod models_observe;
#[path = "../../../../../src/runtime/chan/observe.rs"]
pub(crate) mod observe;
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

/// The cases of a select, and the locks of their channels.
pub(crate) mod select {
    use std::ffi::c_void;
    use std::ptr::{self, NonNull};
    use std::sync::atomic::Ordering;

    use crate::runtime::chan::block::Block;
    use crate::runtime::data::hchan::Hchan;
    use crate::runtime::data::runtime2::{G, M};
    use crate::runtime::lock::{lock, unlock};

    #[derive(Clone, Copy)]
    pub(crate) struct Scase {
        pub(crate) c: Option<NonNull<Hchan>>,
    }

    #[derive(Clone, Copy)]
    pub(crate) struct How {
        pub(crate) block: Block,
        pub(crate) in_order: bool,
    }

    /// Waits, and looks at the cases in order.
    pub(crate) const WAIT: How = How { block: Block::Yes, in_order: true };

    impl Hchan {
        pub(crate) fn sortkey(&self) -> usize {
            ptr::from_ref(self).addr()
        }
    }

    /// # Safety
    /// The channel stays.
    pub(crate) unsafe fn channel<'a>(scases: &[Scase], o: u16) -> &'a Hchan {
        // SAFETY: as the caller says.
        unsafe { &*scases[usize::from(o)].c.unwrap().as_ptr() }
    }

    /// # Safety
    /// None.
    pub(crate) unsafe fn begin_select<'a>(
        scases: &[Scase],
        order: &'a mut [u16],
        _: usize,
        _: How,
    ) -> (&'a mut [u16], &'a mut [u16]) {
        let (pollorder, lockorder) = order.split_at_mut(scases.len());
        pollorder.iter_mut().enumerate().for_each(|(i, o)| *o = i as u16);
        (pollorder, lockorder)
    }

    /// # Safety
    /// None.
    pub(crate) unsafe fn order_by_strategy(_: &[Scase], _: &mut [u16], _: &mut [u16], _: usize, _: bool) {
        unreachable!("no model is an exploration")
    }

    /// # Safety
    /// As [`channel`]. Each channel has one case.
    pub(crate) unsafe fn sellock(_: Option<&'static M>, scases: &[Scase], lockorder: &[u16]) {
        // SAFETY: as the caller says.
        lockorder.iter().for_each(|&o| lock(unsafe { &channel(scases, o).lock }));
    }

    /// # Safety
    /// As [`sellock`].
    pub(crate) unsafe fn selunlock(_: Option<&'static M>, scases: &[Scase], lockorder: &[u16]) {
        // SAFETY: as the caller says.
        lockorder.iter().rev().for_each(|&o| unlock(unsafe { &channel(scases, o).lock }));
    }

    /// # Safety
    /// As the shipped one.
    pub(crate) unsafe extern "C" fn selparkcommit(gp: *mut G, _: *mut c_void) -> bool {
        // SAFETY: gopark passes the G that parks.
        let mut next = unsafe { &*gp }.waiting.get();
        while let Some(sg) = next {
            // After the unlock, the sudog may change.
            next = sg.waitlink.get();
            // SAFETY: channels aren't freed in a model.
            unlock(unsafe { &(*sg.c.get()).lock });
        }
        true
    }

    pub(crate) fn is_ready(c: &Hchan, sends: bool) -> bool {
        let qcount = c.qcount.load(Ordering::Relaxed);
        let open = if sends {
            c.recvq.has_waiter() || qcount < c.dataqsiz.get()
        } else {
            c.sendq.has_waiter() || qcount > 0
        };
        open || c.is_closed()
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
