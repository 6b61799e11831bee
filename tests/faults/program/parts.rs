//! The parts. Each waits for everything that it has begun, even after a failure: an end that is
//! gone is an error.

use std::ffi::c_void;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use gosched::chan::{RecvTimeoutError, bounded};
use gosched::net::{Pollable, TcpListener, TcpStream};
use gosched::signal::{self, Signal};
use gosched::time::{Ticker, Timer, sleep};
use gosched::{Builder, JoinHandle, blocking, lock_os_thread, morestack_check, proc, yield_now};

type Part = fn() -> io::Result<()>;

/// The parts of the program, in order.
pub const PARTS: [(&str, Part); 9] = [
    ("goroutines", goroutines),
    ("timers", timers),
    ("stacks", stacks),
    ("sockets", sockets),
    ("locked", locked),
    ("blocking", blocking_calls),
    ("threads", threads),
    ("signals", signals),
    ("preempted", preempted),
];

const MS: Duration = Duration::from_millis(1);

/// Runs `f` on a goroutine.
fn go<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    Builder::new().go(f)
}

/// Waits for a goroutine's end; its panic is an error.
fn join<T>(handle: JoinHandle<T>) -> io::Result<T> {
    handle.join().map_err(|panic| io::Error::other(panic.to_string()))
}

/// Returns both errors, if there are two: one may be the cause of the other.
fn both(a: io::Result<()>, b: io::Result<()>) -> io::Result<()> {
    match (a, b) {
        (Err(a), Err(b)) => Err(io::Error::other(format!("{a}; {b}"))),
        (a, b) => a.and(b),
    }
}

/// The errors of `n` goroutines, all of which have ended.
fn all(n: usize, f: impl Fn() -> io::Result<()> + Clone + Send + 'static) -> io::Result<()> {
    let handles: Vec<_> = (0..n).map(|_| go(f.clone())).collect();
    handles.into_iter().map(|handle| join(handle?)?).fold(Ok(()), both)
}

fn goroutines() -> io::Result<()> {
    let (tx, rx) = bounded(4);
    let makers: Vec<_> = (0..64_usize)
        .map(|i| {
            let tx = tx.clone();
            go(move || tx.send(i).is_ok())
        })
        .collect();
    drop(tx);
    let sum: usize = rx.iter().sum();
    let made = makers.into_iter().collect::<io::Result<Vec<_>>>()?;
    made.into_iter().try_for_each(|handle| join(handle).map(drop))?;
    assert_eq!(sum, (0..64).sum());
    Ok(())
}

fn timers() -> io::Result<()> {
    all(8, || {
        sleep(MS);
        let timer = Timer::new(MS);
        let ticker = Ticker::new(MS);
        assert!(timer.c().recv().is_ok() && ticker.c().recv().is_ok());
        assert!(Timer::new(3600 * 1000 * MS).c().recv_timeout(MS).is_err());
        Ok(())
    })
}

/// More than a frame of `recurse` takes in a debug build.
const FRAME: usize = 1024;

fn recurse(n: usize) -> usize {
    if n == 0 { 0 } else { black_box(morestack_check!(FRAME, recurse, n - 1)) + 1 }
}

/// How many stacks have grown.
static GROWN: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn grow(n: *mut c_void) {
    assert_eq!(recurse(n.addr()), n.addr());
    GROWN.fetch_add(1, Ordering::Release);
}

/// Stacks grow to 16 KiB, to some 100 KiB and to 8 MiB. Then unneeded memory goes back.
fn stacks() -> io::Result<()> {
    let depths = [50, 50, 50, 50, 1000, 1000, 40_000, 40_000];
    for depth in depths {
        // SAFETY: the goroutine checks before each frame, and doesn't panic.
        unsafe { proc::newproc(Some(grow), ptr::without_provenance_mut(depth)) };
    }
    while GROWN.load(Ordering::Acquire) < depths.len() {
        yield_now();
    }
    proc::free_os_memory();
    Ok(())
}

fn sockets() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let addr = listener.local_addr()?;
    let server = go(move || {
        let echo = || {
            let (mut stream, _) = listener.accept()?;
            let mut bytes = [0; 4];
            stream.read_exact(&mut bytes)?;
            stream.write_all(&bytes)
        };
        (0..4).map(|_| echo()).fold(Ok(()), both)
    })?;
    let client = move || {
        let mut stream = TcpStream::connect(addr)?;
        stream.set_read_timeout(Some(1000 * MS))?;
        stream.write_all(b"echo")?;
        stream.read_exact(&mut [0; 4])
    };
    let clients = all(4, client);
    while !server.is_finished() {
        // It may be waiting for a connection that never came.
        let _ = std::net::TcpStream::connect(addr);
        sleep(MS);
    }
    both(join(server)?, clients)?;

    let (a, b) = UnixStream::pair()?;
    let (a, mut b) = (Pollable::new(a)?, Pollable::new(b)?);
    let reader = go(move || (&a).read_exact(&mut [0; 4]))?;
    sleep(MS);
    b.write_all(b"pair")?;
    join(reader)?
}

/// Each of these goroutines keeps a thread, and hands its P on each time.
fn locked() -> io::Result<()> {
    all(4, || {
        let _locked = lock_os_thread();
        (0..20).for_each(|_| yield_now());
        Ok(())
    })
}

fn blocking_calls() -> io::Result<()> {
    all(8, || {
        blocking(|| thread::sleep(2 * MS));
        Ok(())
    })
}

/// Each goroutine waits for all others, in std's code, on a thread of its own.
pub fn crowd() -> io::Result<()> {
    const ALL: usize = 2_600;
    let barrier = Arc::new(Barrier::new(ALL));
    all(ALL, move || {
        barrier.wait();
        Ok(())
    })
}

/// A foreign thread waits as a goroutine does, even for things that never come.
fn threads() -> io::Result<()> {
    let ((tx, rx), (_nobody, never)) = (bounded(0), bounded::<()>(0));
    let foreign = thread::Builder::new().spawn(move || {
        assert_eq!(never.recv_timeout(20 * MS), Err(RecvTimeoutError::Timeout));
        rx.iter().sum::<i32>()
    })?;
    let sent = (0..8).all(|i| tx.send(i).is_ok());
    drop(tx);
    let sum = blocking(|| foreign.join()).map_err(|_| io::Error::other("the thread has panicked"))?;
    assert!(sent && sum == 28);
    Ok(())
}

fn signals() -> io::Result<()> {
    let notify = signal::notify([Signal::USR1])?;
    // SAFETY: a signal that is asked for.
    unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
    notify.c().recv_timeout(1000 * MS).map_err(io::Error::other)?;
    Ok(())
}

gosched::preemptible! {
    /// Takes some 10 ms.
    ///
    /// # Safety
    /// As for each preemptible function; it has nothing to do with a thread.
    unsafe fn count(n: u64) -> u64 {
        let mut sum = 0_u64;
        let mut i = 0;
        while i < n {
            sum = sum.wrapping_mul(31) ^ i;
            i += 1;
        }
        sum
    }
}

fn preempted() -> io::Result<()> {
    let counter = go(|| {
        // SAFETY: no lock is held, and no thread-local in use.
        black_box(unsafe { count(black_box(10_000_000)) });
    })?;
    while !counter.is_finished() {
        proc::preemptall();
        sleep(MS / 4);
    }
    join(counter)
}
