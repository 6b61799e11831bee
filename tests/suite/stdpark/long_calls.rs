//! Calls that may take long: other goroutines have the P meanwhile, and no signal takes it.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::mem::zeroed;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, process, ptr};

use crate::harness::goroutines::wait_until;
use crate::harness::{Test, tests};
use crate::stdpark::descriptors::*;

tests! {
    locks_of_files
    files_are_written_and_copied
    a_file_is_sent
    a_file_is_sent_in_parts
    commands_of_descriptors
    names_of_hosts
}

/// A file that exists as long as this value.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = env::temp_dir().join(format!("gosched-{}-{name}", process::id()));
        fs::write(&path, bytes).unwrap();
        Temporary(path)
    }

    fn open(&self) -> File {
        File::options().read(true).write(true).open(&self.0).unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// The two ways to lock a file against other descriptions. Returns 0, or the number of the error.
fn lock_by(way: usize, file: &File, exclusive: bool) -> i32 {
    // SAFETY: the lock is a valid one, of the whole file.
    let ret = unsafe {
        if way == 0 {
            libc::flock(file.as_raw_fd(), if exclusive { libc::LOCK_EX } else { libc::LOCK_UN })
        } else {
            let mut lock: libc::flock = zeroed();
            lock.l_type = if exclusive { libc::F_WRLCK } else { libc::F_UNLCK } as _;
            libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &lock)
        }
    };
    if ret == 0 { 0 } else { io::Error::last_os_error().raw_os_error().unwrap() }
}

/// There is one P, which nobody may take away: if a wait kept it, the lock would never be released.
fn locks_of_files(test: Test) {
    let process = test.process(|| {
        live(|| {
            let file = Temporary::new("locks", b"");
            for way in 0..2 {
                same_where_nobody_parks((0, 0), |on| {
                    let (held, wanted) = (file.open(), file.open());
                    assert_eq!(lock_by(way, &held, true), 0);
                    let begun = Arc::new(AtomicBool::new(false));
                    let begins = begun.clone();
                    let waits = on.begin(move || {
                        begins.store(true, Ordering::Relaxed);
                        lock_by(way, &wanted, true)
                    });
                    wait_until(|| begun.load(Ordering::Relaxed));
                    (lock_by(way, &held, false), waits())
                });
            }
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

fn files_are_written_and_copied() {
    live(|| {
        let bytes: Vec<u8> = (0..300_000_u32).map(|i| i as u8).collect();
        let (from, to) = (Temporary::new("from", &bytes), Temporary::new("to", b""));
        same_where_nobody_parks((300_000, true), |on| {
            let (from, to) = (from.0.clone(), to.0.clone());
            let bytes = bytes.clone();
            on.begin(move || {
                let copied = fs::copy(&from, &to).unwrap();
                let file = File::open(&to).unwrap();
                file.sync_all().unwrap();
                file.sync_data().unwrap();
                (copied, fs::read(&to).unwrap() == bytes)
            })()
        });
    });
}

const LARGE: usize = 8 << 20;

/// Sends up to `len` bytes of a file, from `at` on, or from the file's position.
fn send(to: &impl AsRawFd, file: &File, at: *mut i64, len: usize) -> Result<usize, i32> {
    // SAFETY: the pointer is null, or points to a number.
    result(unsafe { libc::sendfile(to.as_raw_fd(), file.as_raw_fd(), at, len) })
}

fn a_file_is_sent() {
    live(|| {
        let bytes: Vec<u8> = (0..LARGE).map(|i| (i * 7) as u8).collect();
        let file = Temporary::new("sent", &bytes);
        same_on_both((LARGE, true), |on| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut receiver, _) = listener.accept().unwrap();
            let file = file.open();
            let sends = on.start(move || {
                let mut sent = 0;
                while sent < LARGE {
                    sent += send(&sender, &file, ptr::null_mut(), LARGE).unwrap();
                }
                sent
            });
            if on == On::Goroutine {
                until_they_wait(1, "write (std)");
            }
            let mut received = Vec::new();
            receiver.read_to_end(&mut received).unwrap();
            (sends(), received == bytes)
        });
    });
}

fn a_file_is_sent_in_parts() {
    live(|| {
        let file = Temporary::new("parts", &[7; 1000]);
        same_where_nobody_parks((Ok(600), Ok(400), Ok(0), Ok(90), 1000), |on| {
            let (from, to, mut receiver) = {
                let (a, b) = UnixStream::pair().unwrap();
                (file.open(), a, b)
            };
            let ends = on.begin(move || {
                let all = [600, 600, 600].map(|len| send(&to, &from, ptr::null_mut(), len));
                let mut at = 910;
                let rest = send(&to, &from, &mut at, 600);
                (all[0], all[1], all[2], rest, at)
            });
            let ends = ends();
            let mut received = Vec::new();
            receiver.read_to_end(&mut received).unwrap();
            assert_eq!(received, [7; 1090]);
            ends
        });
        let (full, _other) = UnixStream::pair().unwrap();
        full.set_nonblocking(true).unwrap();
        let file = file.open();
        while let Ok(sent) = send(&full, &file, &mut 0, 1000) {
            assert!(sent > 0);
        }
        assert_eq!(send(&full, &file, &mut 0, 1000), Err(libc::EAGAIN));
        assert_eq!(send(&full, &file, ptr::null_mut(), 0), Ok(0));
        assert_eq!(send(&full, &file, ptr::null_mut(), usize::MAX), Err(libc::EINVAL));
        // SAFETY: nobody else closes it.
        let never_ready = unsafe { OwnedFd::from_raw_fd(libc::epoll_create1(0)) };
        assert_eq!(send(&never_ready, &file, &mut 0, 1), Err(libc::EINVAL));
    });
}

fn commands_of_descriptors() {
    live(|| {
        let (a, _b) = UnixStream::pair().unwrap();
        let fd = a.as_raw_fd();
        // SAFETY: no command writes memory.
        unsafe {
            assert_eq!(libc::fcntl(fd, libc::F_GETFD), libc::FD_CLOEXEC);
            assert_eq!(libc::fcntl(fd, libc::F_SETFD, 0), 0);
            assert_eq!(libc::fcntl(fd, libc::F_GETFD), 0);
            for owner in [libc::getpid(), -libc::getpgrp()] {
                assert_eq!(libc::fcntl(fd, libc::F_SETOWN, owner), 0);
                assert_eq!(libc::fcntl(fd, libc::F_GETOWN), owner);
            }
            assert_eq!(result(libc::fcntl(-1, libc::F_GETOWN) as isize), Err(libc::EBADF));
            assert_eq!(result(libc::fcntl(fd, 12_345) as isize), Err(libc::EINVAL));
        }
    });
}

fn names_of_hosts() {
    live(|| {
        same_where_nobody_parks((true, libc::EAI_NONAME), |on| {
            on.begin(|| {
                let mut local = "localhost:80".to_socket_addrs().unwrap();
                let name = CString::new("not a name").unwrap();
                let mut found = ptr::null_mut();
                // SAFETY: the name ends with 0, and an error makes no list.
                let error = unsafe { libc::getaddrinfo(name.as_ptr(), ptr::null(), &numeric(), &mut found) };
                (local.all(|address| address.ip().is_loopback()), error)
            })()
        });
    });
}

/// Returns hints for a lookup that asks no server.
fn numeric() -> libc::addrinfo {
    // SAFETY: all zero means no restrictions.
    libc::addrinfo { ai_flags: libc::AI_NUMERICHOST, ..unsafe { zeroed() } }
}
