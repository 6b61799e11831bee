//! The calls of `futex`. Each enters its result in the ledger.

use std::ffi::{c_int, c_long};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use libc::timespec;

use crate::ledger::{Count, count};

pub const ANY_BIT: u32 = u32::MAX;

/// The time at which a wait ends that nobody has ended before.
#[derive(Clone, Copy)]
pub enum Until {
    Woken,
    After(Duration),
    /// By a clock.
    At(libc::clockid_t, Duration),
}

/// Waits while the word is `value`, for a wake with one of these bits. (Without a clock a wait has
/// no bits.)
pub fn wait(word: &AtomicU32, value: u32, until: Until, bits: u32) {
    let time = match until {
        Until::Woken => None,
        Until::After(span) => Some(time_of(span)),
        Until::At(clock, span) => Some(time_of(clock_time(clock) + span)),
    };
    let op = match until {
        Until::After(_) => libc::FUTEX_WAIT,
        Until::At(libc::CLOCK_REALTIME, _) => libc::FUTEX_WAIT_BITSET | libc::FUTEX_CLOCK_REALTIME,
        Until::Woken if bits == ANY_BIT => libc::FUTEX_WAIT,
        Until::Woken | Until::At(..) => libc::FUTEX_WAIT_BITSET,
    };
    let place = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: a time, or none, and no other word.
    let how = match unsafe { call(word, op, value, place as usize, ptr::null(), bits) } {
        Ok(0) => Count::Woken,
        Err(libc::ETIMEDOUT) => Count::TimedOut,
        Err(libc::EAGAIN) => Count::Changed,
        Err(libc::EINTR) => Count::Interrupted,
        other => panic!("a wait has returned {other:?}"),
    };
    count(how, 1);
}

/// Wakes up to `n` waiters at the word.
pub fn wake(word: &AtomicU32, n: u32) {
    // SAFETY: no time, and no other word.
    count_wakes(unsafe { call(word, libc::FUTEX_WAKE, n, 0, ptr::null(), 0) });
}

/// Wakes up to `n` waiters at the word with one of these bits.
pub fn wake_bits(word: &AtomicU32, n: u32, bits: u32) {
    // SAFETY: as in wake.
    count_wakes(unsafe { call(word, libc::FUTEX_WAKE_BITSET, n, 0, ptr::null(), bits) });
}

/// Changes `second` by this code, wakes up to `n` at `word`, and up to `n2` at `second` if the code
/// says so.
pub fn wake_op(word: &AtomicU32, n: u32, second: &AtomicU32, n2: u32, code: u32) {
    // SAFETY: two words, and a number where others have a time.
    count_wakes(unsafe { call(word, libc::FUTEX_WAKE_OP, n, n2 as usize, second, code) });
}

/// Wakes up to `n` waiters at `from`, if that still is `value`.
pub fn requeue_none(from: &AtomicU32, n: u32, to: &AtomicU32, value: Option<u32>) {
    if let Some(woken) = requeue(from, n, to, 0, value) {
        count(Count::Wakes, woken);
    }
}

/// Moves up to `n` waiters from `from` to `to`, if `from` still is `value`. (A call that did both
/// would return the sum.)
pub fn requeue_only(from: &AtomicU32, to: &AtomicU32, n: u32, value: Option<u32>) {
    if let Some(moved) = requeue(from, 0, to, n, value) {
        count(Count::Moved, moved);
    }
}

fn requeue(from: &AtomicU32, n: u32, to: &AtomicU32, most: u32, value: Option<u32>) -> Option<u64> {
    let op = if value.is_some() { libc::FUTEX_CMP_REQUEUE } else { libc::FUTEX_REQUEUE };
    // SAFETY: two words, and a number where others have a time.
    match unsafe { call(from, op, n, most as usize, to, value.unwrap_or(0)) } {
        Ok(done) => Some(done),
        Err(libc::EAGAIN) if value.is_some() => None,
        Err(error) => panic!("a requeue has returned {error}"),
    }
}

fn count_wakes(woken: Result<u64, c_int>) {
    count(Count::Wakes, woken.expect("no wake fails"));
}

/// `futex`, on words of this process only. An error is its number.
///
/// # Safety
/// `fourth` and `second` are what the operation expects.
unsafe fn call(
    word: &AtomicU32,
    op: c_int,
    value: u32,
    fourth: usize,
    second: *const AtomicU32,
    sixth: u32,
) -> Result<u64, c_int> {
    let op = c_long::from(op | libc::FUTEX_PRIVATE_FLAG);
    let (value, sixth) = (c_long::from(value), c_long::from(sixth));
    // SAFETY: there is such a word, and the rest is as the caller says.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, value, fourth, second, sixth) };
    u64::try_from(result).map_err(|_| io::Error::last_os_error().raw_os_error().expect("it has failed"))
}

fn time_of(span: Duration) -> timespec {
    timespec { tv_sec: span.as_secs() as i64, tv_nsec: i64::from(span.subsec_nanos()) }
}

fn clock_time(clock: libc::clockid_t) -> Duration {
    let mut time = MaybeUninit::<timespec>::uninit();
    // SAFETY: a clock that there is, which writes the time if it returns 0.
    let time = unsafe {
        assert_eq!(libc::clock_gettime(clock, time.as_mut_ptr()), 0);
        time.assume_init()
    };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
