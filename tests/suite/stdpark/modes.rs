//! An `eventfd` and the like in non-blocking mode. A call there is one system call, and a mode that
//! the program changes is heeded.

use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gosched::go;

use crate::harness::goroutines::wait_until;
use crate::harness::{Test, tests};
use crate::stdpark::descriptors::*;
use crate::stdpark::live_with_one_p_and_several;

tests! {
    calls_do_not_wait
    room_for_one_more_event
    a_mode_that_is_changed
    a_mode_that_is_changed_by_another_number
    a_number_that_has_another_mode
    a_change_that_nobody_sees_blocks_a_thread
}

/// Returns an `eventfd` that has counted nothing.
fn events(flags: i32) -> OwnedFd {
    // SAFETY: a new descriptor.
    unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC | flags)) }
}

/// Adds to what an `eventfd` has counted.
fn add(fd: RawFd, n: u64) -> Result<usize, i32> {
    // SAFETY: the kernel reads eight bytes.
    result(unsafe { libc::write(fd, ptr::from_ref(&n).cast(), 8) })
}

fn set_by_fcntl(fd: RawFd, nonblocking: bool) {
    let flags = if nonblocking { libc::O_NONBLOCK } else { 0 };
    // SAFETY: no memory is passed.
    assert_eq!(unsafe { libc::fcntl(fd, libc::F_SETFL, flags) }, 0);
}

fn set_by_ioctl(fd: RawFd, nonblocking: bool) {
    let on = i32::from(nonblocking);
    // SAFETY: the kernel reads the number.
    assert_eq!(unsafe { libc::ioctl(fd, libc::FIONBIO, &on) }, 0);
}

/// Reads an `eventfd` that has counted nothing, and is in blocking mode. Doesn't return if the read
/// blocks its thread.
#[track_caller]
fn read_parks(fd: RawFd) {
    let before = parks();
    let reader = go(move || read(fd, 8));
    wait_until(|| reader.is_finished() || parks() > before);
    assert_eq!(add(fd, 1), Ok(8));
    assert_eq!(reader.join().unwrap(), Ok(8));
}

/// Each of these is in non-blocking mode, and nothing can be read there.
fn calls_do_not_wait() {
    live(|| {
        // SAFETY: all zero is a set, and a time.
        let (mut set, mut time): (libc::sigset_t, libc::itimerspec) = unsafe { zeroed() };
        time.it_value.tv_nsec = 1;
        // SAFETY: the descriptors are new, the kernel reads a set and a time, and a name.
        unsafe {
            libc::sigaddset(&mut set, libc::SIGUSR1);
            let timer = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK);
            let all = [
                events(libc::EFD_NONBLOCK),
                OwnedFd::from_raw_fd(timer),
                OwnedFd::from_raw_fd(libc::signalfd(-1, &set, libc::SFD_NONBLOCK)),
                OwnedFd::from_raw_fd(libc::inotify_init1(libc::IN_NONBLOCK)),
            ];
            for one in &all {
                for _ in 0..3 {
                    assert_eq!(read(one.as_raw_fd(), 128), Err(libc::EAGAIN));
                }
            }
            assert_eq!(libc::timerfd_settime(timer, 0, &time, ptr::null_mut()), 0);
            wait_until(|| read(timer, 8) == Ok(8));
        }
        assert_eq!(parks(), 0);
    });
}

fn room_for_one_more_event() {
    live(|| {
        let events = events(libc::EFD_NONBLOCK);
        let fd = events.as_raw_fd();
        for _ in 0..3 {
            assert_eq!(add(fd, u64::MAX - 1), Ok(8));
            assert_eq!(add(fd, 1), Err(libc::EAGAIN));
            assert_eq!(read(fd, 8), Ok(8));
            assert_eq!(read(fd, 8), Err(libc::EAGAIN));
            assert_eq!(read(fd, 7), Err(libc::EINVAL));
        }
        assert_eq!(parks(), 0);
    });
}

fn a_mode_that_is_changed(test: Test) {
    live_with_one_p_and_several(test, || {
        for set in [set_by_fcntl, set_by_ioctl] {
            let events = events(libc::EFD_NONBLOCK);
            let fd = events.as_raw_fd();
            for _ in 0..3 {
                assert_eq!(read(fd, 8), Err(libc::EAGAIN));
                set(fd, false);
                read_parks(fd);
                set(fd, true);
            }
        }
    });
}

/// All numbers of a description have its mode.
fn a_mode_that_is_changed_by_another_number(test: Test) {
    live_with_one_p_and_several(test, || {
        for duplicate in [
            // SAFETY: no memory is passed.
            (|fd| unsafe { libc::dup(fd) }) as fn(RawFd) -> RawFd,
            // SAFETY: the same.
            |fd| unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) },
            // SAFETY: the same; nobody else has this number.
            |fd| unsafe { libc::dup2(fd, 100) },
        ] {
            let events = events(libc::EFD_NONBLOCK);
            let fd = events.as_raw_fd();
            assert_eq!(read(fd, 8), Err(libc::EAGAIN));
            // SAFETY: a new descriptor.
            let other = unsafe { OwnedFd::from_raw_fd(duplicate(fd)) };
            for (read, set) in [(fd, other.as_raw_fd()), (other.as_raw_fd(), fd)] {
                assert_eq!(self::read(read, 8), Err(libc::EAGAIN));
                set_by_fcntl(set, false);
                read_parks(read);
                set_by_fcntl(set, true);
            }
        }
    });
}

/// Gives a number to the description of `from`, by a call that the runtime doesn't see.
fn duplicate_unseen(from: &OwnedFd, to: RawFd) {
    // SAFETY: no memory is passed, and the number is the caller's.
    assert_ne!(unsafe { libc::syscall(libc::SYS_dup3, from.as_raw_fd(), to, libc::O_CLOEXEC) }, -1);
}

/// A number that was closed, or was given to another description, says nothing of the next one.
fn a_number_that_has_another_mode(test: Test) {
    live_with_one_p_and_several(test, || {
        const FD: RawFd = 100;
        let blocking = events(0);
        let replaces: [fn(&OwnedFd); 3] = [
            |next| {
                // SAFETY: the number is this test's.
                assert_eq!(unsafe { libc::close(FD) }, 0);
                duplicate_unseen(next, FD);
            },
            |next| {
                // SAFETY: the same.
                assert_eq!(unsafe { libc::close_range(FD as u32, FD as u32, 0) }, 0);
                duplicate_unseen(next, FD);
            },
            // SAFETY: the same.
            |next| assert_eq!(unsafe { libc::dup2(next.as_raw_fd(), FD) }, FD),
        ];
        for replace in replaces {
            duplicate_unseen(&events(libc::EFD_NONBLOCK), FD);
            assert_eq!(read(FD, 8), Err(libc::EAGAIN));
            replace(&blocking);
            read_parks(FD);
            // SAFETY: the number is this test's.
            assert_eq!(unsafe { libc::close(FD) }, 0);
        }
    });
}

/// The mode is asked for only once. So the read blocks its thread, which loses the only P.
fn a_change_that_nobody_sees_blocks_a_thread(test: Test) {
    let process = test.process(|| {
        live(|| {
            let events = events(libc::EFD_NONBLOCK);
            let fd = events.as_raw_fd();
            assert_eq!(add(fd, 1), Ok(8));
            assert_eq!(read(fd, 8), Ok(8));
            // SAFETY: no memory is passed.
            assert_eq!(unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_SETFL, 0) }, 0);
            let begun = Arc::new(AtomicBool::new(false));
            let begins = begun.clone();
            let reader = go(move || {
                begins.store(true, Ordering::Relaxed);
                read(fd, 8)
            });
            wait_until(|| begun.load(Ordering::Relaxed));
            assert_eq!(add(fd, 1), Ok(8));
            assert_eq!(reader.join().unwrap(), Ok(8));
            assert_eq!(parks(), 0);
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}
