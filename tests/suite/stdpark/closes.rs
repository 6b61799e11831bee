//! Closes of descriptors on which goroutines wait: closes that the runtime sees, and closes that it
//! doesn't see.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::harness::goroutines::go_until_it_waits;
use crate::harness::tests;
use crate::stdpark::descriptors::*;

tests! {
    a_close_that_is_seen_ends_waits
    a_number_that_is_taken_ends_waits
    a_range_that_is_closed_ends_waits
    a_failed_dup_ends_none
    a_poll_sees_a_close
    a_number_is_used_again_after_an_unseen_close
    a_child_keeps_a_description
}

/// Returns a pair of sockets, and a goroutine that waits for the second.
fn one_that_waits() -> (UnixStream, RawFd, gosched::JoinHandle<Result<usize, i32>>) {
    let (a, b) = UnixStream::pair().unwrap();
    let fd = at_a_high_number(b).into_raw_fd();
    let waits = go_until_it_waits(move || recv(&fd, 1, 0));
    (a, fd, waits)
}

fn a_close_that_is_seen_ends_waits() {
    live(|| {
        for close in [
            // SAFETY: the number is this test's.
            (|fd| unsafe { libc::close(fd) }) as fn(RawFd) -> i32,
            // SAFETY: the same.
            |fd| unsafe { libc::syscall(libc::SYS_close, fd) as i32 },
            |fd| {
                // SAFETY: the same.
                drop(unsafe { File::from_raw_fd(fd) });
                0
            },
        ] {
            let (a, fd, waits) = one_that_waits();
            close(fd);
            assert_eq!(waits.join().unwrap(), Err(libc::EBADF));
            // The other end is closed.
            assert_eq!(send(&a, 1, libc::MSG_NOSIGNAL), Err(libc::EPIPE));
        }
    });
}

fn a_number_that_is_taken_ends_waits() {
    live(|| {
        let (mut c, d) = UnixStream::pair().unwrap();
        for dup in [
            // SAFETY: the numbers are this test's.
            (|old, new| unsafe { libc::dup2(old, new) }) as fn(RawFd, RawFd) -> i32,
            // SAFETY: the same.
            |old, new| unsafe { libc::dup3(old, new, libc::O_CLOEXEC) },
        ] {
            let (_a, fd, waits) = one_that_waits();
            assert_eq!(dup(d.as_raw_fd(), fd), fd);
            assert_eq!(waits.join().unwrap(), Err(libc::EBADF));
            let waits = go_until_it_waits(move || recv(&fd, 1, 0));
            c.write_all(b"x").unwrap();
            assert_eq!(waits.join().unwrap(), Ok(1));
            // SAFETY: the number is this test's.
            unsafe { libc::close(fd) };
        }
        // The numbers are equal, so nothing is done.
        let fd = d.as_raw_fd();
        let waits = go_until_it_waits(move || recv(&fd, 1, 0));
        // SAFETY: the number is this test's.
        unsafe {
            assert_eq!(libc::dup2(fd, fd), fd);
            assert_eq!(result(libc::dup2(-1, -1) as isize), Err(libc::EBADF));
            assert_eq!(result(libc::dup3(fd, fd, 0) as isize), Err(libc::EINVAL));
        }
        c.write_all(b"x").unwrap();
        assert_eq!(waits.join().unwrap(), Ok(1));
    });
}

fn a_range_that_is_closed_ends_waits() {
    live(|| {
        let (_a, fd, waits) = one_that_waits();
        // SAFETY: all numbers from there on are this test's.
        assert_eq!(unsafe { libc::close_range(fd as u32, u32::MAX, 0) }, 0);
        assert_eq!(waits.join().unwrap(), Err(libc::EBADF));
    });
}

fn a_failed_dup_ends_none() {
    live(|| {
        let (mut a, fd, waits) = one_that_waits();
        // SAFETY: the call fails.
        assert_eq!(result(unsafe { libc::dup2(99_999, fd) } as isize), Err(libc::EBADF));
        a.write_all(b"x").unwrap();
        assert_eq!(waits.join().unwrap(), Ok(1));
    });
}

fn a_poll_sees_a_close() {
    live(|| {
        let (_a, b) = UnixStream::pair().unwrap();
        let fd = at_a_high_number(b).into_raw_fd();
        let polls = go_until_it_waits(move || {
            let mut fds = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            // SAFETY: one such struct.
            (unsafe { libc::poll(&mut fds, 1, -1) }, fds.revents)
        });
        // SAFETY: the number is this test's.
        unsafe { libc::close(fd) };
        assert_eq!(polls.join().unwrap(), (1, libc::POLLNVAL));
    });
}

/// Closes a descriptor inside the C library, where the runtime doesn't see it.
fn close_unseen(fd: RawFd) {
    // SAFETY: the caller may close the descriptor. The mode must be one that it was opened for.
    unsafe {
        let mut files = [c"w", c"r"].into_iter().map(|mode| libc::fdopen(fd, mode.as_ptr()));
        let file = files.find(|file| !file.is_null());
        assert_eq!(libc::fclose(file.unwrap()), 0);
    }
}

/// Returns the description at this number, which is free, or is the description's already.
fn at(fd: RawFd, description: OwnedFd) -> OwnedFd {
    if description.as_raw_fd() == fd {
        return description;
    }
    // SAFETY: a new number.
    let other = unsafe {
        let other = libc::fcntl(description.as_raw_fd(), libc::F_DUPFD_CLOEXEC, fd);
        OwnedFd::from_raw_fd(other)
    };
    assert_eq!(other.as_raw_fd(), fd);
    other
}

/// Returns a new pair, whose second has this number, which is free.
fn pair_at(fd: RawFd) -> (UnixStream, UnixStream) {
    let (a, b) = UnixStream::pair().unwrap();
    let (a, b) = if a.as_raw_fd() == fd { (b, a) } else { (a, b) };
    (a, at(fd, b.into()).into())
}

fn a_number_is_used_again_after_an_unseen_close() {
    live(|| {
        let (mut a, fd, waits) = one_that_waits();
        a.write_all(b"x").unwrap();
        assert_eq!(waits.join().unwrap(), Ok(1));
        // A socket's number goes to another socket, then to a pipe, and then to a socket again.
        close_unseen(fd);
        let (mut c, d) = pair_at(fd);
        for call in [read, |fd, len| recv(&fd, len, 0)] {
            let waits = go_until_it_waits(move || call(fd, 1));
            c.write_all(b"x").unwrap();
            assert_eq!(waits.join().unwrap(), Ok(1));
        }
        close_unseen(d.into_raw_fd());
        let (rx, mut tx) = std::io::pipe().unwrap();
        let rx = at(fd, rx.into());
        for _ in 0..2 {
            let waits = go_until_it_waits(move || read(fd, 1));
            tx.write_all(b"x").unwrap();
            assert_eq!(waits.join().unwrap(), Ok(1));
        }
        close_unseen(rx.into_raw_fd());
        let (mut c, _d) = pair_at(fd);
        let waits = go_until_it_waits(move || read(fd, 1));
        c.write_all(b"x").unwrap();
        assert_eq!(waits.join().unwrap(), Ok(1));
    });
}

/// After the number was closed, the registered description lives on in a child, and becomes ready.
fn a_child_keeps_a_description() {
    live(|| {
        let (mut a, b) = UnixStream::pair().unwrap();
        let fd = b.as_raw_fd();
        let waits = go_until_it_waits(move || recv(&fd, 1, 0));
        let mut child = Command::new("cat")
            .stdin(OwnedFd::from(b.try_clone().unwrap()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        a.write_all(b"x").unwrap();
        // The child may have received it.
        a.write_all(&[b'x'; 100]).unwrap();
        a.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = waits.join().unwrap();
        assert!(child.wait().unwrap().success());
        let (mut a, b) = UnixStream::pair().unwrap();
        // The child outlives a failed test, and then must hold nothing of the test's output.
        let mut child = Command::new("sleep")
            .arg("3600")
            .stdin(OwnedFd::from(b.try_clone().unwrap()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let fd = at_a_high_number(b).into_raw_fd();
        let waits = go_until_it_waits(move || recv(&fd, 1, 0));
        a.write_all(b"x").unwrap();
        assert_eq!(waits.join().unwrap(), Ok(1));
        close_unseen(fd);
        let (mut c, d) = pair_at(fd);
        let waits = go_until_it_waits(move || recv(&d, 8, 0));
        // This is for the old description, which nobody reads.
        a.write_all(b"old").unwrap();
        c.write_all(b"new!").unwrap();
        assert_eq!(waits.join().unwrap(), Ok(4));
        child.kill().unwrap();
        child.wait().unwrap();
    });
}
