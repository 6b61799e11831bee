//! The report of a goroutine's panic, and when a panic ends the process.

use std::panic::{catch_unwind, set_hook, take_hook};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::sync::Mutex;
use gosched::time::Timer;
use gosched::{Builder, JoinHandle, PanicMode, go, goexit, proc, run, scope, set_panic_mode, yield_now};

use super::deadlock::forever;
use crate::harness::process::Ended;
use crate::harness::{Test, tests};

tests! {
    says_which_goroutine
    of_the_main_goroutine
    on_g0
    of_a_thread
    of_a_thread_that_waits_for_a_goroutine
    a_name_with_control_characters
    a_hook_that_was_set_before
    a_hook_that_is_set_later
    a_runtime_that_a_destructor_starts
    that_nobody_joins
    that_nobody_joins_in_gos_way
    with_a_handle_that_is_dropped_later
    of_a_timers_function
    that_somebody_takes
}

impl Ended {
    /// Fails unless a line names this goroutine as the one that panics.
    #[track_caller]
    fn panics(&self, goroutine: &str) -> &Self {
        self.says(&format!("{goroutine}panics:\n"))
    }

    /// Fails if a line says that a goroutine panics.
    #[track_caller]
    fn no_goroutine_panics(&self) -> &Self {
        assert!(!self.stderr.contains("panics:"), "whose panic is that?\n{}", self.stderr);
        self
    }
}

fn here(line: u32) -> String {
    format!("created at {}:{line}:", file!())
}

fn says_which_goroutine(test: Test) {
    let line = line!() + 3;
    let process = test.process(|| {
        run(|| {
            let handle = Builder::new().name("worker").go(|| panic!("no more"));
            assert!(handle.unwrap().join().is_err());
        });
    });
    let ended = process.end();
    ended.with("exit status: 0").says("panicked at ").says("no more\n");
    ended.says(&format!("goroutine 2 \"worker\", {}", here(line))).panics(" in goroutine 1, ");
    let (whose, message) = (ended.stderr.find("panics:\n"), ended.stderr.find("no more\n"));
    assert!(whose < message, "first whose it is:\n{}", ended.stderr);
    assert_eq!(ended.stderr.matches("panics:\n").count(), 1, "{}", ended.stderr);
}

fn of_the_main_goroutine(test: Test) {
    let process = test.process(|| {
        assert!(catch_unwind(|| run(|| panic!("main's"))).is_err());
        // The hook is installed once.
        assert!(catch_unwind(|| run(|| panic!("another main's"))).is_err());
    });
    let ended = process.end();
    ended.with("exit status: 0").panics("goroutine 1 ");
    assert_eq!(ended.stderr.matches("panics:\n").count(), 2, "{}", ended.stderr);
}

fn on_g0(test: Test) {
    let process = test.process(|| {
        run(|| {
            // SAFETY: it doesn't park.
            let f = || unsafe { proc::systemstack(|| panic!("on g0")) };
            assert!(go(f).join().is_err());
        });
    });
    process.end().with("exit status: 0").panics(" in goroutine 1, ");
}

fn of_a_thread(test: Test) {
    let process = test.process(|| {
        run(|| {});
        assert!(thread::spawn(|| panic!("a thread's")).join().is_err());
        assert!(catch_unwind(|| panic!("the first thread's")).is_err());
    });
    process.end().with("exit status: 0").no_goroutine_panics();
}

/// The thread becomes a goroutine meanwhile, and has been one when it panics.
fn of_a_thread_that_waits_for_a_goroutine(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded::<()>(0);
            let thread = thread::spawn(move || {
                rx.recv().unwrap();
                panic!("a thread's");
            });
            tx.send(()).unwrap();
            while !thread.is_finished() {
                yield_now();
            }
        });
    });
    process.end().with("exit status: 0").says("a thread's\n").no_goroutine_panics();
}

fn a_name_with_control_characters(test: Test) {
    let process = test.process(|| {
        run(|| {
            let name = "a\nb\u{1b}[31m\"\u{202e}\u{7f}";
            let _handle = Builder::new().name(name).go(|| {
                let _ = catch_unwind(|| panic!("one"));
                proc::fatal("two");
            });
            forever();
        });
    });
    let ended = process.end();
    let name = r#"goroutine 2 "a\nb\u{1b}[31m\"\u{202e}\u{7f}""#;
    ended.fatal("two").says(&format!("{name}, created at ")).says(&format!("\n{name} [running"));
    let raw = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
    assert!(!ended.stderr.contains(raw), "{:?}", ended.stderr);
}

fn a_hook_that_was_set_before(test: Test) {
    let process = test.process(|| {
        set_hook(Box::new(|_| {}));
        run(|| assert!(go(|| panic!("unheard")).join().is_err()));
        let _ = take_hook();
        assert!(catch_unwind(|| panic!("heard")).is_err());
    });
    let ended = process.end();
    ended.with("exit status: 0").says("heard\n").no_goroutine_panics();
    assert!(!ended.stderr.contains("unheard"), "it was to be silent:\n{}", ended.stderr);
}

/// A later hook may call the one that it finds.
fn a_hook_that_is_set_later(test: Test) {
    let process = test.process(|| {
        run(|| {
            let before = take_hook();
            set_hook(Box::new(move |info| {
                eprintln!("mine: {}", gosched::goid());
                before(info);
            }));
            assert!(go(|| panic!("oh")).join().is_err());
            set_hook(Box::new(|_| eprintln!("mine alone")));
            assert!(go(|| panic!("oh")).join().is_err());
        });
    });
    let ended = process.end();
    ended.with("exit status: 0").says("mine: 2\n").says("mine alone\n").panics(" in goroutine 1, ");
    assert_eq!(ended.stderr.matches("panics:\n").count(), 1, "{}", ended.stderr);
}

fn a_runtime_that_a_destructor_starts(test: Test) {
    struct Starts;
    impl Drop for Starts {
        fn drop(&mut self) {
            run(|| go(|| eprintln!("ran")).join().unwrap());
        }
    }
    let process = test.process(|| {
        let panics = || {
            let _starts = Starts;
            panic!("first");
        };
        assert!(catch_unwind(panics).is_err());
    });
    process.end().with("exit status: 0").says("ran\n");
}

/// Makes a goroutine that panics after its handle is gone, and waits until that has happened.
fn panic_unjoined() {
    struct Tells(gosched::chan::Sender<()>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    let (tx, rx) = bounded(1);
    let (go_on, may_go_on) = bounded::<()>(0);
    drop(Builder::new().name("lost").go(move || {
        let _tells = Tells(tx);
        may_go_on.recv().unwrap();
        panic!("oh");
    }));
    go_on.send(()).unwrap();
    rx.recv().unwrap();
    gosched::time::sleep(Duration::from_millis(20));
}

fn that_nobody_joins(test: Test) {
    let process = test.process(|| run(panic_unjoined));
    process.env("GODEBUG", "dieonpanic=0").end().with("exit status: 0").says("oh\n");
}

fn that_nobody_joins_in_gos_way(test: Test) {
    let body = || {
        run(|| {
            let (_tx, rx) = bounded::<()>(0);
            go(move || rx.recv());
            panic_unjoined();
            forever();
        })
    };
    for (setting, others) in [("single", false), ("all", true)] {
        let process = test.process(body);
        let ended = process.env("GODEBUG", "dieonpanic=1").env("GOTRACEBACK", setting).end();
        ended.with("exit status: 2").says("oh\n");
        let error = ended.stderr.lines().find(|line| line.starts_with("fatal error: goroutine "));
        let error = error.expect(&ended.stderr);
        assert!(error.contains(" \"lost\", created at "), "{error}");
        assert!(error.ends_with(" in goroutine 1, panicked, and nobody joins it"), "{error}");
        assert_eq!(ended.stderr.contains("\ngoroutine 2 ["), others, "{}", ended.stderr);
    }
}

/// Whether the goroutine panics first or loses its handle doesn't matter.
fn with_a_handle_that_is_dropped_later(test: Test) {
    let process = test.process(|| {
        run(|| {
            set_panic_mode(PanicMode::Die);
            let handle: JoinHandle<()> = go(|| panic!("oh"));
            while !handle.is_finished() {
                yield_now();
            }
            eprintln!("it has ended");
            drop(handle);
            forever();
        });
    });
    process.end().with("exit status: 2").says("it has ended\nfatal error: goroutine 2, created at ");
}

fn of_a_timers_function(test: Test) {
    let process = test.process(|| {
        set_panic_mode(PanicMode::Die);
        run(|| {
            let _timer = Timer::after_func(Duration::ZERO, || panic!("oh"));
            forever();
        });
    });
    process.end().with("exit status: 2").says(" panicked, and nobody joins it\n");
}

fn that_somebody_takes(test: Test) {
    let process = test.process(|| {
        let main = catch_unwind(|| {
            run(|| {
                set_panic_mode(PanicMode::Die);
                assert!(go(|| panic!("joined")).join().is_err());
                drop(go(|| catch_unwind(|| panic!("caught")).is_err()));
                drop(go(|| goexit()));
                assert!(catch_unwind(|| scope(|s| drop(s.go(|| panic!("the scope's"))))).is_err());
                let poisoned = Mutex::new(());
                let holder = go(move || {
                    let _guard = poisoned.lock();
                    panic!("with a lock");
                });
                assert!(holder.join().is_err());
                gosched::time::sleep(Duration::from_millis(20));
                panic!("main's");
            })
        });
        assert!(main.is_err());
    });
    process.end().with("exit status: 0");
}
