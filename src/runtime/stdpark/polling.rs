//! A goroutine that polls descriptors: the cold halves of `symbols/polls.rs`. Each returns what the
//! C library's function does.
//!
//! A call asks the kernel without waiting, waits for all of the descriptors, and asks the kernel
//! again. So the result is always the kernel's answer. A call with a signal mask blocks its thread,
//! and so does a call for more than [`MOST`] descriptors.

use std::ffi::c_int;
use std::os::fd::RawFd;
use std::ptr;

use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::result_of;
use crate::runtime::data::runtime2::{G, WaitReason};
use crate::runtime::explore::clock::now;
use crate::runtime::g::explored::{exploring, is_explored};
use crate::runtime::g::extent::{in_run, outside_of_run};
use crate::runtime::m::signaled::{Handled, handle_signals};
use crate::runtime::mem::morestack_check::stop_if_asked;
use crate::runtime::stdpark::descriptors::{Waited, wait_for_any, wait_for_one};
use crate::runtime::stdpark::entry::How;
use crate::runtime::stdpark::gate::{is_thread, may_park};
use crate::runtime::stdpark::operation::{ECANCELED, EINTR, Pace, in_kernel};
use crate::runtime::stdpark::time::{nanoseconds, sleep_for};

/// The maximum number of descriptors that a goroutine waits for at once.
const MOST: usize = 1024;

/// The size of the kernel's signal masks.
const MASK_SIZE: usize = 8;

const NO_TIME: timespec = timespec { tv_sec: 0, tv_nsec: 0 };

/// The time limit of a call.
#[derive(Clone, Copy)]
enum Patience {
    Forever,
    /// A number of nanoseconds; with 0 the call doesn't wait.
    For(i64),
    /// A limit that the kernel refuses.
    Invalid,
}

impl Patience {
    fn of_milliseconds(ms: c_int) -> Self {
        if ms < 0 { Patience::Forever } else { Patience::For(i64::from(ms) * 1_000_000) }
    }

    fn of_time(time: Option<&timespec>) -> Self {
        match time.map(nanoseconds) {
            None => Patience::Forever,
            Some(Some(ns)) => Patience::For(ns),
            Some(None) => Patience::Invalid,
        }
    }
}

/// Calls `attempt`, which doesn't wait, until it doesn't return 0, and calls `wait` in between.
/// `plain` is the call as the program has made it.
///
/// A poll or a select that finds nothing fails with `EINTR` if a signal comes at that moment, even
/// if the call doesn't wait. Such a call is tried again.
fn poll_until(
    patience: Patience,
    attempt: &dyn Fn() -> isize,
    wait: &dyn Fn(&'static G, Option<i64>) -> Waited,
    plain: &dyn Fn() -> isize,
) -> isize {
    let ns = match patience {
        Patience::Forever => None,
        Patience::Invalid => return plain(),
        Patience::For(ns) => Some(ns),
    };
    let Some(gp) = may_park() else { return plain() };
    stop_if_asked();
    let attempt = || {
        loop {
            let ret = attempt();
            if ret != EINTR {
                return ret;
            }
        }
    };
    let ret = attempt();
    if ret != 0 || ns == Some(0) {
        return ret;
    }
    if exploring() && is_explored(gp) {
        return plain();
    }
    let until = ns.map(|ns| now().saturating_add(ns));
    let mut pace = Pace::new();
    loop {
        pace.before_wait();
        // Not ended by a run: code that polls, such as an event loop, doesn't expect an error. A
        // thread's cancellation ends it.
        let ends_early = is_thread(gp) && !in_run();
        let waited = if ends_early { wait(gp, until) } else { outside_of_run(|| wait(gp, until)) };
        // Handlers run with no frame of the wait on the stack. No poll goes on after one.
        let handled = handle_signals(gp);
        match waited {
            Waited::Canceled if ends_early => return ECANCELED,
            Waited::Cannot => return in_kernel(plain),
            Waited::TimedOut => return attempt(),
            Waited::Ready(_) | Waited::Canceled | Waited::Signaled | Waited::Closed | Waited::Anew => {
                let ret = attempt();
                if ret != 0 {
                    return ret;
                }
                if handled != Handled::Nothing {
                    return EINTR;
                }
            }
        }
    }
}

/// Makes the kernel poll, with a limit that the kernel may change.
///
/// # Safety
/// As `ppoll`.
unsafe fn kernel_poll(
    fds: *mut pollfd,
    n: nfds_t,
    mut limit: Option<timespec>,
    mask: *const sigset_t,
) -> isize {
    let limit = limit.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
    // SAFETY: the caller keeps to the contract of `ppoll`.
    unsafe { raw(libc::SYS_ppoll, [fds as usize, n as usize, limit as usize, mask as usize, MASK_SIZE, 0]) }
}

/// Returns a limit in milliseconds as a time, or none if it is negative.
pub(super) fn time_of_milliseconds(ms: c_int) -> Option<timespec> {
    (ms >= 0).then(|| timespec { tv_sec: i64::from(ms / 1000), tv_nsec: i64::from(ms % 1000) * 1_000_000 })
}

/// `poll`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn poll(fds: *mut pollfd, n: nfds_t, ms: c_int) -> isize {
    // SAFETY: the caller keeps to the C library's contract of `poll`.
    let plain = || unsafe { kernel_poll(fds, n, time_of_milliseconds(ms), ptr::null()) };
    // SAFETY: the caller keeps to the C library's contract of `poll`.
    result_of(unsafe { poll_for(Patience::of_milliseconds(ms), fds, n, &plain) })
}

/// `ppoll`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn ppoll(
    fds: *mut pollfd,
    n: nfds_t,
    limit: *const timespec,
    mask: *const sigset_t,
) -> isize {
    // SAFETY: null, or a time, as the caller says.
    let limit = unsafe { limit.as_ref() };
    // SAFETY: the caller keeps to the C library's contract of `ppoll`.
    let plain = || unsafe { kernel_poll(fds, n, limit.copied(), mask) };
    if !mask.is_null() {
        return result_of(in_kernel(&plain));
    }
    // SAFETY: the caller keeps to the C library's contract of `ppoll`.
    result_of(unsafe { poll_for(Patience::of_time(limit), fds, n, &plain) })
}

/// # Safety
/// As `poll`.
unsafe fn poll_for(patience: Patience, fds: *mut pollfd, n: nfds_t, plain: &dyn Fn() -> isize) -> isize {
    if n == 0
        && let Patience::For(ns @ 1..) = patience
        && may_park().is_some()
        && let Some(left) = sleep_for(ns)
    {
        return if left > 0 { EINTR } else { 0 };
    }
    if n == 0 || n as usize > MOST || fds.is_null() {
        return in_kernel(plain);
    }
    // SAFETY: the caller keeps to the contract of `poll`.
    let attempt = || unsafe { kernel_poll(fds, n, Some(NO_TIME), ptr::null()) };
    let wait = |gp, until| {
        // SAFETY: as many as the caller says; the kernel has accepted them.
        let fds = unsafe { std::slice::from_raw_parts(fds, n as usize) };
        match fds {
            [one] if one.fd >= 0 => {
                wait_for_one(gp, one.fd, one.events, false, How::Armed, WaitReason::StdPoll, until)
            }
            _ => wait_for_any(gp, fds, WaitReason::StdPoll, until),
        }
    };
    poll_until(patience, &attempt, &wait, plain)
}

/// The sets of a `select`, which the kernel changes.
#[derive(Clone, Copy)]
pub(super) struct Sets {
    pub(super) read: *mut fd_set,
    pub(super) write: *mut fd_set,
    pub(super) except: *mut fd_set,
}

impl Sets {
    /// Makes the kernel look at the sets, and change them.
    ///
    /// # Safety
    /// As `pselect6`.
    pub(super) unsafe fn kernel_select(self, n: c_int, limit: *mut timespec, mask: *const sigset_t) -> isize {
        let mask = [mask as usize, MASK_SIZE];
        let args = [n as usize, self.read as usize, self.write as usize, self.except as usize];
        let args = [args[0], args[1], args[2], args[3], limit as usize, mask.as_ptr() as usize];
        // SAFETY: the caller keeps to the contract of `pselect6`.
        unsafe { raw(libc::SYS_pselect6, args) }
    }

    /// Returns copies of the sets, which have room for `n` descriptors, and perhaps for no more.
    ///
    /// # Safety
    /// The sets are there.
    #[inline(never)]
    unsafe fn copies(self, n: c_int) -> Copies {
        let mut copies = [None; 3];
        for (set, copy) in [self.read, self.write, self.except].into_iter().zip(&mut copies) {
            if !set.is_null() {
                let words = copy.insert([0; WORDS]);
                // SAFETY: the set has these words, as the caller says, and so has the copy.
                unsafe { ptr::copy_nonoverlapping(set.cast(), words.as_mut_ptr(), words_of(n)) };
            }
        }
        copies
    }

    /// Writes back the copies that [`copies`](Self::copies) has returned.
    ///
    /// # Safety
    /// The sets are there.
    #[inline(never)]
    unsafe fn restore(self, n: c_int, copies: &Copies) {
        for (set, copy) in [self.read, self.write, self.except].into_iter().zip(copies) {
            if let Some(words) = copy {
                // SAFETY: as in `copies`.
                unsafe { ptr::copy_nonoverlapping(words.as_ptr(), set.cast(), words_of(n)) };
            }
        }
    }
}

/// Copies of the sets of a `select`, as words of bits.
type Copies = [Option<[usize; WORDS]>; 3];

/// The maximum number of words in a set.
const WORDS: usize = libc::FD_SETSIZE / usize::BITS as usize;

/// How many words of a set the kernel reads and writes for `n` descriptors.
fn words_of(n: c_int) -> usize {
    (n as usize).div_ceil(usize::BITS as usize)
}

/// Returns the descriptors in the sets, in `poll`'s form.
#[inline(never)]
fn descriptors_of(n: c_int, sets: &Copies) -> Vec<pollfd> {
    let mut fds = Vec::new();
    for fd in 0..n {
        let (word, bit) = (fd as usize / usize::BITS as usize, fd as u32 % usize::BITS);
        let mut events = 0;
        for (set, event) in sets.iter().zip([libc::POLLIN, libc::POLLOUT, libc::POLLPRI]) {
            if set.as_ref().is_some_and(|words| words[word] >> bit & 1 != 0) {
                events |= event;
            }
        }
        if events != 0 {
            fds.push(pollfd { fd, events, revents: 0 });
        }
    }
    fds
}

/// `pselect`. `limit` points to a copy that the caller has made, because the kernel changes it.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn pselect(n: c_int, sets: Sets, limit: *mut timespec, mask: *const sigset_t) -> isize {
    // SAFETY: null, or a time, as the caller says.
    let patience = Patience::of_time(unsafe { limit.as_ref() });
    // SAFETY: the caller keeps to the C library's contract of `pselect`.
    let plain = || unsafe { sets.kernel_select(n, limit, mask) };
    let fits = (0..=libc::FD_SETSIZE as c_int).contains(&n);
    if !mask.is_null() || !fits || may_park().is_none() {
        return in_kernel(&plain);
    }
    // SAFETY: the caller keeps to the C library's contract of `pselect`.
    let asked = unsafe { sets.copies(n) };
    let fds = descriptors_of(n, &asked);
    if fds.is_empty() {
        // SAFETY: no descriptors are passed.
        return unsafe { poll_for(patience, ptr::null_mut(), 0, &plain) };
    }
    let attempt = || {
        let mut no_time = NO_TIME;
        // SAFETY: as the caller says. If nothing is ready, the sets are empty then.
        unsafe {
            sets.restore(n, &asked);
            sets.kernel_select(n, &mut no_time, ptr::null())
        }
    };
    let wait = |gp, until| wait_for_any(gp, &fds, WaitReason::StdPoll, until);
    let plain = || {
        // SAFETY: the caller keeps to the C library's contract of `pselect`.
        unsafe {
            sets.restore(n, &asked);
            sets.kernel_select(n, limit, mask)
        }
    };
    poll_until(patience, &attempt, &wait, &plain)
}

/// `select`, which leaves the remaining time in `limit`.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn select(n: c_int, sets: Sets, limit: *mut timeval) -> isize {
    // SAFETY: null, or a time, as the caller says.
    let Some(left) = (unsafe { limit.as_mut() }) else {
        // SAFETY: the caller keeps to the C library's contract of `select`.
        return result_of(unsafe { pselect(n, sets, ptr::null_mut(), ptr::null()) });
    };
    if left.tv_sec < 0 || left.tv_usec < 0 {
        return result_of(-libc::EINVAL as isize);
    }
    let ns = left.tv_sec.saturating_mul(1_000_000_000).saturating_add(left.tv_usec.saturating_mul(1000));
    let mut time = timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
    let begun = now();
    // SAFETY: as the caller says, with a time of ours.
    let ret = unsafe { pselect(n, sets, &mut time, ptr::null()) };
    let ns = ns.saturating_sub(now() - begun).max(0);
    *left = timeval { tv_sec: ns / 1_000_000_000, tv_usec: ns % 1_000_000_000 / 1000 };
    result_of(ret)
}

/// `epoll_pwait`, and `epoll_wait`. A goroutine can wait for an epoll instance like for other
/// descriptors.
///
/// # Safety
/// As the C library's.
#[cold]
#[inline(never)]
pub(super) unsafe fn epoll_pwait(
    fd: RawFd,
    events: *mut epoll_event,
    n: c_int,
    ms: c_int,
    mask: *const sigset_t,
) -> isize {
    // SAFETY: the caller keeps to the C library's contract of `epoll_pwait`.
    let call = |ms: c_int| unsafe {
        let args = [fd as usize, events as usize, n as usize, ms as usize, mask as usize, MASK_SIZE];
        raw(libc::SYS_epoll_pwait, args)
    };
    if !mask.is_null() {
        return result_of(in_kernel(&|| call(ms)));
    }
    let wait = |gp, until| wait_for_one(gp, fd, libc::POLLIN, true, How::Armed, WaitReason::StdPoll, until);
    result_of(poll_until(Patience::of_milliseconds(ms), &|| call(0), &wait, &|| call(ms)))
}
