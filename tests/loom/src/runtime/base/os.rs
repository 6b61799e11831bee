//! Stand-in for the kernel: futexes, barriers, signals, and time, which passes while a thread
//! sleeps for a limited time.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_short};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use loom::sync::{Condvar, Mutex};
use loom::thread::{self, ThreadId};

use crate::runtime::data::atomic::{AtomicU32, Ordering, fence};
use crate::runtime::kernel;

loom::lazy_static! {
    /// The addresses at which threads sleep, with the threads: first come, first served.
    static ref KERNEL: (Mutex<Vec<(usize, ThreadId)>>, Condvar) = (Mutex::default(), Condvar::new());
}

loom::lazy_static! {
    static ref NOW: AtomicI64 = AtomicI64::new(1);
}

loom::lazy_static! {
    static ref SENT: std::sync::Mutex<Vec<u64>> = std::sync::Mutex::default();
}

loom::lazy_static! {
    /// The number of signals that were sent and haven't come.
    static ref ON_THEIR_WAY: AtomicU32 = AtomicU32::new(0);
}

pub(crate) const SIG_PREEMPT: c_int = libc::SIGURG;

/// A sleep of limited time ends as soon as another thread has done anything.
pub(crate) fn futexsleep(addr: &AtomicU32, val: u32, ns: i64) {
    if ns >= 0 {
        NOW.fetch_add(ns, Relaxed);
        thread::yield_now();
        return;
    }
    let (sleepers, awake) = &*KERNEL;
    let mut held = sleepers.lock().unwrap();
    if addr.load(Ordering::SeqCst) == val {
        let me = (ptr::from_ref(addr).addr(), thread::current().id());
        held.push(me);
        while held.contains(&me) {
            held = awake.wait(held).unwrap();
        }
    }
}

pub(crate) fn futexwakeup(addr: &AtomicU32, _one: u32) {
    let (sleepers, awake) = &*KERNEL;
    let mut held = sleepers.lock().unwrap();
    if let Some(first) = held.iter().position(|&(at, _)| at == ptr::from_ref(addr).addr()) {
        held.remove(first);
        awake.notify_all();
    }
}

pub(crate) fn barriers_work() -> bool {
    MEMBARRIER.get()
}

/// The effect of `membarrier` on a light barrier that it meets: a full barrier.
pub(crate) fn light_barrier() {
    fence(Ordering::SeqCst);
}

pub(crate) fn barrier_in_all_threads() {
    fence(Ordering::SeqCst);
}

pub(crate) fn signal_m(thread: u64, _: c_int) -> bool {
    SENT.lock().unwrap().push(thread);
    ON_THEIR_WAY.fetch_add(1, Ordering::SeqCst);
    thread != 0
}

/// Returns whether a signal comes now, where one thread gets all signals.
pub(crate) fn signal_comes() -> bool {
    ON_THEIR_WAY.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
}

/// Returns whether a signal was sent to that thread.
pub(crate) fn was_sent(thread: u64) -> bool {
    SENT.lock().unwrap().contains(&thread)
}

/// Two milliseconds.
pub(crate) fn pass_time() {
    NOW.fetch_add(2_000_000, Relaxed);
}

/// The clock says this time, or a later one.
pub(crate) fn time_is(time: i64) {
    NOW.fetch_max(time, Relaxed);
}

pub(crate) fn nanotime() -> i64 {
    NOW.load(Relaxed)
}

/// No other number has an error.
pub(crate) fn poll_now(fd: RawFd, events: c_short) -> c_short {
    if (fd as usize) < kernel::NUMBERS { kernel::poll(fd, events) } else { 0 }
}

/// No model has a mapping.
pub(crate) fn name_mapping(_: *const u8, _len: usize, _: &'static CStr) {}

/// No model waits until a thread sleeps.
pub(crate) fn thread_sleeps(_: u64) -> bool {
    false
}

pub(crate) fn this_thread_cpu_time() -> i64 {
    0
}

pub(crate) fn osyield() {
    thread::yield_now();
}

pub(crate) fn usleep(_: u32) {
    match NAP.take() {
        Some(f) => f(),
        None => thread::yield_now(),
    }
}

/// Makes the next `usleep` call `f` instead.
pub(crate) fn during_next_usleep(f: impl FnOnce() + 'static) {
    NAP.set(Some(Box::new(f)));
}

std::thread_local! {
    static NAP: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };

    /// Whether the kernel has `membarrier`: a model's setting.
    pub(crate) static MEMBARRIER: Cell<bool> = const { Cell::new(true) };
}
