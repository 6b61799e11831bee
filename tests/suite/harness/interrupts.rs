//! Signals that interrupt system calls, none of which the kernel restarts.

use std::mem::zeroed;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{fs, ptr, thread};

use gosched::blocking;

use crate::harness::emulator::emulator;
use crate::harness::polled::MS;

/// The number of signals that have come.
pub static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: libc::c_int) {
    INTERRUPTS.fetch_add(1, Ordering::Relaxed);
}

/// Makes the signal do nothing but count.
pub fn count_interrupts() {
    // SAFETY: the handler has a stack, and only counts.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut()), 0);
    }
}

/// Sends the signal to a thread of this process, if the thread still exists.
pub fn interrupt(thread: libc::pid_t) {
    send(thread, libc::SIGUSR1);
}

/// Sends a signal to a thread of this process, if the thread still exists.
pub fn send(thread: libc::pid_t, signal: libc::c_int) {
    // SAFETY: no memory is passed.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
}

/// Returns the other threads of the process; none if there is no descriptor to find out.
pub fn other_threads() -> impl Iterator<Item = libc::pid_t> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let threads = tasks.map(|task| task.file_name().to_str().unwrap().parse().unwrap());
    threads.filter(|thread| *thread != this_thread())
}

/// The calling thread.
pub fn this_thread() -> libc::pid_t {
    // SAFETY: no memory is passed.
    unsafe { libc::gettid() }
}

/// Calls `f` while every other thread of the process is interrupted, again and again.
pub fn in_a_storm<R>(f: impl FnOnce() -> R) -> R {
    count_interrupts();
    let over = Arc::new(AtomicBool::new(false));
    // For an emulator each signal is much work.
    let pause = if emulator().is_some() { 20 * MS } else { MS / 5 };
    let storm = {
        let over = over.clone();
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                other_threads().for_each(interrupt);
                thread::sleep(pause);
            }
        })
    };
    let result = f();
    over.store(true, Ordering::Relaxed);
    blocking(|| storm.join()).unwrap();
    result
}
