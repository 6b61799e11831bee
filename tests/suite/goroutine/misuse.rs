//! Calls of this crate where or how they aren't allowed: each is a panic or an error that says what
//! to do, and everything else goes on.

use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use gosched::proc;
use gosched::runtime2::G;
use gosched::sync::WaitGroup;
use gosched::{Builder, go, goexit, gomaxprocs, run, set_gomaxprocs};

use crate::harness::goroutines::until_it_waits;
use crate::harness::panics::{panics, text};
use crate::harness::{Test, tests};

tests! {
    run_inside_run
    settings_of_gomaxprocs
    gomaxprocs_that_cannot_be
    stack_that_cannot_be
    more_done_than_added
    wait_group_used_again_too_early
    goexit_of_main
    panic_of_main
    join_error
}

fn run_inside_run(test: Test) {
    let process = test.process(|| {
        run(|| {
            let expected = "gosched::run called on a goroutine: use gosched::go or gosched::scope there";
            assert_eq!(panics(|| run(|| ())), expected);
            assert_eq!(go(|| panics(|| run(|| ()))).join().unwrap(), expected);
        });
        assert_eq!(run(|| go(|| 7).join().unwrap()), 7);
    });
    process.end().with("exit status: 0");
}

fn settings_of_gomaxprocs(test: Test) {
    let process = || {
        test.process(|| {
            run(|| {
                let sum: u32 = (0..100).map(|i| go(move || i)).map(|handle| handle.join().unwrap()).sum();
                assert_eq!(sum, 4950);
            });
            eprint!("{}", gomaxprocs());
        })
    };
    let unset = process().end();
    assert_ne!(unset.with("exit status: 0").stderr, "0");
    for ignored in ["", "0", "-3", "abc", "4x", " 4", "99999999999", "16385"] {
        let ended = process().env("GOMAXPROCS", ignored).end();
        assert_eq!(ended.with("exit status: 0").stderr, unset.stderr, "GOMAXPROCS={ignored:?}");
    }
    for (taken, procs) in [("1", "1"), ("3", "3"), ("007", "7"), ("99", "99")] {
        let ended = process().env("GOMAXPROCS", taken).end();
        assert_eq!(ended.with("exit status: 0").stderr, procs, "GOMAXPROCS={taken:?}");
    }
}

fn gomaxprocs_that_cannot_be(test: Test) {
    let set = |n| set_gomaxprocs(NonZeroUsize::new(n).expect("not 0"));
    let process = test.process(move || {
        let text = panics(|| set(2));
        assert!(
            text.starts_with("gosched: set_gomaxprocs would have to wait, and nobody could end that"),
            "{text}"
        );
        run(|| {
            let before = gomaxprocs();
            for n in [16_385, usize::MAX] {
                let text = panics(|| set(n));
                let expected = format!(
                    "gosched::set_gomaxprocs: {n} is more than 16384, the most P's that there can be"
                );
                assert_eq!(text, expected);
            }
            assert_eq!(gomaxprocs(), before);
            assert_eq!((set(300), set(before), gomaxprocs()), (before, 300, before));
        });
        set(5);
        assert_eq!(run(gomaxprocs), 5);
    });
    process.end().with("exit status: 0");
}

fn stack_that_cannot_be(test: Test) {
    let process = test.process(|| {
        run(|| {
            const GIB: usize = 1 << 30;
            for size in [0, 1, 2048, 4096, GIB] {
                assert_eq!(Builder::new().stack_size(size).go(|| 7).unwrap().join().unwrap(), 7);
            }
            for size in [GIB + 4096, 2 * GIB, usize::MAX] {
                let error = Builder::new().stack_size(size).go(|| 7).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidInput);
                assert_eq!(error.to_string(), format!("a stack can't have {size} bytes: 1 GiB is the limit"));
            }
        });
    });
    process.end().with("exit status: 0");
}

fn more_done_than_added(test: Test) {
    let process = test.process(|| {
        run(|| {
            let message = panics(|| WaitGroup::new().done());
            assert_eq!(message, "gosched: negative WaitGroup count: more done than added");
        });
    });
    process.end().with("exit status: 0");
}

fn wait_group_used_again_too_early(test: Test) {
    static GROUP: WaitGroup = WaitGroup::new();
    static WAITER: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
    let process = test.process(|| {
        run(|| {
            GROUP.add(1);
            let waiter = go(|| {
                WAITER.store(proc::getg(), Ordering::Relaxed);
                GROUP.wait();
            });
            until_it_waits(&WAITER);
            // This goroutine keeps the only P: the waiter doesn't run between the two.
            let mp = proc::acquirem();
            GROUP.done();
            GROUP.add(1);
            // SAFETY: the M that acquirem has returned.
            unsafe { proc::releasem(mp) };
            let payload = waiter.join().unwrap_err().into_panic();
            assert_eq!(text(&*payload), "gosched: WaitGroup is reused before previous wait has returned");
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

fn goexit_of_main(test: Test) {
    let process = test.process(|| {
        static DROPPED: AtomicBool = AtomicBool::new(false);
        struct Note;
        impl Drop for Note {
            fn drop(&mut self) {
                DROPPED.store(true, Ordering::Relaxed);
            }
        }
        let message = panics(|| {
            run(|| {
                let _note = Note;
                goexit()
            })
        });
        assert_eq!(message, "gosched::run: main ended by goexit, so there is no value to return");
        assert!(DROPPED.load(Ordering::Relaxed));
        assert_eq!(run(|| 7), 7);
    });
    process.end().with("exit status: 0");
}

fn panic_of_main(test: Test) {
    let process = test.process(|| {
        assert_eq!(panics(|| run(|| panic!("what main says"))), "what main says");
        assert_eq!(run(|| 7), 7);
    });
    let ended = process.end();
    ended.with("exit status: 0").says(&format!("panicked at {}:", file!()));
    assert_eq!(ended.stderr.matches("what main says").count(), 1, "in:\n{}", ended.stderr);
}

fn join_error(test: Test) {
    let process = test.process(|| {
        run(|| {
            let error = || go(|| panic!("number {}", 7)).join().unwrap_err();
            assert!(error().is_panic() && !error().is_goexit());
            assert_eq!(error().to_string(), "goroutine panicked: number 7");
            assert_eq!(text(&*error().into_panic()), "number 7");
            assert_eq!(panics(|| error().resume_panic()), "number 7");

            let error = || go(|| goexit()).join().unwrap_err();
            assert!(error().is_goexit() && !error().is_panic());
            assert_eq!(error().to_string(), "goroutine ended by goexit");
            let expected = "gosched: the goroutine didn't panic, but ended by goexit";
            assert_eq!(panics(|| error().into_panic()), expected);
            assert_eq!(panics(|| error().resume_panic()), expected);
        });
    });
    process.end().with("exit status: 0");
}
