//! Functions that tests of waits for descriptors share. Goroutines are compared with threads, which
//! wait in the kernel.

use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::thread;
use std::time::Duration;

use gosched::metrics::{self, Value};
use gosched::{blocking, go, park_std_waits, run};

use crate::harness::goroutines::{dump_with_detached, go_until_it_waits, wait_until};

/// Runs `main`, in which std's waits park.
pub fn live(main: impl FnOnce() + Send) {
    park_std_waits().unwrap();
    run(main);
}

/// Returns how often goroutines have parked at descriptors.
pub fn parks() -> u64 {
    match metrics::read("/gosched/std/descriptors:waits") {
        Some(Value::Uint64(count)) => count,
        other => panic!("{other:?}"),
    }
}

/// Waits until `n` goroutines wait for this reason.
pub fn until_they_wait(n: usize, reason: &str) {
    let reason = format!("[{reason}");
    wait_until(|| dump_with_detached().matches(&reason).count() >= n);
}

/// Where code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Thread,
    Goroutine,
}

/// Waits for the end of code that was started, and returns its result.
pub type Started<T> = Box<dyn FnOnce() -> T>;

impl On {
    /// Starts `f`, and returns at once.
    pub fn begin<T: Send + 'static>(self, f: impl FnOnce() -> T + Send + 'static) -> Started<T> {
        match self {
            On::Goroutine => {
                let handle = go(f);
                Box::new(|| handle.join().unwrap())
            }
            On::Thread => {
                let handle = thread::spawn(f);
                Box::new(|| blocking(|| handle.join()).unwrap())
            }
        }
    }

    /// Starts `f`, and returns when it waits, as far as that can be known of a thread.
    pub fn start<T: Send + 'static>(self, f: impl FnOnce() -> T + Send + 'static) -> Started<T> {
        match self {
            On::Goroutine => {
                let handle = go_until_it_waits(f);
                Box::new(|| handle.join().unwrap())
            }
            On::Thread => {
                let handle = thread::spawn(f);
                blocking(|| thread::sleep(Duration::from_millis(20)));
                Box::new(|| blocking(|| handle.join()).unwrap())
            }
        }
    }
}

/// Fails unless `f` returns `expected` where it starts its code on threads and where it starts it
/// on goroutines, and unless goroutines have parked meanwhile.
#[track_caller]
pub fn same_on_both<T: PartialEq + Debug>(expected: T, f: impl Fn(On) -> T) {
    assert_eq!(f(On::Thread), expected, "on threads");
    let before = parks();
    assert_eq!(f(On::Goroutine), expected, "on goroutines");
    assert!(parks() > before, "nobody has parked");
}

/// Does the same for calls that wait in the kernel, or don't wait.
#[track_caller]
pub fn same_where_nobody_parks<T: PartialEq + Debug>(expected: T, f: impl Fn(On) -> T) {
    assert_eq!(f(On::Thread), expected, "on threads");
    assert_eq!(f(On::Goroutine), expected, "on goroutines");
}

/// Converts a call's return value to its result, or to the number of its error.
pub fn result(ret: isize) -> Result<usize, i32> {
    usize::try_from(ret).map_err(|_| io::Error::last_os_error().raw_os_error().unwrap())
}

/// Returns the same file at a high number, which stays free after the close. The lowest free number
/// may be the monitor's for a moment, when it reads files of the system's.
pub fn at_a_high_number(file: impl AsFd) -> OwnedFd {
    // SAFETY: a new number.
    unsafe { OwnedFd::from_raw_fd(libc::fcntl(file.as_fd().as_raw_fd(), libc::F_DUPFD_CLOEXEC, 100)) }
}

pub fn recv(socket: &impl AsRawFd, len: usize, flags: i32) -> Result<usize, i32> {
    let mut buf = vec![0_u8; len];
    // SAFETY: the kernel writes to the buffer.
    result(unsafe { libc::recv(socket.as_raw_fd(), buf.as_mut_ptr().cast(), len, flags) })
}

pub fn send(socket: &impl AsRawFd, len: usize, flags: i32) -> Result<usize, i32> {
    let bytes = vec![b'x'; len];
    // SAFETY: the kernel reads the bytes.
    result(unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), len, flags) })
}

pub fn read(fd: RawFd, len: usize) -> Result<usize, i32> {
    let mut buf = vec![0_u8; len];
    // SAFETY: the kernel writes to the buffer.
    result(unsafe { libc::read(fd, buf.as_mut_ptr().cast(), len) })
}

pub fn write(fd: RawFd, len: usize) -> Result<usize, i32> {
    let bytes = vec![b'x'; len];
    // SAFETY: the kernel reads the bytes.
    result(unsafe { libc::write(fd, bytes.as_ptr().cast(), len) })
}

/// Returns whether the description is in non-blocking mode.
pub fn is_nonblocking(file: &impl AsRawFd) -> bool {
    // SAFETY: no memory is passed.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) & libc::O_NONBLOCK != 0 }
}
