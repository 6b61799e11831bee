//! Work that is done once for all that want it.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use gosched::chan::bounded;
use gosched::sync::{Barrier, SingleFlight};
use gosched::{blocking, go, goexit, run, scope, yield_now};

use crate::harness::explored::{in_any_order, times};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::panics;
use crate::harness::rng::Rng;
use crate::harness::tests;

tests! {
    once_for_those_that_come_meanwhile
    keys_apart
    one_that_unwinds_is_replaced
    what_is_forgotten_is_done_anew
    a_key_that_panics_at_the_end
    on_threads
    never_two_of_a_key
}

/// A key whose hash panics while [`BROKEN`] is set.
#[derive(Clone, PartialEq, Eq)]
struct Fragile;

static BROKEN: AtomicBool = AtomicBool::new(false);

impl Hash for Fragile {
    fn hash<H: Hasher>(&self, _: &mut H) {
        assert!(!BROKEN.load(Ordering::Relaxed), "no hash");
    }
}

fn a_key_that_panics_at_the_end() {
    run(|| {
        for unwinds in [false, true] {
            let flights: &SingleFlight<Fragile, u32> = Box::leak(Box::default());
            let (tx, rx) = bounded::<u32>(0);
            let first = go_until_it_waits(move || {
                let told = panics(|| {
                    flights.run(Fragile, || {
                        let value = rx.recv().unwrap();
                        BROKEN.store(true, Ordering::Relaxed);
                        assert!(!unwinds, "its own");
                        value
                    });
                });
                BROKEN.store(false, Ordering::Relaxed);
                told
            });
            let other = go_until_it_waits(|| flights.run(Fragile, || 8));
            tx.send(7).unwrap();
            // A first caller that unwinds has its own panic, and each waiter does the work anew.
            assert_eq!(first.join().unwrap(), if unwinds { "its own" } else { "no hash" });
            if unwinds {
                let _ = other.join();
            } else {
                assert_eq!(other.join().unwrap(), 7);
            }
            assert_eq!(flights.run(Fragile, || 9), 9, "nothing is kept");
        }
    });
}

pub fn once_for_those_that_come_meanwhile() {
    in_any_order(|| {
        let flights: &SingleFlight<u32, String> = Box::leak(Box::default());
        let (tx, rx) = bounded::<String>(0);
        let first = go_until_it_waits(move || flights.run(1, || rx.recv().unwrap()));
        let others: Vec<_> = (0..times(5, 2))
            .map(|_| go_until_it_waits(|| flights.run(1, || unreachable!("one is under way"))))
            .collect();
        tx.send("seven".into()).unwrap();
        assert_eq!(first.join().unwrap(), "seven");
        others.into_iter().for_each(|other| assert_eq!(other.join().unwrap(), "seven"));
        assert_eq!(flights.run(1, || "eight".into()), "eight");
    });
}

fn keys_apart() {
    run(|| {
        let flights = SingleFlight::new();
        assert_eq!(flights.run("a", || flights.run("b", || 1) + 1), 2);
    });
}

pub fn one_that_unwinds_is_replaced() {
    in_any_order(|| {
        let flights: &SingleFlight<u32, u32> = Box::leak(Box::default());
        let (tx, rx) = bounded::<()>(0);
        let first = go_until_it_waits(move || {
            flights.run(1, || {
                rx.recv().unwrap();
                goexit()
            })
        });
        let next = go_until_it_waits(|| flights.run(1, || 7));
        tx.send(()).unwrap();
        assert!(first.join().unwrap_err().is_goexit());
        assert_eq!(next.join().unwrap(), 7);
        assert_eq!(panics(|| _ = flights.run(1, || panic!("in there"))), "in there");
        assert_eq!(flights.run(1, || 8), 8);
    });
}

pub fn what_is_forgotten_is_done_anew() {
    in_any_order(|| {
        let flights: &SingleFlight<String, u32> = Box::leak(Box::default());
        let (tx, rx) = bounded::<u32>(0);
        let first = {
            let rx = rx.clone();
            go_until_it_waits(move || flights.run("key".into(), || rx.recv().unwrap()))
        };
        flights.forget("key");
        let second = go_until_it_waits(move || flights.run("key".into(), || rx.recv().unwrap()));
        tx.send(1).unwrap();
        assert_eq!(first.join().unwrap(), 1);
        // The end of the first call leaves the second alone.
        let third =
            go_until_it_waits(|| flights.run("key".into(), || unreachable!("the second is under way")));
        tx.send(2).unwrap();
        assert_eq!((second.join().unwrap(), third.join().unwrap()), (2, 2));
        flights.forget("another");
    });
}

fn on_threads() {
    run(|| {
        let (flights, calls) = (SingleFlight::new(), AtomicUsize::new(0));
        let meet = Barrier::new(4);
        blocking(|| {
            let refused = panics(|| _ = flights.run(0, || 0));
            assert!(refused.contains("sync::SingleFlight::run"), "{refused}");
            thread::scope(|s| {
                for _ in 0..4 {
                    s.spawn(|| {
                        meet.wait();
                        let found = flights.run(1, || {
                            calls.fetch_add(1, Ordering::Relaxed);
                            7
                        });
                        assert_eq!(found, 7);
                    });
                }
            });
        });
        assert!((1..=4).contains(&calls.into_inner()));
    });
}

pub fn never_two_of_a_key() {
    in_any_order(|| {
        let (mut rng, flights) = (Rng::seeded(), SingleFlight::new());
        let running: [AtomicUsize; 3] = Default::default();
        scope(|s| {
            for _ in 0..times(8, 3) {
                let (mut rng, flights, running) = (rng.fork(), &flights, &running);
                s.go(move || {
                    for _ in 0..times(2_000, 3) {
                        let key = rng.below(3);
                        let pauses = rng.below(3);
                        let f = || {
                            assert_eq!(running[key].fetch_add(1, Ordering::SeqCst), 0);
                            (0..pauses).for_each(|_| yield_now());
                            assert_eq!(running[key].fetch_sub(1, Ordering::SeqCst), 1);
                            key
                        };
                        assert_eq!(flights.run(key, f), key);
                    }
                });
            }
        });
        go(move || drop(flights)).join().unwrap();
    });
}
