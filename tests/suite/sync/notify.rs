//! `Notify`: a notification isn't lost, wakes one waiter in turn, and at most one is kept.

use std::mem::forget;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::context::{Context, ContextError};
use gosched::sync::{Mutex, Notify};
use gosched::{block_on, blocking, go, run, scope};

use crate::harness::explored::{in_any_order, times};
use crate::harness::futures::{Task, waits_and_calls};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::tests;

tests! {
    one_notification_is_kept
    a_notification_wakes_who_has_waited_longest
    notify_last_wakes_who_has_waited_shortest
    all_that_wait_now_are_woken
    a_future_waits_from_its_making_on
    a_dropped_future_passes_its_notification_on
    a_wait_that_ends_by_a_limit_takes_no_notification
    no_notification_is_lost_to_a_limit
    a_waker_that_notifies
    every_job_is_done
    threads_notify_and_wait
    what_needs_no_wait_works_in_blocking
    forgotten
}

const LONG: Duration = Duration::from_secs(3600);

/// Whether a notification is kept. Uses it up.
fn is_kept(notify: &Notify) -> bool {
    !notify.notified_timeout(Duration::ZERO).timed_out()
}

pub fn one_notification_is_kept() {
    in_any_order(|| {
        let notify = Notify::new();
        assert!(!is_kept(&notify));
        notify.notify_one();
        notify.notify_one();
        notify.notified();
        assert!(!is_kept(&notify));
        notify.notify_one();
        block_on(notify.notified_async());
        assert!(!is_kept(&notify));
        // notify_waiters keeps nothing, and takes nothing.
        notify.notify_waiters();
        assert!(!is_kept(&notify));
        notify.notify_one();
        notify.notify_waiters();
        assert!(is_kept(&notify));
    });
}

pub fn a_notification_wakes_who_has_waited_longest() {
    in_any_order(|| {
        let notify = Arc::new(Notify::new());
        let order = Arc::new(Mutex::new(Vec::new()));
        let wait = |n: u32| {
            let (notify, order) = (notify.clone(), order.clone());
            go_until_it_waits(move || {
                notify.notified();
                order.lock().push(n);
            })
        };
        let first = wait(1);
        let mut second = Task::waits(notify.notified_async());
        let third = wait(3);
        notify.notify_one();
        first.join().unwrap();
        assert!(second.poll().is_none());
        notify.notify_one();
        assert_eq!(second.times_woken(), 1);
        assert_eq!(second.poll(), Some(()));
        assert_eq!(second.poll(), Some(()), "it stays ready");
        assert_eq!(*order.lock(), [1]);
        notify.notify_one();
        third.join().unwrap();
        assert_eq!(*order.lock(), [1, 3]);
        assert!(!is_kept(&notify));
    });
}

pub fn notify_last_wakes_who_has_waited_shortest() {
    in_any_order(|| {
        let notify = Arc::new(Notify::new());
        let goroutine = |notify: &Arc<Notify>| {
            let notify = notify.clone();
            go_until_it_waits(move || notify.notified())
        };
        let first = goroutine(&notify);
        let mut second = Task::waits(notify.notified_async());
        let third = goroutine(&notify);
        notify.notify_last();
        third.join().unwrap();
        assert!(second.poll().is_none());
        // A future that is dropped passes it on to the last that waits then.
        let fourth = Task::waits(notify.notified_async());
        notify.notify_last();
        assert_eq!((second.times_woken(), fourth.times_woken()), (0, 1));
        drop(fourth);
        assert_eq!((second.times_woken(), second.poll()), (1, Some(())));
        notify.notify_last();
        first.join().unwrap();
        // If none waits, it is kept, once.
        notify.notify_last();
        notify.notify_last();
        assert!(is_kept(&notify) && !is_kept(&notify));
        // It passes waiters over that are notified already, woken or not.
        let waits = Task::waits(notify.notified_async());
        scope(|s| {
            let all = s.go(|| notify.notify_waiters());
            s.go(|| notify.notify_last()).join().unwrap();
            all.join().unwrap();
        });
        drop(waits);
        assert!(is_kept(&notify));
    });
}

pub fn all_that_wait_now_are_woken() {
    in_any_order(|| {
        let notify = Arc::new(Notify::new());
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let notify = notify.clone();
                go_until_it_waits(move || notify.notified())
            })
            .collect();
        let mut future = Task::waits(notify.notified_async());
        notify.notify_waiters();
        // One that comes now isn't meant, nor does it get in the way.
        let mut late = Task::waits(notify.notified_async());
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert_eq!((future.times_woken(), future.poll()), (1, Some(())));
        assert_eq!((late.times_woken(), late.poll()), (0, None));
        notify.notify_one();
        assert_eq!(late.poll(), Some(()));
    });
}

pub fn a_future_waits_from_its_making_on() {
    in_any_order(|| {
        let notify = Notify::new();
        let made = notify.notified_async();
        notify.notify_waiters();
        notify.notify_one();
        block_on(made);
        assert!(is_kept(&notify), "it needed no other notification");
        // One that is enabled waits for notify_one.
        let (mut one, mut other) = (Box::pin(notify.notified_async()), Box::pin(notify.notified_async()));
        assert!(!one.as_mut().enable() && !other.as_mut().enable());
        notify.notify_one();
        notify.notify_one();
        block_on(one);
        block_on(other);
        assert!(!is_kept(&notify));
        // One that waits is ready as soon as notify_waiters was called, woken or not.
        let waits = Task::waits(notify.notified_async());
        scope(|s| {
            let all = s.go(|| notify.notify_waiters());
            s.go(|| notify.notify_one()).join().unwrap();
            all.join().unwrap();
        });
        // Either was for it. If notify_one wasn't, its notification is kept; if it was, then it
        // goes back.
        drop(waits);
        assert!(is_kept(&notify));
    });
}

pub fn a_dropped_future_passes_its_notification_on() {
    in_any_order(|| {
        let notify = Notify::new();
        let (first, mut second) =
            (Task::waits(notify.notified_async()), Task::waits(notify.notified_async()));
        notify.notify_one();
        assert_eq!((first.times_woken(), second.times_woken()), (1, 0));
        let woken = first.woken.clone();
        drop(first);
        assert_eq!(Arc::strong_count(&woken), 1, "the waker is gone");
        assert_eq!((second.times_woken(), second.poll()), (1, Some(())));
        // If none waits, it is kept.
        let last = Task::waits(notify.notified_async());
        notify.notify_one();
        drop(last);
        assert!(is_kept(&notify));
        // One of all isn't passed on.
        let waits = Task::waits(notify.notified_async());
        notify.notify_waiters();
        drop(waits);
        assert!(!is_kept(&notify));
        // Nor is one that has been seen.
        let mut seen = Task::waits(notify.notified_async());
        notify.notify_one();
        assert_eq!(seen.poll(), Some(()));
        drop(seen);
        assert!(!is_kept(&notify));
    });
}

pub fn a_wait_that_ends_by_a_limit_takes_no_notification() {
    in_any_order(|| {
        let notify = Arc::new(Notify::new());
        assert!(notify.notified_timeout(Duration::from_millis(1)).timed_out());
        let (ctx, cancel) = Context::background().with_cancel();
        let wait = |ctx: Context| {
            let notify = notify.clone();
            go_until_it_waits(move || ctx.with(&notify).notified())
        };
        let (first, second) = (wait(ctx.clone()), wait(Context::background()));
        cancel.cancel();
        notify.notify_one();
        assert_eq!(first.join().unwrap(), Err(ContextError::Canceled));
        assert_eq!(second.join().unwrap(), Ok(()));
        notify.notify_one();
        assert_eq!(ctx.with(&notify).notified(), Err(ContextError::Canceled));
        assert!(is_kept(&notify));
    });
}

/// A limit that comes together with the notification: exactly one of the two ends the wait.
pub fn no_notification_is_lost_to_a_limit() {
    in_any_order(|| {
        for _ in 0..times(100, 1) {
            let notify = Notify::new();
            let (ctx, cancel) = Context::background().with_cancel();
            let seen = scope(|s| {
                let waits = s.go(|| ctx.with(&notify).notified().is_ok());
                let timed = s.go(|| !notify.notified_timeout(Duration::from_nanos(1)).timed_out());
                s.go(move || cancel.cancel());
                notify.notify_one();
                usize::from(waits.join().unwrap()) + usize::from(timed.join().unwrap())
            });
            assert_eq!(seen + usize::from(is_kept(&notify)), 1);
        }
    });
}

pub fn a_waker_that_notifies() {
    in_any_order(|| {
        let notify = Arc::new(Notify::new());
        let again = notify.clone();
        let first = waits_and_calls(notify.notified_async(), move || again.notify_one());
        let mut second = Task::waits(notify.notified_async());
        notify.notify_one();
        assert_eq!(second.poll(), Some(()));
        block_on(first);
        assert!(!is_kept(&notify));
    });
}

/// Workers that wait whenever they find nothing to do.
pub fn every_job_is_done() {
    in_any_order(|| {
        let (jobs, done) = (times(1000, 4), AtomicUsize::new(0));
        let (queue, added) = (Mutex::new(Vec::new()), Notify::new());
        scope(|s| {
            for _ in 0..2 {
                s.go(|| {
                    loop {
                        let mut notified = Box::pin(added.notified_async());
                        notified.as_mut().enable();
                        if done.load(Ordering::Relaxed) == jobs {
                            break;
                        }
                        let job = queue.lock().pop();
                        if job.is_none() {
                            block_on(notified);
                        } else if done.fetch_add(1, Ordering::Relaxed) + 1 == jobs {
                            added.notify_waiters();
                        }
                    }
                });
            }
            for job in 0..jobs {
                queue.lock().push(job);
                added.notify_one();
            }
        });
        assert_eq!(done.into_inner(), jobs);
    });
}

fn threads_notify_and_wait() {
    static PING: Notify = Notify::new();
    static PONG: Notify = Notify::new();
    run(|| {
        let thread = thread::spawn(|| {
            for _ in 0..1000 {
                PING.notified();
                PONG.notify_one();
            }
        });
        for _ in 0..1000 {
            PING.notify_one();
            assert!(!PONG.notified_timeout(LONG).timed_out());
        }
        blocking(|| thread.join()).unwrap();
    });
}

fn what_needs_no_wait_works_in_blocking() {
    let notify = Arc::new(Notify::new());
    run({
        let notify = notify.clone();
        move || {
            let waits = {
                let notify = notify.clone();
                go(move || notify.notified())
            };
            blocking(|| notify.notify_one());
            waits.join().unwrap();
            blocking(|| {
                notify.notify_one();
                notify.notified();
                notify.notify_waiters();
            });
        }
    });
}

fn forgotten() {
    run(|| {
        let notify = Notify::new();
        forget(Task::waits(notify.notified_async()));
        notify.notify_one();
        assert!(!is_kept(&notify), "it has come to the one that is forgotten");
        forget(Task::waits(notify.notified_async()));
    });
}
