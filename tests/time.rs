//! Sleeping and timers.

use std::time::{Duration, Instant};

use gosched::time::sleep;
use gosched::{go, run};

#[test]
fn no_sleep_is_too_short() {
    // SAFETY: no thread-local is kept across a point that can park.
    unsafe {
        run(|| {
            let sleepers: Vec<_> = (0..5_000)
                .map(|i| {
                    go(move || {
                        let (start, d) = (Instant::now(), Duration::from_micros(i % 3_000));
                        sleep(d);
                        start.elapsed() >= d
                    })
                })
                .collect();
            assert!(sleepers.into_iter().all(|sleeper| sleeper.join().unwrap()));
        })
    }
}
