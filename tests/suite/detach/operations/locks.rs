//! Locks and meeting points: free, and with a goroutine that waits.

use std::sync::Arc;
use std::time::Duration;

use gosched::sync::{Barrier, Condvar, Mutex, Once, OnceLock, RwLock, Semaphore, WaitGroup};
use gosched::{go, yield_now};

use super::{Operation, operations};
use crate::detach::stepper::operation;
use crate::harness::goroutines::go_until_it_waits;

const HOUR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_nanos(1);

pub fn all() -> Vec<Operation> {
    operations! {
        "a free mutex" => || {
            let mutex = Mutex::new(1);
            operation(|| *mutex.lock() += 1);
            assert_eq!(mutex.into_inner(), 2);
        };
        "a mutex that another has" => || {
            let mutex = Arc::new(Mutex::new(1));
            let theirs = mutex.clone();
            let other = go(move || {
                let mut held = theirs.lock();
                (0..3).for_each(|_| yield_now());
                *held *= 10;
            });
            yield_now();
            operation(|| *mutex.lock() += 1);
            other.join().unwrap();
            // The other goroutine may come later, if the global queue has its turn first.
            assert!([11, 20].contains(&*mutex.lock()));
        };
        "unlock a mutex that another waits for" => || {
            let mutex = Arc::new(Mutex::new(1));
            let mut held = mutex.lock();
            let theirs = mutex.clone();
            let other = go_until_it_waits(move || *theirs.lock() += 1);
            *held *= 10;
            operation(|| drop(held));
            other.join().unwrap();
            assert_eq!(*mutex.lock(), 11);
        };
        "try to lock" => || {
            let mutex = Mutex::new(());
            assert!(operation(|| {
                let held = mutex.try_lock();
                held.is_some() && mutex.try_lock().is_none()
            }));
        };
        "a free lock for readers and writers" => || {
            let lock = RwLock::new(1);
            let seen = operation(|| {
                *lock.write() += 1;
                *lock.read() + *lock.try_read().unwrap()
            });
            assert_eq!((seen, lock.into_inner()), (4, 2));
        };
        "write where another reads" => || {
            let lock = Arc::new(RwLock::new(1));
            let theirs = lock.clone();
            let other = go(move || {
                let held = theirs.read();
                yield_now();
                *held
            });
            yield_now();
            operation(|| *lock.write() += 1);
            assert!([1, 2].contains(&other.join().unwrap()));
            assert_eq!(*lock.read(), 2);
        };
        "read where another writes" => || {
            let lock = Arc::new(RwLock::new(1));
            let held = lock.write();
            let theirs = lock.clone();
            let other = go_until_it_waits(move || *theirs.read());
            let seen = operation(|| {
                drop(held);
                *lock.read()
            });
            assert_eq!((seen, other.join().unwrap()), (1, 1));
        };
        "wait for a condition" => || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let theirs = pair.clone();
            let other = go(move || {
                *theirs.0.lock() = true;
                theirs.1.notify_one();
            });
            assert!(*operation(|| pair.1.wait_while(pair.0.lock(), |set| !*set)));
            other.join().unwrap();
        };
        "notify all" => || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let others = [pair.clone(), pair.clone()].map(|pair| {
                go_until_it_waits(move || *pair.1.wait_while(pair.0.lock(), |set| !*set))
            });
            *pair.0.lock() = true;
            operation(|| pair.1.notify_all());
            others.into_iter().for_each(|other| assert!(other.join().unwrap()));
        };
        "wait for a condition until it is late" => || {
            let (mutex, condvar) = (Mutex::new(()), Condvar::new());
            assert!(operation(|| condvar.wait_timeout(mutex.lock(), SOON).1.timed_out()));
        };
        "wait for a group" => || {
            let group = Arc::new(WaitGroup::new());
            let other = group.go(|| 7);
            operation(|| group.wait());
            assert_eq!(other.join().unwrap(), 7);
        };
        "the last of a group" => || {
            let group = Arc::new(WaitGroup::new());
            group.add(2);
            let theirs = group.clone();
            let other = go_until_it_waits(move || theirs.wait());
            operation(|| (group.done(), group.done()));
            other.join().unwrap();
        };
        "a free permit" => || {
            let semaphore = Semaphore::new(3);
            operation(|| drop(semaphore.acquire_many(2)));
            assert_eq!(semaphore.available_permits(), 3);
        };
        "a permit that another has" => || {
            let semaphore = Arc::new(Semaphore::new(1));
            let theirs = semaphore.clone();
            let other = go(move || {
                let _held = theirs.acquire();
                yield_now();
            });
            yield_now();
            operation(|| drop(semaphore.acquire()));
            other.join().unwrap();
            assert_eq!(semaphore.available_permits(), 1);
        };
        "give a permit to one that waits" => || {
            let semaphore = Arc::new(Semaphore::new(1));
            let held = semaphore.acquire();
            let theirs = semaphore.clone();
            let other = go_until_it_waits(move || drop(theirs.acquire_timeout(HOUR).unwrap()));
            operation(|| drop(held));
            other.join().unwrap();
            assert_eq!(semaphore.available_permits(), 1);
        };
        "wait for a permit until it is late" => || {
            let semaphore = Semaphore::new(0);
            assert!(operation(|| semaphore.acquire_timeout(SOON)).is_none());
        };
        "once" => || {
            let (once, cell) = (Once::new(), OnceLock::new());
            operation(|| once.call_once(|| assert_eq!(*cell.get_or_init(|| 7), 7)));
            assert!(once.is_completed());
        };
        "once, while another does it" => || {
            let cell = Arc::new(OnceLock::new());
            let theirs = cell.clone();
            let other = go(move || *theirs.get_or_init(|| {
                (0..3).for_each(|_| yield_now());
                7
            }));
            yield_now();
            let seen = operation(|| *cell.get_or_init(|| 7));
            assert_eq!((seen, other.join().unwrap()), (7, 7));
        };
        "meet at a barrier" => || {
            let barrier = Arc::new(Barrier::new(2));
            let theirs = barrier.clone();
            let other = go(move || theirs.wait().is_leader());
            let leads = operation(|| barrier.wait().is_leader());
            assert_ne!(leads, other.join().unwrap());
        };
    }
}
