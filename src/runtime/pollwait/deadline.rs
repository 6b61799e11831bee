//! Deadlines: times at which waits end, and after which none begins.
//!
//! Each direction has a timer; if both have the same deadline, the read timer ends both. A timer
//! that has fired may be late: its deadline was moved meanwhile, or the `PollDesc` is another
//! descriptor's by now. So each setting has a number, as in `time/fire.rs`.

use std::cell::Cell;
use std::ffi::c_void;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::nanotime;
use crate::runtime::base::this::with_room;
use crate::runtime::data::timer::{Timer, TimerFn};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::morestack_check::entry_check;
use crate::runtime::netpoll::poll_desc::PollDesc;
use crate::runtime::pollwait::block::end_waits;
use crate::runtime::time::modify::{deltimer, modtimer};

/// Sets the deadline for reading, for writing, or for both: `d` nanoseconds from now; 0 is none,
/// and a negative one has passed already. It holds for operations that wait now, too. Does nothing
/// once the descriptor is being closed. Go's `poll_runtime_pollSetDeadline`, in `netpoll.go`.
///
/// # Safety
/// On a goroutine, or on g0 of an M with a P, which gets the timers.
/// [`poll_runtime_poll_open`](crate::netpoll::poll_runtime_poll_open) has returned `pd`, and
/// [`poll_runtime_poll_close`](crate::netpoll::poll_runtime_poll_close) wasn't called.
#[inline(always)]
pub unsafe fn poll_runtime_poll_set_deadline(pd: &'static PollDesc, d: i64, read: bool, write: bool) {
    entry_check();
    with_room(|| set_deadline(pd, d, read, write));
}

fn set_deadline(pd: &'static PollDesc, d: i64, read: bool, write: bool) {
    lock(&pd.lock);
    if pd.closing.get() {
        unlock(&pd.lock);
        return;
    }
    let (rd0, wd0) = (pd.rd.get(), pd.wd.get());
    let d = if d > 0 { d.saturating_add(nanotime()) } else { d };
    if read {
        pd.rd.set(d);
    }
    if write {
        pd.wd.set(d);
    }
    pd.publish_info();
    let (rd, wd) = (pd.rd.get(), pd.wd.get());
    let (combo0, combo) = (rd0 > 0 && rd0 == wd0, rd > 0 && rd == wd);
    let rtf = if combo { netpoll_deadline } else { netpoll_read_deadline };
    set_timer(pd, &pd.rt, &pd.rseq, rd, rtf, rd != rd0 || combo != combo0);
    let when = if combo { 0 } else { wd };
    set_timer(pd, &pd.wt, &pd.wseq, when, netpoll_write_deadline, wd != wd0 || combo != combo0);
    // A deadline that has passed ends the waits at once.
    end_waits(pd, rd < 0, wd < 0);
}

/// Sets `t` to call `f` at `when`, or stops it if `when` isn't positive. Does nothing if it is set
/// and the deadline hasn't `changed`. The lock is held.
fn set_timer(
    pd: &'static PollDesc,
    t: &'static Timer,
    seq: &Cell<usize>,
    when: i64,
    f: TimerFn,
    changed: bool,
) {
    let is_set = t.f.get().is_some();
    if is_set && !changed {
        return;
    }
    if is_set {
        // The timer may have fired and wait for the lock: with another number it does nothing.
        seq.set(seq.get().wrapping_add(1));
    }
    if when > 0 {
        modtimer(t, when, 0, Some(f), pd.as_arg(), seq.get());
    } else if is_set {
        deltimer(t);
        t.f.set(None);
    }
}

/// A timer has fired: ends the waits, unless the deadline was moved since. Go's
/// `netpolldeadlineimpl`.
fn netpolldeadlineimpl(pd: &'static PollDesc, seq: usize, read: bool, write: bool) {
    lock(&pd.lock);
    let current = if read { &pd.rseq } else { &pd.wseq };
    if seq != current.get() {
        unlock(&pd.lock);
        return;
    }
    if read {
        if pd.rd.get() <= 0 || pd.rt.f.get().is_none() {
            throw("runtime: inconsistent read deadline");
        }
        pd.rd.set(-1);
    }
    if write {
        if pd.wd.get() <= 0 || pd.wt.f.get().is_none() && !read {
            throw("runtime: inconsistent write deadline");
        }
        pd.wd.set(-1);
    }
    pd.publish_info();
    end_waits(pd, read, write);
}

/// The argument of the timers.
///
/// # Safety
/// It came from [`PollDesc::as_arg`].
unsafe fn poll_desc<'a>(arg: *mut c_void) -> &'a PollDesc {
    // SAFETY: so it is the address of a PollDesc, and these are never freed.
    unsafe { &*arg.cast() }
}

/// The deadline for both has passed. Go's `netpollDeadline`.
unsafe extern "C" fn netpoll_deadline(arg: *mut c_void, seq: usize) {
    // SAFETY: set_timer has given the timer `pd.as_arg()`.
    netpolldeadlineimpl(unsafe { poll_desc(arg) }, seq, true, true);
}

/// The read deadline has passed. Go's `netpollReadDeadline`.
unsafe extern "C" fn netpoll_read_deadline(arg: *mut c_void, seq: usize) {
    // SAFETY: set_timer has given the timer `pd.as_arg()`.
    netpolldeadlineimpl(unsafe { poll_desc(arg) }, seq, true, false);
}

/// The write deadline has passed. Go's `netpollWriteDeadline`.
unsafe extern "C" fn netpoll_write_deadline(arg: *mut c_void, seq: usize) {
    // SAFETY: set_timer has given the timer `pd.as_arg()`.
    netpolldeadlineimpl(unsafe { poll_desc(arg) }, seq, false, true);
}
