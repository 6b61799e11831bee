//! Runs in runs that end at the same time as their contexts, their time and their event: each wait
//! has one outcome, and leaves everything as it was.
//!
//! For a long run, set `STRESS_TIMES`, the number of tries for each kind of wait.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::context::{Canceler, Context};
use gosched::net::UnixStream;
use gosched::sync::{Barrier, Condvar, Mutex, Notify, RwLock, Semaphore, WaitGroup};
use gosched::time::Elapsed;
use gosched::{block_on, go, scope, select, time, yield_now};

use crate::harness::explored::{explores, in_any_order, times};
use crate::harness::goroutines::others_ended;
use crate::harness::rng::{Rng, number};
use crate::harness::storm::turns;
use crate::harness::tests;

tests! {
    every_wait_has_one_outcome
}

/// A call around a wait.
enum Level {
    Run(Context),
    Timeout(Duration),
    /// A `catch_unwind`.
    Catch,
    /// A value whose drop waits, and panics where nobody sees it.
    Destructor,
    /// A scope, whose goroutine waits.
    Scope,
    /// A goroutine that waits, and is aborted after a pause.
    Aborted(Duration),
}

struct OnDrop;

impl Drop for OnDrop {
    fn drop(&mut self) {
        time::sleep(Duration::from_nanos(1));
        assert!(catch_unwind(|| resume_unwind(Box::new("of a destructor"))).is_err());
    }
}

/// Calls `f` inside of the levels. Returns none if one of them has ended it.
fn inside_of(levels: &[Level], f: &mut (dyn FnMut() + Send)) -> Option<()> {
    let Some((outer, inner)) = levels.split_first() else {
        f();
        return Some(());
    };
    match outer {
        Level::Run(ctx) => {
            let result = ctx.run(|| inside_of(inner, f));
            assert!(result.is_ok() || ctx.err().is_some());
            result.unwrap_or(None)
        }
        Level::Timeout(d) => time::timeout(*d, || inside_of(inner, f)).unwrap_or(None),
        Level::Catch => catch_unwind(AssertUnwindSafe(|| inside_of(inner, f))).unwrap_or_else(|_| {
            time::sleep(Duration::from_nanos(1));
            unreachable!("a run outside of this is over");
        }),
        Level::Destructor => {
            let _waits = OnDrop;
            inside_of(inner, f)
        }
        Level::Scope => scope(|s| s.go(|| inside_of(inner, f)).join().ok().flatten()),
        Level::Aborted(d) => scope(|s| {
            let waits = s.go(|| inside_of(inner, f));
            let abort = waits.abort_handle();
            s.go(move || {
                time::sleep(*d);
                abort.abort();
            });
            waits.join().ok().flatten()
        }),
    }
}

/// Up to five levels, and the contexts that end some of them.
struct Nest {
    levels: Vec<Level>,
    cancels: Vec<Canceler>,
    /// Whether the wait has ended.
    over: AtomicBool,
}

impl Nest {
    fn new(rng: &mut Rng) -> Self {
        let (mut levels, mut cancels) = (Vec::new(), Vec::new());
        for _ in 0..=rng.below(5) {
            levels.push(match rng.below(10) {
                0..3 => {
                    let (ctx, cancel) = Context::background().with_cancel();
                    cancels.push(cancel);
                    Level::Run(ctx)
                }
                3..5 => Level::Timeout(Duration::from_nanos(rng.below(60_000) as u64)),
                5 => Level::Catch,
                6 => Level::Destructor,
                7..9 => Level::Aborted(Duration::from_nanos(rng.below(60_000) as u64)),
                _ => Level::Scope,
            });
        }
        Nest { levels, cancels, over: AtomicBool::new(false) }
    }

    /// Calls `wait` inside of the levels, while the contexts end, and `comes` causes its event.
    /// Returns the value of the wait, if its event came first. The calls around it may end after
    /// that, too.
    fn at_once<T: Send>(
        &self,
        rng: &mut Rng,
        comes: impl FnOnce() + Send,
        mut wait: impl FnMut() -> T + Send,
    ) -> Option<T> {
        let (mut ends, mut others) = (rng.fork(), rng.fork());
        let mut value = None;
        scope(|s| {
            s.go(move || {
                pauses(&mut others);
                comes();
            });
            s.go(move || {
                for cancel in &self.cancels {
                    pauses(&mut ends);
                    if ends.below(3) > 0 {
                        cancel.cancel();
                    }
                }
            });
            s.go(|| {
                inside_of(&self.levels, &mut || value = Some(wait()));
                self.over.store(true, Ordering::Relaxed);
            });
        });
        value
    }
}

/// Lets a short time pass.
fn pauses(rng: &mut Rng) {
    match rng.below(4) {
        0 => {}
        1 => yield_now(),
        _ => time::sleep(Duration::from_nanos(rng.below(30_000) as u64)),
    }
}

/// One wait of a kind, inside of the levels. Returns whether its event came first.
type Wait = fn(&Nest, &mut Rng) -> bool;

const WAITS: [(&str, Wait); 13] = [
    ("receives", receives),
    ("sends", sends),
    ("selects", selects),
    ("locks", locks),
    ("locks for reading", locks_for_reading),
    ("locks for writing", locks_for_writing),
    ("permits", permits),
    ("groups", groups),
    ("notifications", notifications),
    ("conditions", conditions),
    ("barriers", barriers),
    ("joins", joins),
    ("futures", futures),
];

fn receives(nest: &Nest, rng: &mut Rng) -> bool {
    let (tx, rx) = bounded(1);
    let received = nest.at_once(rng, || tx.send(7).unwrap(), || rx.recv().unwrap());
    assert_eq!(received.is_some(), rx.is_empty());
    received.is_some()
}

fn sends(nest: &Nest, rng: &mut Rng) -> bool {
    let (tx, rx) = bounded(1);
    tx.send(1).unwrap();
    let sent = nest.at_once(rng, || assert_eq!(rx.recv(), Ok(1)), || tx.send(2).unwrap());
    assert_eq!(rx.try_recv().is_ok(), sent.is_some());
    sent.is_some()
}

fn selects(nest: &Nest, rng: &mut Rng) -> bool {
    let ((tx, rx), (full, other)) = (bounded::<u32>(1), bounded::<String>(0));
    let wait = || {
        select! {
            recv(rx) -> value => value.unwrap(),
            send(full, "nobody receives it".to_owned()) -> _ => unreachable!(),
        }
    };
    let chosen = nest.at_once(rng, || tx.send(7).unwrap(), wait);
    assert_eq!(chosen.is_some(), rx.is_empty());
    assert!(other.try_recv().is_err());
    chosen.is_some()
}

fn locks(nest: &Nest, rng: &mut Rng) -> bool {
    let mutex = Mutex::new(0);
    let held = mutex.lock();
    let locked = nest.at_once(rng, || drop(held), || *mutex.lock() += 1);
    assert_eq!(*mutex.try_lock().expect("nobody has it"), u32::from(locked.is_some()));
    locked.is_some()
}

/// A writer has the lock, and the next one waits, too.
fn locks_for_reading(nest: &Nest, rng: &mut Rng) -> bool {
    let lock = RwLock::new(0);
    let held = lock.write();
    let comes = || {
        drop(held);
        *lock.write() += 1;
    };
    let locked = nest.at_once(rng, comes, || assert!(*lock.read() <= 1));
    assert_eq!(*lock.try_write().expect("nobody has it"), 1);
    locked.is_some()
}

/// A reader has the lock, and another one comes.
fn locks_for_writing(nest: &Nest, rng: &mut Rng) -> bool {
    let lock = RwLock::new(0);
    let held = lock.read();
    let comes = || {
        drop(held);
        assert!(*lock.read() <= 1);
    };
    let locked = nest.at_once(rng, comes, || *lock.write() += 1);
    assert_eq!(*lock.try_write().expect("nobody has it"), u32::from(locked.is_some()));
    locked.is_some()
}

fn permits(nest: &Nest, rng: &mut Rng) -> bool {
    let semaphore = Semaphore::new(0);
    let acquired = nest.at_once(rng, || semaphore.add_permits(2), || semaphore.acquire_many(2).forget());
    assert_eq!(semaphore.available_permits(), if acquired.is_some() { 0 } else { 2 });
    acquired.is_some()
}

fn groups(nest: &Nest, rng: &mut Rng) -> bool {
    let group = WaitGroup::new();
    group.add(1);
    let waited = nest.at_once(rng, || group.done(), || group.wait());
    group.wait();
    waited.is_some()
}

fn notifications(nest: &Nest, rng: &mut Rng) -> bool {
    let notify = Notify::new();
    let notified = nest.at_once(rng, || notify.notify_one(), || notify.notified());
    assert_eq!(notify.notified_timeout(Duration::ZERO).timed_out(), notified.is_some());
    notified.is_some()
}

fn conditions(nest: &Nest, rng: &mut Rng) -> bool {
    let (set, changed) = (Mutex::new(false), Condvar::new());
    let comes = || {
        *set.lock() = true;
        changed.notify_one();
    };
    let waited = nest.at_once(rng, comes, || assert!(*changed.wait_while(set.lock(), |set| !*set)));
    assert!(set.try_lock().is_some(), "nobody has it");
    waited.is_some()
}

fn barriers(nest: &Nest, rng: &mut Rng) -> bool {
    let barrier = Barrier::new(2);
    let (tx, rx) = bounded(1);
    let wait = || barrier.wait().is_leader();
    // Tries until both have met, or nobody comes any more.
    let other = || {
        let mut led = Err(Elapsed);
        while led.is_err() && !nest.over.load(Ordering::Relaxed) {
            led = time::timeout(Duration::from_micros(20), wait);
        }
        tx.send(led).unwrap();
    };
    let leads = nest.at_once(rng, other, wait);
    // Both have met, and one leads, or neither has.
    match (leads, rx.recv().unwrap()) {
        (Some(leads), Ok(other)) => assert_ne!(leads, other),
        (None, Err(Elapsed)) => {}
        (leads, other) => panic!("{leads:?} and {other:?}"),
    }
    leads.is_some()
}

fn joins(nest: &Nest, rng: &mut Rng) -> bool {
    let (tx, rx) = bounded::<()>(0);
    let mut handle = Some(go(move || rx.recv().is_err()));
    let joined = nest.at_once(rng, || drop(tx), || handle.take().unwrap().join().unwrap());
    assert_ne!(joined, Some(false));
    joined.is_some()
}

fn futures(nest: &Nest, rng: &mut Rng) -> bool {
    let (tx, rx) = bounded(1);
    let received = nest.at_once(rng, || tx.send(7).unwrap(), || block_on(rx.recv_async()).unwrap());
    assert_eq!(received.is_some(), rx.is_empty());
    received.is_some()
}

/// A read, which has an outcome of its own. Explorations have no sockets.
fn reads(nest: &Nest, rng: &mut Rng) -> bool {
    use std::io::{Read, Write};
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut buf = [0; 2];
    let read = nest.at_once(rng, || (&theirs).write_all(b"x").unwrap(), || (&ours).read(&mut buf).ok());
    let came = read.flatten().is_some();
    if !came {
        assert_eq!((&ours).read(&mut buf).unwrap(), 1);
    }
    came
}

pub fn every_wait_has_one_outcome() {
    in_any_order(|| {
        let mut rng = Rng::seeded();
        let mut kinds = WAITS.to_vec();
        if explores() {
            kinds = vec![kinds[rng.below(kinds.len())]];
        } else {
            kinds.push(("reads", reads));
        }
        scope(|s| {
            for (name, wait) in kinds {
                let mut rng = rng.fork();
                s.go(move || {
                    let counts = [const { AtomicUsize::new(0) }; 2];
                    let both = || counts.iter().all(|count| count.load(Ordering::Relaxed) > 0);
                    for _ in turns(number("STRESS_TIMES").map_or(times(400, 1), |n| n as usize), both) {
                        let nest = Nest::new(&mut rng);
                        let came = wait(&nest, &mut rng);
                        counts[usize::from(came)].fetch_add(1, Ordering::Relaxed);
                    }
                    if !explores() {
                        eprintln!("{name}: {counts:?} were ended, and came first");
                    }
                });
            }
        });
        if !explores() {
            others_ended();
        }
    });
}
