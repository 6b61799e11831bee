//! Stand-in for the poller: who sleeps there wakes when it is told to, and not before [`SOON`](epoll::SOON). It
//! has models of its own, in `tests/netpoll`.

pub(crate) fn netpollinited() -> bool {
    true
}

pub(crate) fn netpoll_init_for_timers() {}

pub(crate) fn netpoll_any_waiters() -> bool {
    false
}

pub(crate) fn netpoll_adjust_waiters(_delta: i32) {}

pub(crate) mod epoll {
    use crate::runtime::base::os::{futexsleep, futexwakeup};
    use crate::runtime::data::atomic::{AtomicU32, Ordering};
    use crate::runtime::data::gqueue::GList;

    /// A sleep that is as short is as good as none.
    pub(crate) const SOON: i64 = 10;

    loom::lazy_static! {
        static ref WAKE_SIG: AtomicU32 = AtomicU32::new(0);
    }

    pub(crate) fn netpoll_break() {
        if WAKE_SIG.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            futexwakeup(&WAKE_SIG, 1);
        }
    }

    pub(crate) fn netpoll(delay: i64) -> (GList, i32) {
        if !(0..=SOON).contains(&delay) {
            futexsleep(&WAKE_SIG, 0, -1);
            WAKE_SIG.store(0, Ordering::SeqCst);
        }
        (GList::default(), 0)
    }
}
