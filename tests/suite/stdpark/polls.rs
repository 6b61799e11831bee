//! `poll`, `select` and `epoll_wait`.

use std::fs::File;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::time::{Duration, Instant};

use crate::harness::interrupts::in_a_storm;
use crate::harness::tests;
use crate::stdpark::descriptors::*;
use crate::stdpark::hold_no_threads;

tests! {
    one_of_two
    at_most_for_a_time
    for_nothing_but_a_time
    for_an_end
    sets_of_descriptors
    epoll_instances
    what_cannot_be_waited_for
    one_event_for_all_who_poll
    an_epoll_instance_on_hundreds
    signals_end_none
}

fn poll(fds: &[(RawFd, i16)], ms: i32) -> (i32, Vec<i16>) {
    let mut fds: Vec<_> = fds.iter().map(|&(fd, events)| libc::pollfd { fd, events, revents: 0 }).collect();
    // SAFETY: the length is that of the slice.
    let n = unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as _, ms) };
    (n, fds.iter().map(|one| one.revents).collect())
}

fn one_of_two() {
    live(|| {
        same_on_both((1, vec![0, libc::POLLIN, 0]), |on| {
            let ((_a, b), (mut c, d)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
            let polls = on.start(move || {
                poll(&[(b.as_raw_fd(), libc::POLLIN), (d.as_raw_fd(), libc::POLLIN), (-1, 0)], -1)
            });
            c.write_all(b"x").unwrap();
            polls()
        });
        // The same descriptor twice, and another that is ready for something else.
        same_on_both((2, vec![libc::POLLIN, libc::POLLIN]), |on| {
            let (mut a, b) = UnixStream::pair().unwrap();
            let fd = b.as_raw_fd();
            let polls = on.start(move || poll(&[(fd, libc::POLLIN), (fd, libc::POLLIN)], 3_600_000));
            a.write_all(b"x").unwrap();
            let polled = polls();
            drop(b);
            polled
        });
    });
}

fn at_most_for_a_time() {
    live(|| {
        for n in [1, 2] {
            same_on_both((0, vec![0; n]), |on| {
                let (_a, b) = UnixStream::pair().unwrap();
                on.start(move || {
                    let begun = Instant::now();
                    let polled = poll(&vec![(b.as_raw_fd(), libc::POLLIN); n], 3);
                    assert!(begun.elapsed() >= Duration::from_millis(3));
                    polled
                })()
            });
        }
        let (_a, b) = UnixStream::pair().unwrap();
        let before = parks();
        assert_eq!(poll(&[(b.as_raw_fd(), libc::POLLIN)], 0), (0, vec![0]));
        assert_eq!(poll(&[(b.as_raw_fd(), libc::POLLOUT)], -1), (1, vec![libc::POLLOUT]));
        assert_eq!(parks(), before);
        // The caller's limit isn't changed.
        let limit = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        let mut fds = libc::pollfd { fd: b.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one such struct, and a time.
        assert_eq!(unsafe { libc::ppoll(&mut fds, 1, &limit, ptr::null()) }, 0);
        assert_eq!((limit.tv_sec, limit.tv_nsec), (0, 1_000_000));
        let wrong = libc::timespec { tv_sec: 0, tv_nsec: -1 };
        // SAFETY: the same.
        let ret = unsafe { libc::ppoll(&mut fds, 1, &wrong, ptr::null()) };
        assert_eq!(result(ret as isize), Err(libc::EINVAL));
    });
}

fn for_nothing_but_a_time() {
    live(|| {
        let begun = Instant::now();
        assert_eq!(poll(&[], 2).0, 0);
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 2000 };
        let none = ptr::null_mut();
        // SAFETY: a time, and no sets.
        assert_eq!(unsafe { libc::select(0, none, none, none, &mut time) }, 0);
        assert!(begun.elapsed() >= Duration::from_millis(4));
        assert_eq!((time.tv_sec, time.tv_usec), (0, 0));
    });
}

/// A poll reports an end, whatever it was asked for.
fn for_an_end() {
    live(|| {
        same_on_both((1, vec![libc::POLLHUP]), |on| {
            let (a, b) = UnixStream::pair().unwrap();
            let polls = on.start(move || poll(&[(b.as_raw_fd(), 0)], -1));
            drop(a);
            polls()
        });
    });
}

fn sets_of_descriptors() {
    live(|| {
        same_on_both((1, false, true, true), |on| {
            let ((_a, b), (mut c, d)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
            let selects = on.start(move || {
                // SAFETY: all zero is a set; the numbers are below 1,024.
                unsafe {
                    let mut read: libc::fd_set = std::mem::zeroed();
                    libc::FD_SET(b.as_raw_fd(), &mut read);
                    libc::FD_SET(d.as_raw_fd(), &mut read);
                    let mut time = libc::timeval { tv_sec: 3600, tv_usec: 0 };
                    let (n, none) = (b.as_raw_fd().max(d.as_raw_fd()) + 1, ptr::null_mut());
                    let ready = libc::select(n, &mut read, none, none, &mut time);
                    let is_set = |fd| libc::FD_ISSET(fd, &read);
                    (
                        ready,
                        is_set(b.as_raw_fd()),
                        is_set(d.as_raw_fd()),
                        time.tv_sec < 3600 && time.tv_sec > 0,
                    )
                }
            });
            c.write_all(b"x").unwrap();
            selects()
        });
        same_on_both((0, false), |on| {
            let (_a, b) = UnixStream::pair().unwrap();
            on.start(move || {
                let fd = b.as_raw_fd();
                // SAFETY: as above.
                unsafe {
                    let mut read: libc::fd_set = std::mem::zeroed();
                    libc::FD_SET(fd, &mut read);
                    let (time, none) = (libc::timespec { tv_sec: 0, tv_nsec: 2_000_000 }, ptr::null_mut());
                    let ready = libc::pselect(fd + 1, &mut read, none, none, &time, ptr::null());
                    (ready, libc::FD_ISSET(fd, &read))
                }
            })()
        });
        let fd = UnixStream::pair().unwrap().0.as_raw_fd();
        // SAFETY: as above. The number isn't in use.
        let ret = unsafe {
            let mut read: libc::fd_set = std::mem::zeroed();
            libc::FD_SET(fd, &mut read);
            libc::select(fd + 1, &mut read, ptr::null_mut(), ptr::null_mut(), ptr::null_mut())
        };
        assert_eq!(result(ret as isize), Err(libc::EBADF));
    });
}

/// Returns an epoll instance that watches these descriptors.
fn epoll(fds: impl IntoIterator<Item = RawFd>) -> File {
    // SAFETY: a new descriptor, and events that the kernel reads.
    unsafe {
        let epoll = File::from_raw_fd(libc::epoll_create1(libc::EPOLL_CLOEXEC));
        for fd in fds {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: fd as u64 };
            assert_eq!(libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event), 0);
        }
        epoll
    }
}

/// Returns the number of events, and the descriptor of the first.
fn epoll_wait(epoll: &File, ms: i32) -> (i32, RawFd) {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
    // SAFETY: there is room for as many.
    let n = unsafe { libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr(), 8, ms) };
    (n, events[0].u64 as RawFd)
}

fn epoll_instances() {
    live(|| {
        for ms in [-1, 3_600_000] {
            same_on_both((1, true), |on| {
                let ((_a, b), (mut c, d)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
                let epoll = epoll([b.as_raw_fd(), d.as_raw_fd()]);
                let expected = d.as_raw_fd();
                let waits = on.start(move || epoll_wait(&epoll, ms));
                c.write_all(b"x").unwrap();
                let (n, fd) = waits();
                (n, fd == expected)
            });
        }
        same_on_both(0, |on| {
            let (_a, b) = UnixStream::pair().unwrap();
            let epoll = epoll([b.as_raw_fd()]);
            on.start(move || epoll_wait(&epoll, 2).0)()
        });
    });
}

/// The kernel's epoll refuses files, but its `poll` takes them.
fn what_cannot_be_waited_for() {
    live(|| {
        let (_a, b) = UnixStream::pair().unwrap();
        let null = File::open("/dev/null").unwrap();
        let (fds, ready) =
            ([(b.as_raw_fd(), libc::POLLIN), (null.as_raw_fd(), libc::POLLIN)], vec![0, libc::POLLIN]);
        assert_eq!(poll(&fds, -1), (1, ready));
        assert_eq!(poll(&[(99_999, libc::POLLIN)], -1), (1, vec![libc::POLLNVAL]));
        let fds = [(b.as_raw_fd(), libc::POLLIN), (null.as_raw_fd(), 0)];
        assert_eq!(poll(&fds, 2), (0, vec![0, 0]));
    });
}

fn one_event_for_all_who_poll() {
    live(|| {
        same_on_both(vec![1; 5], |on| {
            let (mut a, b) = UnixStream::pair().unwrap();
            let fd = b.as_raw_fd();
            let polls: Vec<_> = (0..5).map(|_| on.start(move || poll(&[(fd, libc::POLLIN)], -1).0)).collect();
            a.write_all(b"x").unwrap();
            let polled = polls.into_iter().map(|poll| poll()).collect();
            drop(b);
            polled
        });
    });
}

fn an_epoll_instance_on_hundreds() {
    const N: usize = 300;
    live(|| {
        let (waits, others): (Vec<_>, Vec<_>) = (0..N)
            .map(|_| {
                let (a, b) = UnixStream::pair().unwrap();
                let wait = On::Goroutine.start(move || {
                    let epoll = epoll([b.as_raw_fd()]);
                    epoll_wait(&epoll, -1).0
                });
                (wait, a)
            })
            .unzip();
        until_they_wait(N, "poll (std)");
        hold_no_threads(N);
        others.iter().for_each(|mut a| a.write_all(b"x").unwrap());
        waits.into_iter().for_each(|wait| assert_eq!(wait(), 1));
    });
}

/// A signal ends the kernel's poll and select even if they don't wait.
fn signals_end_none() {
    live(|| {
        let (_a, b) = UnixStream::pair().unwrap();
        let (fd, epoll) = (b.as_raw_fd(), epoll([b.as_raw_fd()]));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        in_a_storm(|| {
            for round in 0..2_000 {
                let ms = i32::from(round % 20 == 0);
                assert_eq!(poll(&[(fd, libc::POLLIN)], ms), (0, vec![0]));
                assert_eq!(epoll_wait(&epoll, ms).0, 0);
                // SAFETY: all zero is a set, which the kernel changes; the number is below 1,024.
                let selected = unsafe {
                    let mut read: libc::fd_set = std::mem::zeroed();
                    libc::FD_SET(fd, &mut read);
                    let (mut time, none) = (libc::timeval { tv_sec: 0, tv_usec: ms.into() }, ptr::null_mut());
                    (libc::select(fd + 1, &mut read, none, none, &mut time), libc::FD_ISSET(fd, &read))
                };
                assert_eq!(selected, (0, false));
                let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                assert_eq!(poll(&[(listener.as_raw_fd(), libc::POLLIN)], -1).0, 1);
                listener.accept().unwrap();
            }
        });
    });
}
