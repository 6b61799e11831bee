//! Goroutine-locals where a goroutine can't be made, where one is made for the runtime, and where
//! one ends.

use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::context::Context;
use gosched::signal::{self, Signal};
use gosched::sync::{ErrGroup, WaitGroup, err_group};
use gosched::time::{Timer, sleep};
use gosched::{Builder, block_on, go, goroutine_local, run, scope};

use crate::harness::panics::panics;
use crate::harness::storm::storm;
use crate::harness::{run_with_procs, tests};

tests! {
    who_counts_a_goroutine_that_is_not_made
    what_the_runtime_makes_inherits_nothing
    a_future_is_woken_after_late_destructors
    what_a_lost_result_makes_is_dropped
}

struct NoClone;

impl Clone for NoClone {
    fn clone(&self) -> Self {
        panic!("this isn't cloned");
    }
}

goroutine_local!(inherit static NO_CLONE: NoClone = NoClone);

fn who_counts_a_goroutine_that_is_not_made() {
    run(|| {
        NO_CLONE.with(|_| ());
        assert_eq!(panics(|| scope(|s| drop(s.go(|| ())))), "this isn't cloned");
        let none = |group: &ErrGroup<'_, '_, ()>| {
            group.go(|_| Ok(()));
            Ok(())
        };
        assert_eq!(panics(|| err_group(&Context::background(), none)), "this isn't cloned");
        let group = Arc::new(WaitGroup::new());
        assert!(catch_unwind(AssertUnwindSafe(|| drop(group.go(|| ())))).is_err());
        group.wait();
    });
}

fn what_the_runtime_makes_inherits_nothing() {
    run(|| {
        NO_CLONE.with(|_| ());
        let (tx, rx) = bounded(2);
        let (ctx, cancel) = Context::background().with_cancel();
        let after = tx.clone();
        let _after = ctx.after_func(move || after.send(1).unwrap());
        cancel.cancel();
        assert_eq!(rx.recv(), Ok(1));
        let _timer = Timer::after_func(Duration::from_millis(1), move || tx.send(2).unwrap());
        assert_eq!(rx.recv(), Ok(2));
        // Starts goroutines of the runtime that never end.
        drop(signal::notify([Signal::USR1]).unwrap());
    });
}

fn a_future_is_woken_after_late_destructors() {
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            assert!(NO_CLONE.try_with(|_| ()).is_err());
        }
    }
    thread_local!(static LATE: Late = const { Late });
    run(|| {
        let ends = go(|| {
            LATE.with(|_| ());
            sleep(Duration::from_millis(10));
        });
        block_on(async { ends.await.unwrap() });
    });
}

fn what_a_lost_result_makes_is_dropped() {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            COUNT.fetch_sub(1, Ordering::Relaxed);
        }
    }
    goroutine_local!(static COUNTED: Counted = {
        COUNT.fetch_add(1, Ordering::Relaxed);
        Counted
    });
    struct Uses;
    impl Drop for Uses {
        fn drop(&mut self) {
            COUNTED.with(|_| ());
        }
    }
    // SAFETY: nothing obtained from a thread-local is kept across a point that can park.
    let lean = unsafe { Builder::new().shared_locals() };
    run_with_procs(2, move || {
        // A handle is dropped before, after, or just when the goroutine ends. It isn't dropped
        // here: values dropped here have their goroutine-locals. It takes a while to put the result
        // where the handle would find it.
        let once = move |i: usize| {
            let handle = lean.go(|| (Uses, [1_u8; 1 << 15])).unwrap();
            (0..i * 619 % 1000 * 8).for_each(|_| spin_loop());
            drop(handle);
        };
        let dropper = go(move || storm(20_000).for_each(once));
        dropper.join().unwrap();
        while COUNT.load(Ordering::Relaxed) != 0 {
            sleep(Duration::from_millis(1));
        }
    });
}
