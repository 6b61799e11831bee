//! Memory that was given back and is needed again: what is made of it is like new.

use std::ptr::{self};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::thread;

use gosched::chan::bounded;
use gosched::runtime2::{G, GDEAD, GIDLE};
use gosched::{Builder, go, proc, run, scope, yield_now};

use super::memory_back::{FRAMES, check_guards, copying, fixed, give_back};
use crate::harness::goroutines::others_ended;
use crate::harness::rng::Rng;
use crate::harness::storm::storm;
use crate::harness::{Test, tests};

tests! {
    what_is_made_again
    a_goroutine_that_is_no_more
    each_goroutine_is_listed_once
    while_others_need_it
}

/// The next goroutines have the right frames, and each stack has its guard; three times.
fn what_is_made_again(test: Test) {
    let process = test.process(|| {
        run(|| {
            for round in 0..3 {
                copying(500, FRAMES / (round + 1));
                fixed(500, FRAMES / (round + 1));
                check_guards();
                others_ended();
                proc::free_os_memory();
                check_guards();
            }
        });
    });
    process.end().with("exit status: 0");
}

fn a_goroutine_that_is_no_more(test: Test) {
    let process = test.process(|| {
        run(|| {
            static GP: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
            go(|| GP.store(proc::getg(), Ordering::Relaxed)).join().expect("it doesn't panic");
            others_ended();
            let gp = GP.load(Ordering::Relaxed);
            // SAFETY: a G, also when its page reads as zero.
            let status = || unsafe { proc::readgstatus(gp) };
            // After a second or two the G is given back by itself.
            assert!([GDEAD, GIDLE].contains(&status()));
            while status() != GIDLE {
                give_back();
            }
            // The G is made again, and used.
            while GP.swap(ptr::null_mut(), Ordering::Relaxed) != gp {
                go(|| GP.store(proc::getg(), Ordering::Relaxed)).join().expect("it doesn't panic");
            }
            others_ended();
        });
    });
    process.end().with("exit status: 0");
}

/// A report lists the existing goroutines, each once.
fn each_goroutine_is_listed_once(test: Test) {
    let process = test.process(|| {
        run(|| {
            for _ in 0..3 {
                fixed(300, 1);
                others_ended();
                proc::free_os_memory();
                fixed(200, 1);
            }
            let (_tx, rx) = bounded::<()>(0);
            for _ in 0..100 {
                let rx = rx.clone();
                Builder::new().name("waits").go(move || rx.recv()).expect("memory");
            }
            yield_now();
            proc::fatal("a report");
        });
    });
    let ended = process.env("GOMAXPROCS", "1").end();
    ended.with("exit status: 2").says("fatal error: a report\n");
    assert_eq!(ended.stderr.matches(" \"waits\" [").count(), 100, "in\n{}", ended.stderr);
    assert_eq!(ended.stderr.matches("goroutine 1 [").count(), 1, "in\n{}", ended.stderr);
}

/// Goroutines of all kinds come and go while a thread gives back all free memory.
fn while_others_need_it(test: Test) {
    for procs in ["1", "2", "8"] {
        let process = test.process(|| {
            let mut rng = Rng::seeded();
            let done = AtomicBool::new(false);
            thread::scope(|threads| {
                threads.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        proc::free_os_memory();
                    }
                });
                run(|| come_and_go(&mut rng));
                done.store(true, Ordering::Relaxed);
            });
        });
        process.env("GOMAXPROCS", procs).end().with("exit status: 0").says("STRESS_SEED=");
    }
}

fn come_and_go(rng: &mut Rng) {
    scope(|s| {
        for _ in 0..3 {
            let mut rng = rng.fork();
            s.go(move || {
                for _ in storm(100) {
                    let crowd = if rng.below(2) == 0 { copying } else { fixed };
                    crowd(rng.below(200), rng.below(FRAMES));
                }
            });
        }
    });
    others_ended();
    proc::free_os_memory();
    others_ended();
}
