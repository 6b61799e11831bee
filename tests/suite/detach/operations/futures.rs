//! Futures that wait where goroutines do.

use gosched::chan::bounded;
use gosched::sync::Semaphore;
use gosched::{block_on, go, goid, yield_now};

use super::{Operation, operations};
use crate::detach::stepper::{begin, end, operation};
use crate::harness::futures::Task;
use crate::harness::goroutines::{go_until_it_waits, go_when_this_waits};

pub fn all() -> Vec<Operation> {
    operations! {
        "wait for a future that receives" => || {
            let (tx, rx) = bounded(0);
            let sends = go_when_this_waits(move || tx.send(7).unwrap());
            assert_eq!(operation(|| block_on(rx.recv_async())), Ok(7));
            sends.join().unwrap();
        };
        "wait for a future that sends" => || {
            let (tx, rx) = bounded(0);
            let receives = go_when_this_waits(move || rx.recv());
            operation(|| block_on(tx.send_async(7))).unwrap();
            assert_eq!(receives.join().unwrap(), Ok(7));
        };
        "send to a future that waits" => || {
            let (tx, rx) = bounded(0);
            let mut future = Task::waits(rx.recv_async());
            operation(|| tx.send(7)).unwrap();
            assert_eq!((future.times_woken(), future.poll()), (1, Some(Ok(7))));
        };
        "receive from a future that waits" => || {
            let (tx, rx) = bounded(0);
            let mut future = Task::waits(tx.send_async(7));
            assert_eq!(operation(|| rx.recv()), Ok(7));
            assert_eq!((future.times_woken(), future.poll()), (1, Some(Ok(()))));
        };
        "close, and a future hears it" => || {
            let (tx, rx) = bounded::<u32>(0);
            let mut future = Task::waits(rx.recv_async());
            operation(|| tx.close());
            assert!(future.poll().unwrap().is_err());
        };
        "drop a future that waits" => || {
            let (tx, rx) = bounded(1);
            let future = Task::waits(rx.recv_async());
            operation(|| drop(future));
            tx.send(7).unwrap();
            assert_eq!(rx.recv(), Ok(7));
        };
        "drop a future that has got a value" => || {
            let (tx, rx) = bounded(0);
            let future = Task::waits(rx.recv_async());
            tx.try_send(7).unwrap();
            operation(|| drop(future));
            assert_eq!(rx.recv(), Ok(7));
        };
        "drop a future whose value another waits for" => || {
            let (tx, rx) = bounded(0);
            let future = Task::waits(rx.recv_async());
            let receiver = rx.clone();
            let other = go_until_it_waits(move || receiver.recv());
            tx.try_send(7).unwrap();
            operation(|| drop(future));
            assert_eq!(other.join().unwrap(), Ok(7));
        };
        "give a permit to a future" => || {
            let semaphore = Semaphore::new(0);
            let mut future = Task::waits(semaphore.acquire_async());
            operation(|| semaphore.add_permits(1));
            assert_eq!(future.times_woken(), 1);
            future.poll().unwrap().unwrap().forget();
            assert_eq!(semaphore.available_permits(), 0);
        };
        "drop a future that has got a permit" => || {
            let semaphore = Semaphore::new(0);
            let future = Task::waits(semaphore.acquire_async());
            semaphore.add_permits(1);
            operation(|| drop(future));
            assert_eq!(semaphore.available_permits(), 1);
        };
        "await a goroutine" => || {
            let goroutine = go(goid);
            assert_ne!(operation(|| block_on(goroutine)).unwrap(), goid());
        };
        "end while a future waits for it" => || {
            let (tx, rx) = bounded(0);
            let ends = move || {
                rx.recv().unwrap();
                begin();
                7
            };
            let mut future = Task::waits(go(ends).into_future());
            tx.send(()).unwrap();
            while future.times_woken() == 0 {
                yield_now();
            }
            end();
            assert_eq!(future.poll().unwrap().unwrap(), 7);
        };
    }
}
