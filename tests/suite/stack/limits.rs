//! What happens when there is no memory for a stack, or when no thread can be made.

use std::array;
use std::env;
use std::ffi::c_void;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::sync::Barrier;
use gosched::{Builder, go, lock_os_thread, proc, run, scope, set_gomaxprocs, yield_now};

use crate::harness::goroutines::{others_ended, sleep_with_thread, wait_until};
use crate::harness::memory::{allow, set_limit};
use crate::harness::panics::panics;
use crate::harness::process::Process;
use crate::harness::{Test, rounds, tests};

tests! {
    no_memory_for_a_stack
    no_memory_for_a_large_stack
    no_memory_for_a_raw_goroutine
    no_memory_at_the_start
    fewer_threads_than_wanted
    memory_for_part_of_a_thread
    no_thread_for_the_last_p
    no_thread_while_all_wait
}

/// Why an emulator can't run any of these.
const NO_LIMIT: &str = "address space has no limit";

/// Makes malloc keep a reserve, and make no arenas of 64 MiB for new threads. So the memory for
/// stacks runs out first.
fn with_reserve(process: Process) -> Process {
    process.env("MALLOC_ARENA_MAX", "1").env("MALLOC_TOP_PAD_", "1048576")
}

fn no_memory_for_a_stack(test: Test) {
    if test.skipped_in_emulator(NO_LIMIT) {
        return;
    }
    let process = test.process(|| {
        run(|| {
            // None ends before this goroutine waits for them. They don't park: the memory for that
            // isn't tested here.
            static ALL_MADE: AtomicBool = AtomicBool::new(false);
            let make = |i| {
                Builder::new().go(move || {
                    wait_until(|| ALL_MADE.load(Ordering::Relaxed));
                    i
                })
            };
            let mut handles = Vec::with_capacity(1000);
            handles.push(make(0).unwrap());
            allow(8 << 20);
            let error = loop {
                match make(handles.len()) {
                    Ok(handle) => handles.push(handle),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.kind(), ErrorKind::OutOfMemory);
            assert_eq!(panics(|| go(|| ())), format!("gosched::go: can't make a goroutine: {error}"));
            // In a scope, the existing goroutines go on, and the scope waits for them.
            let message = panics(|| scope(|s| drop(s.go(|| ()))));
            assert_eq!(message, format!("gosched::go: can't make a goroutine: {error}"));

            let made = handles.len();
            ALL_MADE.store(true, Ordering::Relaxed);
            let sum: usize = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
            assert_eq!(sum, made * (made - 1) / 2);
            // The goroutines' stacks can be used again.
            others_ended();
            assert_eq!(go(|| 7).join().unwrap(), 7);

            set_limit(libc::RLIM_INFINITY);
            let more: Vec<_> = (0..3 * made).map(|i| make(i).unwrap()).collect();
            more.into_iter().enumerate().for_each(|(i, handle)| assert_eq!(handle.join().unwrap(), i));
        });
    });
    with_reserve(process).env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

fn no_memory_for_a_large_stack(test: Test) {
    if test.skipped_in_emulator(NO_LIMIT) {
        return;
    }
    let process = test.process(|| {
        run(|| {
            allow(8 << 20);
            let error = Builder::new().stack_size(64 << 20).go(|| 7).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory);
            assert_eq!(go(|| 7).join().unwrap(), 7);
            set_limit(libc::RLIM_INFINITY);
            assert_eq!(Builder::new().stack_size(64 << 20).go(|| 7).unwrap().join().unwrap(), 7);
        });
    });
    with_reserve(process).end().with("exit status: 0");
}

fn no_memory_for_a_raw_goroutine(test: Test) {
    if test.skipped_in_emulator(NO_LIMIT) {
        return;
    }
    unsafe extern "C" fn wait(channel: *mut c_void) {
        // SAFETY: main passes an empty channel, and keeps it.
        unsafe { gosched::chan::hchan::chanrecv1(ptr::NonNull::new(channel.cast()), ptr::null_mut()) }
    }
    let process = test.process(|| {
        run(|| {
            allow(8 << 20);
            // This is far more than there is room for. A receive from no channel waits forever.
            for _ in 0..100_000 {
                // SAFETY: `wait` fits on a copying stack and doesn't unwind.
                unsafe { proc::newproc(Some(wait), ptr::null_mut()) };
                yield_now();
            }
        });
    });
    let ended = with_reserve(process).end();
    ended.with("exit status: 2").says("fatal error: out of memory for a goroutine\n");
}

fn no_memory_at_the_start(test: Test) {
    if test.skipped_in_emulator(NO_LIMIT) {
        return;
    }
    let process = test.process(|| {
        for more in [32 << 10, 128 << 10, 512 << 10, 4 << 20] {
            allow(more);
            let message = panics(|| run(|| ()));
            assert!(message.starts_with("gosched::run: can't start: "), "{more}: {message}");
        }
        set_limit(libc::RLIM_INFINITY);
        assert_eq!(run(|| go(|| 7).join().unwrap()), 7);
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

fn fewer_threads_than_wanted(test: Test) {
    if test.skipped_in_emulator(NO_LIMIT) {
        return;
    }
    let process = test.process(|| {
        run(|| {
            let start = Barrier::new(51);
            // With one P, nothing makes threads yet.
            let procs = set_gomaxprocs(NonZeroUsize::MIN);
            // After this, everything that a wait needs exists, also for other P's.
            let first = Barrier::new(400);
            scope(|s| {
                for _ in 0..400 {
                    s.go(|| _ = first.wait());
                }
            });
            scope(|s| {
                for _ in 0..50 {
                    s.go(|| {
                        start.wait();
                        // Blocks its thread, so each goroutine wants a thread; not at once if the
                        // thread that looks for work gets no processor.
                        sleep_with_thread(Duration::from_millis(40));
                    });
                }
                // This is enough for a signal stack, but not for a thread.
                allow(200 << 10);
                set_gomaxprocs(NonZeroUsize::new(procs).expect("there were some"));
                start.wait();
            });
            assert!(proc::mcount() < 50, "threads were made all the same");
            set_limit(libc::RLIM_INFINITY);
            // Each of these goroutines needs a thread of its own.
            let meeting = Barrier::new(60);
            scope(|s| {
                for _ in 0..60 {
                    s.go(|| {
                        let _locked = lock_os_thread();
                        meeting.wait();
                    });
                }
            });
        });
    });
    let ended = with_reserve(process).env("GOMAXPROCS", "64").end();
    ended.with("exit status: 0").says("gosched: a thread can't be made (");
    assert_eq!(ended.stderr.lines().count(), 1, "more than one line:\n{}", ended.stderr);
}

/// Whatever memory there is: either a thread can be made, and runs; or the process goes on without
/// it.
fn memory_for_part_of_a_thread(test: Test) {
    if test.skipped_in_emulator(NO_LIMIT) {
        return;
    }
    for kib in (0..500).step_by(500 / rounds(250)) {
        let process = test.process(|| {
            run(|| {
                go(|| ()).join().unwrap();
                allow(
                    env::var("MEMORY").ok().and_then(|kib| kib.parse::<u64>().ok()).expect("a number") << 10,
                );
                let holds_up_its_thread = || sleep_with_thread(Duration::from_millis(2));
                let made: [_; 4] = array::from_fn(|_| go(holds_up_its_thread));
                made.into_iter().for_each(|handle| handle.join().unwrap());
            });
        });
        let ended = with_reserve(process).env("GOMAXPROCS", "4").env("MEMORY", &kib.to_string()).end();
        assert!(ended.status.success(), "with {kib} KiB more, {}:\n{}", ended.status, ended.stderr);
    }
}

fn no_thread_for_the_last_p(test: Test) {
    if test.skipped_in_emulator(NO_LIMIT) {
        return;
    }
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded(0);
            go(move || tx.send(()).unwrap());
            let _locked = lock_os_thread();
            allow(200 << 10);
            // The thread sleeps with its goroutine, and no other thread runs the sender.
            rx.recv()
        })
        .unwrap();
    });
    let process = with_reserve(process).env("GOMAXPROCS", "1").env("GODEBUG", "detach=0");
    // Where std's waits park, std's reads are system calls, during which a thread may be made for
    // the P.
    let ended = process.env("GOSCHED_STD", "0").end();
    ended.with("exit status: 2").says("runtime: failed to create a new OS thread (have 3 already): ");
    ended.says("fatal error: newosproc\n").says("\ngoroutine 1 [chan receive, locked to thread]:\n");
}

/// The only thread waits in std's own code for something that a ready goroutine would do.
fn no_thread_while_all_wait(test: Test) {
    if test.skipped_in_emulator(NO_LIMIT) {
        return;
    }
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = std::sync::mpsc::channel();
            // The P has stayed here, because no goroutine is detached until no thread can be made.
            go(move || tx.send(()).unwrap());
            allow(200 << 10);
            proc::set_detach(true);
            rx.recv()
        })
        .unwrap();
    });
    let process = with_reserve(process).env("GOMAXPROCS", "1").env("GODEBUG", "detach=0,period=10");
    let ended = process.env("GOSCHED_STD", "0").end();
    ended
        .with("exit status: 2")
        .says("gosched: goroutines are ready, and all threads wait in code outside of");
    ended.says("runtime: failed to create a new OS thread (have 2 already): ");
    ended.says("fatal error: newosproc\n").says("\ngoroutine 1 [running (detached)");
}
