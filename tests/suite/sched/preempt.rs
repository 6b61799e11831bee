//! Goroutines that are asked to stop, and where they stop. Only these tests ask, on a foreign
//! thread.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::thread;

use gosched::proc::{self, PreemptibleError, register_preemptible};
use gosched::runtime2::G;
use gosched::{go, morestack_check, preemptible, scope, yield_now};

use crate::harness::asked::{ASKED, run_asked};
use crate::harness::{Test, rounds, tests};
use crate::painted::Case;

tests! {
    a_check_stops_a_fixed_goroutine
    a_check_stops_a_copying_goroutine
    a_loop_without_checks_goes_on
    a_goroutine_that_holds_its_m_goes_on
    a_goroutine_that_panics_stops_on_its_thread
    a_check_that_needs_room_gets_it_first
    who_was_to_be_next_is_next
    a_preemptible_loop_is_stopped
    a_preemptible_loop_on_a_copying_stack_is_stopped
    a_preemptible_loop_at_the_end_of_its_stack_goes_on
    without_signals_it_goes_on
    a_preemptible_loop_that_panics_stops_on_its_thread
    the_programs_own_signals_arrive
    ranges_that_cannot_be_registered
    an_interruption_takes_little_of_a_stack
}

/// Whether another goroutine has run; there is one P.
static OTHER_RAN: AtomicBool = AtomicBool::new(false);

fn let_other_run() {
    go(|| OTHER_RAN.store(true, Ordering::Relaxed));
}

#[inline(never)]
fn nothing() {}

fn check_until_other_ran() {
    while !OTHER_RAN.load(Ordering::Relaxed) {
        morestack_check!(100, nothing);
    }
}

fn a_check_stops_a_fixed_goroutine(test: Test) {
    let process = test.process(|| {
        run_asked(|| {
            let_other_run();
            check_until_other_ran();
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

fn a_check_stops_a_copying_goroutine(test: Test) {
    unsafe extern "C" fn checks(_: *mut c_void) {
        check_until_other_ran();
    }
    let process = || {
        test.process(|| {
            run_asked(|| {
                // SAFETY: it fits its stack and doesn't panic.
                unsafe { proc::newproc(Some(checks), ptr::null_mut()) };
                // `checks` is next on this P, and after it only the preempting thread acts.
                yield_now();
                OTHER_RAN.store(true, Ordering::Relaxed);
            });
        })
        .env("GOMAXPROCS", "1")
    };
    process().end().with("exit status: 0");
    process().env("GODEBUG", "stackforcemove=1,efence=1,stackverify=1").end().with("exit status: 0");
}

/// Runs until there were many requests. Returns whether another goroutine ran meanwhile.
fn other_runs_after_requests(mut f: impl FnMut()) -> bool {
    let_other_run();
    while ASKED.load(Ordering::Relaxed) < 100 {
        f();
    }
    OTHER_RAN.load(Ordering::Relaxed)
}

fn a_loop_without_checks_goes_on(test: Test) {
    let process = test.process(|| run_asked(|| assert!(!other_runs_after_requests(|| ()))));
    // The goroutine keeps its thread in any case. Here it keeps its P, too.
    process.env("GODEBUG", "detach=0").env("GOMAXPROCS", "1").end().with("exit status: 0");
}

fn a_goroutine_that_holds_its_m_goes_on(test: Test) {
    let process = test.process(|| {
        run_asked(|| {
            let mp = proc::acquirem();
            assert!(!other_runs_after_requests(|| morestack_check!(100, nothing)));
            // SAFETY: the M is released once.
            unsafe { proc::releasem(mp) };
            check_until_other_ran();
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

fn a_goroutine_that_panics_stops_on_its_thread(test: Test) {
    struct ChecksWhenDropped;
    impl Drop for ChecksWhenDropped {
        fn drop(&mut self) {
            let thread = thread::current().id();
            check_until_other_ran();
            assert!(thread::panicking() && thread::current().id() == thread);
        }
    }
    let process = test.process(|| {
        run_asked(|| {
            let panics = go(|| {
                let_other_run();
                let _checks = ChecksWhenDropped;
                panic!("as it should");
            });
            assert!(panics.join().unwrap_err().is_panic());
            assert!(!thread::panicking());
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0").says("as it should");
}

fn a_check_that_needs_room_gets_it_first(test: Test) {
    /// Fills its frame, and checks that nobody else writes to it.
    #[inline(never)]
    fn deeper(depth: usize) -> usize {
        let frame = std::hint::black_box([depth; 128]);
        let below = if depth == 0 { 0 } else { morestack_check!(4096, deeper, depth - 1) };
        if frame.iter().all(|&word| word == depth) { below + 1 } else { 0 }
    }
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    static WRONG: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn grows(times: *mut c_void) {
        for _ in 0..times.addr() {
            if morestack_check!(4096, deeper, 20) != 21 {
                WRONG.fetch_add(1, Ordering::Relaxed);
            }
        }
        ENDED.fetch_add(1, Ordering::Relaxed);
    }
    let process = || {
        test.process(|| {
            run_asked(|| {
                for _ in 0..20 {
                    // SAFETY: it checks its stack and doesn't panic.
                    unsafe { proc::newproc(Some(grows), ptr::without_provenance_mut(rounds(50))) };
                }
                while ENDED.load(Ordering::Relaxed) < 20 {
                    yield_now();
                }
            });
            assert_eq!(WRONG.load(Ordering::Relaxed), 0);
        })
        .env("GOMAXPROCS", "2")
    };
    process().env("GODEBUG", "stackkeep=0").end().with("exit status: 0");
    process().env("GODEBUG", "stackforcemove=1").end().with("exit status: 0");
}

preemptible! {
    /// Runs until another goroutine has run, or there were `most` requests. Returns how many
    /// requests there were.
    unsafe fn spin(most: usize) -> usize {
        loop {
            let asked = ASKED.load(Ordering::Relaxed);
            if OTHER_RAN.load(Ordering::Relaxed) || asked >= most {
                return asked;
            }
        }
    }
}

/// A limit that is never reached, for a loop that another goroutine ends.
const FOREVER: usize = usize::MAX;

/// Returns how many time slices the running goroutine's P has given.
fn slices() -> u32 {
    // SAFETY: a goroutine's M, and its P, which are never freed.
    let pp = unsafe { (*proc::getg()).m.get().unwrap().p.peek().unwrap() };
    pp.schedtick.load(Ordering::Relaxed)
}

/// The goroutine that waits in the queue isn't next: that would cost the next one the other's time
/// and one more slice.
fn who_was_to_be_next_is_next(test: Test) {
    const TRIES: usize = 100;

    /// Returns whether the next goroutine was the first to run; None if this goroutine was stopped
    /// too early.
    fn next_was_first() -> Option<bool> {
        let (queued, next) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut too_early = false;
        scope(|s| {
            s.go(|| {
                yield_now();
                queued.store(true, Ordering::Relaxed);
            });
            yield_now();
            let before = slices();
            s.go(|| next.store(!queued.load(Ordering::Relaxed), Ordering::Relaxed));
            too_early = slices() != before;
            while !queued.load(Ordering::Relaxed) && !next.load(Ordering::Relaxed) {
                morestack_check!(100, nothing);
            }
        });
        (!too_early).then(|| next.load(Ordering::Relaxed))
    }

    let process = test.process(|| {
        run_asked(|| {
            // Every 61st time it is the other goroutine's turn.
            let first = (0..).filter_map(|_| next_was_first()).take(TRIES).filter(|first| *first).count();
            assert!(first > TRIES / 2, "{first} times of {TRIES}");
        });
    });
    // A goroutine that has lost its P in between would wait in the queue itself.
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

fn a_preemptible_loop_is_stopped(test: Test) {
    let process = test.process(|| {
        run_asked(|| {
            let_other_run();
            // SAFETY: no lock is held, and no thread-local in use.
            unsafe { spin(FOREVER) };
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

fn a_preemptible_loop_on_a_copying_stack_is_stopped(test: Test) {
    unsafe extern "C" fn spins(_: *mut c_void) {
        // SAFETY: as above.
        unsafe { spin(FOREVER) };
    }
    let process = || {
        test.process(|| {
            run_asked(|| {
                // SAFETY: it fits its stack and doesn't panic.
                unsafe { proc::newproc(Some(spins), ptr::null_mut()) };
                // `spins` is next on this P.
                yield_now();
                OTHER_RAN.store(true, Ordering::Relaxed);
            });
        })
        .env("GOMAXPROCS", "1")
    };
    process().end().with("exit status: 0");
    process().env("GODEBUG", "stackforcemove=1,efence=1").end().with("exit status: 0");
}

preemptible! {
    /// Spins until `most` requests, at most `near` bytes above `end`, the end of its stack.
    unsafe fn spin_near(end: usize, near: usize, most: usize) {
        let frame = std::hint::black_box([most; 4]);
        if (&raw const frame).addr() - end > near {
            // SAFETY: as the caller says.
            unsafe { spin_near(end, near, most) };
        } else {
            while ASKED.load(Ordering::Relaxed) < most {}
        }
        // Each call needs a frame of its own.
        std::hint::black_box(frame);
    }
}

/// The end of the stack has no room for the loop's registers.
fn a_preemptible_loop_at_the_end_of_its_stack_goes_on(test: Test) {
    const NEAR: usize = if cfg!(debug_assertions) { 700 } else { 300 };
    let process = test.process(|| {
        run_asked(|| {
            let spins = go(|| {
                // SAFETY: on a goroutine, whose stack stays where it is.
                let end = unsafe { (*proc::getg()).stack.get().lo };
                let most = ASKED.load(Ordering::Relaxed) + 100;
                // SAFETY: no lock is held, and no thread-local in use.
                unsafe { spin_near(end, NEAR, most) }
            });
            spins.join().unwrap();
        });
    });
    process.end().with("exit status: 0");
}

fn without_signals_it_goes_on(test: Test) {
    let process = test.process(|| {
        run_asked(|| {
            let_other_run();
            // SAFETY: as above.
            assert!(unsafe { spin(100) } >= 100);
            assert!(!OTHER_RAN.load(Ordering::Relaxed));
            // SAFETY: on a goroutine, which has an M.
            assert_eq!(unsafe { (*proc::getm()).preempt_gen.load(Ordering::Relaxed) }, 0);
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "asyncpreemptoff=1").end().with("exit status: 0");
}

fn a_preemptible_loop_that_panics_stops_on_its_thread(test: Test) {
    struct SpinsWhenDropped;
    impl Drop for SpinsWhenDropped {
        fn drop(&mut self) {
            let thread = thread::current().id();
            // SAFETY: as above. The panic's count stays with the thread, and so does the goroutine.
            unsafe { spin(FOREVER) };
            assert!(thread::panicking() && thread::current().id() == thread);
        }
    }
    let process = test.process(|| {
        run_asked(|| {
            let panics = go(|| {
                let_other_run();
                let _spins = SpinsWhenDropped;
                panic!("as it should");
            });
            assert!(panics.join().unwrap_err().is_panic());
            assert!(!thread::panicking());
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0").says("as it should");
}

fn the_programs_own_signals_arrive(test: Test) {
    static BEFORE: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn handler(sig: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        assert_eq!(sig, libc::SIGURG);
        // SAFETY: the handler has SA_SIGINFO, and the info comes from `sigqueue`.
        if unsafe { (*info).si_code == libc::SI_QUEUE } {
            BEFORE.fetch_add(1, Ordering::Relaxed);
        }
    }
    let process = test.process(|| {
        // SAFETY: a handler with three arguments.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as extern "C" fn(_, _, _) as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGURG, &action, ptr::null_mut());
        }
        let send = || {
            let before = BEFORE.load(Ordering::Relaxed);
            // SAFETY: no memory is passed. The signal goes to this process, any thread of which may
            // take it.
            unsafe {
                libc::sigqueue(libc::getpid(), libc::SIGURG, libc::sigval { sival_ptr: ptr::null_mut() })
            };
            while BEFORE.load(Ordering::Relaxed) == before {
                std::hint::spin_loop();
            }
        };
        run_asked(|| {
            for _ in 0..rounds(100) {
                OTHER_RAN.store(false, Ordering::Relaxed);
                let_other_run();
                // SAFETY: as above.
                unsafe { spin(FOREVER) };
                send();
            }
        });
        send();
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

fn ranges_that_cannot_be_registered(test: Test) {
    let process = test.process(|| {
        let register = |code: Range<usize>| {
            // SAFETY: the range has no code to run.
            unsafe { register_preemptible(code) }
        };
        let error = |code: Range<usize>| register(code).unwrap_err();
        assert_eq!(error(0x1000..0x1000), PreemptibleError::Empty(0x1000..0x1000));
        #[expect(clippy::reversed_empty_ranges, reason = "it is what is tested")]
        let reversed = 0x2000..0x1000;
        assert_eq!(error(reversed.clone()).to_string(), "no code is in 0x2000..0x1000");
        assert_eq!(error(reversed.clone()), PreemptibleError::Empty(reversed));

        let first = register(0x1000..0x2000).unwrap();
        let second = register(0x3000..0x4000).unwrap();
        for (code, other) in [
            (0x1000..0x2000, 0x1000..0x2000),
            (0x0fff..0x1001, 0x1000..0x2000),
            (0x1fff..0x3000, 0x1000..0x2000),
            (0x2000..0x3001, 0x3000..0x4000),
            (0x3800..0x3801, 0x3000..0x4000),
        ] {
            assert_eq!(error(code), PreemptibleError::Overlaps(other));
        }
        let between = register(0x2000..0x3000).unwrap();
        assert_eq!(format!("{between:?}"), "PreemptibleRegistration(0x2000..0x3000)");
        drop(first);
        assert_eq!(error(0x2000..0x2001), PreemptibleError::Overlaps(0x2000..0x3000));
        drop((register(0x1000..0x2000).unwrap(), second, between));

        // The macro's code is registered once, forever.
        let spin = spin as *const () as usize;
        let message = error(spin..spin + 1).to_string();
        assert!(message.ends_with(", which is preemptible already"), "{message}");
    });
    process.end().with("exit status: 0");
}

fn an_interruption_takes_little_of_a_stack(test: Test) {
    /// The documentation's limit, and some words of this test's own.
    const LIMIT: usize = if cfg!(debug_assertions) { 2320 + 400 } else { 400 + 64 };
    static GP: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
    static INTERRUPTED: Case = Case::new("an interruption", be_interrupted);

    unsafe fn be_interrupted() {
        // SAFETY: as above.
        unsafe { spin(FOREVER) };
    }
    unsafe extern "C" fn measure(_: *mut c_void) {
        GP.store(proc::getg(), Ordering::Release);
        // SAFETY: on a goroutine, near the base of its stack.
        unsafe { INTERRUPTED.measure(|_| LIMIT) };
    }
    let process = test.process(|| {
        run_asked(|| {
            // SAFETY: it fits its stack and doesn't panic.
            unsafe { proc::newproc(Some(measure), ptr::null_mut()) };
            let interrupted = || {
                let mut times = 0;
                while times < 10 {
                    let gp = GP.load(Ordering::Acquire);
                    if !gp.is_null() {
                        // SAFETY: the thread isn't the runtime's; the goroutine ends after this.
                        unsafe {
                            let state = proc::suspend_g(gp);
                            times += usize::from((*gp).async_safe_point.get());
                            proc::resume_g(state);
                        }
                    }
                }
                OTHER_RAN.store(true, Ordering::Relaxed);
            };
            thread::spawn(interrupted).join().unwrap();
            while !INTERRUPTED.measured() {
                yield_now();
            }
        });
        INTERRUPTED.check(LIMIT);
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}
