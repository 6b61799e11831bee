//! Waits for signals: `sigtimedwait`, `sigsuspend`, and `sigpending`. A goroutine that waits keeps
//! its thread, and others get its processor.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

use libc::{siginfo_t, sigset_t, sigval, timespec};

use crate::runtime::arch::raw;
use crate::runtime::arch::syscall::result_of;
use crate::runtime::base::os::{SIG_PREEMPT, gettid, nanotime, signal_m};
use crate::runtime::m::left_signals::{handle, signals_of};
use crate::runtime::m::sigmask::{bit, mask_of_set, with_mask_in_kernel};
use crate::runtime::m::sigstack::with_signals_blocked;
use crate::runtime::stdpark::operation::in_kernel;
use crate::runtime::threads::record::this_goroutine;
use crate::runtime::threads::signals;

/// The first signals of a set, which are all that the kernel has.
///
/// # Safety
/// A set.
unsafe fn mask_at(set: *const sigset_t) -> u64 {
    // SAFETY: as the caller says.
    mask_of_set(MaybeUninit::new(unsafe { set.read() }))
}

/// `sigtimedwait`; without a limit `sigwaitinfo`, whose `info` may be null.
///
/// # Safety
/// As `sigtimedwait`.
#[cold]
#[inline(never)]
pub(super) unsafe fn sigtimedwait(
    set: *const sigset_t,
    info: *mut siginfo_t,
    limit: *const timespec,
) -> c_int {
    // SAFETY: as the caller says.
    let (mask, limit) = unsafe { (mask_at(set), limit.as_ref()) };
    let signals = this_goroutine().map(|(gp, _)| signals_of(gp));
    // The kernel refuses a time that isn't valid, and waits in no other way then.
    let until = limit.map(|limit| nanotime().saturating_add(nanoseconds(limit)));
    let mut rest = limit.copied();
    let wait = |rest: &Option<timespec>| {
        if let Some(signals) = signals {
            signals.wait_for(mask);
            if let Some(signal) = signals.take_one_of(mask) {
                signals.wait_for(0);
                // SAFETY: a place for an info, or null, as the caller says.
                unsafe { write_info(info, signal) };
                return signal as isize;
            }
        }
        // Blocked, so that one that comes before the wait ends the wait, too.
        let ret = with_signals_blocked(|| {
            // SAFETY: the kernel reads the mask and the time, and writes to the info.
            let ret = unsafe { by_kernel(mask | bit(SIG_PREEMPT), info, rest.as_ref()) };
            if ret == SIG_PREEMPT as isize {
                // Its handler has something else to do, perhaps.
                signal_m(gettid(), SIG_PREEMPT);
            }
            ret
        });
        if let Some(signals) = signals {
            signals.wait_for(0);
        }
        ret
    };
    loop {
        let ret = in_kernel(&|| wait(&rest));
        if ret != SIG_PREEMPT as isize || mask & bit(SIG_PREEMPT) != 0 {
            return result_of(ret) as c_int;
        }
        rest = until.map(|until| time(until.saturating_sub(nanotime()).max(0)));
    }
}

/// The system call of `sigtimedwait`. As the C library, says of a signal that `tgkill` has sent
/// that `kill` has.
///
/// # Safety
/// As `sigtimedwait`.
unsafe fn by_kernel(mask: u64, info: *mut siginfo_t, limit: Option<&timespec>) -> isize {
    let words = [
        (&raw const mask).expose_provenance(),
        info.expose_provenance(),
        limit.map_or(0, |limit| ptr::from_ref(limit).expose_provenance()),
        size_of::<u64>(),
        0,
        0,
    ];
    // SAFETY: as the caller says. The kernel has written to the info.
    unsafe {
        let ret = raw(libc::SYS_rt_sigtimedwait, words);
        if ret > 0
            && let Some(info) = info.as_mut()
            && info.si_code == libc::SI_TKILL
        {
            info.si_code = libc::SI_USER;
        }
        ret
    }
}

/// Writes what is known of a signal that was left.
///
/// # Safety
/// `info` is null, or a place for an info.
unsafe fn write_info(info: *mut siginfo_t, signal: c_int) {
    if !info.is_null() {
        let no_value = sigval { sival_ptr: ptr::null_mut() };
        // SAFETY: as the caller says.
        unsafe { info.write(signals::info(signal, libc::SI_USER, no_value)) };
    }
}

fn nanoseconds(time: &timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

fn time(nanoseconds: i64) -> timespec {
    timespec { tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000 }
}

/// `sigwait`.
///
/// # Safety
/// As `sigwait`.
pub(super) unsafe fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
    loop {
        // SAFETY: as the caller says.
        unsafe {
            match sigtimedwait(set, ptr::null_mut(), ptr::null()) {
                -1 => match *libc::__errno_location() {
                    libc::EINTR => {}
                    errno => return errno,
                },
                got => {
                    signal.write(got);
                    return 0;
                }
            }
        }
    }
}

/// `sigsuspend` of the caller, if that is a goroutine with thread-locals of its own. Returns the
/// kernel's result; none for a thread of the system.
///
/// # Safety
/// As `sigsuspend`.
#[cold]
#[inline(never)]
pub(super) unsafe fn sigsuspend(set: *const sigset_t) -> Option<isize> {
    let (gp, _) = this_goroutine()?;
    // SAFETY: as the caller says.
    let mask = unsafe { mask_at(set) };
    Some(in_kernel(&|| {
        with_mask_in_kernel(gp, mask, |mask| {
            // Until the kernel has the new mask, they wait at the thread.
            handle(gp);
            // SAFETY: the kernel reads the mask.
            unsafe {
                raw(
                    libc::SYS_rt_sigsuspend,
                    [(&raw const mask).expose_provenance(), size_of::<u64>(), 0, 0, 0, 0],
                )
            }
        })
    }))
}

/// Adds the signals that are left to the caller to those which the C library finds.
///
/// # Safety
/// `set` is a set.
#[cold]
#[inline(never)]
pub(super) unsafe fn add_pending(set: *mut sigset_t) {
    if let Some((gp, _)) = this_goroutine() {
        // SAFETY: the first word of a set, as the caller says.
        unsafe { *set.cast::<u64>() |= signals_of(gp).left() };
    }
}
