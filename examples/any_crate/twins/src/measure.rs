//! Measures a program: its time, threads and memory.

use std::fs;
use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::Failure;

/// Calls `f` with each number below `n`, each in a task, and prints the time, threads and memory.
/// The calls begin once all tasks exist.
pub async fn for_each<F, R>(what: &str, n: usize, f: F) -> Result<(), Failure>
where
    F: Fn(usize) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), Failure>> + Send,
{
    let (begin, processor) = (Instant::now(), processor_time());
    let (running, ended) = channel::<()>();
    let watcher = thread::spawn(move || {
        let mut peak = 0;
        while ended.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout) {
            peak = peak.max(of_status("Threads:"));
        }
        peak
    });
    let (f, all_here) = (Arc::new(f), Arc::new(Barrier::new(n)));
    let mut tasks = JoinSet::new();
    for i in 0..n {
        let (f, all_here) = (f.clone(), all_here.clone());
        tasks.spawn(async move {
            all_here.wait().await;
            f(i).await
        });
    }
    while let Some(end) = tasks.join_next().await {
        end??;
    }
    let (time, processor) = (begin.elapsed().as_secs_f64(), processor_time() - processor);
    drop(running);
    let (threads, memory) = (watcher.join().expect("it doesn't panic"), of_status("VmHWM:") / 1024);
    println!("{what}");
    println!(
        "on tasks: {time:.2} s, {processor:.2} s of processor time, {threads} threads and {memory} MiB at most"
    );
    Ok(())
}

/// Returns the processor time of this process, in seconds.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns a number from `/proc/self/status`.
fn of_status(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("this system has /proc");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the line is there");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}
