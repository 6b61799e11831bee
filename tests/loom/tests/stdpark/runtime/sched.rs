//! Stand-in: a goroutine that parks is a thread that sleeps.

pub(crate) mod park {
    use std::ffi::c_void;
    use std::ptr;

    use crate::runtime::data::runtime2::{G, Mutex, TraceBlockReason, WaitReason};
    use crate::runtime::lock::unlock;

    pub(crate) unsafe fn gopark(
        unlockf: Option<unsafe extern "C" fn(*mut G, *mut c_void) -> bool>,
        lock: *mut c_void,
        _: WaitReason,
        _: TraceBlockReason,
        _: i32,
    ) {
        let gp = G::this();
        gp.waits.set(true);
        // SAFETY: the caller's.
        if unsafe { unlockf.unwrap()(ptr::from_ref(gp).cast_mut(), lock) } {
            sleep_until_ready(gp);
        } else {
            gp.waits.set(false);
        }
    }

    pub(crate) fn goparkunlock(lock: &Mutex, _: WaitReason, _: TraceBlockReason, _: i32) {
        let gp = G::this();
        gp.waits.set(true);
        unlock(lock);
        sleep_until_ready(gp);
    }

    fn sleep_until_ready(gp: &G) {
        let mut ready = gp.ready.lock().unwrap();
        while !*ready {
            ready = gp.wakes.wait(ready).unwrap();
        }
        *ready = false;
    }
}

pub(crate) mod ready {
    use crate::runtime::data::runtime2::G;

    pub(crate) fn goready(gp: &'static G) {
        assert!(gp.waits.replace(false), "made ready, and doesn't wait");
        let was = std::mem::replace(&mut *gp.ready.lock().unwrap(), true);
        assert!(!was, "made ready twice");
        gp.wakes.notify_one();
    }
}
