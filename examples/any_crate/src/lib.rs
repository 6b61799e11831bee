//! Code that the programs here share. Each program is ordinary blocking code: it runs on goroutines
//! or, with the argument `--threads`, on threads.

#![forbid(unsafe_code)]

use std::error::Error;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Barrier, LazyLock};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use gosched::{gomaxprocs, metrics};
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// An error of any kind.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The most threads besides those that run goroutines and those of libraries: the program's first
/// thread, the scheduler's own, and the thread that counts threads here.
const OTHER_THREADS: usize = 10;

/// The most descriptors that a program has besides those of its connections.
const OTHER_DESCRIPTORS: usize = 200;

static ON_THREADS: LazyLock<bool> = LazyLock::new(|| env::args().any(|arg| arg == "--threads"));

/// Calls `main` on a goroutine, where std's waits park. With `--threads`, calls it on this thread.
///
/// # Errors
/// Those of `main`, and the kernel's.
pub fn run(main: impl FnOnce() -> Result<(), Failure> + Send) -> Result<(), Failure> {
    // A shell's limit may be 1,024, too low for thousands of connections with both ends here.
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    if *ON_THREADS {
        return main();
    }
    gosched::park_std_waits()?;
    gosched::run(main)
}

/// Runs `f` on a goroutine or thread of its own.
pub fn spawn(f: impl FnOnce() + Send + 'static) {
    if *ON_THREADS {
        thread::spawn(f);
    } else {
        gosched::go(f);
    }
}

/// Calls `f` with each number below `n`, each on a goroutine or thread of its own, and waits until
/// all calls have returned. The calls begin when all goroutines are there.
///
/// # Errors
/// The first error of a call.
///
/// # Panics
/// If a call does.
pub fn for_each(
    n: usize,
    f: impl Fn(usize) -> Result<(), Failure> + Send + Sync + 'static,
) -> Result<(), Failure> {
    let (shared, (ended, ends)) = (Arc::new((f, Barrier::new(n))), channel());
    for i in 0..n {
        let (shared, ended) = (shared.clone(), ended.clone());
        spawn(move || {
            let (f, all_here) = &*shared;
            all_here.wait();
            // The receiver is gone if another call has failed.
            _ = ended.send(catch_unwind(AssertUnwindSafe(|| f(i))));
        });
    }
    drop(ended);
    ends.iter().try_for_each(|end| end.unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Begins to serve at a new port. Each connection gets a goroutine or thread of its own.
///
/// # Errors
/// If there is no port.
pub fn serve(
    converse: impl Fn(TcpStream) -> Result<(), Failure> + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    // By default the kernel holds at most 128 connections that aren't accepted yet. Thousands come
    // at once here, and a client whose connection finds no room tries again only after a second.
    rustix::net::listen(&listener, 4096)?;
    let (address, converse) = (listener.local_addr()?, Arc::new(converse));
    spawn(move || {
        for stream in listener.incoming() {
            let (stream, converse) = (stream.expect("a connection"), converse.clone());
            spawn(move || {
                if let Err(error) = converse(stream) {
                    eprintln!("a connection has failed: {error}");
                }
            });
        }
    });
    Ok(address)
}

/// Returns how many connections there may be, at most `wanted`. Each takes `descriptors`
/// descriptors in this process.
pub fn connections(wanted: usize, descriptors: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize);
    wanted.min(limit.saturating_sub(OTHER_DESCRIPTORS) / descriptors)
}

/// Calls `work`, and prints its time, threads and memory. Libraries may have `library_threads`
/// threads of their own, whether goroutines are used or not.
///
/// # Errors
/// Those of `work`.
///
/// # Panics
/// If there were too many threads for goroutines.
pub fn measure(
    what: &str,
    library_threads: usize,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (begin, processor) = (Instant::now(), processor_time());
    let (result, threads) = watching_threads(work);
    let (time, processor) = (begin.elapsed().as_secs_f64(), processor_time() - processor);
    result?;
    let memory = of_status("VmHWM:") / 1024;
    let on = if *ON_THREADS { "threads" } else { "goroutines" };
    println!("{what}");
    println!(
        "on {on}: {time:.2} s, {processor:.2} s of processor time, {threads} threads and {memory} MiB at most"
    );
    let most = gomaxprocs() + OTHER_THREADS + library_threads + times_detached();
    assert!(*ON_THREADS || threads <= most, "{threads} threads, of {most} that there may be");
    Ok(())
}

/// Returns how often a goroutine kept its thread, so that others needed another thread: the
/// goroutine blocked its thread, or computed for long. That is rare on an otherwise idle machine.
/// On a busy one, the thread that holds malloc's lock may not run for a while, and each goroutine
/// that wants the lock then blocks its thread.
fn times_detached() -> usize {
    let times = |why| match metrics::read(&format!("/gosched/detachments/{why}:goroutines")) {
        Some(metrics::Value::Uint64(times)) => times as usize,
        other => panic!("{other:?}"),
    };
    times("blocked") + times("computing")
}

/// Returns the processor time of this process, in seconds.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Calls `f`. Returns its result, and the largest number of threads, which is read each
/// millisecond.
fn watching_threads<R>(f: impl FnOnce() -> R) -> (R, usize) {
    thread::scope(|s| {
        let (running, ended) = channel::<()>();
        let watcher = s.spawn(move || {
            let mut peak = 0;
            while ended.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout) {
                peak = peak.max(of_status("Threads:"));
            }
            peak
        });
        let result = f();
        drop(running);
        (result, watcher.join().expect("it doesn't panic"))
    })
}

/// Returns a number from `/proc/self/status`.
fn of_status(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("this system has /proc");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the line is there");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}
