//! The lateness of a ticker of 5 ms beside a loop of each operation, at one and at two P's, for a
//! second each: `lateness [PART-OF-A-NAME ...]`. `benches/go/lateness` measures the same on Go's
//! own runtime.

use std::cell::Cell;
use std::env;
use std::fs;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::chan::bounded;
use gosched::context::Context;
use gosched::net::{TcpListener, TcpStream};
use gosched::sync::{Condvar, Mutex, RwLock, WaitGroup};
use gosched::{Builder, blocking, go, set_gomaxprocs, time, yield_now};

const TICK: Duration = Duration::from_millis(5);
const SECOND: Duration = Duration::from_secs(1);

/// Measures `operation`, if the command line selects its name.
fn beside(name: &str, mut operation: impl FnMut()) {
    static OVER: AtomicBool = AtomicBool::new(false);
    if env::args().len() > 1 && !env::args().skip(1).any(|part| name.contains(&part)) {
        return;
    }
    OVER.store(false, Ordering::Relaxed);
    let ticker = go(|| {
        let mut late = Vec::new();
        while !OVER.load(Ordering::Relaxed) {
            let begun = Instant::now();
            time::sleep(TICK);
            late.push(begun.elapsed() - TICK);
        }
        late.sort();
        late
    });
    let begun = Instant::now();
    let mut operations = 0_u64;
    while begun.elapsed() < SECOND {
        (0..100).for_each(|_| operation());
        operations += 100;
    }
    OVER.store(true, Ordering::Relaxed);
    let late = ticker.join().expect("it doesn't panic");
    let ms = |late: Duration| late.as_secs_f64() * 1e3;
    println!(
        "{name:24} worst {:8.1} ms, median {:6.1} ms, {operations:9} operations",
        ms(late[late.len() - 1]),
        ms(late[late.len() / 2]),
    );
}

/// Measures operations of goroutines.
fn goroutines() {
    beside("nothing", || _ = black_box(1));
    beside("go", || drop(go(|| ())));
    beside("go, shared locals", || {
        // SAFETY: it does nothing.
        let lean = unsafe { Builder::new().shared_locals() };
        drop(lean.go(|| ()).expect("there is memory"));
    });
    beside("go and join", || go(|| ()).join().expect("it doesn't panic"));
    beside("scope", || {
        gosched::scope(|s| {
            s.go(|| ());
        });
    });
    beside("yield", yield_now);
    beside("check", gosched::check);
    beside("blocking", || blocking(|| _ = black_box(1)));
    beside("blocking for 10 us", || {
        blocking(|| {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_micros(10) {}
        });
    });
    beside("context", || {
        let (context, cancel) = Context::background().with_cancel();
        black_box(context.check().is_ok());
        drop(cancel);
    });
    beside("number of goroutines", || _ = black_box(gosched::num_goroutine()));
    beside("dump", || gosched::dump_goroutines(&mut Vec::new()).expect("a Vec has room"));
}

/// Measures operations of channels, locks and timers.
fn waits() {
    let (tx, rx) = bounded(1_000);
    beside("send and receive", || {
        tx.send(1).expect("there is a receiver");
        rx.recv().expect("there is a sender");
    });
    let (tx, rx) = bounded(0);
    beside("try_recv", || _ = black_box(rx.try_recv()));
    beside("try_send", || _ = black_box(tx.try_send(1)));
    let mutex = Mutex::new(0);
    beside("mutex", || *mutex.lock() += 1);
    let rwlock = RwLock::new(0);
    beside("rwlock write", || *rwlock.write() += 1);
    beside("rwlock read", || _ = black_box(*rwlock.read()));
    let group = WaitGroup::new();
    beside("wait group", || {
        group.add(1);
        group.done();
        group.wait();
    });
    let condvar = Condvar::new();
    beside("notify", || condvar.notify_one());
    beside("after", || _ = black_box(time::after(SECOND)));
    beside("after 0, receive", || _ = time::after(Duration::ZERO).recv());
    beside("sleep 0", || time::sleep(Duration::ZERO));
}

/// Measures operations of sockets and files.
fn io() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut a = TcpStream::connect(address)?;
    let (mut b, _) = listener.accept()?;
    beside("tcp write and read", || {
        a.write_all(&[1; 10]).expect("there is room");
        b.read_exact(&mut [0; 10]).expect("it was written");
    });
    beside("tcp connect", || {
        let a = TcpStream::connect(address).expect("there is a listener");
        drop((a, listener.accept().expect("there is a connection")));
    });
    let path = env::temp_dir().join(format!("lateness-{}", std::process::id()));
    beside("file write", || gosched::fs::write(&path, b"x").expect("there is room"));
    beside("std's file write", || fs::write(&path, b"x").expect("there is room"));
    beside("stat", || _ = gosched::fs::metadata("/").expect("it is there"));
    fs::remove_file(&path).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// Measures code that knows nothing of goroutines.
fn foreign() {
    thread_local!(static COUNT: Cell<u64> = const { Cell::new(0) });
    beside("thread-local", || COUNT.set(COUNT.get() + 1));
    beside("allocate 100", || _ = black_box(vec![0_u8; 100]));
    beside("allocate 300,000", || _ = black_box(vec![1_u8; 300_000]));
    beside("panic", || _ = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(1))));
    beside("thread", || thread::spawn(|| ()).join().expect("it doesn't panic"));
}

fn main() -> io::Result<()> {
    gosched::run(|| {
        for procs in [1, 2] {
            set_gomaxprocs(NonZeroUsize::new(procs).expect("it isn't 0"));
            println!("{procs} P");
            goroutines();
            waits();
            io()?;
            foreign();
        }
        Ok(())
    })
}
