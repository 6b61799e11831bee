//! Runs cases in a signal handler, which interrupts a goroutine and runs on the signal stack.

#[allow(dead_code, unused_imports, reason = "the suite's tests need more of it")]
#[path = "../../suite/harness/mod.rs"]
mod harness;

use std::hint::black_box;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::yield_now;
use gosched_split_stack::{Call, Case, Partner, Reference, Settings, available, cases, flavours, references};
use harness::Test;
use harness::asked::run_asked;

harness::tests! {
    arrays_in_a_handler
}

fn main() -> std::process::ExitCode {
    harness::main(TESTS)
}

/// The number of signals that the test waits for.
const SIGNALS: usize = 1500;

/// The seconds after which a process that should have ended is killed.
const PATIENCE: u32 = 300;

const SETTINGS: Settings = Settings { seed: 0x0123_4567_89ab_cdef, levels: 5, deep_levels: 1 };

/// The cases that the handler runs.
static CASES: OnceLock<Vec<(Case, Reference)>> = OnceLock::new();

/// How often the handler was called, and how often a case returned a wrong result.
static SEEN: AtomicUsize = AtomicUsize::new(0);
static WRONG: AtomicUsize = AtomicUsize::new(0);

extern "C" fn handler(_: libc::c_int) {
    let seen = SEEN.fetch_add(1, Ordering::Relaxed);
    if let Some(cases) = CASES.get() {
        let (case, reference) = &cases[seen % cases.len()];
        let result = Call::new(case, 0, SETTINGS, &Partner::thread()).on_this_stack();
        WRONG.fetch_add(usize::from(!reference.agrees(result)), Ordering::Relaxed);
    }
}

/// Installs the handler, and a timer that sends SIGPROF for each millisecond of processor time.
fn profile() {
    // SAFETY: the handler runs cases that fit the signal stack, and the structs are initialised.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGPROF, &action, ptr::null_mut()), 0);
        let millisecond = libc::timeval { tv_sec: 0, tv_usec: 1000 };
        let timer = libc::itimerval { it_interval: millisecond, it_value: millisecond };
        assert_eq!(libc::setitimer(libc::ITIMER_PROF, &timer, ptr::null_mut()), 0);
    }
}

/// Goroutines are asked to stop all the time, and a handler interrupts them in malloc and free. Its
/// arrays of variable length compare rsp with the goroutine's limit.
fn arrays_in_a_handler(test: Test) {
    if !available() {
        return;
    }
    let process = test.process(|| {
        // SAFETY: only sets a timer. It ends a process that hangs because the handler waits for a
        // lock of malloc's that its own thread holds.
        unsafe { libc::alarm(PATIENCE) };
        let arrays = |flavour| cases(flavour).into_iter().find(|case| case.name == "array_in_a_loop");
        let cases: Vec<Case> = flavours().into_iter().filter_map(arrays).collect();
        let references = references(&cases, SETTINGS);
        let all = CASES.get_or_init(|| cases.into_iter().zip(references).collect());
        assert!(!all.is_empty());
        run_asked(|| {
            profile();
            gosched::scope(|s| {
                for bytes in [24, 100, 1000, 5000] {
                    s.go(move || {
                        while SEEN.load(Ordering::Relaxed) < SIGNALS {
                            let boxes: Vec<Vec<u8>> = (0..100).map(|i| vec![1; bytes + i]).collect();
                            assert!(black_box(boxes).iter().all(|bytes| bytes[bytes.len() / 2] == 1));
                            yield_now();
                        }
                    });
                }
            });
        });
        assert_eq!(WRONG.load(Ordering::Relaxed), 0);
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}
