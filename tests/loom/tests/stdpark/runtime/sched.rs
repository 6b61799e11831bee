//! Stand-in: a goroutine that parks is a thread that sleeps.

pub(crate) mod park {
    use crate::runtime::data::runtime2::{G, Mutex, TraceBlockReason, WaitReason};
    use crate::runtime::lock::unlock;

    pub(crate) fn goparkunlock(lock: &Mutex, _: WaitReason, _: TraceBlockReason, _: i32) {
        let gp = G::this();
        unlock(lock);
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
        let was = std::mem::replace(&mut *gp.ready.lock().unwrap(), true);
        assert!(!was, "made ready twice");
        gp.wakes.notify_one();
    }
}
