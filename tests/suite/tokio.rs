//! `gosched::tokio`: futures that need tokio's context have it on every kind of goroutine. Where a
//! future has waited, no context is left behind.

use std::env;
use std::future::{Ready, pending, poll_fn, ready};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::bounded;
use gosched::sync::Barrier;
use gosched::tokio::{block_on, block_on_in, handle};
use gosched::{blocking, go, goexit, run, scope, yield_now};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{self, Handle, Id};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use crate::harness::goroutines::{go_until_it_waits, wait_until};
use crate::harness::panics::panics;
use crate::harness::{Test, run_lean, run_with_procs, tests};

tests! {
    what_a_future_does_there
    a_socket_to_a_task
    channels_both_ways
    one_in_another
    the_callers_runtime_comes_first
    a_runtime_that_another_thread_runs
    left_where_it_waits
    left_where_threads_are_shared
    made_inside
    dropped_inside
    how_it_ends_otherwise
    on_a_thread
    without_a_runtime
    no_deadlock_while_there_are_tasks
    many_with_one_p
    many_with_two_ps
    many_with_eight_ps
    many_that_share_thread_locals
}

/// A time that is over soon.
const SOON: Duration = Duration::from_millis(2);

/// Returns the runtime in whose context the caller is. Not inlined, because goroutines that share
/// thread-locals call it, too.
#[inline(never)]
fn context() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

/// A goroutine waits for a value from a task. That is no deadlock, as long as the task is known.
fn no_deadlock_while_there_are_tasks(test: Test) {
    let process = || {
        let process = test.process(|| {
            run(|| {
                let (tx, rx) = bounded(0);
                let late = |after| async move {
                    sleep(after).await;
                    tx.send_async(7).await.unwrap();
                };
                let another = another();
                match env::var("RUNTIME").as_deref() {
                    Ok("another") => another.spawn(late(Duration::from_secs(3600))),
                    _ => handle().spawn(late(Duration::from_millis(300))),
                };
                assert_eq!(rx.recv(), Ok(7));
            });
        });
        // A deadlock is seen after 100 ms, instead of two seconds.
        process.also("deadlock=fatal,period=5")
    };
    process().end().with("exit status: 0");
    process().env("RUNTIME", "another").end().with("exit status: 2");
}

/// Makes a runtime besides the crate's.
fn another() -> runtime::Runtime {
    runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Uses everything in the context: timers, tasks, the thread pool.
async fn works(n: usize) -> usize {
    sleep(SOON).await;
    let task = tokio::spawn(async move {
        tokio::task::yield_now().await;
        n + 1
    });
    let n = task.await.unwrap();
    tokio::task::spawn_blocking(move || n + 1).await.unwrap()
}

fn what_a_future_does_there() {
    run(|| {
        let begin = Instant::now();
        assert_eq!(block_on(works(1)), 3);
        assert!(begin.elapsed() >= SOON);
        let local = String::from("borrowed");
        assert_eq!(block_on(async { (works(1).await, local.as_str()) }), (3, "borrowed"));
        assert!(block_on(async { timeout(SOON, pending::<()>()).await }).is_err());
    });
}

fn a_socket_to_a_task() {
    run(|| {
        let listener = block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let task = handle().spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut read, mut write) = stream.split();
            tokio::io::copy(&mut read, &mut write).await.unwrap()
        });
        let mut stream = block_on(TcpStream::connect(address)).unwrap();
        for n in 0..100 {
            let (sent, mut back) = (vec![n; 1000], vec![0; 1000]);
            block_on(stream.write_all(&sent)).unwrap();
            block_on(stream.read_exact(&mut back)).unwrap();
            assert_eq!(back, sent);
        }
        drop(stream);
        assert_eq!(block_on(task).unwrap(), 100 * 1000);
    });
}

/// Uses tokio's channels to a goroutine, and back; and this crate's.
fn channels_both_ways() {
    run_with_procs(2, || {
        const N: usize = 100;
        let (tx, mut numbers) = mpsc::channel(3);
        let (give, mut doubled) = mpsc::channel(3);
        handle().spawn(async move {
            for n in 0..N {
                tx.send(n).await.unwrap();
            }
        });
        go(move || {
            while let Some(n) = block_on(numbers.recv()) {
                block_on(give.send(2 * n)).unwrap();
            }
        });
        let (sum, summed) = bounded(1);
        handle().spawn(async move {
            let mut all = 0;
            while let Some(n) = doubled.recv().await {
                all += n;
            }
            sum.send_async(all).await.unwrap();
        });
        assert_eq!(summed.recv().unwrap(), N * (N - 1));
    });
}

fn one_in_another() {
    run(|| {
        let n = block_on(async {
            let inner = block_on(async { works(1).await });
            let other = gosched::block_on(async { works(2).await });
            inner + other + works(3).await
        });
        assert_eq!(n, 3 + 4 + 5);
        assert_eq!(context(), None);
    });
}

fn the_callers_runtime_comes_first() {
    let (first, second) = (another(), another());
    let (first, second) = (first.handle(), second.handle());
    run(|| {
        let ours = handle().id();
        block_on_in(first, async {
            assert_eq!(context(), Some(first.id()));
            block_on(async { assert_eq!(context(), Some(first.id())) });
            block_on_in(second, async {
                yield_now();
                assert_eq!(context(), Some(second.id()));
            });
            sleep(SOON).await;
            assert_eq!(context(), Some(first.id()));
        });
        let entered = second.enter();
        // Here the goroutine waits while it holds a guard.
        block_on(async {
            sleep(SOON).await;
            assert_eq!(context(), Some(second.id()));
        });
        assert_eq!(context(), Some(second.id()));
        drop(entered);
        block_on(async { assert_eq!(context(), Some(ours)) });
    });
}

fn a_runtime_that_another_thread_runs() {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    let (end, ended) = oneshot::channel();
    let thread = thread::spawn(move || runtime.block_on(ended));
    run(|| {
        let all: Vec<_> = (0..20)
            .map(|n| {
                let handle = handle.clone();
                go(move || {
                    let inside = async {
                        assert_eq!(context(), Some(Handle::current().id()));
                        works(n).await
                    };
                    assert_eq!(block_on_in(&handle, inside), n + 2);
                })
            })
            .collect();
        all.into_iter().for_each(|one| one.join().unwrap());
        end.send(()).unwrap();
        blocking(|| thread.join().unwrap().unwrap());
    });
}

/// Goroutines that run meanwhile, and this one afterwards, are in no context.
fn left_where_it_waits() {
    run_with_procs(1, || {
        assert_eq!(context(), None);
        let (tx, rx) = bounded(0);
        let waits = go(move || {
            block_on(async { assert_eq!(rx.recv(), Ok(context())) });
            assert_eq!(context(), None);
        });
        let other = handle().id();
        go(move || tx.send(Some(other)).unwrap()).join().unwrap();
        waits.join().unwrap();
        for _ in 0..100 {
            block_on(async { tokio::task::yield_now().await });
            assert_eq!(context(), None);
        }
    });
}

/// The same, on goroutines whose successor on the thread would get a context that wasn't left.
fn left_where_threads_are_shared() {
    // SAFETY: there is one thread.
    unsafe { std::env::set_var("GOMAXPROCS", "1") };
    run_lean(|| {
        let (tx, rx) = oneshot::channel();
        let waits = go_until_it_waits(|| {
            let result = block_on(rx);
            assert_eq!(context(), None);
            result
        });
        assert_eq!(context(), None);
        tx.send(7).unwrap();
        assert_eq!(waits.join().unwrap(), Ok(7));
    });
}

/// The code that makes a future may wait as goroutines do, and is in the context even so.
fn made_inside() {
    struct Made;
    impl IntoFuture for Made {
        type Output = Option<Id>;
        type IntoFuture = Ready<Option<Id>>;

        fn into_future(self) -> Ready<Option<Id>> {
            let first = context();
            (0..5).for_each(|_| yield_now());
            assert_eq!(context(), first);
            ready(first)
        }
    }

    // SAFETY: there is one thread.
    unsafe { std::env::set_var("GOMAXPROCS", "4") };
    run_lean(|| {
        let ours = Some(handle().id());
        scope(|s| {
            for _ in 0..20 {
                s.go(move || (0..100).for_each(|_| assert_eq!(block_on(Made), ours)));
            }
        });
    });
}

/// Notes the context in which it is dropped.
struct Dropped<'a>(&'a AtomicUsize);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        assert!(context().is_some(), "dropped outside");
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Values that a future keeps until it is dropped itself are dropped inside, too.
fn dropped_inside() {
    let drops = AtomicUsize::new(0);
    let one_more = || {
        let before = drops.load(Ordering::Relaxed);
        let mut kept = Some(Dropped(&drops));
        block_on(poll_fn(move |_| {
            assert!(kept.as_mut().is_some());
            Poll::Ready(())
        }));
        assert_eq!(drops.load(Ordering::Relaxed), before + 1);
        assert_eq!(context(), None);
    };
    one_more();
    run_lean(one_more);
}

/// A panic, or the end of the goroutine, passes through, and the future is dropped as always.
fn how_it_ends_otherwise() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    run(|| {
        for exits in [false, true] {
            let ends = go(move || {
                let dropped = Dropped(&DROPS);
                block_on(async move {
                    let _dropped = dropped;
                    sleep(SOON).await;
                    if exits { goexit() } else { resume_unwind(Box::new(7)) }
                })
            });
            let error = ends.join().unwrap_err();
            assert_eq!(error.is_panic(), !exits);
            assert_eq!(DROPS.swap(0, Ordering::Relaxed), 1);
        }
        assert_eq!(panics(|| block_on(async { panic!("the future's") })), "the future's");
        assert_eq!(context(), None);
        assert_eq!(block_on(works(1)), 3);

        // A future that isn't waited for any more leaves neither a timer nor a waker.
        let (alive, mut gone) = mpsc::channel::<()>(1);
        let late = async {
            let _alive = alive;
            sleep(Duration::from_secs(1000)).await;
        };
        assert!(block_on(async { timeout(SOON, late).await }).is_err());
        assert_eq!(block_on(gone.recv()), None);
        // A goroutine that waits for a task learns of its end before tokio has removed the task.
        wait_until(|| handle().metrics().num_alive_tasks() == 0);
    });
}

fn on_a_thread() {
    assert_eq!(block_on(async { context() }), Some(handle().id()));
    run(|| {
        thread::scope(|t| {
            t.spawn(|| {
                assert_eq!(block_on(works(1)), 3);
                assert_eq!(context(), None);
            });
            blocking(|| thread::sleep(SOON));
        });
    });
}

/// There is no descriptor for a runtime: the panic has the reason, and the next call tries again.
fn without_a_runtime(test: Test) {
    let process = test.process(|| {
        run(|| {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: passes a struct of that kind.
            assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
            let none = libc::rlimit { rlim_cur: 0, ..limit };
            // SAFETY: as above.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &none) }, 0);
            let message = panics(|| block_on(async {}));
            // SAFETY: as above.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
            assert_eq!(
                message,
                "gosched::tokio: a runtime of tokio's can't be made: Too many open files (os error 24); make one \
                 earlier, or with fewer threads, and use block_on_in"
            );
            assert_eq!(block_on(works(1)), 3);
        });
    });
    process.end().with("exit status: 0");
}

/// Waits for timers, tasks and each other, a thousand at once.
fn many() {
    const N: usize = 1000;
    let sum = AtomicUsize::new(0);
    let all_here = Barrier::new(N);
    scope(|s| {
        for n in 0..N {
            let (sum, all_here) = (&sum, &all_here);
            s.go(move || {
                let result = block_on(async {
                    let n = works(n).await;
                    all_here.wait();
                    assert!(context().is_some());
                    sleep(SOON).await;
                    n
                });
                assert_eq!(context(), None);
                sum.fetch_add(result, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(sum.into_inner(), (0..N).map(|n| n + 2).sum());
}

fn many_with_one_p() {
    run_with_procs(1, many);
}

fn many_with_two_ps() {
    run_with_procs(2, many);
}

fn many_with_eight_ps() {
    run_with_procs(8, many);
}

fn many_that_share_thread_locals() {
    run_lean(many);
}
