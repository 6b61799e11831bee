//! Goroutines that block their threads: the others go on.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fs;
use std::io::{Read, Write, pipe};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::proc::{self, getg};
use gosched::runtime2::{GSCAN, GSYSCALL, Note};
use gosched::sync::{Mutex, WaitGroup};
use gosched::{blocking, go, lock_os_thread, run, scope, yield_now};

use crate::harness::storm::storm;
use crate::harness::tests;

tests! {
    others_run_while_many_block
    short_calls_come_back
    a_panic_leaves_the_call
    what_was_locked_stays_so
    raw_goroutines_call_too
    processes_are_made
    a_locked_thread_has_no_heirs
    a_thread_ends_with_who_has_locked_it
}

const MS: Duration = Duration::from_millis(1);

/// More goroutines read than there are P's. The goroutine that writes needs a P all the same.
fn others_run_while_many_block() {
    run(|| {
        let pipes: Vec<_> = (0..20).map(|_| pipe().unwrap()).collect();
        let (readers, mut writers): (Vec<_>, Vec<_>) = pipes.into_iter().unzip();
        let waiting: Vec<_> = readers
            .into_iter()
            .map(|mut reader| {
                go(move || {
                    let mut byte = [0];
                    blocking(|| reader.read_exact(&mut byte)).unwrap();
                    byte[0]
                })
            })
            .collect();
        for _ in 0..100 {
            yield_now();
        }
        assert!(waiting.iter().all(|handle| !handle.is_finished()), "there is nothing to be read");
        for (i, writer) in writers.iter_mut().enumerate() {
            writer.write_all(&[i as u8]).unwrap();
        }
        for (i, handle) in waiting.into_iter().enumerate() {
            assert_eq!(handle.join().unwrap(), i as u8);
        }
    });
}

fn short_calls_come_back() {
    run(|| {
        let callers = (0..8).map(|_| {
            go(|| {
                for i in storm(2000) {
                    assert_eq!(blocking(|| i), i);
                }
            })
        });
        callers.collect::<Vec<_>>().into_iter().for_each(|handle| handle.join().unwrap());
    });
}

fn a_panic_leaves_the_call() {
    run(|| {
        let failing = go(|| {
            for _ in 0..20 {
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    blocking(|| {
                        thread::sleep(MS);
                        resume_unwind(Box::new("in the call"))
                    })
                }));
                assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"in the call"));
                assert!(!thread::panicking());
                yield_now();
            }
        });
        failing.join().unwrap();
        let ends = go(|| blocking(|| resume_unwind(Box::new("ends it"))));
        assert_eq!(ends.join().unwrap_err().to_string(), "goroutine panicked: ends it");
    });
}

fn what_was_locked_stays_so() {
    run(|| {
        let locked = go(|| {
            let _locked = lock_os_thread();
            let id = thread::current().id();
            for _ in 0..10 {
                assert_eq!(blocking(|| (thread::sleep(MS), thread::current().id())).1, id);
                assert_eq!(thread::current().id(), id);
            }
        });
        locked.join().unwrap();
    });
}

/// Counts the raw goroutines that have ended.
static DONE: WaitGroup = WaitGroup::new();

unsafe extern "C" fn on_g0(arg: *mut c_void) -> c_int {
    let here = Cell::new(0);
    // SAFETY: on g0, for the goroutine whose G is the argument: the G stays until this returns.
    let stack = unsafe { (*arg.cast::<gosched::runtime2::G>()).stack.get() };
    let at = (&raw const here).addr();
    assert!(at < stack.lo || at >= stack.hi, "it is on the goroutine's stack");
    -7
}

unsafe extern "C" fn raw_calls(_: *mut c_void) {
    static SEEN: AtomicU32 = AtomicU32::new(0);
    // SAFETY: nothing between entering and leaving parks or needs stack.
    unsafe {
        for block in [false, true] {
            for _ in 0..50 {
                if block {
                    proc::entersyscallblock();
                } else {
                    proc::entersyscall();
                }
                // The scan bit is masked: sysmon may be checking how long this has taken.
                SEEN.store(proc::readgstatus(getg()) & !GSCAN, Ordering::Relaxed);
                proc::exitsyscall();
                if SEEN.load(Ordering::Relaxed) != GSYSCALL {
                    proc::throw("not in a system call");
                }
            }
        }
        static NOTE: Note = Note { key: AtomicU32::new(0) };
        static MINE: Mutex<()> = Mutex::new(());
        if let Some(_mine) = MINE.try_lock() {
            if proc::notetsleepg(&NOTE, 1_000) {
                proc::throw("nobody has woken it");
            }
            proc::notewakeup(&NOTE);
            if !proc::notetsleepg(&NOTE, -1) {
                proc::throw("it was woken");
            }
            proc::noteclear(&NOTE);
        }
        let me = getg();
        if proc::asmcgocall(on_g0, me.cast()) != -7 {
            proc::throw("asmcgocall returned something else");
        }
    }
    DONE.done();
}

fn raw_goroutines_call_too() {
    run(|| {
        for _ in 0..20 {
            DONE.add(1);
            // SAFETY: the runtime runs, and raw_calls keeps to the rules.
            unsafe { proc::newproc(Some(raw_calls), ptr::null_mut()) };
        }
        DONE.wait();
    });
}

/// A goroutine that makes processes, while others make threads.
fn processes_are_made() {
    run(|| {
        let (stop, stopped) = bounded::<()>(0);
        let threads = go(move || {
            while stopped.try_recv() == Err(gosched::chan::TryRecvError::Empty) {
                scope(|s| (0..4).for_each(|_| _ = s.go(|| blocking(|| thread::sleep(MS)))));
            }
        });
        let make = |locked: bool| {
            go(move || {
                let _locked = locked.then(lock_os_thread);
                for i in 0..10 {
                    let echo = || Command::new("sh").args(["-c", &format!("echo {i}")]).output();
                    let output = blocking(echo).unwrap();
                    assert!(output.status.success());
                    assert_eq!(output.stdout, format!("{i}\n").as_bytes());
                }
            })
        };
        [make(false), make(true), make(false)].into_iter().for_each(|handle| handle.join().unwrap());
        drop(stop);
        threads.join().unwrap();
    });
}

/// A new thread inherits attributes of the thread that makes it, such as its name. So a thread that
/// a goroutine has changed makes no other thread.
fn a_locked_thread_has_no_heirs() {
    run(|| {
        let strange = || {
            let names = fs::read_dir("/proc/self/task").unwrap();
            let names = names.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
            names.filter(|name| name == "strange\n").count()
        };
        let _locked = lock_os_thread();
        fs::write("/proc/thread-self/comm", "strange").unwrap();
        let before = proc::mcount();
        // There are more goroutines than threads, each in a thread at the same time.
        let n = before as usize + 5;
        let all = Arc::new(Barrier::new(n));
        let blocked: Vec<_> =
            (0..n).map(|_| all.clone()).map(|all| go(move || blocking(|| all.wait()))).collect();
        blocked.into_iter().for_each(|handle| _ = handle.join().unwrap());
        assert!(proc::mcount() >= before + 5);
        assert_eq!(strange(), 1);
        fs::write("/proc/thread-self/comm", "ordinary").unwrap();
    });
}

/// A goroutine that ends with its thread locked ends the thread. Other goroutines don't use the
/// thread, because the goroutine may have changed it for good.
fn a_thread_ends_with_who_has_locked_it() {
    thread_local! {
        static MARK: Mark = const { Mark };
    }
    struct Mark;
    impl Drop for Mark {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    run(|| {
        for ended in 1..=5 {
            go(|| {
                std::mem::forget(lock_os_thread());
                MARK.with(|_| ());
                yield_now();
            })
            .join()
            .unwrap();
            // The thread's destructors run when it ends.
            while DROPPED.load(Ordering::Relaxed) < ended {
                yield_now();
            }
        }
        // A goroutine that unlocks the thread leaves it to other goroutines.
        go(|| drop(lock_os_thread())).join().unwrap();
        assert_eq!(DROPPED.load(Ordering::Relaxed), 5);
    });
}
