//! Handles that goroutines, and tasks of any runtime, await.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::{Builder, block_on, go, goexit, goid, run, yield_now};

use crate::harness::futures::{Task, for_a_while};
use crate::harness::goroutines::{others_ended, wait_until};
use crate::harness::panics::panics;
use crate::harness::rng::Rng;
use crate::harness::storm;
use crate::harness::{Test, run_with_procs, tests};

tests! {
    each_outcome
    who_is_woken
    another_waker_each_time
    dropped
    a_waker_runs_where_thread_locals_are_alive
    after_the_thread_locals_have_ended
    on_threads
    polled_too_often
    storm_with_one_p
    storm_with_two_ps
    storm_with_eight_ps
}

fn each_outcome() {
    run(|| {
        block_on(async {
            assert_eq!(go(|| 7).await.unwrap(), 7);
            let ended = go(|| 8);
            wait_until(|| ended.is_finished());
            assert_eq!(ended.await.unwrap(), 8);
            let panicked = go(|| resume_unwind(Box::new(9))).await.map(|never: ()| never).unwrap_err();
            assert_eq!(panicked.into_panic().downcast_ref(), Some(&9));
            assert!(go(|| goexit()).await.map(|never: ()| never).unwrap_err().is_goexit());
        });
    });
}

fn who_is_woken() {
    run(|| {
        let (tx, rx) = bounded::<u32>(0);
        let mut task = Task::waits(go(move || rx.recv()).into_future());
        assert_eq!(task.times_woken(), 0);
        tx.send(7).unwrap();
        wait_until(|| task.times_woken() > 0);
        assert_eq!(task.poll().unwrap().unwrap(), Ok(7));
        // The waker counts first, and is dropped afterwards.
        wait_until(|| Arc::strong_count(&task.woken) == 1);
        assert_eq!(task.times_woken(), 1);
    });
}

fn another_waker_each_time() {
    run(|| {
        let (tx, rx) = bounded::<u32>(0);
        let mut task = Task::waits(go(move || rx.recv()).into_future());
        let first = std::mem::take(&mut task.woken);
        assert_eq!(Arc::strong_count(&first), 2);
        assert!(task.poll().is_none());
        assert_eq!(Arc::strong_count(&first), 1, "it has the last one alone");
        tx.send(7).unwrap();
        wait_until(|| task.times_woken() > 0);
        assert_eq!(first.0.load(Ordering::SeqCst), 0);
        assert!(task.poll().is_some());
    });
}

fn dropped() {
    run(|| {
        let (tx, rx) = bounded::<u32>(0);
        let (done, ended) = bounded(1);
        let task = Task::waits(
            go(move || {
                rx.recv().unwrap();
                done.send(()).unwrap();
            })
            .into_future(),
        );
        let woken = task.woken.clone();
        drop(task);
        assert_eq!(Arc::strong_count(&woken), 1);
        tx.send(7).unwrap();
        ended.recv().unwrap();
        others_ended();
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
    });
}

/// A waker that runs on a goroutine may use thread-locals. If the goroutine has dropped its own,
/// another goroutine calls the waker.
fn a_waker_runs_where_thread_locals_are_alive() {
    struct Kept(Cell<u64>);
    impl Drop for Kept {
        fn drop(&mut self) {
            self.0.set(0);
        }
    }
    thread_local!(static KEPT: Kept = const { Kept(Cell::new(7)) });
    #[derive(Default)]
    struct Looks(AtomicUsize);
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            let found = KEPT.try_with(|kept| kept.0.get()).unwrap_or_default();
            self.0.store(found as usize, Ordering::SeqCst);
        }
    }
    run(|| {
        let (tx, rx) = bounded::<u32>(0);
        let mut future = Box::pin(
            go(move || {
                KEPT.with(|kept| kept.0.set(8));
                rx.recv()
            })
            .into_future(),
        );
        let looks = Arc::new(Looks::default());
        let waker = Waker::from(looks.clone());
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        tx.send(1).unwrap();
        wait_until(|| looks.0.load(Ordering::SeqCst) == 7);
    });
}

fn after_the_thread_locals_have_ended() {
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            (0..20).for_each(|_| yield_now());
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }
    thread_local!(static SLOW: Slow = const { Slow });
    run(|| {
        for n in 1..=100 {
            block_on(go(|| SLOW.with(|_| ())).into_future()).unwrap();
            assert_eq!(DROPPED.load(Ordering::SeqCst), n);
        }
    });
}

fn on_threads() {
    run(|| {
        let handles: Vec<_> = (0..100).map(|i| go(move || (0..i).for_each(|_| yield_now()))).collect();
        let threads: Vec<_> =
            handles.into_iter().map(|handle| thread::spawn(|| block_on(handle).unwrap())).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

fn polled_too_often() {
    run(|| {
        let (tx, rx) = bounded::<u32>(0);
        let mut task = Task::waits(go(move || rx.recv()).into_future());
        tx.send(7).unwrap();
        wait_until(|| task.times_woken() > 0);
        assert!(task.poll().is_some());
        assert_eq!(panics(|| task.poll()), "a JoinFuture is polled after it was ready");
    });
}

/// Goroutines of each kind that end at any time, and tasks that poll, give up, and join in another
/// way.
fn storm(test: Test, procs: usize) {
    let process = test.process(|| {
        let mut rng = Rng::seeded();
        run_with_procs(procs, || {
            let workers: Vec<_> = (0..8)
                .map(|_| {
                    let mut rng = rng.fork();
                    go(move || storm::storm(500).for_each(|_| once(&mut rng)))
                })
                .collect();
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            others_ended();
        });
    });
    process.end().with("exit status: 0");

    fn once(rng: &mut Rng) {
        let yields = rng.below(6);
        let body = move || {
            (0..yields).for_each(|_| yield_now());
            goid()
        };
        // SAFETY: the goroutine keeps nothing from a thread-local.
        let lean = unsafe { Builder::new().shared_locals() };
        let kind = if rng.below(2) == 0 { Builder::new() } else { lean };
        let mut future = kind.go(body).unwrap().into_future();
        match rng.below(4) {
            0 => drop(block_on(for_a_while(future, rng.below(8)))),
            1 => {
                // Given up, and then awaited again.
                if block_on(for_a_while(&mut future, rng.below(4))).is_none() {
                    block_on(future).unwrap();
                }
            }
            2 => {
                let waits = go(move || block_on(future).unwrap());
                drop(waits.join_timeout(Duration::from_micros(rng.below(30) as u64)));
            }
            _ => drop(block_on(future).unwrap()),
        }
    }
}

fn storm_with_one_p(test: Test) {
    storm(test, 1);
}

fn storm_with_two_ps(test: Test) {
    storm(test, 2);
}

fn storm_with_eight_ps(test: Test) {
    storm(test, 8);
}
