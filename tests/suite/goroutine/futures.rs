//! `block_on`: a goroutine waits for a future, and any holder of its waker may wake it at any time.

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::{block_on, blocking, go, goexit, goid, run, scope, yield_now};

use crate::harness::panics::panics;
use crate::harness::rng::Rng;
use crate::harness::storm::storm;
use crate::harness::{Test, run_lean, run_with_procs, tests};

tests! {
    what_a_future_returns
    whoever_wakes
    wakes_too_many
    a_wake_when_something_else_is_waited_for
    storm_of_wakes
    how_a_poll_ends_otherwise
    it_stays_on_its_goroutine
    where_thread_locals_are_shared_a_poll_stays_on_its_thread
    on_a_thread
    inside_blocking
}

/// An event that happens once, and the waker of the goroutine that waits for it.
#[derive(Default)]
struct Event(Mutex<(bool, Option<Waker>)>);

impl Event {
    fn set(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Lets other goroutines run `n` times.
async fn pauses(n: usize) {
    for _ in 0..n {
        let mut polled = false;
        poll_fn(|context| {
            context.waker().wake_by_ref();
            if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Lets other goroutines run as far as they can.
fn others_run() {
    (0..100).for_each(|_| yield_now());
}

fn what_a_future_returns(test: Test) {
    let process = test.process(|| {
        run(|| {
            assert_eq!(block_on(async { 7 }), 7);
            let local = String::from("borrowed");
            assert_eq!(block_on(async { local.len() }), 8);
            let both = block_on(async {
                pauses(10).await;
                (block_on(async { 1 }), async { 2 }.await)
            });
            assert_eq!(both, (1, 2));
        });
    });
    process.end().with("exit status: 0");
}

fn whoever_wakes(test: Test) {
    let process = test.process(|| {
        run_with_procs(2, || {
            for _ in 0..100 {
                let (by_goroutine, by_thread) = (Event::default(), Event::default());
                scope(|s| {
                    s.go(|| by_goroutine.set());
                    block_on(by_goroutine.wait());
                });
                thread::scope(|s| {
                    s.spawn(|| by_thread.set());
                    block_on(by_thread.wait());
                });
            }
            let event = Arc::new(Event::default());
            let waits = {
                let event = event.clone();
                go(move || block_on(event.wait()))
            };
            others_run();
            event.set();
            waits.join().unwrap();
        });
    });
    process.end().with("exit status: 0");
}

/// Wakes before the wait, twice, after the end of the future, and after the end of the goroutine.
fn wakes_too_many(test: Test) {
    let process = test.process(|| {
        run(|| {
            let late = go(|| {
                let mut polls = 0;
                let waker = block_on(poll_fn(|context| {
                    polls += 1;
                    (0..3).for_each(|_| context.waker().wake_by_ref());
                    if polls < 3 { Poll::Pending } else { Poll::Ready(context.waker().clone()) }
                }));
                assert_eq!(polls, 3, "one poll for some wakes");
                waker.wake_by_ref();
                waker
            });
            let waker = late.join().unwrap();
            let other = waker.clone();
            assert!(waker.will_wake(&other));
            thread::spawn(move || other.wake()).join().unwrap();
            for _ in 0..100 {
                go(|| ()).join().unwrap();
                waker.wake_by_ref();
            }
        });
    });
    process.end().with("exit status: 0");
}

fn a_wake_when_something_else_is_waited_for(test: Test) {
    let process = test.process(|| {
        run(|| {
            let ((tx, rx), (give, given)) = (bounded(0), mpsc::channel());
            let waits = go(move || {
                block_on(poll_fn(|context| {
                    give.send(context.waker().clone()).unwrap();
                    Poll::Ready(())
                }));
                rx.recv().unwrap()
            });
            let waker = blocking(|| given.recv().unwrap());
            others_run();
            (0..10).for_each(|_| waker.wake_by_ref());
            others_run();
            assert!(!waits.is_finished());
            tx.send(7).unwrap();
            assert_eq!(waits.join().unwrap(), 7);

            // The same in a poll.
            let ((tx, rx), (give, given)) = (bounded(0), mpsc::channel());
            let waits = go(move || {
                block_on(poll_fn(|context| {
                    give.send(context.waker().clone()).unwrap();
                    Poll::Ready(rx.recv().unwrap())
                }))
            });
            let waker = blocking(|| given.recv().unwrap());
            others_run();
            waker.wake();
            others_run();
            assert!(!waits.is_finished());
            tx.send(8).unwrap();
            assert_eq!(waits.join().unwrap(), 8);
        });
    });
    process.end().with("exit status: 0");
}

/// Threads and goroutines wake goroutines that wait for futures, and no wake is lost.
fn storm_of_wakes(test: Test) {
    for procs in ["1", "2", "8"] {
        let process = test.process(|| {
            let mut rng = Rng::seeded();
            run(|| {
                for _ in storm(300) {
                    let events: Vec<Event> = (0..20).map(|_| Event::default()).collect();
                    let woken = AtomicUsize::new(0);
                    let (mut threads, mut goroutines) = (rng.fork(), rng.fork());
                    let wake = |rng: &mut Rng| {
                        for _ in 0..3 * events.len() {
                            let event = &events[rng.below(events.len())];
                            // Also wakes it if nothing has happened.
                            let waker = event.0.lock().unwrap().1.clone();
                            waker.iter().for_each(Waker::wake_by_ref);
                        }
                        events.iter().for_each(Event::set);
                    };
                    thread::scope(|t| {
                        t.spawn(|| wake(&mut threads));
                        scope(|s| {
                            for event in &events {
                                let woken = &woken;
                                s.go(move || {
                                    block_on(event.wait());
                                    woken.fetch_add(1, Ordering::Relaxed);
                                });
                            }
                            s.go(|| wake(&mut goroutines));
                        });
                    });
                    assert_eq!(woken.into_inner(), events.len());
                }
            });
        });
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A poll ends by a panic, or by the end of the goroutine. The future is dropped, and the waker
/// does nothing.
fn how_a_poll_ends_otherwise(test: Test) {
    let process = test.process(|| {
        run(|| {
            for exits in [false, true] {
                static DROPPED: AtomicUsize = AtomicUsize::new(0);
                let (give, given) = mpsc::channel();
                let ends = go(move || {
                    let counted = Counted(&DROPPED);
                    block_on(async move {
                        let _counted = counted;
                        pauses(2).await;
                        poll_fn(|context| -> Poll<()> {
                            give.send(context.waker().clone()).unwrap();
                            if exits { goexit() } else { resume_unwind(Box::new(7)) }
                        })
                        .await;
                    });
                });
                let error = ends.join().unwrap_err();
                assert_eq!(error.is_panic(), !exits);
                assert_eq!(DROPPED.swap(0, Ordering::Relaxed), 1);
                given.recv().unwrap().wake();
            }
            // The waker of a future that is no longer waited for wakes nobody.
            let event = Event::default();
            block_on(async {
                let mut waits = pin!(event.wait());
                let polled = poll_fn(|context| Poll::Ready(waits.as_mut().poll(context))).await;
                assert!(polled.is_pending());
            });
            event.set();
        });
    });
    process.end().with("exit status: 0");
}

fn it_stays_on_its_goroutine(test: Test) {
    thread_local!(static MINE: Cell<u64> = const { Cell::new(0) });

    let process = test.process(|| {
        run_with_procs(2, || {
            let all: Vec<_> = (0..100)
                .map(|_| {
                    go(|| {
                        MINE.set(goid());
                        block_on(async {
                            for _ in 0..20 {
                                pauses(1).await;
                                yield_now();
                                assert_eq!(MINE.get(), goid());
                            }
                        });
                    })
                })
                .collect();
            all.into_iter().for_each(|one| one.join().unwrap());
        });
    });
    process.end().with("exit status: 0");
}

fn where_thread_locals_are_shared_a_poll_stays_on_its_thread(test: Test) {
    #[inline(never)]
    fn thread() -> i32 {
        // SAFETY: passes nothing.
        unsafe { libc::gettid() }
    }

    let process = test.process(|| {
        // SAFETY: there is one thread.
        unsafe { std::env::set_var("GOMAXPROCS", "4") };
        run_lean(|| {
            let moves = AtomicUsize::new(0);
            scope(|s| {
                for _ in 0..20 {
                    s.go(|| {
                        let mut last = 0;
                        block_on(async {
                            for _ in 0..200 {
                                poll_fn(|_| {
                                    let before = thread();
                                    (0..3).for_each(|_| yield_now());
                                    assert_eq!(thread(), before);
                                    moves.fetch_add(usize::from(last != before), Ordering::Relaxed);
                                    last = before;
                                    Poll::Ready(())
                                })
                                .await;
                                pauses(1).await;
                            }
                        });
                    });
                }
            });
        });
    });
    process.end().with("exit status: 0");
}

fn on_a_thread(test: Test) {
    let process = test.process(|| {
        let message = panics(|| block_on(pending::<()>()));
        assert!(
            message.starts_with("gosched: block_on would have to wait, and nobody could end that"),
            "{message}"
        );
        assert_eq!(block_on(async { 7 }), 7);
        run(|| {
            let event = Event::default();
            thread::scope(|t| {
                t.spawn(|| {
                    block_on(async {
                        event.wait().await;
                        pauses(10).await;
                    });
                });
                blocking(|| thread::sleep(Duration::from_millis(10)));
                event.set();
            });
        });
    });
    process.end().with("exit status: 0");
}

fn inside_blocking(test: Test) {
    let process = test.process(|| {
        run(|| {
            assert_eq!(blocking(|| block_on(async { 7 })), 7);
            assert_eq!(blocking(|| block_on(async { pauses(3).await })), ());
            assert_eq!(
                panics(|| blocking(|| block_on(pending::<()>()))),
                "gosched: block_on would have to wait, which nothing can inside gosched::blocking: do it outside"
            );
        });
    });
    process.end().with("exit status: 0");
}
