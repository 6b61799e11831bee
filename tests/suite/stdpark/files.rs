//! Reads and writes of files that aren't sockets.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut, PipeReader, PipeWriter, Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::{env, process, ptr};

use crate::harness::{Test, tests};
use crate::stdpark::descriptors::*;
use crate::stdpark::hold_no_threads;

tests! {
    pipes
    a_pipe_that_does_not_block
    pipes_and_buffers
    read_and_write_on_a_socket
    numbers_of_events
    a_terminal
    what_others_share_stays_as_it_is
    files_are_plain
    mistakes_are_the_kernel_s
    hundreds_of_pipes_take_no_threads
    buffers_that_are_too_small
}

const LARGE: usize = 1 << 20;

fn all_of(mut rx: impl Read) -> usize {
    let mut buf = Vec::new();
    rx.read_to_end(&mut buf).unwrap();
    buf.len()
}

fn pipes() {
    live(|| {
        same_on_both(Ok(3), |on| {
            let (rx, mut tx) = io::pipe().unwrap();
            let reader = on.start(move || read(rx.as_raw_fd(), 8));
            tx.write_all(b"abc").unwrap();
            reader()
        });
        same_on_both(Ok(0), |on| {
            let (rx, tx) = io::pipe().unwrap();
            let reader = on.start(move || read(rx.as_raw_fd(), 8));
            drop(tx);
            reader()
        });
        same_for_large_writes((Ok(LARGE), LARGE), |on| {
            let (rx, tx) = io::pipe().unwrap();
            let writer = begin_large_write(on, move || write(tx.as_raw_fd(), LARGE));
            let read = all_of(rx);
            (writer(), read)
        });
        same_for_large_writes(true, |on| {
            let (mut rx, tx) = io::pipe().unwrap();
            let writer = begin_large_write(on, move || write(tx.as_raw_fd(), LARGE));
            rx.read_exact(&mut [0; 4096]).unwrap();
            drop(rx);
            writer().is_ok_and(|written| written < LARGE)
        });
    });
}

/// Returns whether a call can be told not to wait (`RWF_NOWAIT`). In an emulator it can't. Then a
/// pipe is polled first, and a write of more than its room waits in the kernel.
fn calls_need_not_wait() -> bool {
    let (rx, _tx) = io::pipe().unwrap();
    let mut byte = 0_u8;
    let buffer = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: the kernel writes at most one byte.
    unsafe { libc::preadv2(rx.as_raw_fd(), &buffer, 1, -1, 8) };
    io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
}

fn begin_large_write<T: Send + 'static>(on: On, f: impl FnOnce() -> T + Send + 'static) -> Started<T> {
    if calls_need_not_wait() { on.start(f) } else { on.begin(f) }
}

#[track_caller]
fn same_for_large_writes<T: PartialEq + Debug>(expected: T, f: impl Fn(On) -> T) {
    if calls_need_not_wait() { same_on_both(expected, f) } else { same_where_nobody_parks(expected, f) }
}

fn set_nonblocking(file: &impl AsRawFd) {
    let on = 1_i32;
    // SAFETY: the kernel reads the number.
    assert_eq!(unsafe { libc::ioctl(file.as_raw_fd(), libc::FIONBIO, &on) }, 0);
}

fn a_pipe_that_does_not_block() {
    live(|| {
        let (rx, tx) = io::pipe().unwrap();
        set_nonblocking(&rx);
        set_nonblocking(&tx);
        assert_eq!(read(rx.as_raw_fd(), 8), Err(libc::EAGAIN));
        assert!(write(tx.as_raw_fd(), LARGE).is_ok_and(|written| written < LARGE));
        assert_eq!(write(tx.as_raw_fd(), 1), Err(libc::EAGAIN));
        assert_eq!(parks(), 0);
    });
}

fn pipes_and_buffers() {
    live(|| {
        let pair: [fn() -> (OwnedFd, OwnedFd); 2] = [
            || io::pipe().map(|(rx, tx): (PipeReader, PipeWriter)| (rx.into(), tx.into())).unwrap(),
            || UnixStream::pair().map(|(a, b)| (a.into(), b.into())).unwrap(),
        ];
        for pair in pair {
            same_for_large_writes((LARGE, true), |on| {
                let (rx, tx) = pair();
                let writer = begin_large_write(on, move || {
                    let parts: Vec<Vec<u8>> = (0..64).map(|i| vec![i; LARGE / 64]).collect();
                    let buffers: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
                    File::from(tx).write_vectored(&buffers).unwrap()
                });
                let mut read = Vec::new();
                File::from(rx).read_to_end(&mut read).unwrap();
                let parts = read.chunks(LARGE / 64).zip(0..);
                (writer(), parts.clone().all(|(part, i)| part.iter().all(|&byte| byte == i)))
            });
            same_on_both((5, *b"abcde"), |on| {
                let (rx, tx) = pair();
                let reader = on.start(move || {
                    let (mut a, mut b) = ([0; 2], [0; 6]);
                    let mut buffers = [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)];
                    let n = File::from(rx).read_vectored(&mut buffers).unwrap();
                    (n, [a[0], a[1], b[0], b[1], b[2]])
                });
                File::from(tx).write_all(b"abcde").unwrap();
                reader()
            });
        }
    });
}

fn read_and_write_on_a_socket() {
    live(|| {
        same_on_both(Ok(3), |on| {
            let (a, b) = UnixStream::pair().unwrap();
            let reader = on.start(move || read(b.as_raw_fd(), 8));
            (&a).write_all(b"abc").unwrap();
            reader()
        });
        same_on_both((Ok(LARGE), LARGE), |on| {
            let (a, b) = UnixStream::pair().unwrap();
            let writer = on.start(move || write(a.as_raw_fd(), LARGE));
            let read = all_of(b);
            (writer(), read)
        });
    });
}

fn numbers_of_events() {
    live(|| {
        same_on_both(Ok(8), |on| {
            // SAFETY: a new descriptor.
            let event = unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC)) };
            let fd = event.as_raw_fd();
            let reader = on.start(move || read(fd, 8));
            // SAFETY: the kernel reads eight bytes.
            unsafe { libc::eventfd_write(fd, 3) };
            let read = reader();
            drop(event);
            read
        });
    });
}

/// Returns a pair of terminals: the master, and the program's end.
fn terminal() -> (File, File) {
    let (mut master, mut end) = (-1, -1);
    // SAFETY: the descriptors are new, and the call returns nothing else.
    unsafe {
        let ret = libc::openpty(&mut master, &mut end, ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        assert_eq!(ret, 0);
        (File::from_raw_fd(master), File::from_raw_fd(end))
    }
}

fn a_terminal() {
    live(|| {
        same_on_both(vec![Ok(6), Ok(4)], |on| {
            let (mut master, end) = terminal();
            let (a, b) = (end.try_clone().unwrap(), end.try_clone().unwrap());
            let reader = on.start(move || read(a.as_raw_fd(), 80));
            master.write_all(b"hello\n").unwrap();
            let first = reader();
            // The second time, the kind of file is known.
            let reader = on.start(move || read(b.as_raw_fd(), 80));
            master.write_all(b"bye\n").unwrap();
            vec![first, reader()]
        });
    });
}

/// A child has the same description.
fn what_others_share_stays_as_it_is() {
    live(|| {
        let (rx, mut tx) = io::pipe().unwrap();
        let (a, b) = UnixStream::pair().unwrap();
        let mut child = Command::new("cat")
            .stdin(rx.try_clone().unwrap())
            .stdout(OwnedFd::from(b.try_clone().unwrap()))
            .spawn()
            .unwrap();
        let (pipe, socket) = (rx.try_clone().unwrap(), b.try_clone().unwrap());
        let reads = [
            On::Goroutine.start(move || read(pipe.as_raw_fd(), 1)),
            On::Goroutine.start(move || recv(&socket, 1, 0)),
        ];
        until_they_wait(2, "read (std)");
        assert!(!is_nonblocking(&rx));
        assert!(!is_nonblocking(&b));
        tx.write_all(b"12").unwrap();
        (&a).write_all(b"3").unwrap();
        drop((tx, rx, b));
        reads.into_iter().for_each(|read| assert!(read().is_ok()));
        child.wait().unwrap();
    });
}

fn files_are_plain() {
    live(|| {
        let path = env::temp_dir().join(format!("gosched-stdpark-{}", process::id()));
        let mut file =
            File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.write_all(&vec![b'x'; LARGE]).unwrap();
        file.rewind().unwrap();
        assert_eq!(read(file.as_raw_fd(), 2 * LARGE), Ok(LARGE));
        assert_eq!(read(file.as_raw_fd(), 1), Ok(0));
        fs::remove_file(path).unwrap();
        let null = File::options().read(true).write(true).open("/dev/null").unwrap();
        assert_eq!(read(null.as_raw_fd(), 1), Ok(0));
        assert_eq!(write(null.as_raw_fd(), LARGE), Ok(LARGE));
        // A signal may end this read early.
        let zeros = File::open("/dev/zero").unwrap();
        assert!(read(zeros.as_raw_fd(), LARGE).is_ok_and(|read| read > 0));
        assert_eq!(parks(), 0);
    });
}

fn mistakes_are_the_kernel_s() {
    live(|| {
        let (rx, tx) = io::pipe().unwrap();
        assert_eq!(read(-1, 1), Err(libc::EBADF));
        assert_eq!(read(99_999, 1), Err(libc::EBADF));
        assert_eq!(read(i32::MAX, 1), Err(libc::EBADF));
        assert_eq!(write(rx.as_raw_fd(), 1), Err(libc::EBADF));
        assert_eq!(read(tx.as_raw_fd(), 1), Err(libc::EBADF));
        assert_eq!(recv(&rx, 1, 0), Err(libc::ENOTSOCK));
        assert_eq!(send(&tx, 1, 0), Err(libc::ENOTSOCK));
        assert_eq!(read(rx.as_raw_fd(), 0), Ok(0));
        (&tx).write_all(b"x").unwrap();
        // SAFETY: the kernel returns an error: there is no such memory, or there are no such
        // buffers.
        unsafe {
            let nowhere = ptr::without_provenance_mut(8);
            assert_eq!(result(libc::read(rx.as_raw_fd(), nowhere, 1)), Err(libc::EFAULT));
            assert_eq!(result(libc::readv(rx.as_raw_fd(), ptr::null(), 1)), Err(libc::EFAULT));
            assert_eq!(result(libc::readv(rx.as_raw_fd(), ptr::null(), -1)), Err(libc::EINVAL));
            assert_eq!(result(libc::writev(tx.as_raw_fd(), ptr::null(), 2000)), Err(libc::EINVAL));
        }
        assert_eq!(parks(), 0);
    });
}

fn hundreds_of_pipes_take_no_threads() {
    const N: usize = 300;
    live(|| {
        let (readers, writers): (Vec<_>, Vec<_>) = (0..N)
            .map(|_| {
                let (rx, tx) = io::pipe().unwrap();
                (On::Goroutine.start(move || read(rx.as_raw_fd(), 8)), tx)
            })
            .unzip();
        until_they_wait(N, "read (std)");
        hold_no_threads(N);
        writers.iter().for_each(|mut tx| tx.write_all(b"x").unwrap());
        readers.into_iter().for_each(|reader| assert_eq!(reader(), Ok(1)));
    });
}

/// The calls of C code that was compiled with `_FORTIFY_SOURCE`.
fn buffers_that_are_too_small(test: Test) {
    unsafe extern "C" {
        fn __read_chk(fd: i32, buf: *mut std::ffi::c_void, len: usize, room: usize) -> isize;
    }

    let process = test.process(|| {
        live(|| {
            let (rx, tx) = io::pipe().unwrap();
            (&tx).write_all(b"abcd").unwrap();
            let mut buf = [0_u8; 4];
            // SAFETY: there is room for four bytes.
            unsafe {
                assert_eq!(__read_chk(rx.as_raw_fd(), buf.as_mut_ptr().cast(), 4, 4), 4);
                __read_chk(rx.as_raw_fd(), buf.as_mut_ptr().cast(), 5, 4);
            }
        });
    });
    process.end().with("signal: 6").says("buffer overflow detected");
}
