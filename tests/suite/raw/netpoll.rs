//! Goroutines that wait for descriptors.

use std::env;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write, pipe};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use gosched::chan::bounded;
use gosched::net::Pollable;
use gosched::netpoll::*;
use gosched::sync::WaitGroup;
use gosched::time::sleep;
use gosched::{blocking, go, lock_os_thread, proc, run, scope, yield_now};

use crate::harness::polled::*;
use crate::harness::sandbox::{NO_FILTER, refuse};
use crate::harness::storm::storm;
use crate::harness::{Test, tests};

tests! {
    a_wait_costs_no_thread
    byte_by_byte_both_ways
    many_descriptors_become_ready_at_once
    several_readers_take_turns
    an_end_and_a_broken_pipe
    a_reset_while_somebody_waits
    an_error_and_nothing_else
    an_event_descriptor
    no_poller_without_descriptors
    no_poller_in_a_sandbox
    a_busy_processor_does_not_keep_them_waiting
    starting_the_world_polls
    on_a_thread
    before_the_runtime_has_started
    deadlock_after_the_last_wait
    deadlock_while_nobody_is_waited_for
    a_deadline_that_both_had
    no_deadlock_while_one_waits
    the_pollers_own_descriptors
}

/// Returns how many threads this process has.
fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

fn a_wait_costs_no_thread(test: Test) {
    with_one_p_and_several(test, || {
        let mut writers = Vec::new();
        let readers: Vec<_> = (0..400)
            .map(|_| {
                let (rx, tx) = pipe_pair();
                writers.push(tx);
                go(move || read_one(&rx).unwrap())
            })
            .collect();
        let_them_wait();
        let threads = threads();
        // A goroutine that loses its P keeps its thread, so there may be some threads.
        assert!(threads < 200, "{threads} threads for 400 goroutines that wait");
        for (i, tx) in writers.iter_mut().enumerate() {
            tx.write_all(&[i as u8]).unwrap();
        }
        for (i, reader) in readers.into_iter().enumerate() {
            assert_eq!(reader.join().unwrap(), i as u8);
        }
    });
}

fn byte_by_byte_both_ways(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = stream_pair();
        scope(|s| {
            s.go(|| {
                while let Ok(byte) = read_one(&b) {
                    (&b).write_all(&[byte.wrapping_add(1)]).unwrap();
                }
            });
            for i in storm(2000) {
                (&a).write_all(&[i as u8]).unwrap();
                assert_eq!(read_one(&a).unwrap(), (i as u8).wrapping_add(1));
            }
            a.get_ref().shutdown(Shutdown::Write).unwrap();
        });
    });
}

/// More is written than fits, so writers wait, too.
fn many_descriptors_become_ready_at_once(test: Test) {
    const SIZE: usize = 300_000;
    const PAIRS: usize = 50;
    with_one_p_and_several(test, || {
        // Each goroutine sends a different part.
        let all: Vec<u8> = (0..SIZE + PAIRS).map(|at| ((at * at) >> 3) as u8).collect();
        scope(|s| {
            for i in 0..PAIRS {
                let (rx, mut tx) = pipe_pair();
                let part = &all[i..i + SIZE];
                s.go(move || tx.write_all(part).unwrap());
                s.go(move || {
                    let mut data = Vec::new();
                    (&rx).read_to_end(&mut data).unwrap();
                    assert!(data == part, "{} bytes, or others", data.len());
                });
            }
        });
    });
}

fn several_readers_take_turns(test: Test) {
    with_one_p_and_several(test, || {
        let (rx, mut tx) = pipe_pair();
        let (sum, mut written) = (AtomicUsize::new(0), 0);
        scope(|s| {
            for _ in 0..10 {
                s.go(|| {
                    while let Ok(byte) = read_one(&rx) {
                        sum.fetch_add(usize::from(byte), Ordering::Relaxed);
                        yield_now();
                    }
                });
            }
            for i in storm(2000) {
                tx.write_all(&[1]).unwrap();
                written += 1;
                if i % 7 == 0 {
                    yield_now();
                }
            }
            drop(tx);
        });
        assert_eq!(sum.into_inner(), written);
    });
}

fn an_end_and_a_broken_pipe(test: Test) {
    with_one_p_and_several(test, || {
        let (rx, tx) = pipe_pair();
        let reader = go(move || read_one(&rx));
        let_them_wait();
        drop(tx);
        assert_eq!(kind(reader.join().unwrap()), ErrorKind::UnexpectedEof);

        let (rx, mut tx) = pipe_pair();
        let writer = go(move || tx.write_all(&vec![0; 1 << 20]));
        let_them_wait();
        drop(rx);
        assert_eq!(kind(writer.join().unwrap()), ErrorKind::BrokenPipe);
    });
}

/// Such a reset is a misuse, but the wait goes on.
fn a_reset_while_somebody_waits(test: Test) {
    with_one_p_and_several(test, || {
        let (a, mut b) = UnixStream::pair().unwrap();
        // SAFETY: it is open until the close.
        let pd = unsafe { poll_runtime_poll_open(a.as_raw_fd()) }.unwrap();
        // Lets the poller report the initial state.
        let_them_wait();
        poll_runtime_poll_reset(pd, Mode::Read).unwrap();
        scope(|s| {
            // SAFETY: nobody else waits for it, and no thread-local is kept.
            let waits = s.go(|| unsafe { poll_runtime_poll_wait(pd, Mode::Read) });
            let_them_wait();
            assert_eq!(poll_runtime_poll_reset(pd, Mode::Read), Ok(false));
            b.write_all(b"x").unwrap();
            assert_eq!(waits.join().unwrap(), Ok(()));
        });
        // SAFETY: it is registered, and nobody waits any more.
        unsafe {
            poll_runtime_poll_unblock(pd);
            poll_runtime_poll_close(pd);
        }
    });
}

/// A full pipe has an error while nobody reads, and none once a reader is back. The kernel reports
/// no event for that.
fn an_error_and_nothing_else(test: Test) {
    with_one_p_and_several(test, || {
        let (reader, mut writer) = pipe().unwrap();
        // SAFETY: no memory is passed.
        assert_eq!(unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }, 0);
        while writer.write(&[0; 4096]).is_ok() {}
        // SAFETY: it is open until the close.
        let pd = unsafe { poll_runtime_poll_open(writer.as_raw_fd()) }.unwrap();
        drop(reader);
        let until_it_is_told = || {
            while poll_runtime_poll_reset(pd, Mode::Read) != Err(PollError::NotPollable) {
                sleep(MS);
            }
        };
        until_it_is_told();
        let reader = File::open(format!("/proc/self/fd/{}", writer.as_raw_fd())).unwrap();
        poll_runtime_poll_reset(pd, Mode::Read).unwrap();
        drop(reader);
        until_it_is_told();
        // SAFETY: it is registered, and nobody waits.
        unsafe {
            poll_runtime_poll_unblock(pd);
            poll_runtime_poll_close(pd);
        }
    });
}

fn an_event_descriptor(test: Test) {
    with_one_p_and_several(test, || {
        // SAFETY: a new descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, 0)) };
        let event = Pollable::new(File::from(fd)).unwrap();
        scope(|s| {
            let reader = s.go(|| {
                let mut sum = 0;
                while sum < 500 * 501 / 2 {
                    let mut count = [0; 8];
                    assert_eq!((&event).read(&mut count).unwrap(), 8);
                    sum += u64::from_ne_bytes(count);
                }
                sum
            });
            for i in 1..=500_u64 {
                event.get_ref().write_all(&i.to_ne_bytes()).unwrap();
                yield_now();
            }
            assert_eq!(reader.join().unwrap(), 500 * 501 / 2);
        });
    });
}

/// The poller works once there is room again.
fn no_poller_without_descriptors(test: Test) {
    with_one_p_and_several(test, || {
        let (a, _b) = UnixStream::pair().unwrap();
        limit_descriptors(3);
        let error = Pollable::new(a.as_fd()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        // SAFETY: no memory is passed.
        let flags = unsafe { libc::fcntl(a.as_raw_fd(), libc::F_GETFL) };
        assert_eq!(flags & libc::O_NONBLOCK, 0, "what failed has changed its mode");
        limit_descriptors(1024);
        Pollable::new(a.as_fd()).unwrap().writable().unwrap();
    });
}

/// A poller that the sandbox forbids says nothing about the descriptor.
fn no_poller_in_a_sandbox(test: Test) {
    if test.skipped_in_emulator(NO_FILTER) {
        return;
    }
    with_one_p_and_several(test, || {
        let (a, _b) = UnixStream::pair().unwrap();
        let _locked = lock_os_thread();
        refuse(libc::SYS_epoll_create1, None, libc::EPERM);
        let error = Pollable::new(a).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    });
}

fn a_busy_processor_does_not_keep_them_waiting(test: Test) {
    with_one_p_and_several(test, || {
        let (rx, mut tx) = pipe_pair();
        let reader = go(move || read_one(&rx).unwrap());
        let_them_wait();
        let done = Arc::new(AtomicUsize::new(0));
        // Each P always has a goroutine to run.
        let busy: Vec<_> = (0..16)
            .map(|_| {
                let done = done.clone();
                go(move || {
                    while done.load(Ordering::Relaxed) == 0 {
                        yield_now();
                    }
                })
            })
            .collect();
        tx.write_all(&[7]).unwrap();
        assert_eq!(reader.join().unwrap(), 7);
        done.store(1, Ordering::Relaxed);
        busy.into_iter().for_each(|busy| busy.join().unwrap());
    });
}

fn starting_the_world_polls(test: Test) {
    with_one_p_and_several(test, || {
        let (rx, tx) = pipe_pair();
        let reader = go(move || read_one(&rx).unwrap());
        let_them_wait();
        // SAFETY: on a goroutine, which doesn't park in between.
        unsafe {
            let world = proc::stop_the_world(proc::StwReason::GoMaxProcs);
            tx.get_ref().write_all(&[9]).unwrap();
            proc::start_the_world(world);
        }
        assert_eq!(reader.join().unwrap(), 9);
    });
}

fn on_a_thread(test: Test) {
    with_one_p_and_several(test, || {
        let (a, b) = stream_pair();
        let (begun, begins) = bounded(1);
        let thread = thread::spawn(move || {
            begun.send(()).unwrap();
            let byte = read_one(&a).unwrap();
            a.set_read_deadline(Some(Instant::now() + MS));
            assert_eq!(kind(read_one(&a)), ErrorKind::TimedOut);
            (&a).write_all(&[byte + 1]).unwrap();
        });
        begins.recv().unwrap();
        let_them_wait();
        (&b).write_all(&[1]).unwrap();
        assert_eq!(read_one(&b).unwrap(), 2);
        blocking(|| thread.join()).unwrap();
    });
}

fn before_the_runtime_has_started(test: Test) {
    let process = test.process(|| {
        let (mut a, b) = stream_pair();
        a.write_all(b"early").unwrap();
        assert_eq!(read_one(&b).unwrap(), b'e');
        run(|| assert_eq!(read_one(&b).unwrap(), b'a'));
    });
    process.end().with("exit status: 0");
}

fn deadlock_after_the_last_wait(test: Test) {
    if test.skipped_in_emulator("a thread of its own could end the deadlock, for all we know") {
        return;
    }
    type Stream = Pollable<UnixStream>;
    /// The ways in which the only wait ends, while everything else waits forever.
    const ENDS: [fn(&Stream, &Stream); 3] = [
        |_, mut b| b.write_all(b"x").unwrap(),
        |a, _| a.close(),
        |a, _| a.set_read_deadline(Some(Instant::now() + 10 * MS)),
    ];
    for procs in ["1", "4"] {
        for end in 0..ENDS.len() {
            let process = test.process(|| {
                let end = ENDS[env::var("END").unwrap().parse::<usize>().unwrap()];
                run(|| {
                    let (a, b) = stream_pair();
                    let a = Arc::new(a);
                    let reader = {
                        let a = a.clone();
                        go(move || drop(read_one(&*a)))
                    };
                    let_them_wait();
                    end(&a, &b);
                    reader.join().unwrap();
                    let (_tx, rx) = bounded::<()>(0);
                    let _ = rx.recv();
                });
            });
            let ended = process.env("GOMAXPROCS", procs).env("END", &end.to_string()).end();
            let deadlock = "fatal error: all goroutines are asleep - deadlock!\n";
            ended.with("exit status: 2").says(deadlock).says("\ngoroutine 1 [chan receive");
        }
    }
}

/// Another process has the other end.
/// The poller sleeps without a limit when the last wait ends, and has nothing more to wait for.
fn deadlock_while_nobody_is_waited_for(test: Test) {
    if test.deadlock_unseen() {
        return;
    }
    for procs in ["2", "4"] {
        let process = test.process(|| {
            run(|| {
                let (a, _b) = stream_pair();
                let a = Arc::new(a);
                let reader = {
                    let a = a.clone();
                    go(move || drop(read_one(&*a)))
                };
                let_them_wait();
                // Another M finds nothing to do, and polls.
                go(|| ()).join().unwrap();
                thread::sleep(20 * MS);
                a.close();
                reader.join().unwrap();
                let (_tx, rx) = bounded::<()>(0);
                let _ = rx.recv();
            });
        });
        let ended = process.env("GOMAXPROCS", procs).end();
        ended.with("exit status: 2").says("fatal error: all goroutines are asleep - deadlock!\n");
    }
}

/// The timer of a deadline for both ends only the read, if the write has got another deadline.
fn a_deadline_that_both_had(test: Test) {
    const HOUR_NS: i64 = 3_600_000_000_000;
    with_one_p_and_several(test, || {
        for for_writing in [0, HOUR_NS] {
            let (socket, _other) = UnixStream::pair().unwrap();
            poll_runtime_poll_server_init().unwrap();
            // SAFETY: it is open until the close, and nobody waits for it by then.
            unsafe {
                let pd = poll_runtime_poll_open(socket.as_raw_fd()).unwrap();
                poll_runtime_poll_set_deadline(pd, 10_000_000, true, true);
                poll_runtime_poll_set_deadline(pd, for_writing, false, true);
                assert_eq!(poll_runtime_poll_wait(pd, Mode::Read), Err(PollError::Timeout));
                assert!(poll_runtime_poll_reset(pd, Mode::Write).is_ok());
                poll_runtime_poll_unblock(pd);
                poll_runtime_poll_close(pd);
            }
        }
    });
}

fn no_deadlock_while_one_waits(test: Test) {
    with_one_p_and_several(test, || {
        let mut child = Command::new("sleep").arg("0.1").stdout(Stdio::piped()).spawn().unwrap();
        let stdout = Pollable::new(child.stdout.take().unwrap()).unwrap();
        let wg = WaitGroup::new();
        wg.add(1);
        scope(|s| {
            s.go(|| {
                assert_eq!(kind(read_one(stdout)), ErrorKind::UnexpectedEof);
                wg.done();
            });
            wg.wait();
        });
        blocking(|| child.wait()).unwrap();
    });
}

fn the_pollers_own_descriptors(test: Test) {
    with_one_p_and_several(test, || {
        let of_poller = || (0..64).filter(|&fd| netpoll_is_poll_descriptor(fd)).count();
        assert_eq!(of_poller(), 0);
        poll_runtime_poll_server_init().unwrap();
        assert_eq!(of_poller(), 2);
        let (a, _b) = stream_pair();
        assert!(!netpoll_is_poll_descriptor(a.as_fd().as_raw_fd()));
    });
}
