//! Which goroutines have thread-locals of their own: all, unless the program promises what sharing
//! requires.

use std::cell::Cell;
use std::hint::black_box;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use gosched::iter::pull;
use gosched::time::sleep;
use gosched::{Builder, check, go, proc, run, scope, set_default_shared_locals};

use crate::harness::asked::run_asked;
use crate::harness::panics::panics;
use crate::harness::{Test, tests};

tests! {
    all_have_their_own
    mains_end_with_it
    some_share
    all_share
    main_is_a_builders
    a_stack_that_cannot_be
    on_a_goroutine
    kept_where_they_are_stopped
}

/// Returns whether the running goroutine has thread-locals of its own.
fn has_its_own() -> bool {
    // SAFETY: on a goroutine, whose G stays while it runs.
    unsafe { (*proc::getg()).ext.tp.get() != 0 }
}

/// Returns this for main, for a goroutine made in each way, and for a generator.
fn each_way() -> [bool; 5] {
    [
        has_its_own(),
        go(has_its_own).join().unwrap(),
        Builder::new().stack_size(1 << 20).go(has_its_own).unwrap().join().unwrap(),
        scope(|s| s.go(has_its_own).join().unwrap()),
        pull(|out| out.yield_(has_its_own())).next().unwrap(),
    ]
}

fn all_have_their_own() {
    assert_eq!(run(each_way), [true; 5]);
}

fn mains_end_with_it() {
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    struct Counted(Cell<u32>);
    impl Drop for Counted {
        fn drop(&mut self) {
            sleep(Duration::from_micros(1));
            DROPPED.fetch_add(self.0.get(), Ordering::Relaxed);
        }
    }
    thread_local!(static COUNTED: Counted = const { Counted(Cell::new(1)) });

    COUNTED.with(|counted| counted.0.set(100));
    for round in 1..=3 {
        run(|| COUNTED.with(|counted| counted.0.set(counted.0.get() + 1)));
        assert_eq!(DROPPED.load(Ordering::Relaxed), round * 2);
    }
    COUNTED.with(|counted| assert_eq!(counted.0.get(), 100));
}

fn some_share() {
    // SAFETY: the goroutine uses no thread-local.
    let lean = unsafe { Builder::new().shared_locals() };
    assert!(!lean.run(has_its_own).unwrap());
    run(|| {
        assert!(!lean.go(has_its_own).unwrap().join().unwrap());
        assert!(lean.own_locals().go(has_its_own).unwrap().join().unwrap());
        // A goroutine that such a goroutine makes is of the usual kind.
        assert!(lean.go(|| go(has_its_own).join().unwrap()).unwrap().join().unwrap());
    });
}

fn all_share() {
    // SAFETY: the goroutines use no thread-local.
    unsafe { set_default_shared_locals() }.unwrap();
    assert_eq!(run(each_way), [false; 5]);
    let own = Builder::new().own_locals();
    assert!(own.run(has_its_own).unwrap());
    run(|| assert!(own.go(has_its_own).unwrap().join().unwrap()));
    // SAFETY: as above.
    let error = unsafe { set_default_shared_locals() }.unwrap_err();
    assert_eq!(error.to_string(), "the runtime has started: call this before the first gosched::run");
}

fn main_is_a_builders() {
    fn depth(n: u32) -> u32 {
        if n == 0 { 0 } else { 1 + black_box(depth(n - 1)) }
    }
    assert_eq!(Builder::new().stack_size(256 << 20).run(|| depth(500_000)).unwrap(), 500_000);
}

fn a_stack_that_cannot_be() {
    let error = Builder::new().stack_size((1 << 30) + 4096).run(|| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(run(|| 7), 7);
}

fn on_a_goroutine() {
    let said = run(|| panics(|| drop(Builder::new().run(|| ()))));
    assert_eq!(said, "gosched::run called on a goroutine: use gosched::go or gosched::scope there");
}

/// The goroutines are asked to stop all the time, and stop at checks.
fn kept_where_they_are_stopped(test: Test) {
    thread_local!(static KEPT: Cell<usize> = const { Cell::new(0) });

    let keeps = |n: usize| {
        let id = thread::current().id();
        KEPT.with(|kept| {
            for i in 0..20_000 {
                kept.set(n + i);
                check();
                assert_eq!((kept.get(), KEPT.get()), (n + i, n + i));
            }
        });
        assert_eq!(thread::current().id(), id);
    };
    for procs in ["1", "2", "8"] {
        let process = test.process(|| {
            run_asked(|| {
                let handles: Vec<_> = (0..8).map(|n| go(move || keeps(n << 20))).collect();
                handles.into_iter().for_each(|handle| handle.join().unwrap());
            });
        });
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}
