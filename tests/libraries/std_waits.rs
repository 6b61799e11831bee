//! std's sleeps, and its waits with a timeout. None ends before its time, or hangs.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use gosched::{scope, yield_now};

crate::tests! { sleeps timeouts wakeups }

const GOROUTINES: usize = 6;
const TURNS: u32 = 30;

/// Returns a time of less than 4 ms.
fn time(turn: u32) -> Duration {
    Duration::from_micros(u64::from(turn) * 137 % 4000)
}

fn on_goroutines(f: impl Fn(u32) + Send + Sync) {
    scope(|s| {
        for _ in 0..GOROUTINES {
            s.go(|| {
                for turn in 0..TURNS {
                    f(turn);
                    yield_now();
                }
            });
        }
    });
}

fn sleeps() {
    on_goroutines(|turn| {
        let since = Instant::now();
        thread::sleep(time(turn));
        assert!(since.elapsed() >= time(turn), "{:?} of {:?}", since.elapsed(), time(turn));
    });
}

fn timeouts() {
    on_goroutines(|turn| {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let since = Instant::now();
        let guard = mutex.lock().expect("nobody panics");
        let (guard, result) =
            condvar.wait_timeout_while(guard, time(turn), |()| true).expect("nobody panics");
        assert!(result.timed_out());
        drop(guard);
        assert!(since.elapsed() >= time(turn));

        let (since, (tx, rx)) = (Instant::now(), channel::<()>());
        assert_eq!(rx.recv_timeout(time(turn)), Err(RecvTimeoutError::Timeout));
        assert!(since.elapsed() >= time(turn));
        drop(tx);
    });
}

/// A thread wakes a goroutine before its timeout is over.
fn wakeups() {
    on_goroutines(|turn| {
        let (tx, rx) = channel();
        let wakes = thread::spawn(move || {
            thread::sleep(time(turn));
            tx.send(turn).expect("somebody waits");
        });
        assert_eq!(rx.recv_timeout(Duration::from_secs(100)), Ok(turn));
        wakes.join().expect("it ends");
    });
}
