//! Goroutines that keep a thread: while they panic, or because they are locked to it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use gosched::chan::{Sender, bounded};
use gosched::{go, lock_os_thread, proc, run, scope, yield_now};

use crate::harness::goroutines::wait_until;
use crate::harness::{rounds, run_lean, run_with_procs, tests};

tests! {
    a_goroutine_that_parks_while_it_panics_keeps_its_thread
    a_caught_panic_frees_the_thread
    a_caught_panic_leaves_the_programs_lock
    a_locked_goroutine_stays_on_its_thread
    nothing_else_runs_on_a_locked_thread
    threads_of_locked_goroutines_are_used_again
    what_uses_a_thread_local_is_not_inlined
}

/// Parks when it is dropped, and sends what it found before and after.
struct ParksInDrop {
    wake: gosched::chan::Receiver<()>,
    seen: Sender<[(thread::ThreadId, bool); 2]>,
}

impl Drop for ParksInDrop {
    fn drop(&mut self) {
        let here = || (thread::current().id(), thread::panicking());
        let before = here();
        let _ = self.wake.recv();
        yield_now();
        let _ = self.seen.send([before, here()]);
    }
}

fn a_goroutine_that_parks_while_it_panics_keeps_its_thread() {
    run(|| {
        let stop = AtomicBool::new(false);
        scope(|s| {
            for _ in 0..8 {
                s.go(|| {
                    while !stop.load(Ordering::Relaxed) {
                        assert!(!thread::panicking(), "that is another goroutine's panic");
                        yield_now();
                    }
                });
            }
            for _ in 0..50 {
                let (waker, wake) = bounded(0);
                let (seen, saw) = bounded(1);
                let parks = ParksInDrop { wake, seen };
                let handle = go(move || {
                    let _parks = parks;
                    resume_unwind(Box::new("while parked"))
                });
                waker.send(()).unwrap();
                let [before, after] = saw.recv().unwrap();
                assert!(before.1, "it was panicking");
                assert_eq!(before, after);
                assert_eq!(handle.join().unwrap_err().to_string(), "goroutine panicked: while parked");
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

/// Catches a panic whose unwinding parks in a drop, and lets others run.
fn catch_one_that_parks() {
    let (waker, wake) = bounded::<()>(0);
    let (seen, _saw) = bounded(1);
    go(move || drop(waker));
    let parks = ParksInDrop { wake, seen };
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _parks = parks;
        resume_unwind(Box::new(()))
    }));
    assert!(caught.is_err());
    yield_now();
}

fn a_caught_panic_frees_the_thread() {
    run(|| {
        let handle = go(|| {
            catch_one_that_parks();
            assert!(!thread::panicking());
            // SAFETY: on a goroutine.
            unsafe { proc::locked_os_thread() }
        });
        assert!(!handle.join().unwrap());
    });
}

/// A panic that parks also locks its goroutine to the thread, and undoes only its own lock.
fn a_caught_panic_leaves_the_programs_lock() {
    run_lean(|| {
        go(|| {
            let lock = lock_os_thread();
            catch_one_that_parks();
            // SAFETY: on a goroutine.
            assert!(unsafe { proc::locked_os_thread() });
            drop(lock);
            // SAFETY: likewise.
            assert!(!unsafe { proc::locked_os_thread() });
        })
        .join()
        .unwrap();
    });
}

fn a_locked_goroutine_stays_on_its_thread() {
    run(|| {
        scope(|s| {
            for _ in 0..20 {
                s.go(|| {
                    let lock = gosched::lock_os_thread();
                    let here = thread::current().id();
                    for i in 0..100 {
                        let nested = (i % 3 == 0).then(gosched::lock_os_thread);
                        yield_now();
                        assert_eq!(go(move || i).join().unwrap(), i);
                        drop(nested);
                        assert_eq!(thread::current().id(), here);
                    }
                    // SAFETY: on a goroutine.
                    assert!(unsafe { proc::locked_os_thread() });
                    drop(lock);
                    // SAFETY: likewise.
                    assert!(!unsafe { proc::locked_os_thread() });
                });
            }
        });
    });
}

fn nothing_else_runs_on_a_locked_thread() {
    run(|| {
        let lock = gosched::lock_os_thread();
        let here = thread::current().id();
        scope(|s| {
            for _ in 0..100 {
                s.go(|| {
                    yield_now();
                    assert_ne!(thread::current().id(), here);
                });
            }
        });
        drop(lock);
    });
}

fn threads_of_locked_goroutines_are_used_again() {
    run(|| {
        for i in 0..1000 {
            go(move || {
                let lock = gosched::lock_os_thread();
                yield_now();
                // Half of them end without unlocking.
                if i % 2 == 0 {
                    std::mem::forget(lock);
                }
            })
            .join()
            .unwrap();
        }
        // A goroutine that ends may need a while for that.
        wait_until(|| proc::mcount() < 100);
        // SAFETY: on a goroutine.
        go(|| assert!(!unsafe { proc::locked_os_thread() })).join().unwrap();
    });
}

fn what_uses_a_thread_local_is_not_inlined() {
    static COUNTS: Mutex<Vec<&AtomicU64>> = Mutex::new(Vec::new());

    /// Returns a count that belongs to one thread: additions aren't atomic.
    fn new_count() -> &'static AtomicU64 {
        let count = Box::leak(Box::default());
        COUNTS.lock().unwrap().push(count);
        count
    }
    thread_local! {
        static COUNT: &'static AtomicU64 = new_count();
    }

    #[inline(never)]
    fn count_one() {
        COUNT.with(|count| count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed));
    }

    let times = rounds(50_000);
    run_with_procs(4, || {
        scope(|s| {
            for _ in 0..8 {
                s.go(|| {
                    for _ in 0..times {
                        count_one();
                        yield_now();
                    }
                });
            }
        });
    });
    let counts = COUNTS.lock().unwrap();
    assert_eq!(counts.iter().map(|count| count.load(Ordering::Relaxed)).sum::<u64>(), 8 * times as u64);
}
