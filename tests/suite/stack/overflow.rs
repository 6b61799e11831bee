//! Goroutines that use more stack than they have, and faults that aren't overflows.

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::thread;

use gosched::chan::bounded;
use gosched::runtime2::{G, Stack};
use gosched::{go, proc, run, yield_now};

use crate::harness::goroutines::until_it_waits;
use crate::harness::pages::page_size;
use crate::harness::process::Ended;
use crate::harness::{Test, tests};

tests! {
    overflow_of_a_fixed_stack
    overflow_of_a_copying_stack
    overflow_with_large_frames
    overflow_while_others_wait
    overflow_among_neighbours
    overflows_at_the_same_time
    overflow_of_g0
    overflow_of_a_foreign_thread
    panic_on_a_copying_stack
    write_to_the_guard_of_another
    dereference_of_null
    handler_of_the_program
    handler_that_needs_more_than_a_copying_stack
}

impl Ended {
    /// Fails unless the process ended by this signal, and the runtime passed the signal on.
    #[track_caller]
    fn killed_by(&self, signal: &str) {
        self.with(signal);
        assert!(!self.stderr.contains("fatal error:"), "a report of what isn't ours:\n{}", self.stderr);
    }

    /// Fails unless the goroutine that called [`announce`] has overflowed its stack, by a fault
    /// in the page below it.
    #[track_caller]
    pub(super) fn overflow(&self) -> &Self {
        let told = self.stderr.split_once("overflows: ").and_then(|(_, rest)| rest.split_once('\n'));
        let (id, stack) = told.and_then(|(line, _)| line.split_once(' ')).expect("announce tells both");
        let after_sp = self.stderr.split_once("\nruntime: sp=").expect("the report says where").1;
        let (sp, after_sp) = after_sp.split_once(' ').expect("more follows");
        // On a slow machine the goroutine has lost its P by then.
        let after_sp = after_sp.replace(" [running (detached)]:", " [running]:");
        let report = format!("stack={stack}\nfatal error: stack overflow\n\ngoroutine {id} [running]:\n");
        assert!(after_sp.starts_with(&report), "expected {report:?} in:\n{}", self.stderr);
        let address = |text: &str| usize::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        let lo = stack.trim_start_matches('[').split(',').next().and_then(address);
        assert_eq!(address(sp).map(|sp| sp.next_multiple_of(page_size())), lo, "that is no guard page");
        self.with("exit status: 2")
    }
}

/// Parks the running goroutine forever.
fn forever() {
    let (_tx, rx) = bounded::<()>(0);
    let _ = rx.recv();
}

/// Reports which goroutine will overflow its stack, and the stack's end.
pub(super) fn announce() {
    let gp = proc::getg();
    // SAFETY: the running G. The closure on g0 doesn't park.
    unsafe {
        let (id, Stack { lo, hi }) = ((*gp).goid.get(), (*gp).stack.get());
        proc::systemstack(|| eprintln!("overflows: {id} [{lo:#x}, {hi:#x}]"));
    }
}

/// Calls itself until the stack is full, with frames of at least `N` bytes.
#[inline(never)]
fn recurse<const N: usize>(depth: u64) -> u64 {
    let frame = black_box([depth as u8; N]);
    if black_box(false) { 0 } else { recurse::<N>(depth + 1) + u64::from(frame[N / 2]) }
}

fn overflow() {
    announce();
    recurse::<64>(0);
}

unsafe extern "C" fn overflow_raw(_: *mut c_void) {
    overflow();
}

fn overflow_of_a_fixed_stack(test: Test) {
    for guard in ["", "mprotect"] {
        let process = test.process(|| run(|| go(overflow).join().unwrap()));
        let ended = process.env("GOSCHED_GUARD", guard).end();
        ended.overflow().says("overflow::recurse").says("...additional frames elided...\n");
        ended.says(&format!("created at {}:", file!()));
        assert!(ended.stderr.lines().count() < 300, "the backtrace goes on and on:\n{}", ended.stderr);
    }
}

fn overflow_of_a_copying_stack(test: Test) {
    let process = test.process(|| {
        run(|| {
            // SAFETY: the call only leads to a fatal error.
            unsafe { proc::newproc(Some(overflow_raw), ptr::null_mut()) };
            forever();
        });
    });
    let ended = process.env("GOTRACEBACK", "system").end();
    ended.overflow().says("overflow::recurse").says("gosched_goexit");
}

fn overflow_with_large_frames(test: Test) {
    let process = test.process(|| {
        run(|| {
            let f = || {
                announce();
                recurse::<20_000>(0)
            };
            go(f).join().unwrap();
        });
    });
    let ended = process.env("GOTRACEBACK", "system").end();
    ended.overflow().says("overflow::recurse");
    // There are so few frames that the report shows all, to the goroutine's base and no further.
    let (_, after) = ended.stderr.split_once("\ngosched_goexit(...)\n").expect("the goroutine's base");
    assert!(after.lines().nth(1).is_some_and(|line| line.starts_with("created at ")), "goes on:\n{after}");
}

/// The report has the waiting goroutines if all are asked for.
fn overflow_while_others_wait(test: Test) {
    static WAITER: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
    for (setting, reported) in [("single", false), ("all", true)] {
        let process = test.process(|| {
            run(|| {
                go(|| {
                    WAITER.store(proc::getg(), Ordering::Relaxed);
                    forever()
                });
                until_it_waits(&WAITER);
                go(overflow).join().unwrap();
            });
        });
        let ended = process.env("GOTRACEBACK", setting).end();
        ended.overflow().says("overflow::recurse");
        let waits =
            ended.stderr.contains(" [chan receive") && ended.stderr.contains("overflow::forever(...)");
        assert_eq!(waits, reported, "{setting}:\n{}", ended.stderr);
    }
}

fn overflow_among_neighbours(test: Test) {
    let process = test.process(|| {
        run(|| {
            for _ in 0..50 {
                go(forever);
            }
            go(overflow);
            for _ in 0..50 {
                go(forever);
            }
            forever();
        });
    });
    process.end().overflow();
}

fn overflows_at_the_same_time(test: Test) {
    let process = test.process(|| {
        run(|| {
            let together = Arc::new(std::sync::Barrier::new(4));
            for _ in 0..4 {
                let together = Arc::clone(&together);
                go(move || {
                    // A std barrier: each goroutine keeps its thread until all are here.
                    together.wait();
                    recurse::<64>(0)
                });
            }
            forever();
        });
    });
    let ended = process.env("GOMAXPROCS", "5").end();
    ended.with("exit status: 2");
    assert_eq!(ended.stderr.matches("fatal error: stack overflow\n").count(), 1, "{}", ended.stderr);
}

fn overflow_of_g0(test: Test) {
    // SAFETY: the call only leads to a fatal error.
    let process = test.process(|| run(|| unsafe { proc::systemstack(|| _ = recurse::<64>(0)) }));
    let ended = process.end();
    ended.with("exit status: 2").says("runtime: stack overflow on g0, stack [0x");
    ended.says("fatal error: morestack on g0\n").says("overflow::recurse");
}

fn overflow_of_a_foreign_thread(test: Test) {
    let process = test.process(|| {
        run(|| {});
        let thread = thread::Builder::new().name("foreign".into()).spawn(|| recurse::<64>(0));
        let _ = thread.unwrap().join();
    });
    let ended = process.end();
    ended.says("thread 'foreign'").says("has overflowed its stack").killed_by("signal: 6");
}

fn panic_on_a_copying_stack(test: Test) {
    unsafe extern "C" fn panic_raw(_: *mut c_void) {
        announce();
        panic!("needs more than 2 KiB");
    }
    let process = test.process(|| {
        run(|| {
            // SAFETY: the call only leads to a fatal error.
            unsafe { proc::newproc(Some(panic_raw), ptr::null_mut()) };
            forever();
        });
    });
    // The process waits for a tick of the watchdog.
    let ended = process.env("GODEBUG", "patience=400").end();
    ended.says("\nruntime: it was panicking, which takes more than a copying stack has: ");
    let (_, frames) = ended.stderr.split_once(" [running").expect("the report has a header");
    // The panic holds std's lock, which is needed to find names.
    assert!(frames.matches("(...)\n\t").count() > 5, "the frames are lost:\n{}", ended.stderr);
    assert!(!frames.contains("took too long"), "it waited for itself:\n{}", ended.stderr);
    ended.with("exit status: 2");
}

fn write_to_the_guard_of_another(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded(0);
            go(move || {
                // SAFETY: the running G.
                tx.send(unsafe { (*proc::getg()).stack.get().lo }).unwrap();
                forever();
            });
            let lo = rx.recv().unwrap();
            // SAFETY: a guard page, which nobody may touch. The fault is what is tested.
            unsafe { ptr::with_exposed_provenance_mut::<u64>(lo - 8).write_volatile(1) };
        });
    });
    process.end().killed_by("signal: 11");
}

fn dereference_of_null(test: Test) {
    let process = test.process(|| {
        run(|| {
            // SAFETY: a field of a struct at null; the fault is what is tested.
            go(|| unsafe { ptr::without_provenance::<u64>(black_box(8)).read_volatile() }).join().unwrap();
        });
    });
    process.end().killed_by("signal: 11");
}

fn handler_of_the_program(test: Test) {
    static PAGE: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());

    /// Makes the page readable, so that the read continues.
    extern "C" fn handler(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        let page = PAGE.load(Ordering::Relaxed).cast();
        // SAFETY: a signal handler's argument. The page belongs to the test.
        unsafe {
            assert_eq!((*info).si_addr(), page);
            libc::mprotect(page, page_size(), libc::PROT_READ);
        }
    }

    let process = test.process(|| {
        // SAFETY: a fresh mapping, and a handler with three arguments, as its flag says.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let page = libc::mmap(ptr::null_mut(), page_size(), libc::PROT_NONE, flags, -1, 0);
            PAGE.store(page.cast(), Ordering::Relaxed);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut());
        }
        run(|| {
            // SAFETY: the handler makes the page readable.
            let read = go(|| unsafe { PAGE.load(Ordering::Relaxed).read_volatile() });
            assert_eq!(read.join().unwrap(), 0);
            go(overflow).join().unwrap();
        });
    });
    process.end().overflow();
}

fn handler_that_needs_more_than_a_copying_stack(test: Test) {
    /// Uses 16 KiB of stack.
    extern "C" fn handler(_: c_int) {
        black_box([0_u8; 16 << 10]);
        HANDLED.store(true, Ordering::Relaxed);
    }
    static HANDLED: AtomicBool = AtomicBool::new(false);

    unsafe extern "C" fn raise(_: *mut c_void) {
        // SAFETY: sends this thread a signal that has a handler.
        unsafe { libc::raise(libc::SIGUSR1) };
    }

    let process = test.process(|| {
        // SAFETY: a handler with one argument, which runs on any stack.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as extern "C" fn(c_int) as usize;
            libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut());
        }
        run(|| {
            // SAFETY: `raise` fits on a copying stack and doesn't unwind.
            unsafe { proc::newproc(Some(raise), ptr::null_mut()) };
            while !HANDLED.load(Ordering::Relaxed) {
                yield_now();
            }
        });
    });
    process.end().with("exit status: 0");
}
