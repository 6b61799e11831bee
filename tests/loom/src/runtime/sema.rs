//! Stand-ins for semaphores and lists of waiters.

#[allow(clippy::module_inception, reason = "its path is the crate's")]
pub(crate) mod sema {
    use crate::runtime::base::os::{futexsleep, futexwakeup};
    use crate::runtime::data::atomic::{AtomicU32, Ordering};

    pub(crate) fn semacquire(addr: &AtomicU32) {
        loop {
            let v = addr.load(Ordering::SeqCst);
            if v == 0 {
                futexsleep(addr, 0, -1);
            } else if addr.compare_exchange(v, v - 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return;
            }
        }
    }

    pub(crate) fn semrelease(addr: &AtomicU32) {
        addr.fetch_add(1, Ordering::SeqCst);
        futexwakeup(addr, 1);
    }
}

/// The semaphore of who may stop the world: a model has one who does.
pub(crate) mod semacquire {
    use std::sync::atomic::{AtomicU32, Ordering};

    pub(crate) fn semacquire(addr: &AtomicU32) {
        assert_eq!(addr.swap(0, Ordering::Relaxed), 1);
    }

    pub(crate) fn semrelease1(addr: &AtomicU32, _handoff: bool) {
        addr.store(1, Ordering::Relaxed);
    }
}

pub(crate) mod notify_list {
    use loom::sync::{Condvar, Mutex};

    use crate::runtime::data::atomic::{AtomicU32, Ordering};

    pub(crate) struct NotifyList {
        wait: AtomicU32,
        notify: Mutex<u32>,
        changed: Condvar,
    }

    impl NotifyList {
        pub(crate) fn new() -> Self {
            NotifyList { wait: AtomicU32::new(0), notify: Mutex::new(0), changed: Condvar::new() }
        }
    }

    // Relaxed: what orders a number and a notification is the protocol's.
    pub(crate) fn notify_list_add(l: &NotifyList) -> u32 {
        l.wait.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn notify_list_wait(l: &NotifyList, t: u32) {
        let mut notify = l.notify.lock().unwrap();
        while *notify <= t {
            notify = l.changed.wait(notify).unwrap();
        }
    }

    pub(crate) fn notify_list_notify_all(l: &NotifyList) {
        *l.notify.lock().unwrap() = l.wait.load(Ordering::Relaxed);
        l.changed.notify_all();
    }
}
