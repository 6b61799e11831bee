//! Goroutines: how they are made, what they do, how they end, and where their results go.

use std::collections::HashSet;
use std::fmt::Debug;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::{Sender, bounded};
use gosched::time::sleep;
use gosched::{
    Builder, JoinError, JoinHandle, blocking, go, goexit, goid, num_goroutine, proc, run, scope, yield_now,
};

use crate::harness::goroutines::others_ended;
use crate::harness::storm::storm;
use crate::harness::tests;

tests! {
    join_returns_the_result
    a_goroutine_goes_on_without_its_handle
    handles_may_be_joined_elsewhere
    a_result_is_dropped_with_the_handle
    a_result_that_nobody_waits_for_is_dropped
    results_and_payloads_are_dropped_once_whenever_the_handle_goes
    closures_and_results_may_be_larger_than_a_page
    closures_and_results_may_be_over_aligned
    join_carries_a_panic
    a_panic_ends_one_goroutine_and_nothing_else
    goexit_runs_destructors
    catch_unwind_stops_goexit
    run_borrows_and_goroutines_outlive_it
    several_threads_may_run_at_once
    programs_share_a_process
    a_plain_thread_can_make_goroutines
    a_builder_gives_a_stack_and_a_name
    goids_are_unique
    num_goroutine_counts_those_that_have_not_ended
}

fn wait_for<T>(handle: &JoinHandle<T>) {
    while !handle.is_finished() {
        yield_now();
    }
}

/// Closes a channel when it is dropped.
struct Closes(Sender<()>);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn join_returns_the_result() {
    let sum: u64 = run(|| {
        let handles: Vec<_> = (0..1000u64).map(|i| go(move || i * i)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).sum()
    });
    assert_eq!(sum, (0..1000).map(|i| i * i).sum());
}

fn a_goroutine_goes_on_without_its_handle() {
    run(|| {
        let (tx, rx) = bounded(0);
        drop(go(move || {
            yield_now();
            tx.send("still here").unwrap();
        }));
        assert_eq!(rx.recv(), Ok("still here"));
    });
}

fn handles_may_be_joined_elsewhere() {
    run(|| {
        let inner = go(|| go(|| 7));
        let handle = inner.join().unwrap();
        assert_eq!(go(move || handle.join().unwrap()).join().unwrap(), 7);
    });
    let handle = run(|| {
        let handle = go(|| 8);
        wait_for(&handle);
        handle
    });
    assert_eq!(handle.join().unwrap(), 8, "outside of run: it has ended");
}

fn a_result_is_dropped_with_the_handle() {
    run(|| {
        let value = Arc::new(());
        let result = value.clone();
        let handle = go(move || result);
        wait_for(&handle);
        assert_eq!(Arc::strong_count(&value), 2);
        drop(handle);
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

fn a_result_that_nobody_waits_for_is_dropped() {
    run(|| {
        let (gate, opened) = bounded::<()>(0);
        let (dropped, is_dropped) = bounded(0);
        let handle = go(move || {
            assert!(opened.recv().is_err());
            Closes(dropped)
        });
        drop(handle);
        drop(gate);
        assert!(is_dropped.recv().is_err());
    });
}

fn results_and_payloads_are_dropped_once_whenever_the_handle_goes() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    struct Counted;
    impl Counted {
        fn new() -> Self {
            ALIVE.fetch_add(1, Ordering::Relaxed);
            Counted
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    run(|| {
        for i in 0..4000 {
            let handle =
                go(move || if i % 3 == 0 { resume_unwind(Box::new(Counted::new())) } else { Counted::new() });
            match i % 4 {
                0 => drop(handle),
                1 => drop(handle.join()),
                2 => {
                    yield_now();
                    drop(handle);
                }
                _ => drop(go(move || drop(handle))),
            }
        }
        others_ended();
    });
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
}

fn round_trip<const N: usize>() {
    let mut bytes = [0u8; N];
    bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
    let flipped = go(move || {
        bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
        bytes
    });
    let flipped = flipped.join().unwrap();
    assert!(flipped.iter().enumerate().all(|(i, &byte)| byte == i as u8 ^ 0xff), "{N} bytes");
}

fn closures_and_results_may_be_larger_than_a_page() {
    run(|| {
        round_trip::<0>();
        round_trip::<1>();
        round_trip::<1500>();
        round_trip::<1552>();
        round_trip::<1553>();
        round_trip::<4096>();
        round_trip::<8192>();
    });
}

fn closures_and_results_may_be_over_aligned() {
    fn check<T: Send + Default + Eq + Debug + 'static>() {
        let aligned = |value: &T| (&raw const *value).addr().is_multiple_of(align_of::<T>());
        let value = T::default();
        let (inside, value) = go(move || (aligned(&value), value)).join().unwrap();
        assert!(inside && aligned(&value), "aligned to {}", align_of::<T>());
        assert_eq!(value, T::default());
    }
    #[derive(Default, PartialEq, Eq, Debug)]
    #[repr(align(32))]
    struct Align32([u8; 3]);
    #[derive(Default, PartialEq, Eq, Debug)]
    #[repr(align(4096))]
    struct Align4096([u8; 3]);
    run(|| {
        for _ in 0..20 {
            check::<u128>();
            check::<Align32>();
            check::<Align4096>();
        }
    });
}

fn join_carries_a_panic() {
    run(|| {
        let text = go(|| panic!("it broke")).join().unwrap_err();
        assert_eq!(text.to_string(), "goroutine panicked: it broke");

        let other = go(|| resume_unwind(Box::new(42u32))).join().unwrap_err();
        assert_eq!(other.to_string(), "goroutine panicked");
        assert_eq!(other.into_panic().downcast_ref(), Some(&42u32));
    });
}

fn a_panic_ends_one_goroutine_and_nothing_else() {
    run(|| {
        let handles: Vec<_> =
            (0..100).map(|i| go(move || if i % 2 == 0 { resume_unwind(Box::new(())) } else { i })).collect();
        for (i, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.join().is_err(), i % 2 == 0);
        }
    });
}

fn goexit_runs_destructors() {
    fn deep(dropped: Sender<()>) {
        let _closes = Closes(dropped);
        goexit();
    }
    run(|| {
        let (dropped, is_dropped) = bounded(0);
        let error: JoinError = go(move || deep(dropped)).join().unwrap_err();
        assert!(is_dropped.recv().is_err());
        assert!(error.is_goexit());
    });
}

fn catch_unwind_stops_goexit() {
    run(|| {
        let value = go(|| {
            assert!(catch_unwind(|| goexit()).is_err());
            "went on"
        });
        assert_eq!(value.join().unwrap(), "went on");
    });
}

fn run_borrows_and_goroutines_outlive_it() {
    let mut text = String::from("borrowed");
    let (tx, rx) = bounded(0);
    let handle = run(|| {
        text.push_str(" here");
        go(move || rx.recv())
    });
    assert_eq!(text, "borrowed here");
    assert!(!handle.is_finished());
    run(move || {
        tx.send(5).unwrap();
        assert_eq!(handle.join().unwrap(), Ok(5));
    });
}

fn several_threads_may_run_at_once() {
    let (tx, rx) = bounded(0);
    thread::scope(|s| {
        s.spawn(|| run(|| (0..200).for_each(|i| tx.send(i).unwrap())));
        s.spawn(|| run(|| assert!((0..200).all(|i| rx.recv() == Ok(i)))));
    });
}

/// Several threads, each with one program after the other. The programs know nothing of each other.
fn programs_share_a_process() {
    fn program(id: usize) -> usize {
        let (tx, rx) = bounded(2);
        for i in 0..20 {
            let tx = tx.clone();
            go(move || {
                match i % 4 {
                    0 => yield_now(),
                    1 => blocking(|| thread::sleep(Duration::from_micros(10))),
                    2 => sleep(Duration::from_micros(100)),
                    _ => assert!(go(|| resume_unwind(Box::new(()))).join().is_err()),
                }
                tx.send(id * i).unwrap();
            });
        }
        drop(tx);
        rx.iter().sum()
    }
    thread::scope(|s| {
        for id in 0..8 {
            s.spawn(move || storm(50).for_each(|_| assert_eq!(run(|| program(id)), id * 190)));
        }
    });
}

fn a_plain_thread_can_make_goroutines() {
    run(|| {
        let (tx, rx) = bounded(1);
        let thread = thread::spawn(move || {
            go(move || tx.send(goid()).unwrap());
        });
        assert_ne!(rx.recv().unwrap(), goid());
        blocking(|| thread.join().unwrap());
    });
}

fn a_builder_gives_a_stack_and_a_name() {
    fn depth(n: usize) -> usize {
        let frame = std::hint::black_box([n; 8]);
        if n == 0 { 0 } else { depth(n - 1) + frame[7] / n }
    }
    run(|| {
        let large = Builder::new().stack_size(64 << 20);
        assert_eq!(large.go(|| depth(100_000)).unwrap().join().unwrap(), 100_000);

        let borrowed = 100_000;
        let scoped = scope(|s| large.go_scoped(s, || depth(borrowed)).unwrap().join().unwrap());
        assert_eq!(scoped, 100_000);

        // SAFETY: the running goroutine's own G.
        let name = || unsafe { (*proc::getg()).ext.name.get().as_str().to_owned() };
        assert_eq!(Builder::new().name("worker").go(name).unwrap().join().unwrap(), "worker");
        let long = "thirty bytes and then an umlaut";
        assert_eq!(Builder::new().name(&format!("{long}ü")).go(name).unwrap().join().unwrap(), long);
        assert_eq!(go(name).join().unwrap(), "", "a G is used again, its name isn't");
    });
}

fn goids_are_unique() {
    run(|| {
        let handles: Vec<_> = (0..10_000).map(|_| go(goid)).collect();
        let mut goids: HashSet<u64> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        goids.insert(goid());
        assert_eq!(goids.len(), 10_001);
        assert!(!goids.contains(&0));
    });
}

fn num_goroutine_counts_those_that_have_not_ended() {
    // The count may be wrong for a moment, while dead G's are handed back.
    let comes_to = |n| {
        while num_goroutine() != n {
            yield_now();
        }
    };
    run(|| {
        comes_to(1);
        let (gate, opened) = bounded::<()>(0);
        let handles: Vec<_> = (0..1000)
            .map(|_| {
                let opened = opened.clone();
                go(move || opened.recv())
            })
            .collect();
        comes_to(1001);
        drop(gate);
        for handle in &handles {
            wait_for(handle);
        }
        // A handle doesn't count as a goroutine.
        comes_to(1);
        drop(handles);
        comes_to(1);
    });
}
