//! Each kind of failure, and its report. The same schedule makes the same run.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::context::Context;
use gosched::explore::{Explorer, Failure, FailureKind, Strategy, choose};
use gosched::sync::{Mutex, WaitGroup};
use gosched::{Builder, go, select, yield_now};

use crate::harness::rng::number;
use crate::harness::{Test, tests};

tests! {
    a_panic_is_found
    a_deadlock_names_who_waits_and_where
    what_is_left_behind_is_named
    a_livelock_ends
    a_choice_that_is_asked_for_without_end_ends
    a_wait_for_others_without_end_ends
    an_expected_panic_is_no_failure
    a_token_is_its_run
    a_token_is_for_its_exploration
    every_token_tells_the_same_story
    a_failure_is_made_small
    what_went_well_is_dropped
    a_select_chooses_each_case
    a_yield_lets_others_go_on
    arms_of_one_channel_wait_in_their_order
    a_panic_that_goes_on_is_told_of_and_no_other
    a_panic_is_told_of_whatever_hook_there_is
    a_panic_of_a_scope_may_be_caught
    a_context_is_asked_for_its_end_while_it_ends
}

/// Two goroutines that take two locks in different orders.
fn opposite_orders() {
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let (a2, b2) = (a.clone(), b.clone());
    let other = Builder::new().name("other").go(move || {
        let _a = a2.lock();
        let _b = b2.lock();
    });
    {
        let _b = b.lock();
        let _a = a.lock();
    }
    other.unwrap().join().unwrap();
}

/// Two goroutines that read, and then write.
fn lost_update() {
    let sum = Arc::new(Mutex::new(0));
    let add = {
        let sum = sum.clone();
        move || {
            let read = *sum.lock();
            *sum.lock() = read + 1;
        }
    };
    let other = go(add.clone());
    add();
    other.join().unwrap();
    assert_eq!(*sum.lock(), 2, "an update is lost");
}

fn explored(iterations: u64, f: fn()) -> Result<u64, Failure> {
    Explorer::new().iterations(iterations).check(f)
}

fn failure(f: fn()) -> Failure {
    explored(10_000, f).expect_err("it is found")
}

/// Sets the token that explorations read.
fn set_token(token: &str) {
    // SAFETY: this process has no thread that reads the environment meanwhile.
    unsafe { std::env::set_var("GOSCHED_REPLAY", token) };
}

fn a_panic_is_found() {
    let failure = failure(lost_update);
    assert_eq!(failure.kind(), FailureKind::Panic);
    let text = failure.to_string();
    assert!(text.contains("an update is lost"), "{text}");
    assert!(text.contains("goroutine 1 panics at "), "{text}");
    assert!(text.contains(&format!("GOSCHED_REPLAY={}", failure.token())), "{text}");
}

fn a_deadlock_names_who_waits_and_where() {
    let failure = failure(opposite_orders);
    assert_eq!(failure.kind(), FailureKind::Deadlock);
    let text = failure.to_string();
    for part in ["goroutine 1 \"main\" [sync.Mutex.Lock]:", "goroutine 2 \"other\" [sync.Mutex.Lock]:"] {
        assert!(text.contains(part), "{text}");
    }
    let places = text.lines().filter(|line| line.contains("explore/failures.rs:"));
    assert!(places.count() >= 2, "{text}");
}

fn what_is_left_behind_is_named() {
    let failure = failure(|| {
        let (tx, rx) = bounded(0);
        let sender = Builder::new().name("sender").go(move || tx.send(1).unwrap());
        drop(sender);
        std::mem::forget(rx);
    });
    assert_eq!(failure.kind(), FailureKind::Leak);
    let text = failure.to_string();
    assert!(text.contains("goroutine 2 \"sender\" [chan send]:"), "{text}");
    assert!(!text.contains("goroutine 1 \"main\" ["), "{text}");
}

fn a_livelock_ends() {
    let (explorer, done) = (Explorer::new().max_choices(10_000), || {
        let waits = Arc::new(Mutex::new(false));
        while !*waits.lock() {
            yield_now();
        }
    });
    assert_eq!(explorer.check(done).unwrap_err().kind(), FailureKind::TooLong);
}

fn a_choice_that_is_asked_for_without_end_ends() {
    let until = |wanted| {
        move || {
            while choose(6) != wanted {}
        }
    };
    let explorer = Explorer::new().max_choices(10_000);
    // It runs the first of the six schedules, again and again.
    let exhaustive = explorer.clone().strategy(Strategy::Exhaustive { preemptions: 1 });
    assert_eq!(exhaustive.check(until(5)).unwrap_err().kind(), FailureKind::TooLong);
    assert_eq!(explorer.check(until(6)).unwrap_err().kind(), FailureKind::TooLong);
    // The same holds for a schedule smaller than one that fails.
    let finds = Explorer::new().max_choices(10_000).check(move || {
        until(5)();
        panic!("the sixth");
    });
    assert_eq!(finds.unwrap_err().kind(), FailureKind::Panic);
}

fn a_wait_for_others_without_end_ends() {
    let waits = || loop {
        gosched::synctest::wait();
    };
    let found = Explorer::new().max_choices(10_000).check(waits);
    assert_eq!(found.unwrap_err().kind(), FailureKind::TooLong);
}

fn an_expected_panic_is_no_failure() {
    Explorer::new().iterations(10).run(|| {
        let caught = go(|| catch_unwind(|| panic!("expected")).is_err());
        assert!(caught.join().unwrap());
    });
    // A panic that leaves its goroutine is a failure, even if the goroutine is joined.
    let joined = || assert!(go(|| panic!("out of it")).join().is_err());
    assert!(failure(joined).to_string().contains("out of it"));
}

fn a_token_is_its_run() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let counted = || {
        RUNS.fetch_add(1, Ordering::Relaxed);
        lost_update();
    };
    let found = failure(counted);
    set_token(found.token());
    RUNS.store(0, Ordering::Relaxed);
    let again = failure(counted);
    assert_eq!((again.token(), again.story()), (found.token(), found.story()));
    // One run finds the failure, and one makes the report.
    assert_eq!(RUNS.load(Ordering::Relaxed), 2);
}

/// Where no schedule fails, all of them run, whatever the token is.
fn a_token_is_for_its_exploration(test: Test) {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    fn no_update_is_lost() {
        RUNS.fetch_add(1, Ordering::Relaxed);
        let sum = Arc::new(Mutex::new(0));
        let add = {
            let sum = sum.clone();
            move || *sum.lock() += 1
        };
        let other = go(add.clone());
        add();
        other.join().unwrap();
        assert_eq!(*sum.lock(), 2);
    }
    fn nothing() {
        RUNS.fetch_add(1, Ordering::Relaxed);
    }
    let runs = || RUNS.swap(0, Ordering::Relaxed);

    let process = test.process(|| {
        let found = failure(lost_update);
        set_token(found.token());
        // The token is for another exploration.
        assert_eq!((Explorer::new().iterations(20).check(nothing).unwrap(), runs()), (20, 20));
        // The program of this exploration has changed.
        assert_eq!((explored(20, nothing).unwrap(), runs()), (20, 21));
        // The program is mended, and still makes the choices of the token.
        let (_, place) = found.token().split_once('@').unwrap();
        set_token(&format!("s1AA@{place}"));
        assert_eq!((explored(20, no_update_is_lost).unwrap(), runs()), (20, 21));
        // The schedule of the token passes, and another one fails.
        set_token(&format!("s1@{place}"));
        assert_eq!(failure(lost_update).token(), found.token());
    });
    let ended = process.end();
    ended.with("exit status: 0");
    let said: Vec<_> = ended.stderr.lines().filter(|line| line.starts_with("gosched: ")).collect();
    let parts = [" is for the exploration at ", "no longer fits", " passes;", " passes;"];
    assert_eq!(said.len(), parts.len(), "{}", ended.stderr);
    for (said, part) in said.iter().zip(parts) {
        assert!(said.contains(part) && said.contains("explore/failures.rs:"), "{said}");
    }
}

/// A program that uses a bit of everything. Its outcome depends on the order.
fn a_bit_of_all() {
    let (tx, rx) = bounded(1);
    let wg = Arc::new(WaitGroup::new());
    let lock = Arc::new(Mutex::new(Vec::new()));
    for i in 0..3 {
        let (tx, lock) = (tx.clone(), lock.clone());
        wg.go(move || {
            gosched::time::sleep(Duration::from_millis(i / 2));
            lock.lock().push(i);
            tx.send(i).unwrap();
        });
    }
    let timeout = gosched::time::after(Duration::from_millis(1));
    let mut seen = Vec::new();
    while seen.len() < 3 {
        select! {
            recv(rx) -> value => seen.push(value.unwrap()),
            recv(timeout) -> _time => {}
        }
    }
    wg.wait();
    assert_ne!((seen, lock.lock().as_slice()), (vec![1, 0, 2], &[1, 0, 2][..]), "one order of many");
}

fn every_token_tells_the_same_story() {
    // Explores with each of `seeds` seeds, and replays each token.
    let seeds = number("EXPLORE_TOKENS").unwrap_or(if cfg!(debug_assertions) { 20 } else { 100 });
    for seed in 0..seeds {
        let explored = || Explorer::new().seed(seed).iterations(10_000).check(a_bit_of_all);
        let found = explored().expect_err("it is found");
        set_token(found.token());
        let again = explored().expect_err("it fails again");
        assert_eq!(
            again.to_string().replace("schedule 1,", ""),
            found.to_string().replace(&format!("schedule {},", found.schedules()), "")
        );
        assert!(!found.to_string().contains("didn't fail again"), "{found}");
        // SAFETY: as above.
        unsafe { std::env::remove_var("GOSCHED_REPLAY") };
    }
}

fn a_failure_is_made_small() {
    // One switch is enough: after either read.
    let failure = Explorer::new().strategy(Strategy::Random).seed(5).check(lost_update).unwrap_err();
    let (schedule, _) = failure.token().split_once('@').unwrap();
    assert!(schedule.len() <= 8, "{schedule}");
}

fn what_went_well_is_dropped() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    Explorer::new().iterations(200).run(|| {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        let counted = Counted;
        go(move || drop(counted)).join().unwrap();
    });
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
}

fn a_select_chooses_each_case() {
    for wanted in 0..3 {
        let found = Explorer::new().iterations(1_000).check(move || {
            let channels = [bounded(1), bounded(1), bounded(1)];
            channels.iter().for_each(|(tx, _)| tx.send(()).unwrap());
            let [(_, a), (_, b), (_, c)] = &channels;
            let chosen = select! {
                recv(a) -> _nothing => 0,
                recv(b) -> _nothing => 1,
                recv(c) -> _nothing => 2,
            };
            assert_ne!(chosen, wanted);
        });
        assert!(found.is_err(), "case {wanted} is never done");
    }
    let none = Explorer::new().iterations(1_000).check(|| assert!(choose(4) < 4));
    assert!(none.is_ok());
}

fn a_yield_lets_others_go_on() {
    // It fails in the schedule without interference, too, which is the first.
    let nobody_interferes = Strategy::Exhaustive { preemptions: 0 };
    Explorer::new().strategy(nobody_interferes).iterations(1).run(|| {
        let done = Arc::new(Mutex::new(false));
        let set = done.clone();
        go(move || *set.lock() = true);
        while !*done.lock() {
            yield_now();
        }
    });
}

fn arms_of_one_channel_wait_in_their_order() {
    // Each run has the same order, although selects sort their channels by address.
    Explorer::new().run(|| {
        let (tx, rx) = bounded(0);
        let waits = go(move || {
            select! {
                recv(rx) -> _value => true,
                recv(rx) -> _value => false,
            }
        });
        gosched::time::sleep(Duration::from_millis(1));
        tx.send(()).unwrap();
        assert!(waits.join().unwrap());
    });
}

fn a_panic_that_goes_on_is_told_of_and_no_other() {
    // This failure calls no hook. The last failure that called one was another.
    let text = failure(|| {
        let _ = catch_unwind(|| panic!("expected"));
        resume_unwind(Box::new("unexpected"));
    })
    .to_string();
    assert!(text.contains("goroutine 1 panics: unexpected\n") && !text.contains("panics at"), "{text}");
    let text = failure(|| {
        let other = go(|| {
            let _ = catch_unwind(|| panic!("expected"));
        });
        other.join().unwrap();
        resume_unwind(Box::new("unexpected"));
    })
    .to_string();
    assert!(text.contains("goroutine 1 panics: unexpected\n"), "{text}");
}

fn a_panic_is_told_of_whatever_hook_there_is() {
    Explorer::new().iterations(1).run(|| {});
    std::panic::set_hook(Box::new(|_| {}));
    let text = failure(|| panic!("told")).to_string();
    assert!(text.contains("goroutine 1 panics: told"), "{text}");
}

fn a_panic_of_a_scope_may_be_caught() {
    Explorer::new().iterations(10).run(|| {
        let panics = || gosched::scope(|_| resume_unwind(Box::new("expected")));
        assert!(catch_unwind(AssertUnwindSafe(|| -> () { panics() })).is_err());
    });
}

fn a_context_is_asked_for_its_end_while_it_ends() {
    Explorer::new().run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let others = [(); 2].map(|()| {
            let ctx = ctx.clone();
            go(move || drop(ctx.done().clone()))
        });
        cancel.cancel();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}
