//! Joining and detaching threads that are goroutines.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};

use libc::pthread_t;

use crate::runtime::base::os::{futexsleep, futexwakeup};
use crate::runtime::data::runtime2::G;
use crate::runtime::explore::clock::now;
use crate::runtime::g::extent::{in_run, outside_of_run};
use crate::runtime::sched::exploration::point;
use crate::runtime::sched::goexit::{EndWaker, drop_handle, ended, set_end_waker, take_end_waker};
use crate::runtime::sched::mstart::guest;
use crate::runtime::sema::join::wait_for_end_limited;
use crate::runtime::stdpark::gate::may_park;
use crate::runtime::threads::cancel::cancellation_point;
use crate::runtime::threads::record::{Whose, is_gone, is_this_goroutine, record_of, this_thread, whose};
use crate::runtime::time::fire::Limit;

/// Until when a join waits.
#[derive(Clone, Copy)]
pub(super) enum Until {
    /// The thread's end.
    End,
    /// This time of the runtime's clock, in nanoseconds.
    Time(i64),
    /// It doesn't wait.
    Now,
}

/// Joins `thread`, if it is a goroutine, and writes its result to `result`. Returns the result of
/// `pthread_join`; none for a thread of the system. If the thread hasn't ended in time, returns
/// `late`.
///
/// # Safety
/// As `pthread_join`: this may unwind.
#[cold]
#[inline(never)]
pub(super) unsafe fn join(
    thread: pthread_t,
    result: *mut *mut c_void,
    until: Until,
    late: c_int,
) -> Option<c_int> {
    let gp = match whose(thread) {
        Whose::Kernel => return None,
        _ if is_this_goroutine(thread).is_some() => return Some(libc::EDEADLK),
        Whose::Goroutine(_) => return Some(libc::EINVAL),
        Whose::Thread(gp) => gp,
    };
    // SAFETY: as the caller says.
    unsafe { cancellation_point() };
    point("join");
    let record = record_of(gp);
    if !record.begin_join() {
        return Some(not_joinable(gp));
    }
    wait_for_end(gp, until);
    if !ended(gp) {
        record.give_up_join();
        // SAFETY: as the caller says.
        unsafe { cancellation_point() };
        return Some(late);
    }
    // SAFETY: as the caller says.
    if let Some(result) = unsafe { result.as_mut() } {
        *result = record.result.get();
    }
    drop_handle(gp, || ());
    Some(0)
}

/// Detaches `thread`, if it is a goroutine. Returns the result of `pthread_detach`; none for a
/// thread of the system.
#[cold]
#[inline(never)]
pub(super) fn detach(thread: pthread_t) -> Option<c_int> {
    let gp = match whose(thread) {
        Whose::Kernel => return None,
        Whose::Goroutine(_) => return Some(libc::EINVAL),
        Whose::Thread(gp) => gp,
    };
    if !record_of(gp).begin_detach() {
        return Some(not_joinable(gp));
    }
    drop_handle(gp, || ());
    Some(0)
}

/// Returns the error for a thread that can be neither joined nor detached. As in the C library, it
/// is another one for a thread that has ended and was joined.
fn not_joinable(gp: &'static G) -> c_int {
    if is_gone(gp) && !record_of(gp).is_detached() { libc::ESRCH } else { libc::EINVAL }
}

/// Waits until `gp` has ended, at most until the time. The caller has its handle.
fn wait_for_end(gp: &'static G, until: Until) {
    let limit = match until {
        _ if ended(gp) => return,
        Until::End => None,
        Until::Time(when) => Some(when),
        Until::Now => return,
    };
    // A thread that isn't ours becomes a goroutine for the wait.
    let guest = guest();
    if guest.is_some() || may_park().is_some() {
        let wait = || wait_for_end_limited(gp, limit.map(Limit::Time));
        // The caller, which is C code, can't unwind by a run. But it may be canceled.
        if this_thread().is_some() && !in_run() {
            wait()
        } else {
            outside_of_run(wait)
        };
    } else {
        block_until_end(gp, limit);
    }
}

/// Blocks this thread until `gp` has ended, at most until the time.
#[cold]
fn block_until_end(gp: &'static G, limit: Option<i64>) {
    struct Blocked(AtomicU32);

    impl Wake for Blocked {
        fn wake(self: Arc<Self>) {
            // Release pairs with the end of the wait.
            self.0.store(1, Ordering::Release);
            futexwakeup(&self.0, 1);
        }
    }

    let blocked = Arc::new(Blocked(AtomicU32::new(0)));
    if !set_end_waker(gp, EndWaker { waker: Waker::from(blocked.clone()), wake: Waker::wake }) {
        return;
    }
    while blocked.0.load(Ordering::Acquire) == 0 {
        let left = limit.map_or(-1, |when| when.saturating_sub(now()).max(0));
        if left == 0 {
            drop(take_end_waker(gp));
            return;
        }
        futexsleep(&blocked.0, 0, left);
    }
}
