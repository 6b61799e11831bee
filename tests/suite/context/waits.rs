//! A wait under a context ends with the context, and leaves everything as it was.

use std::time::Duration;

use gosched::chan::{TryRecvError, bounded, never};
use gosched::context::{
    AcquireContextError, Context, ContextError, JoinContextError, RecvContextError, SendContextError,
};
use gosched::sync::{Condvar, Mutex, Semaphore, WaitGroup};
use gosched::{go, run, select, yield_now};

use crate::harness::goroutines::{go_until_it_waits, others_ended};
use crate::harness::tests;

tests! {
    receives
    sends
    locks
    selects
    permits
    groups
    conditions
    joins
    sleeps
    what_has_ended_does_nothing
    under_the_background_they_wait_as_ever
}

const CANCELED: ContextError = ContextError::Canceled;
const LATE: ContextError = ContextError::DeadlineExceeded;
const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(2);

fn receives() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let (tx, rx) = bounded(0);
        let wait = || {
            let (ctx, rx) = (ctx.clone(), rx.clone());
            go_until_it_waits(move || ctx.with(&rx).recv())
        };
        let (first, second) = (wait(), wait());
        tx.send(1).unwrap();
        assert_eq!(first.join().unwrap(), Ok(1));
        cancel.cancel();
        assert_eq!(second.join().unwrap(), Err(RecvContextError::Ended(CANCELED)));
        // The goroutine is no receiver any more.
        assert!(tx.try_send(2).is_err());
        let (ctx, _cancel) = Context::background().with_timeout(SHORT);
        assert_eq!(ctx.with(&rx).recv(), Err(RecvContextError::Ended(LATE)));
        let (ctx, _cancel) = Context::background().with_cancel();
        let closed = {
            let (ctx, rx) = (ctx.clone(), rx.clone());
            go_until_it_waits(move || ctx.with(&rx).recv())
        };
        drop(tx);
        assert_eq!(closed.join().unwrap(), Err(RecvContextError::Disconnected));
        assert_eq!(ctx.with(&rx).recv(), Err(RecvContextError::Disconnected));
    });
}

fn locks() {
    run(|| {
        let mutex: &Mutex<u32> = Box::leak(Box::default());
        let lock = |ctx: &Context| {
            let ctx = ctx.clone();
            go_until_it_waits(move || ctx.with(mutex).lock().map(|mut n| std::mem::replace(&mut *n, 7)))
        };
        let (ctx, cancel) = Context::background().with_cancel();
        let (other, _cancel_other) = Context::background().with_cancel();
        let held = mutex.lock();
        let (first, middle, last) = (lock(&other), lock(&ctx), lock(&other));
        cancel.cancel();
        assert_eq!(middle.join().unwrap(), Err(CANCELED));
        drop(held);
        let mut both = [first.join().unwrap(), last.join().unwrap()];
        both.sort_by_key(|n| n.unwrap());
        assert_eq!(both, [Ok(0), Ok(7)]);
        // The last waiter leaves nothing behind.
        let held = mutex.lock();
        let (late, _cancel) = Context::background().with_timeout(SHORT);
        assert_eq!(late.with(mutex).lock().map(drop), Err(LATE));
        drop(held);
        assert_eq!(format!("{mutex:?}"), "Mutex { data: 7, .. }");
        assert_eq!(other.with(mutex).lock().map(|n| *n), Ok(7));
        assert_eq!(ctx.with(mutex).lock().map(drop), Err(CANCELED));
        assert_eq!(Context::background().with(mutex).lock().map(|n| *n), Ok(7));
    });
}

fn sends() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let (tx, rx) = bounded(0);
        let wait = |text: &str| {
            let (ctx, tx, text) = (ctx.clone(), tx.clone(), text.to_owned());
            go_until_it_waits(move || ctx.with(&tx).send(text))
        };
        let (first, second) = (wait("first"), wait("second"));
        assert_eq!(rx.recv().unwrap(), "first");
        assert_eq!(first.join().unwrap(), Ok(()));
        cancel.cancel();
        let error = second.join().unwrap().unwrap_err();
        assert_eq!(error, SendContextError::Ended("second".into(), CANCELED));
        assert_eq!((error.to_string(), error.into_inner()), ("context canceled".into(), "second".into()));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        let (ctx, _cancel) = Context::background().with_cancel();
        let closed = go_until_it_waits(move || ctx.with(&tx).send("third".into()));
        drop(rx);
        assert!(closed.join().unwrap().is_err());
    });
}

fn selects() {
    run(|| {
        let (ctx, _cancel) = Context::background().with_timeout(SHORT);
        let ended = select! {
            recv(never::<u32>()) -> _ => None,
            recv(ctx.done()) -> _ => ctx.err(),
        };
        assert_eq!(ended, Some(LATE));
    });
}

/// A waiter that gives up lets those behind it take permits that suffice for them.
fn permits() {
    run(|| {
        let semaphore: &Semaphore = Box::leak(Box::new(Semaphore::new(1)));
        let (ctx, cancel) = Context::background().with_cancel();
        let many = {
            let ctx = ctx.clone();
            go_until_it_waits(move || ctx.with(semaphore).acquire_many(3).map(drop))
        };
        let few = go_until_it_waits(|| drop(semaphore.acquire()));
        cancel.cancel();
        assert_eq!(many.join().unwrap(), Err(AcquireContextError::Ended(CANCELED)));
        few.join().unwrap();
        let (ctx, _cancel) = Context::background().with_cancel();
        let all = ctx.with(semaphore).acquire().unwrap();
        let waits = {
            let ctx = ctx.clone();
            go_until_it_waits(move || ctx.with(semaphore).acquire().map(drop))
        };
        drop(all);
        assert_eq!(waits.join().unwrap(), Ok(()));
        assert_eq!(semaphore.available_permits(), 1);
    });
}

fn groups() {
    run(|| {
        let group: &WaitGroup = Box::leak(Box::new(WaitGroup::new()));
        group.add(1);
        let (ctx, cancel) = Context::background().with_cancel();
        let (outer, _cancel_outer) = Context::background().with_cancel();
        let wait = |ctx: &Context| {
            let ctx = ctx.clone();
            go_until_it_waits(move || ctx.with(group).wait())
        };
        let (first, second) = (wait(&ctx), wait(&outer));
        cancel.cancel();
        assert_eq!(first.join().unwrap(), Err(CANCELED));
        assert!(!second.is_finished());
        group.done();
        assert_eq!(second.join().unwrap(), Ok(()));
        assert_eq!(outer.with(group).wait(), Ok(()));
    });
}

fn conditions() {
    run(|| {
        let pair: &(Mutex<u32>, Condvar) = Box::leak(Box::default());
        let (ctx, cancel) = Context::background().with_cancel();
        let wait = |ctx: &Context| {
            let ctx = ctx.clone();
            go_until_it_waits(move || {
                let (mut number, waited) = ctx.with(&pair.1).wait_while(pair.0.lock(), |number| *number == 0);
                *number += 10;
                waited
            })
        };
        let first = wait(&ctx);
        cancel.cancel();
        assert_eq!((first.join().unwrap(), std::mem::take(&mut *pair.0.lock())), (Err(CANCELED), 10));
        // As with other waits, this holds even if there is nothing to wait for.
        assert_eq!(ctx.with(&pair.1).wait_while(pair.0.lock(), |_| false).1, Err(CANCELED));
        let (ctx, _cancel) = Context::background().with_cancel();
        assert!(ctx.with(&pair.1).wait_while(pair.0.lock(), |_| false).1.is_ok());
        let second = wait(&ctx);
        *pair.0.lock() = 1;
        pair.1.notify_one();
        assert_eq!(second.join().unwrap(), Ok(()));
        assert_eq!(*pair.0.lock(), 11);
        // A notification goes to nobody if nobody waits any more.
        let (ctx, _cancel) = Context::background().with_timeout(SHORT);
        assert_eq!(ctx.with(&pair.1).wait(pair.0.lock()).1, Err(LATE));
        assert_eq!(ctx.with(&pair.1).wait(pair.0.lock()).1, Err(LATE));
    });
}

fn joins() {
    run(|| {
        let (tx, rx) = bounded::<u32>(0);
        let waits = || {
            let rx = rx.clone();
            go_until_it_waits(move || rx.recv())
        };
        let (ctx, cancel) = Context::background().with_cancel();
        let (first, second) = (waits(), waits());
        let joins = {
            let ctx = ctx.clone();
            go_until_it_waits(move || ctx.join(first).unwrap())
        };
        tx.send(1).unwrap();
        assert_eq!(joins.join().unwrap(), Ok(1));
        let joins = {
            let ctx = ctx.clone();
            go_until_it_waits(move || ctx.join(second))
        };
        cancel.cancel();
        let Err(JoinContextError::Ended(second, CANCELED)) = joins.join().unwrap() else { panic!() };
        assert!(!second.is_finished());
        // The goroutine can be joined again, in each way.
        let second = second.join_timeout(SHORT).unwrap_err().join_timeout(Duration::ZERO).unwrap_err();
        let (late, _cancel) = Context::background().with_timeout(SHORT);
        let Err(JoinContextError::Ended(second, LATE)) = late.join(second) else { panic!() };
        tx.send(2).unwrap();
        assert_eq!(second.join_timeout(LONG).unwrap().unwrap(), Ok(2));
        // If the context hasn't ended, a failure is reported as a failure.
        let fails = go(|| std::panic::resume_unwind(Box::new(7)));
        let (ctx, _cancel) = Context::background().with_cancel();
        let Err(JoinContextError::Failed(error)) = ctx.join::<()>(fails) else { panic!() };
        assert_eq!(error.into_panic().downcast_ref(), Some(&7));
        // A goroutine whose handle is dropped after a wait goes on.
        let third = waits();
        drop(third.join_timeout(SHORT).unwrap_err());
        tx.send(3).unwrap();
        others_ended();
    });
}

fn sleeps() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        assert_eq!(ctx.sleep(SHORT), Ok(()));
        let sleeps = {
            let ctx = ctx.clone();
            go_until_it_waits(move || ctx.sleep(LONG))
        };
        cancel.cancel();
        assert_eq!(sleeps.join().unwrap(), Err(CANCELED));
        assert_eq!(ctx.sleep(Duration::ZERO), Err(CANCELED));
        assert_eq!(Context::background().sleep(SHORT), Ok(()));
    });
}

/// Also if the operation needn't wait.
fn what_has_ended_does_nothing() {
    run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        cancel.cancel();
        let (tx, rx) = bounded(2);
        tx.send(1).unwrap();
        assert_eq!(ctx.with(&rx).recv(), Err(RecvContextError::Ended(CANCELED)));
        assert_eq!(ctx.with(&tx).send(2), Err(SendContextError::Ended(2, CANCELED)));
        assert_eq!(rx.len(), 1);
        let semaphore = Semaphore::new(1);
        assert_eq!(ctx.with(&semaphore).acquire().map(drop), Err(AcquireContextError::Ended(CANCELED)));
        assert_eq!(semaphore.available_permits(), 1);
        assert_eq!(ctx.with(&WaitGroup::new()).wait(), Err(CANCELED));
        let mutex = Mutex::new(7);
        let (guard, waited) = ctx.with(&Condvar::new()).wait(mutex.lock());
        assert_eq!((*guard, waited), (7, Err(CANCELED)));
    });
}

fn under_the_background_they_wait_as_ever() {
    run(|| {
        static SEMAPHORE: Semaphore = Semaphore::new(0);
        static GROUP: WaitGroup = WaitGroup::new();
        let (tx, rx) = bounded(0);
        GROUP.add(1);
        let waits = go(move || {
            let ctx = Context::background();
            let received = ctx.with(&rx).recv();
            let acquired = ctx.with(&SEMAPHORE).acquire().map(drop);
            (received, acquired, ctx.with(&GROUP).wait())
        });
        yield_now();
        tx.send(1).unwrap();
        yield_now();
        SEMAPHORE.add_permits(1);
        yield_now();
        GROUP.done();
        assert_eq!(waits.join().unwrap(), (Ok(1), Ok(()), Ok(())));
    });
}
