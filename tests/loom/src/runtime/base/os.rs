//! Stand-in for the kernel: futexes, barriers, signals that are sent, time that doesn't pass.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use loom::sync::{Condvar, Mutex};

use crate::runtime::data::atomic::{AtomicU32, Ordering, fence};

loom::lazy_static! {
    static ref KERNEL: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
}

loom::lazy_static! {
    static ref SENT: std::sync::Mutex<Vec<u64>> = std::sync::Mutex::default();
}

/// Whether the kernel has `membarrier`: a model's setting.
pub(crate) static MEMBARRIER: AtomicBool = AtomicBool::new(true);

pub(crate) const SIG_PREEMPT: c_int = libc::SIGURG;

pub(crate) fn futexsleep(addr: &AtomicU32, val: u32, _forever: i64) {
    let (lock, asleep) = &*KERNEL;
    let held = lock.lock().unwrap();
    if addr.load(Ordering::SeqCst) == val {
        drop(asleep.wait(held).unwrap());
    }
}

pub(crate) fn futexwakeup(_: &AtomicU32, _one: u32) {
    let (lock, asleep) = &*KERNEL;
    let _held = lock.lock().unwrap();
    asleep.notify_one();
}

pub(crate) fn barriers_work() -> bool {
    MEMBARRIER.load(Relaxed)
}

/// What `membarrier` makes of this when it falls here: a full barrier.
pub(crate) fn light_barrier() {
    fence(Ordering::SeqCst);
}

pub(crate) fn barrier_in_all_threads() {
    fence(Ordering::SeqCst);
}

pub(crate) fn signal_m(thread: u64, _: c_int) -> bool {
    SENT.lock().unwrap().push(thread);
    thread != 0
}

/// Whether a signal was sent to that thread.
pub(crate) fn was_sent(thread: u64) -> bool {
    SENT.lock().unwrap().contains(&thread)
}

pub(crate) fn nanotime() -> i64 {
    1
}

pub(crate) fn osyield() {
    loom::thread::yield_now();
}

pub(crate) fn usleep(_: u32) {
    loom::thread::yield_now();
}
