//! Waits that their context, their deadline and their event end at the same time. Each wait has one
//! outcome, and reports it truly.
//!
//! For a long run, set `STRESS_TIMES`, the number of tries for each kind of wait.

use std::hint::spin_loop;
use std::io::{Read, Write, pipe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::context::{Context, JoinContextError};
use gosched::net::Pollable;
use gosched::sync::{Condvar, Mutex, Notify, Semaphore, WaitGroup};
use gosched::{go, run, scope, yield_now};

use crate::harness::goroutines::others_ended;
use crate::harness::rng::{Rng, number};
use crate::harness::storm::turns;
use crate::harness::{Test, tests};

tests! {
    with_one_p
    with_two_ps
    with_eight_ps
}

/// One wait of a kind. It ends the context and causes the event. Returns whether the event came
/// first.
type Wait = fn(&Context, &mut Rng, &mut dyn FnMut(&mut Rng)) -> bool;

const WAITS: [(&str, Wait); 10] = [
    ("receives", receives),
    ("sends", sends),
    ("locks", locks),
    ("permits", permits),
    ("groups", groups),
    ("notifications", notifications),
    ("conditions", conditions),
    ("joins", joins),
    ("reads", reads),
    ("writes", writes),
];

/// Lets a short time pass.
fn pauses(rng: &mut Rng) {
    match rng.below(4) {
        0 => {}
        1 => yield_now(),
        _ => (0..rng.below(3_000)).for_each(|_| spin_loop()),
    }
}

/// Calls `wait`. Beside it, ends the context, and calls `comes`, which causes the event.
fn at_once<R: Send>(
    rng: &mut Rng,
    end: &mut dyn FnMut(&mut Rng),
    comes: impl FnOnce() + Send,
    wait: impl FnOnce() -> R + Send,
) -> R {
    let mut others = rng.fork();
    scope(|s| {
        let other = s.go(move || {
            pauses(&mut others);
            comes();
        });
        let waits = s.go(wait);
        pauses(rng);
        end(rng);
        other.join().unwrap();
        waits.join().unwrap()
    })
}

fn receives(ctx: &Context, rng: &mut Rng, end: &mut dyn FnMut(&mut Rng)) -> bool {
    let (tx, rx) = bounded(1);
    let received = at_once(rng, end, || tx.send(7).unwrap(), || ctx.with(&rx).recv());
    assert_eq!(received.is_ok(), rx.is_empty());
    received.is_ok()
}

fn sends(ctx: &Context, rng: &mut Rng, end: &mut dyn FnMut(&mut Rng)) -> bool {
    let (tx, rx) = bounded(1);
    tx.send(1).unwrap();
    let sent = at_once(rng, end, || assert_eq!(rx.recv(), Ok(1)), || ctx.with(&tx).send(2));
    assert_eq!(rx.try_recv().is_ok(), sent.is_ok());
    sent.is_ok()
}

fn locks(ctx: &Context, rng: &mut Rng, end: &mut dyn FnMut(&mut Rng)) -> bool {
    let mutex = Mutex::new(0);
    let held = mutex.lock();
    let locked = at_once(rng, end, || drop(held), || ctx.with(&mutex).lock().map(|mut n| *n += 1));
    assert_eq!(*mutex.try_lock().expect("nobody has it"), u32::from(locked.is_ok()));
    locked.is_ok()
}

fn permits(ctx: &Context, rng: &mut Rng, end: &mut dyn FnMut(&mut Rng)) -> bool {
    let semaphore = Semaphore::new(0);
    let acquire = || ctx.with(&semaphore).acquire_many(2).map(|permit| permit.forget());
    let acquired = at_once(rng, end, || semaphore.add_permits(2), acquire);
    assert_eq!(semaphore.available_permits(), if acquired.is_ok() { 0 } else { 2 });
    acquired.is_ok()
}

fn groups(ctx: &Context, rng: &mut Rng, end: &mut dyn FnMut(&mut Rng)) -> bool {
    let group = WaitGroup::new();
    group.add(1);
    let waited = at_once(rng, end, || group.done(), || ctx.with(&group).wait());
    group.wait();
    waited.is_ok()
}

fn notifications(ctx: &Context, rng: &mut Rng, end: &mut dyn FnMut(&mut Rng)) -> bool {
    let notify = Notify::new();
    let notified = at_once(rng, end, || notify.notify_one(), || ctx.with(&notify).notified());
    assert_eq!(notify.notified_timeout(Duration::ZERO).timed_out(), notified.is_ok());
    notified.is_ok()
}

fn conditions(ctx: &Context, rng: &mut Rng, end: &mut dyn FnMut(&mut Rng)) -> bool {
    let (set, changed) = (Mutex::new(false), Condvar::new());
    let comes = || {
        *set.lock() = true;
        changed.notify_one();
    };
    let wait = || {
        let (set, waited) = ctx.with(&changed).wait_while(set.lock(), |set| !*set);
        assert!(*set || waited.is_err());
        waited
    };
    at_once(rng, end, comes, wait).is_ok()
}

fn joins(ctx: &Context, rng: &mut Rng, end: &mut dyn FnMut(&mut Rng)) -> bool {
    let (tx, rx) = bounded::<()>(0);
    let handle = go(move || rx.recv().is_err());
    // Nothing else ends this wait, if its time is over before it begins.
    let handle = handle.join_timeout(Duration::from_nanos(rng.below(4_000) as u64)).unwrap_err();
    let joined = at_once(rng, end, || drop(tx), || ctx.join(handle));
    match joined {
        Ok(result) => assert!(result),
        Err(JoinContextError::Ended(handle, _)) => {
            // Waits again with a limit, which may come, too.
            let handle = handle.join_timeout(Duration::from_micros(rng.below(20) as u64));
            assert!(handle.unwrap_or_else(|handle| handle.join()).unwrap());
            return false;
        }
        Err(JoinContextError::Failed(error)) => error.resume_panic(),
    }
    true
}

fn reads(ctx: &Context, rng: &mut Rng, end: &mut dyn FnMut(&mut Rng)) -> bool {
    let (rx, mut tx) = pipe().unwrap();
    let rx = Pollable::new(rx).unwrap();
    let mut buf = [0; 2];
    let read = at_once(rng, end, || tx.write_all(b"x").unwrap(), || ctx.with(&rx).read(&mut buf));
    if read.is_err() {
        // The end of a context has no lasting effect on the descriptor.
        assert_eq!((&rx).read(&mut buf).unwrap(), 1);
    }
    read.is_ok()
}

fn writes(ctx: &Context, rng: &mut Rng, end: &mut dyn FnMut(&mut Rng)) -> bool {
    let (mut rx, tx) = pipe().unwrap();
    let tx = Pollable::new(tx).unwrap();
    let mut full = 0;
    while let Ok(n) = tx.get_ref().write(&[0; 4096]) {
        full += n;
    }
    let drain = || rx.read_exact(&mut vec![0; full]).unwrap();
    let wrote = at_once(rng, end, drain, || ctx.with(&tx).write(&[1; 7]));
    if wrote.is_err() {
        assert_eq!((&tx).write(&[1; 7]).unwrap(), 7);
    }
    assert_eq!(rx.read(&mut [0; 100]).unwrap(), 7);
    wrote.is_ok()
}

/// Does the wait under a context of some kind, and ends the context.
fn under_a_context(wait: Wait, root: &Context, rng: &mut Rng) -> bool {
    let (parent, cancel_parent) = root.with_cancel();
    let deadline = Duration::from_micros(rng.below(60) as u64);
    let (ctx, cancel) = if rng.below(2) == 0 { parent.with_timeout(deadline) } else { parent.with_cancel() };
    let (mut cancel, mut cancel_parent) = (Some(cancel), Some(cancel_parent));
    let came_first = wait(&ctx, rng, &mut |rng| match rng.below(3) {
        0 => drop(cancel.take()),
        1 => drop(cancel_parent.take()),
        // The context ends by itself, or the event comes.
        _ => {}
    });
    assert!(came_first || ctx.err().is_some());
    came_first
}

fn storm(test: Test, procs: usize) {
    let process = test.process(|| {
        let mut rng = Rng::seeded();
        let times = number("STRESS_TIMES").unwrap_or(400) as usize;
        run(|| {
            let counts = WAITS.map(|_| [AtomicUsize::new(0), AtomicUsize::new(0)]);
            let (root, _cancel) = Context::background().with_cancel();
            scope(|s| {
                for _ in 0..2 {
                    for ((_, wait), counts) in WAITS.iter().zip(&counts) {
                        let (mut rng, root) = (rng.fork(), &root);
                        s.go(move || {
                            let missing = || counts.iter().any(|count| count.load(Ordering::Relaxed) == 0);
                            for _ in turns(times, || !missing()) {
                                let came_first = under_a_context(*wait, root, &mut rng);
                                counts[usize::from(came_first)].fetch_add(1, Ordering::Relaxed);
                            }
                        });
                    }
                }
            });
            for ((name, _), [ended, came]) in WAITS.iter().zip(counts) {
                eprint!("{name}: {} ended, {} came; ", ended.into_inner(), came.into_inner());
            }
            eprintln!("with {procs} P's");
            others_ended();
        });
    });
    let ended = process.env("GOMAXPROCS", &procs.to_string()).end();
    ended.with("exit status: 0");
    eprint!("{}", ended.stderr);
}

fn with_one_p(test: Test) {
    storm(test, 1);
}

fn with_two_ps(test: Test) {
    storm(test, 2);
}

fn with_eight_ps(test: Test) {
    storm(test, 8);
}
