//! Stand-in for semaphores.

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
