//! The events of the scheduler: for each goroutine, P and thread, they come in a sensible order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, panic, thread};

use gosched::chan::bounded;
use gosched::labels::{labels_of, with_labels};
use gosched::proc::{Event, set_tracer};
use gosched::runtime2::{G, GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GWAITING, M, P, TraceBlockReason};
use gosched::{blocking, go, goid, iter, lock_os_thread, run, yield_now};

use crate::harness::goroutines::{go_until_it_waits, others_ended};
use crate::harness::{Test, tests};

tests! {
    events_come_in_an_order_that_makes_sense
}

/// What a goroutine, a P or a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Runnable,
    Running,
    Waiting,
    Syscall,
    Dead,
}

use State::*;

#[derive(Default)]
struct Log {
    /// The states of the goroutines, by number.
    goroutines: HashMap<u64, State>,
    /// How often each event has come.
    counts: HashMap<&'static str, usize>,
    /// P's that run, or are in a system call.
    procs: HashMap<i32, bool>,
    threads: HashMap<i64, bool>,
    parks: HashMap<u64, Vec<TraceBlockReason>>,
    /// The label `job` of the goroutines that had it, event by event.
    labels: HashMap<u64, Vec<(&'static str, String)>>,
    wrong: Vec<String>,
}

static LOG: Mutex<Option<Log>> = Mutex::new(None);

/// How often a goroutine has lost its P. For readers that can't wait for the log's lock.
static DETACHED: AtomicUsize = AtomicUsize::new(0);

impl Log {
    fn count(&self, name: &str) -> usize {
        self.counts.get(name).copied().unwrap_or(0)
    }

    fn goroutine(&mut self, name: &'static str, gp: &G, from: &[State], to: State) {
        self.status(name, gp);
        *self.counts.entry(name).or_default() += 1;
        let id = gp.goid.get();
        // SAFETY: the event is of `gp`.
        if let Some(label) = unsafe { labels_of(gp) }.get("job") {
            self.labels.entry(id).or_default().push((name, label.to_owned()));
        }
        let before = self.goroutines.insert(id, to).unwrap_or(Dead);
        if !from.contains(&before) {
            self.wrong.push(format!("{name} of goroutine {id}, which was {before:?}"));
        }
    }

    /// Fails unless the goroutine already has the status that the event implies.
    fn status(&mut self, name: &'static str, gp: &G) {
        let expected: &[u32] = match name {
            "create" | "sched" | "preempt" => &[GRUNNABLE],
            "create blocked" => &[GWAITING],
            "start" => &[GRUNNING],
            "park" => &[GWAITING, GPREEMPTED],
            _ => return,
        };
        let status = gp.atomicstatus.load(Ordering::Relaxed) & !GSCAN;
        if !expected.contains(&status) {
            self.wrong.push(format!("{name} of goroutine {}, in status {status}", gp.goid.get()));
        }
    }

    fn proc(&mut self, name: &'static str, pp: &P, busy: bool) {
        *self.counts.entry(name).or_default() += 1;
        if self.procs.insert(pp.id.get(), busy).unwrap_or(false) == busy {
            self.wrong.push(format!("{name} of P {}", pp.id.get()));
        }
    }

    fn thread(&mut self, name: &'static str, mp: &M, lives: bool) {
        *self.counts.entry(name).or_default() += 1;
        if self.threads.insert(mp.id.get(), lives).unwrap_or(false) == lives {
            self.wrong.push(format!("{name} of M {}", mp.id.get()));
        }
    }
}

fn tracer(event: Event<'_>) {
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    let log = log.get_or_insert_default();
    match event {
        Event::GoCreate(gp) => log.goroutine("create", gp, &[Dead], Runnable),
        Event::GoCreateBlocked(gp) => log.goroutine("create blocked", gp, &[Dead], Waiting),
        Event::GoStart(gp) => log.goroutine("start", gp, &[Runnable], Running),
        Event::GoEnd(gp) => log.goroutine("end", gp, &[Running], Dead),
        Event::GoSched(gp) => log.goroutine("sched", gp, &[Running], Runnable),
        Event::GoPreempt(gp) => log.goroutine("preempt", gp, &[Running], Runnable),
        Event::GoPark(gp, reason) => {
            log.parks.entry(gp.goid.get()).or_default().push(reason);
            log.goroutine("park", gp, &[Running], Waiting);
        }
        Event::GoUnpark(gp) => log.goroutine("unpark", gp, &[Waiting], Runnable),
        Event::GoSysCall(gp) => log.goroutine("syscall", gp, &[Running], Syscall),
        Event::GoSysExit(gp, true) => log.goroutine("sysexit, lost p", gp, &[Syscall], Runnable),
        Event::GoSysExit(gp, false) => log.goroutine("sysexit", gp, &[Syscall], Running),
        Event::ProcStart(pp) => log.proc("proc start", pp, true),
        Event::ProcStop(pp) => log.proc("proc stop", pp, false),
        Event::ProcSteal(pp) => log.proc("proc steal", pp, false),
        Event::ProcDetach(pp) => {
            DETACHED.fetch_add(1, Ordering::Relaxed);
            log.proc("proc detach", pp, false);
        }
        Event::ProcTurn(pp, _) => log.proc("proc turn", pp, true),
        Event::ThreadStart(mp) => log.thread("thread start", mp, true),
        Event::ThreadDestroy(mp) => log.thread("thread destroy", mp, false),
        _ => {}
    }
}

/// The events that must have come in the end, and the least number of each.
const EVENTS: [(&str, usize); 8] = [
    ("create", 12),
    ("sched", 1),
    ("park", 50),
    ("unpark", 50),
    ("syscall", 160),
    ("proc stop", 1),
    ("thread start", 2),
    ("thread destroy", 1),
];

/// Also where goroutines lose their P's all the time.
fn events_come_in_an_order_that_makes_sense(test: Test) {
    for (godebug, detachments) in [("detach=0", 0), ("detach=1", 3), ("detach=2", 3)] {
        let process = test.process(|| {
            events_come_in_order(env::var("DETACHMENTS").unwrap().parse().unwrap());
        });
        process
            .env("GODEBUG", godebug)
            .env("DETACHMENTS", &detachments.to_string())
            .end()
            .with("exit status: 0");
    }
}

/// Fails unless there are at least `detachments` detachments.
fn events_come_in_order(detachments: usize) {
    // SAFETY: the tracer only takes notes.
    unsafe { set_tracer(tracer) };
    let parked = run(|| {
        static STOP: AtomicBool = AtomicBool::new(false);
        let (tx, rx) = bounded(0);
        let receiver = go_until_it_waits(move || (goid(), rx.iter().sum::<u32>()));
        (0..100).for_each(|i| tx.send(i).unwrap());
        drop(tx);
        let (parked, sum) = receiver.join().unwrap();
        assert_eq!(sum, 4950);
        let yielding = go(|| {
            while !STOP.load(Ordering::Relaxed) {
                yield_now();
            }
        });
        let calling: Vec<_> = (0..8)
            .map(|i| {
                go(move || {
                    (0..20).for_each(|_| blocking(|| thread::sleep(Duration::from_micros(i * i * 100))))
                })
            })
            .collect();
        calling.into_iter().for_each(|handle| handle.join().unwrap());
        assert_eq!(iter::pull(|y| (0..10).for_each(|i| y.yield_(i))).count(), 10);
        with_labels([("job", "17")], || go(|| with_labels([("job", "18")], yield_now))).join().unwrap();
        // The goroutines lose their P's and want them back. One of them allocates all the time, as
        // the tracer does.
        let hogs: Vec<_> = (0..6_u64)
            .map(|i| {
                go(move || {
                    let begun = Instant::now();
                    let enough = || DETACHED.load(Ordering::Relaxed) >= detachments;
                    while begun.elapsed() < Duration::from_millis(40) || !enough() {
                        if i < 3 {
                            drop(std::hint::black_box(vec![i; 100]));
                        } else {
                            thread::sleep(Duration::from_millis(i));
                            yield_now();
                        }
                    }
                })
            })
            .collect();
        hogs.into_iter().for_each(|hog| hog.join().unwrap());
        // The thread ends with its goroutine.
        go(|| std::mem::forget(lock_os_thread())).join().unwrap();
        STOP.store(true, Ordering::Relaxed);
        yielding.join().unwrap();
        others_ended();
        parked
    });
    let ended = |log: &Log| {
        log.count("end") == log.count("create") + log.count("create blocked")
            && EVENTS.iter().all(|(event, n)| log.count(event) >= *n)
    };
    while !ended(LOG.lock().unwrap().as_ref().unwrap()) {
        thread::sleep(Duration::from_millis(1));
    }
    let log = LOG.lock().unwrap().take().unwrap();
    assert!(log.wrong.is_empty(), "{:#?}", log.wrong);
    assert_eq!(log.count("create blocked"), 1);
    assert_eq!(log.count("create") + 1, log.count("end"));
    assert!(log.goroutines.values().all(|state| *state == Dead), "{:?}", log.goroutines);
    assert!(log.parks[&parked].contains(&TraceBlockReason::ChanRecv));
    let mut jobs = log.labels.values();
    let job =
        jobs.find(|events| events.iter().any(|(name, _)| *name == "create")).expect("it was made there");
    for event in [("create", "17"), ("start", "17"), ("sched", "18"), ("end", "17")] {
        assert!(job.iter().any(|(name, job)| (*name, job.as_str()) == event), "{event:?} in {job:?}");
    }
    assert_eq!(log.count("syscall"), log.count("sysexit") + log.count("sysexit, lost p"));
    // SAFETY: it panics before it changes anything.
    assert!(panic::catch_unwind(|| unsafe { set_tracer(tracer) }).is_err(), "a second time");
}
