//! Code that the programs here share: each makes ten thousand requests at once, from goroutines and
//! in plain tokio.

#![forbid(unsafe_code)]

use std::error::Error;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::context::Context;
use gosched::gomaxprocs;
use gosched::sync::err_group;
use gosched::tokio::{block_on, handle};
use tokio::task::JoinSet;

/// An error of any kind.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The number of requests at once.
pub const REQUESTS: usize = 10_000;

/// The number of rounds of either kind.
const ROUNDS: usize = 5;

/// The most threads besides those that run tasks and goroutines: the program's first thread, both
/// schedulers' own, and those of a database's connections. With a thread for each waiting request
/// there would be ten thousand.
const OTHER_THREADS: usize = 32;

/// Makes the requests from goroutines and in tasks of tokio's, in turn, and prints the time that a
/// request takes. `ask_task` does in plain tokio what `ask` does.
///
/// # Errors
/// The first error of a request.
///
/// # Panics
/// If a request has no answer, or there were too many threads.
pub fn compare<F, T>(
    ask: impl Fn(usize) -> F + Sync,
    ask_task: impl Fn(usize) -> T + Clone + Send + 'static,
) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
    T: Future<Output = Result<(), Failure>> + Send + 'static,
{
    // This round makes and prepares the connections, before the time is taken.
    from_goroutines(&ask)?;
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    let (result, peak) = watching_threads(|| {
        for _ in 0..ROUNDS {
            ours.push(from_goroutines(&ask)?);
            plain.push(from_tasks(ask_task.clone())?);
        }
        Ok::<(), Failure>(())
    });
    result?;
    let (ours, plain) = (median(ours), median(plain));
    println!(
        "a request of {REQUESTS} at once: {ours:.1} µs from goroutines, {plain:.1} µs in plain tokio, ratio {:.2}",
        ours / plain
    );
    let most = handle().metrics().num_workers() + gomaxprocs() + OTHER_THREADS;
    println!("{peak} threads at most, of {most} that there may be");
    assert!(peak <= most, "too many threads");
    Ok(())
}

/// Returns the microseconds that a request takes, from goroutines.
fn from_goroutines<F>(ask: &(impl Fn(usize) -> F + Sync)) -> Result<f64, Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let (begin, answered) = (Instant::now(), AtomicUsize::new(0));
    err_group(&Context::background(), |group| {
        for n in 0..REQUESTS {
            let answered = &answered;
            group.go(move |_| {
                block_on(ask(n))?;
                answered.fetch_add(1, Ordering::Relaxed);
                Ok(())
            });
        }
        Ok::<(), Failure>(())
    })?;
    assert_eq!(answered.into_inner(), REQUESTS);
    Ok(per_request(begin))
}

/// Runs the future in a task of tokio's. Events wake the task, on a thread of tokio's, and only the
/// end of the future wakes the goroutine. That takes less time if the future waits often, and more
/// if it seldom waits.
///
/// # Errors
/// The error of the future.
pub async fn in_task<T: Send + 'static>(
    future: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> Result<T, Failure> {
    handle().spawn(future).await?
}

/// Returns the microseconds that a request takes, in tasks.
fn from_tasks<T>(ask: impl Fn(usize) -> T + Send + 'static) -> Result<f64, Failure>
where
    T: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let begin = Instant::now();
    let all = handle().spawn(async move {
        let (mut tasks, mut answered) = (JoinSet::new(), 0);
        for n in 0..REQUESTS {
            tasks.spawn(ask(n));
        }
        while let Some(result) = tasks.join_next().await {
            result??;
            answered += 1;
        }
        Ok::<_, Failure>(answered)
    });
    assert_eq!(block_on(all)??, REQUESTS);
    Ok(per_request(begin))
}

fn per_request(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e6 / REQUESTS as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the result of `f`, and the largest number of threads meanwhile.
fn watching_threads<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let (done, peak) = (AtomicBool::new(false), AtomicUsize::new(0));
    let result = thread::scope(|s| {
        s.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let threads = fs::read_dir("/proc/self/task").expect("this system has /proc").count();
                peak.fetch_max(threads, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
            }
        });
        let result = f();
        done.store(true, Ordering::Relaxed);
        result
    });
    (result, peak.into_inner())
}
