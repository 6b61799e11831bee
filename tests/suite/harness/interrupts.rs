//! Signals that interrupt system calls: the kernel begins none of them again.

use std::fs;
use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many have come.
pub static INTERRUPTS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: libc::c_int) {
    INTERRUPTS.fetch_add(1, Ordering::Relaxed);
}

/// From now on such a signal does no more than that.
pub fn count_interrupts() {
    // SAFETY: the handler has a stack, and only counts.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut()), 0);
    }
}

/// Sends one to a thread of this process, if it is still there.
pub fn interrupt(thread: libc::pid_t) {
    send(thread, libc::SIGUSR1);
}

/// Sends a signal to a thread of this process, if it is still there.
pub fn send(thread: libc::pid_t, signal: libc::c_int) {
    // SAFETY: no memory is passed.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
}

/// The other threads of the process; none if there is no descriptor to find out.
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
