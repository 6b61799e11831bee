//! A trace beside other observers of goroutines, and after another trace.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::labels::with_labels;
use gosched::pprof::{self, Profile};
use gosched::proc::{Event, set_tracer};
use gosched::trace::{self, FlightRecorder};
use gosched::{Builder, go, run, scope, set_gomaxprocs, yield_now};

use super::reader;
use super::summary::Summary;
use crate::harness::goroutines::others_ended;
use crate::harness::{Test, rounds, tests};

tests! {
    a_tracer_of_the_programs_gets_the_same_events
    #[slow] profiles_are_made_meanwhile
    processors_that_come_back_are_known
}

fn a_tracer_of_the_programs_gets_the_same_events(test: Test) {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    fn tracer(event: Event<'_>) {
        if let Event::GoCreate(gp) = event
            && gp.ext.name.get().as_str() == "counted"
        {
            MADE.fetch_add(1, Ordering::Relaxed);
        }
    }
    let process = test.process(|| {
        let make =
            || (0..50).for_each(|_| Builder::new().name("counted").go(yield_now).unwrap().join().unwrap());
        run(|| {
            make();
            // SAFETY: the tracer only counts.
            unsafe { set_tracer(tracer) };
            make();
            // A goroutine that is about to end would be in the trace, too.
            others_ended();
            let mut recorder = FlightRecorder::new();
            recorder.start().unwrap();
            make();
            let mut kept = Vec::new();
            recorder.write_to(&mut kept).unwrap();
            recorder.stop();
            make();
            assert_eq!(MADE.load(Ordering::Relaxed), 150);
            assert_eq!(Summary::of(&reader::read(&kept).unwrap()).named("counted").len(), 50);
        });
    });
    process.end().with("exit status: 0");
}

/// All of these run at once, each often, and interrupt each other.
fn profiles_are_made_meanwhile(test: Test) {
    const OFTEN: usize = 200;
    let process = test.process(|| {
        run(|| {
            pprof::set_cpu_profile_rate(1_000);
            let left = AtomicUsize::new(3);
            let often = |f: &dyn Fn()| {
                (0..rounds(OFTEN)).for_each(|_| f());
                left.fetch_sub(1, Ordering::Relaxed);
            };
            let (often, left) = (&often, &left);
            scope(|s| {
                for i in 0..4 {
                    s.go(move || {
                        while left.load(Ordering::Relaxed) > 0 {
                            with_labels([("number", i.to_string())], || {
                                go(|| yield_now()).join().unwrap();
                                std::hint::black_box((0..1_000).sum::<u64>());
                            });
                        }
                    });
                }
                s.go(|| {
                    often(&|| {
                        pprof::start_cpu_profile().unwrap();
                        (0..100).for_each(|_| yield_now());
                        pprof::stop_cpu_profile(&mut io::sink()).unwrap();
                    });
                });
                s.go(|| {
                    often(&|| {
                        Profile::ALL.iter().for_each(|profile| profile.write_to(&mut io::sink()).unwrap());
                    });
                });
                s.go(|| {
                    often(&|| {
                        trace::start(io::sink()).unwrap();
                        (0..100).for_each(|_| yield_now());
                        trace::stop().unwrap();
                    });
                });
            });
        });
    });
    process.end().with("exit status: 0");
}

/// P's of an earlier trace don't exist when the next trace begins, and come back later.
fn processors_that_come_back_are_known(test: Test) {
    const PROCS: usize = 4;
    fn meet() {
        let met = AtomicUsize::new(0);
        scope(|s| {
            for _ in 0..PROCS {
                let meets = || {
                    met.fetch_add(1, Ordering::Relaxed);
                    while met.load(Ordering::Relaxed) < PROCS {
                        std::hint::spin_loop();
                    }
                };
                Builder::new().name("meets").go_scoped(s, meets).unwrap();
            }
        });
    }
    let process = test.process(|| {
        run(|| {
            for _ in 0..2 {
                set_gomaxprocs(1.try_into().unwrap());
                let mut recorder = FlightRecorder::new();
                recorder.start().unwrap();
                set_gomaxprocs(PROCS.try_into().unwrap());
                meet();
                // A scope waits until its goroutines' functions have returned, not until the
                // goroutines are gone.
                others_ended();
                let mut kept = Vec::new();
                recorder.write_to(&mut kept).unwrap();
                recorder.stop();
                let summary = Summary::of(&reader::read(&kept).unwrap());
                let ended = summary.named("meets").iter().filter(|(_, it)| it.has_ended).count();
                assert_eq!(ended, PROCS);
            }
        });
    });
    process.end().with("exit status: 0");
}
