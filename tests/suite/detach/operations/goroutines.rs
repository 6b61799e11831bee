//! Goroutines: how they begin, how they end, and how others wait for their end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use gosched::iter::pull;
use gosched::labels::{labels, with_labels};
use gosched::sync::WaitGroup;
use gosched::{Builder, blocking, go, goexit, goid, lock_os_thread, num_goroutine, proc, scope, yield_now};

use super::{Operation, operations};
use crate::detach::stepper::{begin, end, operation};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::interrupts::this_thread;

pub fn all() -> Vec<Operation> {
    operations! {
        "yield" => || operation(yield_now);
        "go" => || assert_eq!(operation(|| go(|| 7)).join().unwrap(), 7);
        "go with a name, and much to take along" => || {
            let much = [7; 1000];
            let handle = operation(|| Builder::new().name("a name").go(move || much)).unwrap();
            assert_eq!(handle.join().unwrap(), much);
        };
        "join one that has to run" => || {
            let handle = go(|| 7);
            assert_eq!(operation(|| handle.join()).unwrap(), 7);
        };
        "join one that has ended" => || {
            let handle = go(|| 7);
            while !handle.is_finished() {
                yield_now();
            }
            assert_eq!(operation(|| handle.join()).unwrap(), 7);
        };
        "drop a handle" => || {
            let group = Arc::new(WaitGroup::new());
            let handle = group.go(|| ());
            operation(|| drop(handle));
            group.wait();
        };
        "return while somebody waits" => || {
            let handle = go(|| {
                begin();
                7
            });
            assert_eq!(handle.join().unwrap(), 7);
            end();
        };
        "exit while somebody waits" => || {
            let handle = go(|| {
                begin();
                goexit()
            });
            assert!(handle.join().unwrap_err().is_goexit());
            end();
        };
        "panic while somebody waits" => || {
            let handle = go(|| {
                begin();
                resume_unwind(Box::new(7))
            });
            assert_eq!(*handle.join().unwrap_err().into_panic().downcast::<i32>().unwrap(), 7);
            end();
        };
        "park in a destructor while panicking" => || {
            struct Yields;
            impl Drop for Yields {
                fn drop(&mut self) {
                    operation(yield_now);
                }
            }
            let handle = go(|| {
                let _yields = Yields;
                resume_unwind(Box::new(7))
            });
            assert_eq!(*handle.join().unwrap_err().into_panic().downcast::<i32>().unwrap(), 7);
        };
        "catch a panic" => || {
            let caught = operation(|| catch_unwind(|| resume_unwind(Box::new(7))));
            assert_eq!(*caught.unwrap_err().downcast::<i32>().unwrap(), 7);
        };
        "a scope with two" => || {
            let mut numbers = [1, 2];
            operation(|| {
                scope(|s| {
                    for number in &mut numbers {
                        s.go(move || *number += 1);
                    }
                });
            });
            assert_eq!(numbers, [2, 3]);
        };
        "block" => || assert_ne!(operation(|| blocking(this_thread)), 0);
        "panic in a call that blocks" => || {
            let caught = operation(|| catch_unwind(|| blocking(|| resume_unwind(Box::new(7)))));
            assert!(caught.is_err());
        };
        "go in a call that blocks" => || {
            assert_eq!(operation(|| blocking(|| go(|| 7))).join().unwrap(), 7);
        };
        "lock the thread, yield, unlock it" => || {
            let here = operation(|| {
                let _locked = lock_os_thread();
                let before = proc::getm();
                yield_now();
                before == proc::getm()
            });
            assert!(here);
        };
        "end with a locked thread" => || {
            let handle = go(|| {
                std::mem::forget(lock_os_thread());
                begin();
                7
            });
            assert_eq!(handle.join().unwrap(), 7);
            end();
        };
        "the next of an iterator" => || {
            let mut numbers = pull(|out| (0..3).for_each(|i| out.yield_(i)));
            assert_eq!(operation(|| [numbers.next(), numbers.next()]), [Some(0), Some(1)]);
            assert_eq!(numbers.next(), Some(2));
        };
        "an iterator from its beginning to its end" => || {
            let sum = operation(|| pull(|out| (0..3).for_each(|i| out.yield_(i))).sum::<i32>());
            assert_eq!(sum, 3);
        };
        "drop an iterator in its midst" => || {
            struct Counts(Arc<AtomicU32>);
            impl Drop for Counts {
                fn drop(&mut self) {
                    self.0.fetch_add(1, Ordering::Relaxed);
                }
            }
            let dropped = Arc::new(AtomicU32::new(0));
            let counts = Counts(dropped.clone());
            let mut numbers = pull(move |out| {
                let _counts = counts;
                (0..100).for_each(|i| out.yield_(i));
            });
            assert_eq!(numbers.next(), Some(0));
            operation(|| drop(numbers));
            assert_eq!(dropped.load(Ordering::Relaxed), 1);
        };
        "an iterator that panics" => || {
            let mut numbers = pull(|out| {
                out.yield_(0);
                resume_unwind(Box::new(7))
            });
            assert_eq!(numbers.next(), Some(0));
            assert!(operation(|| catch_unwind(AssertUnwindSafe(|| numbers.next()))).is_err());
        };
        "labels" => || {
            let label = || labels().get("a").map(str::to_owned);
            assert_eq!(operation(|| with_labels([("a", "b")], label)).as_deref(), Some("b"));
            assert_eq!(label(), None);
        };
        "ask who and how many" => || {
            let before = (goid(), num_goroutine());
            assert_eq!(operation(|| (goid(), num_goroutine())), before);
        };
        "make ready one that waits for a goroutine's end" => || {
            let (tx, rx) = gosched::chan::bounded::<()>(0);
            let inner = go_until_it_waits(move || rx.recv());
            let outer = go_until_it_waits(move || inner.join().unwrap());
            operation(|| {
                tx.close();
                yield_now();
            });
            assert!(outer.join().unwrap().is_err());
        };
    }
}
