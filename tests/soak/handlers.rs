//! A signal a thousand times a second, whose handler wakes goroutines and writes to a pipe.

use std::ffi::c_int;
use std::io::{PipeReader, Read, pipe};
use std::mem;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::ledger::{Count, count};

/// The number of signals so far.
static SIGNALS: AtomicU32 = AtomicU32::new(0);
/// Whether a wake was left to sysmon since the waiter has looked last. There is room for a few: if
/// sysmon were late for more, it would wake all goroutines, and the ledger wouldn't be right.
static LEFT: AtomicBool = AtomicBool::new(false);
/// The pipe to which the handler writes.
static PIPE: AtomicI32 = AtomicI32::new(-1);

extern "C" fn handler(_: c_int) {
    SIGNALS.fetch_add(1, Ordering::SeqCst);
    if !LEFT.swap(true, Ordering::SeqCst) {
        futex(libc::FUTEX_WAKE, i32::MAX as u32);
    }
    // SAFETY: the kernel reads a byte. A pipe that is full is an error.
    unsafe { libc::write(PIPE.load(Ordering::Relaxed), ptr::from_ref(&1_u8).cast(), 1) };
}

/// A call at the count of signals. The ledger has none of these wakes: sysmon does what a handler
/// wakes.
fn futex(op: c_int, value: u32) {
    let (word, none) = (SIGNALS.as_ptr(), ptr::null::<libc::timespec>());
    // SAFETY: a word, and no time.
    unsafe { libc::syscall(libc::SYS_futex, word, op | libc::FUTEX_PRIVATE_FLAG, value, none) };
}

/// Installs the handler, and sends the signal until the process ends. Returns the end of the pipe.
pub fn begin() -> PipeReader {
    let (reader, writer) = pipe().expect("descriptors");
    // SAFETY: no memory is passed.
    unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    PIPE.store(writer.into_raw_fd(), Ordering::Relaxed);
    // SAFETY: all zero is an action; the handler does what handlers may.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &action, ptr::null_mut()), 0);
    }
    thread::spawn(|| {
        loop {
            thread::sleep(Duration::from_millis(1));
            // SAFETY: a signal that has a handler, to this process.
            unsafe { libc::kill(libc::getpid(), libc::SIGUSR2) };
        }
    });
    reader
}

/// Waits for the handler's wakes, of which none is lost.
pub fn wait_for_wakes(end: Instant) {
    while Instant::now() < end {
        let seen = SIGNALS.load(Ordering::SeqCst);
        // After this a signal wakes. Before it a signal may not, but has changed the count.
        LEFT.store(false, Ordering::SeqCst);
        futex(libc::FUTEX_WAIT, seen);
        count(Count::Signals, 1);
    }
}

/// Reads what the handler writes.
pub fn read_bytes(mut from: PipeReader, end: Instant) {
    while Instant::now() < end {
        let mut buf = [0; 64];
        let n = from.read(&mut buf).expect("the pipe stays open");
        assert!(n > 0 && buf[..n].iter().all(|&byte| byte == 1));
    }
}
