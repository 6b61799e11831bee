//! The identity of a goroutine as a thread.

use std::cell::Cell;
use std::collections::HashSet;
use std::hint::black_box;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use gosched::{Builder, blocking, lock_os_thread, proc, run, yield_now};

use super::{each, moves, own, with_procs};
use crate::harness::{Test, tests};

tests! {
    stds
    the_c_librarys
    panics_are_its_own
    threads_of_its_own
    a_signal_that_it_raises
    the_processor
    a_child
    its_credentials
    an_overflow_of_its_stack
    a_locked_thread
    small_stacks
}

fn stds(test: Test) {
    with_procs(test, || {
        let ids = each(100, |_| {
            let id = thread::current().id();
            moves();
            assert_eq!(thread::current().id(), id);
            id
        });
        assert_eq!(ids.into_iter().collect::<HashSet<_>>().len(), 100);
    });
}

fn the_c_librarys(test: Test) {
    with_procs(test, || {
        let ids = each(100, |_| {
            // SAFETY: asks for a number.
            let id = || unsafe { libc::pthread_self() } as usize;
            let before = id();
            moves();
            assert_eq!(id(), before);
            // SAFETY: compares numbers.
            proc_systemstack(|| assert_eq!(id(), before));
            before
        });
        // Ids of goroutines that have ended are used again.
        assert!(ids.into_iter().collect::<HashSet<_>>().len() > 1);
    });
}

/// Calls `f` on g0, where the thread-locals are the goroutine's.
fn proc_systemstack(f: impl FnOnce()) {
    // SAFETY: `f` doesn't park.
    unsafe { proc::systemstack(f) };
}

/// A goroutine that parks while it panics continues on any thread, and no other goroutine seems to
/// panic.
fn panics_are_its_own(test: Test) {
    struct Parks;
    impl Drop for Parks {
        fn drop(&mut self) {
            assert!(thread::panicking());
            moves();
            assert!(thread::panicking());
        }
    }
    with_procs(test, || {
        std::panic::set_hook(Box::new(|_| ()));
        let panics: Vec<_> = (0..50)
            .map(|i| {
                own(move || {
                    if i % 2 == 0 {
                        let _parks = Parks;
                        panic!("{i}");
                    }
                    for _ in 0..20 {
                        assert!(!thread::panicking());
                        moves();
                    }
                })
            })
            .collect();
        for (i, handle) in panics.into_iter().enumerate() {
            assert_eq!(handle.join().is_err(), i % 2 == 0);
        }
        drop(std::panic::take_hook());
    });
}

fn threads_of_its_own(test: Test) {
    with_procs(test, || {
        let sums = each(4, |i| {
            let values = [i, i + 1];
            thread::scope(|s| {
                let sum = s.spawn(|| values.iter().sum::<usize>());
                moves();
                sum.join().unwrap()
            })
        });
        assert_eq!(sums, [1, 3, 5, 7]);
    });
}

fn a_signal_that_it_raises(test: Test) {
    let process = test.process(|| {
        run(|| {
            own(|| {
                moves();
                // SAFETY: ends this process.
                unsafe { libc::abort() }
            })
            .join()
        })
        .unwrap()
    });
    process.end().with("signal: 6");
}

fn the_processor(test: Test) {
    with_procs(test, || {
        each(10, |_| {
            moves();
            // SAFETY: asks for a number.
            assert!(unsafe { libc::sched_getcpu() } >= 0);
        });
    });
}

fn a_child(test: Test) {
    with_procs(test, || {
        each(4, |i| {
            moves();
            let status = blocking(|| {
                // SAFETY: the child calls what a signal handler may call, and ends.
                unsafe {
                    let child = libc::fork();
                    if child == 0 {
                        libc::_exit(i as i32);
                    }
                    let mut status = 0;
                    assert_eq!(libc::waitpid(child, ptr::from_mut(&mut status), 0), child);
                    status
                }
            });
            assert_eq!(libc::WEXITSTATUS(status), i as i32);
        });
    });
}

/// The C library makes every thread change its credentials, by a signal.
fn its_credentials(test: Test) {
    with_procs(test, || {
        let over = Arc::new(AtomicBool::new(false));
        let busy: Vec<_> = (0..4)
            .map(|i| {
                let over = over.clone();
                own(move || {
                    while !over.load(Ordering::Relaxed) {
                        if i % 2 == 0 {
                            yield_now();
                        }
                    }
                })
            })
            .collect();
        for _ in 0..5 {
            own(|| {
                // SAFETY: changes nothing.
                assert_eq!(unsafe { libc::setuid(libc::getuid()) }, 0);
                moves();
            })
            .join()
            .unwrap();
            // SAFETY: as above.
            thread::spawn(|| assert_eq!(unsafe { libc::setgid(libc::getgid()) }, 0)).join().unwrap();
        }
        over.store(true, Ordering::Relaxed);
        busy.into_iter().for_each(|busy| busy.join().unwrap());
    });
}

fn an_overflow_of_its_stack(test: Test) {
    fn depth(n: u64) -> u64 {
        black_box(n) + if n == 0 { 0 } else { depth(black_box(n) + 1) }
    }
    let process = test.process(|| {
        run(|| Builder::new().name("deep").own_locals().go(|| depth(1)).unwrap().join().map(drop)).unwrap();
    });
    let ended = process.end();
    ended.says("stack overflow").says("\"deep\"");
}

/// The thread ends with its goroutine, and other goroutines go on.
fn a_locked_thread(test: Test) {
    with_procs(test, || {
        for _ in 0..10 {
            let id = own(|| {
                std::mem::forget(lock_os_thread());
                let id = thread::current().id();
                moves();
                assert_eq!(thread::current().id(), id);
                id
            });
            let id = id.join().unwrap();
            assert!(each(10, |_| thread::current().id()).into_iter().all(|other| other != id));
        }
    });
}

/// The thread-locals leave room for the stack.
fn small_stacks(test: Test) {
    #[inline(never)]
    fn fills(bytes: &mut [u8; 2_000]) -> bool {
        bytes.fill(1);
        COUNT.set(COUNT.get() + 1);
        moves();
        bytes.iter().all(|&byte| byte == 1) && COUNT.get() == 1
    }
    thread_local!(static COUNT: Cell<u32> = const { Cell::new(0) });
    let process = test.process(|| {
        run(|| {
            for size in [1, 4_096, 10_000] {
                let builder = Builder::new().own_locals().stack_size(if cfg!(debug_assertions) {
                    16_384
                } else {
                    size
                });
                let handles: Vec<_> =
                    (0..50).map(|_| builder.go(|| fills(&mut [0; 2_000])).unwrap()).collect();
                assert!(handles.into_iter().all(|handle| handle.join().unwrap()));
            }
            assert!(each(50, |_| fills(&mut [0; 2_000])).into_iter().all(|well| well));
        });
    });
    let size = if cfg!(debug_assertions) { "20000" } else { "1" };
    process.env("GOSCHED_STACK_SIZE", size).end().with("exit status: 0");
}
