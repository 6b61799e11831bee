//! Waits with a limit as they ship, and a stand-in for setting timers. A model has one timer, which
//! fires when the model says so.

#[path = "../../../../../src/runtime/time/fire.rs"]
pub(crate) mod fire;

/// Cancelled waits. There are none.
pub(crate) mod cancel {
    pub(crate) struct Cancellation;

    impl Cancellation {
        pub(crate) unsafe fn ended_by<R, G, W>(&self, _: &G, _: impl FnOnce() -> R) -> R
        where
            G: Fn() -> Option<W>,
            W: FnOnce(),
        {
            unreachable!("no model cancels a wait")
        }
    }
}

pub(crate) mod modify {
    use std::ffi::c_void;
    use std::sync::atomic::Ordering::Relaxed;

    use loom::sync::{Condvar, Mutex as LoomMutex};

    use crate::runtime::data::timer::{Timer, TimerFn};

    /// Whether the timer was set, and whether it still is.
    #[derive(Default)]
    struct Heap {
        was_set: bool,
        set: Option<&'static Timer>,
    }

    loom::lazy_static! {
        static ref HEAP: (LoomMutex<Heap>, Condvar) = (LoomMutex::default(), Condvar::new());
    }

    pub(crate) fn addtimer(t: &'static Timer) {
        let (heap, changed) = &*HEAP;
        *heap.lock().unwrap() = Heap { was_set: true, set: Some(t) };
        changed.notify_one();
    }

    pub(crate) fn deltimer(_: &Timer) -> bool {
        HEAP.0.lock().unwrap().set.take().is_some()
    }

    pub(crate) fn modtimer(
        _: &Timer,
        _when: i64,
        _period: i64,
        _: Option<TimerFn>,
        _: *mut c_void,
        _seq: usize,
    ) -> bool {
        unreachable!("the timer is set once")
    }

    /// Makes the timer's time come, once it is set. It may have been stopped by then.
    pub(crate) fn time_comes() {
        let (heap, changed) = &*HEAP;
        let mut held = heap.lock().unwrap();
        while !held.was_set {
            held = changed.wait(held).unwrap();
        }
        let fires = held.set.take().map(|t| (t.f.get().unwrap(), t.arg.get(), t.seq.load(Relaxed)));
        drop(held);
        if let Some((f, arg, seq)) = fires {
            // SAFETY: the arguments are those for which the timer was set.
            unsafe { f(arg, seq) };
        }
    }
}
