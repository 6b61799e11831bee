//! Stopping the world, running a function on every P, and changing the number of P's.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::proc::{self, StwReason};
use gosched::runtime2::{P, WaitReason};
use gosched::{go, gomaxprocs, run, set_gomaxprocs, yield_now};

use crate::harness::{rounds, tests};

tests! {
    nobody_runs_in_a_stopped_world
    several_stop_the_world
    every_p_runs_the_function
    gomaxprocs_changes_while_goroutines_run
    user_goroutines_wait_while_they_are_disabled
}

fn procs(n: usize) -> usize {
    set_gomaxprocs(NonZeroUsize::new(n).unwrap())
}

/// Goroutines that each count for themselves until they are told to stop.
struct Counting {
    stop: &'static AtomicBool,
    counts: &'static [AtomicUsize],
    handles: Vec<gosched::JoinHandle<()>>,
}

impl Counting {
    fn start(n: usize) -> Self {
        let stop: &AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let counts: &[AtomicUsize] = Box::leak((0..n).map(|_| AtomicUsize::new(0)).collect());
        let count = |count: &'static AtomicUsize| {
            go(move || {
                while !stop.load(Ordering::Relaxed) {
                    count.fetch_add(1, Ordering::Relaxed);
                    yield_now();
                }
            })
        };
        Counting { stop, counts, handles: counts.iter().map(count).collect() }
    }

    fn seen(&self) -> Vec<usize> {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.handles.into_iter().for_each(|handle| handle.join().unwrap());
    }
}

fn nobody_runs_in_a_stopped_world() {
    run(|| {
        proc::set_detach(false);
        procs(4);
        let counting = Counting::start(8);
        for _ in 0..rounds(200) {
            // SAFETY: on a goroutine, which doesn't park until it starts the world.
            let w = unsafe { proc::stop_the_world(StwReason::Unknown) };
            assert_eq!((w.reason(), w.reason().as_str()), (StwReason::Unknown, "unknown"));
            let before = counting.seen();
            (0..1000).for_each(|_| std::hint::spin_loop());
            thread::yield_now();
            assert_eq!(counting.seen(), before);
            // SAFETY: this goroutine has stopped the world.
            unsafe { proc::start_the_world(w) };
            yield_now();
        }
        let before = counting.seen();
        while counting.seen().iter().zip(&before).any(|(now, before)| now == before) {
            yield_now();
        }
        counting.end();
    });
}

fn several_stop_the_world() {
    run(|| {
        let counting = Counting::start(2);
        static STOPPED: AtomicUsize = AtomicUsize::new(0);
        let stop = |_| {
            go(|| {
                for _ in 0..rounds(100) {
                    // SAFETY: it doesn't park until it starts the world.
                    let w = unsafe { proc::stop_the_world(StwReason::Unknown) };
                    assert_eq!(STOPPED.fetch_add(1, Ordering::Relaxed), 0, "two at once");
                    STOPPED.fetch_sub(1, Ordering::Relaxed);
                    // SAFETY: this goroutine has stopped the world.
                    unsafe { proc::start_the_world(w) };
                }
            })
        };
        let handles: Vec<_> = (0..4).map(stop).collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        counting.end();
    });
}

fn every_p_runs_the_function() {
    static RAN: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];
    fn note(pp: *mut P) {
        // SAFETY: a P, which is never freed.
        let id = unsafe { (*pp).id.get() };
        RAN[id as usize].fetch_add(1, Ordering::Relaxed);
    }
    run(|| {
        procs(4);
        let counting = Counting::start(3);
        let blocked = (0..2).map(|_| go(|| gosched::blocking(|| thread::sleep(Duration::from_millis(20)))));
        let blocked: Vec<_> = blocked.collect();
        for _ in 0..rounds(300) {
            // SAFETY: on a goroutine, and `note` doesn't park.
            unsafe { proc::for_each_p(WaitReason::GarbageCollection, note) };
            yield_now();
        }
        let ran: Vec<usize> = RAN.iter().map(|ran| ran.load(Ordering::Relaxed)).collect();
        assert!(ran[..4].iter().all(|&n| n >= rounds(300)), "{ran:?}");
        blocked.into_iter().for_each(|handle| handle.join().unwrap());
        counting.end();
    });
}

fn gomaxprocs_changes_while_goroutines_run() {
    run(|| {
        procs(2);
        let (tx, rx) = bounded::<usize>(4);
        static OVER: AtomicBool = AtomicBool::new(false);
        let senders: Vec<_> = (0..8)
            .map(|_| tx.clone())
            .map(|tx| {
                go(move || {
                    let mut sum = 0;
                    for i in (0..).take_while(|_| !OVER.load(Ordering::Relaxed)) {
                        tx.send(i).unwrap();
                        sum += i;
                    }
                    sum
                })
            })
            .collect();
        drop(tx);
        let received = go(move || rx.iter().sum::<usize>());
        let mut last = 2;
        for n in [1, 8, 2, 5, 3, 1].into_iter().cycle().take(rounds(300)) {
            assert_eq!(procs(n), last);
            assert_eq!(gomaxprocs(), n);
            last = n;
            yield_now();
        }
        OVER.store(true, Ordering::Relaxed);
        let sent: usize = senders.into_iter().map(|handle| handle.join().unwrap()).sum();
        assert_eq!(received.join().unwrap(), sent);
    });
}

fn user_goroutines_wait_while_they_are_disabled() {
    run(|| {
        // A goroutine that has lost its P would go on.
        proc::set_detach(false);
        let counting = Counting::start(4);
        // SAFETY: this goroutine goes on all the same, and enables the others again.
        unsafe {
            proc::become_system_goroutine();
            let w = proc::stop_the_world(StwReason::Unknown);
            proc::sched_enable_user(false);
            proc::start_the_world(w);
        }
        let before = counting.seen();
        (0..100).for_each(|_| yield_now());
        assert_eq!(counting.seen(), before);
        // SAFETY: as above.
        unsafe { proc::sched_enable_user(true) };
        while counting.seen() == before {
            yield_now();
        }
        counting.end();
    });
}
