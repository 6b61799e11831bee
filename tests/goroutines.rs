//! Goroutines: how they are made, what they do, how they end, and what becomes of their results.

mod inside;

use std::collections::HashSet;
use std::fmt::Debug;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gosched::chan::{Sender, bounded};
use gosched::{
    Builder, JoinError, JoinHandle, blocking, go, goexit, goid, num_goroutine, proc, scope, yield_now,
};
use inside::counting::{not_alone, run, run_alone};

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

#[test]
fn join_returns_the_result() {
    let sum: u64 = run(|| {
        let handles: Vec<_> = (0..1000u64).map(|i| go(move || i * i)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).sum()
    });
    assert_eq!(sum, (0..1000).map(|i| i * i).sum());
}

#[test]
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

#[test]
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

#[test]
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

#[test]
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

#[test]
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
    run_alone(|| {
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
        while num_goroutine() > 1 {
            yield_now();
        }
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

#[test]
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

#[test]
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

#[test]
fn join_carries_a_panic() {
    run(|| {
        let text = go(|| panic!("it broke")).join().unwrap_err();
        assert_eq!(text.to_string(), "goroutine panicked: it broke");

        let other = go(|| resume_unwind(Box::new(42u32))).join().unwrap_err();
        assert_eq!(other.to_string(), "goroutine panicked");
        assert_eq!(other.into_panic().downcast_ref(), Some(&42u32));
    });
}

#[test]
fn a_panic_ends_one_goroutine_and_nothing_else() {
    run(|| {
        let handles: Vec<_> =
            (0..100).map(|i| go(move || if i % 2 == 0 { resume_unwind(Box::new(())) } else { i })).collect();
        for (i, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.join().is_err(), i % 2 == 0);
        }
    });
}

#[test]
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

#[test]
fn catch_unwind_stops_goexit() {
    run(|| {
        let value = go(|| {
            assert!(catch_unwind(|| goexit()).is_err());
            "went on"
        });
        assert_eq!(value.join().unwrap(), "went on");
    });
}

#[test]
fn run_borrows_and_goroutines_outlive_it() {
    let _shared = not_alone();
    let mut text = String::from("borrowed");
    let (tx, rx) = bounded(0);
    let handle = inside::run(|| {
        text.push_str(" here");
        go(move || rx.recv())
    });
    assert_eq!(text, "borrowed here");
    assert!(!handle.is_finished());
    inside::run(move || {
        tx.send(5).unwrap();
        assert_eq!(handle.join().unwrap(), Ok(5));
    });
}

#[test]
fn several_threads_may_run_at_once() {
    // Once: a second reader would wait for a writer that waits for the first.
    let _shared = not_alone();
    let (tx, rx) = bounded(0);
    thread::scope(|s| {
        s.spawn(|| inside::run(|| (0..1000).for_each(|i| tx.send(i).unwrap())));
        s.spawn(|| inside::run(|| assert!((0..1000).all(|i| rx.recv() == Ok(i)))));
    });
}

#[test]
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

#[test]
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

#[test]
fn goids_are_unique() {
    run(|| {
        let handles: Vec<_> = (0..10_000).map(|_| go(goid)).collect();
        let mut goids: HashSet<u64> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        goids.insert(goid());
        assert_eq!(goids.len(), 10_001);
        assert!(!goids.contains(&0));
    });
}

#[test]
fn num_goroutine_counts_those_that_have_not_ended() {
    // It may be wrong for a moment while dead ones are handed back.
    let comes_to = |n| {
        while num_goroutine() != n {
            yield_now();
        }
    };
    run_alone(|| {
        // Those of other tests have nothing to do any more but end.
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
        // A handle doesn't count.
        comes_to(1);
        drop(handles);
        comes_to(1);
    });
}
