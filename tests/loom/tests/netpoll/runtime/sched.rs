//! Stand-ins: a goroutine that parks is a thread that sleeps, and every thread may.

pub(crate) mod mstart {
    pub(crate) struct Guest;

    pub(crate) fn must_wait(_what: &str) -> Option<Guest> {
        None
    }
}

pub(crate) mod park {
    use std::ffi::c_void;
    use std::ptr;

    use crate::runtime::data::runtime2::{G, TraceBlockReason, WaitReason};

    pub(crate) unsafe fn gopark(
        unlockf: Option<unsafe extern "C" fn(*mut G, *mut c_void) -> bool>,
        lock: *mut c_void,
        _: WaitReason,
        _: TraceBlockReason,
        _: i32,
    ) {
        let gp = G::new();
        // SAFETY: the caller's.
        if unsafe { unlockf.unwrap()(ptr::from_ref(gp).cast_mut(), lock) } {
            let mut ready = gp.ready.lock().unwrap();
            while !*ready {
                ready = gp.wakes.wait(ready).unwrap();
            }
        }
    }
}

pub(crate) mod poll {
    pub(crate) fn wake_net_poller_from_outside() {}
}

pub(crate) mod ready {
    use crate::runtime::data::runtime2::G;

    pub(crate) fn goready(gp: &'static G) {
        let was = std::mem::replace(&mut *gp.ready.lock().unwrap(), true);
        assert!(!was, "made ready twice");
        gp.wakes.notify_one();
    }
}
