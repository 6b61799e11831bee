//! Waits that end with a context, or with a time; and data of goroutines' own.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::context::Context;
use gosched::sync::{Mutex, SingleFlight, err_group};
use gosched::{go, goroutine_local, yield_now};

use super::{Operation, operations};
use crate::detach::stepper::operation;
use crate::harness::goroutines::{go_until_it_waits, go_when_this_waits};

const HOUR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_nanos(1);

goroutine_local! {
    static OWN: Cell<u32> = Cell::new(0);
    inherit static INHERITED: Cell<u32> = Cell::new(0);
}

pub fn all() -> Vec<Operation> {
    operations! {
        "make and drop a context" => || operation(|| drop(Context::background().with_cancel()));
        "cancel, and who waits hears it" => || {
            let (ctx, cancel) = Context::background().with_cancel();
            let (_tx, rx) = bounded::<u32>(0);
            let waits = go_until_it_waits(move || ctx.with(&rx).recv().is_err());
            operation(|| cancel.cancel());
            assert!(waits.join().unwrap());
        };
        "wait until the context ends" => || {
            let (ctx, cancel) = Context::background().with_cancel();
            let (_tx, rx) = bounded::<u32>(0);
            let cancels = go_when_this_waits(move || cancel.cancel());
            assert!(operation(|| ctx.with(&rx).recv()).is_err());
            cancels.join().unwrap();
        };
        "wait until the deadline" => || {
            let (_tx, rx) = bounded::<u32>(0);
            let ended = operation(|| {
                let (ctx, _cancel) = Context::background().with_timeout(Duration::from_millis(1));
                ctx.with(&rx).recv()
            });
            assert!(ended.is_err());
        };
        "lock until it is late" => || {
            let mutex = Mutex::new(1);
            let held = mutex.lock();
            assert!(operation(|| mutex.lock_timeout(SOON)).is_none());
            drop(held);
            assert_eq!(*mutex.lock(), 1);
        };
        "lock before it is late" => || {
            static MUTEX: Mutex<u32> = Mutex::new(0);
            let held = MUTEX.lock();
            let unlocks = go_when_this_waits(move || drop(held));
            operation(|| *MUTEX.lock_timeout(HOUR).unwrap() += 1);
            unlocks.join().unwrap();
        };
        "join until it is late" => || {
            let (tx, rx) = bounded::<u32>(0);
            let other = go(move || rx.recv().is_err());
            let other = operation(|| other.join_timeout(SOON)).unwrap_err();
            drop(tx);
            assert!(other.join().unwrap());
        };
        "join before it is late" => || {
            let other = go(|| 7);
            assert_eq!(operation(|| other.join_timeout(HOUR)).unwrap().unwrap(), 7);
        };
        "a group that fails as one" => || {
            let result = operation(|| {
                err_group(&Context::background(), |group| {
                    group.go(|ctx| ctx.sleep(HOUR).map_err(|_| "the first error counts"));
                    group.go(|_| Err("it fails"));
                    Ok(())
                })
            });
            assert_eq!(result, Err("it fails"));
        };
        "one flight for two" => || {
            let flights = Arc::new(SingleFlight::new());
            let theirs = flights.clone();
            let other = go(move || {
                theirs.run(1, || {
                    (0..3).for_each(|_| yield_now());
                    7
                })
            });
            yield_now();
            assert_eq!(operation(|| flights.run(1, || 7)), 7);
            assert_eq!(other.join().unwrap(), 7);
        };
        "a value of a goroutine's own, and one that is inherited" => || {
            INHERITED.set(7);
            let child = || {
                OWN.set(3);
                (OWN.get(), INHERITED.get())
            };
            assert_eq!(operation(|| go(child).join()).unwrap(), (3, 7));
        };
    }
}
