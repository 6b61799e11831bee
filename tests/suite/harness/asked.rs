//! A program whose goroutines are asked to stop all the time, by a foreign thread.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::{proc, run};

/// Requests made so far.
pub static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Runs `main` meanwhile.
pub fn run_asked<T: Send>(main: impl FnOnce() -> T + Send) -> T {
    /// Ends the requests, also when `main` panics.
    struct Over<'a>(&'a AtomicBool);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let over = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                proc::preemptall();
                ASKED.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_micros(100));
            }
        });
        let _over = Over(&over);
        run(main)
    })
}
