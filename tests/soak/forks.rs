//! Children, in which waits don't park: a child has one thread, and none of the goroutines.

use std::ffi::{c_int, c_long};
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use crate::ledger::{Count, count};

pub fn work(end: Instant) {
    while Instant::now() < end {
        // SAFETY: the child makes system calls only, allocates nothing, and takes no lock.
        match unsafe { libc::fork() } {
            -1 => panic!("there can be no child"),
            0 => child(),
            pid => assert_eq!(status(pid), 0, "a child's status"),
        }
        count(Count::Forks, 1);
    }
}

/// Wakes nobody, waits for a moment, and ends.
fn child() -> ! {
    let word = AtomicU32::new(0);
    let moment = libc::timespec { tv_sec: 0, tv_nsec: 1000 };
    let call = |op: c_int, value: c_long, fourth: *const libc::timespec| {
        // SAFETY: a word, and a time or none.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op | libc::FUTEX_PRIVATE_FLAG, value, fourth) }
    };
    let woken = call(libc::FUTEX_WAKE, 1, ptr::null());
    let waited = call(libc::FUTEX_WAIT, 0, &moment);
    // SAFETY: it ends the process, and runs nothing of it.
    unsafe { libc::_exit(i32::from(woken != 0 || waited != -1)) }
}

/// How a child has ended.
fn status(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: there is room for a status.
    while unsafe { libc::waitpid(pid, &mut status, 0) } != pid {}
    status
}
