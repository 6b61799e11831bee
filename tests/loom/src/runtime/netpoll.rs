//! Stand-in for the poller. An M sleeps there until it is woken, or until the descriptor that a
//! goroutine waits for is ready. If its time would be over by [`SOON`](epoll::SOON), the M doesn't
//! sleep at all. The poller has models of its own, in `tests/netpoll`.

#[path = "../../../../src/runtime/netpoll/count.rs"]
mod count;

use crate::runtime::data::atomic::{AtomicI32, statics};

pub(super) use count::{netpoll_adjust_waiters, netpoll_any_waiters};

statics! {
    static NETPOLL_WAITERS: AtomicI32 = AtomicI32::new(0);
}

pub(crate) fn netpollinited() -> bool {
    true
}

pub(crate) fn netpoll_init_for_timers() {}

pub(crate) mod epoll {
    use crate::runtime::base::os::{futexsleep, futexwakeup};
    use crate::runtime::data::atomic::{AtomicU32, Ordering};
    use crate::runtime::data::gqueue::GList;
    use crate::runtime::data::runtime2::G;

    /// A sleep of at most this length counts as none.
    pub(crate) const SOON: i64 = 10;

    loom::lazy_static! {
        static ref WAKE_SIG: AtomicU32 = AtomicU32::new(0);
        static ref READY: AtomicU32 = AtomicU32::new(0);
    }

    /// Makes the awaited descriptor ready.
    pub(crate) fn becomes_ready() {
        READY.store(1, Ordering::SeqCst);
        netpoll_break();
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
        let list = GList::default();
        let ready = READY.swap(0, Ordering::SeqCst) as i32;
        (0..ready).for_each(|_| list.push(G::new(0)));
        (list, -ready)
    }
}
