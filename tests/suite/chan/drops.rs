//! Values whose drop panics, where only the crate can finish the rest.

use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::chan::{TrySendError, bounded};
use gosched::{blocking, go, run};

use crate::harness::goroutines::go_until_it_waits;
use crate::harness::memory::allow;
use crate::harness::panics::panics;
use crate::harness::{Test, tests};

tests! {
    if_one_panics_the_others_are_dropped
    if_one_panics_senders_are_told
    if_one_panics_the_channel_is_given_back
    if_two_panic_the_process_ends
}

/// Counts itself. Panics when it is dropped, if asked to.
struct Value<'a> {
    dropped: &'a AtomicUsize,
    panics: bool,
}

impl Drop for Value<'_> {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        assert!(!self.panics, "a value's drop");
    }
}

fn if_one_panics_the_others_are_dropped() {
    run(|| {
        for bad in 0..10 {
            let dropped = AtomicUsize::new(0);
            let (tx, rx) = bounded(10);
            for i in 0..10 {
                assert!(tx.send(Value { dropped: &dropped, panics: i == bad }).is_ok());
            }
            let other = rx.clone();
            drop(rx);
            assert_eq!(dropped.load(Ordering::Relaxed), 0);
            assert_eq!(panics(|| blocking(|| drop(other))), "a value's drop");
            assert_eq!(dropped.load(Ordering::Relaxed), 10);
            let rest = Value { dropped: &dropped, panics: false };
            assert!(tx.try_send(rest).is_err_and(|error| matches!(error, TrySendError::Disconnected(_))));
        }
    });
}

fn if_one_panics_senders_are_told() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    run(|| {
        let (tx, rx) = bounded(1);
        let value = |panics| Value { dropped: &DROPPED, panics };
        assert!(tx.send(value(true)).is_ok());
        let waits = go_until_it_waits(move || tx.send(value(false)).is_err());
        assert_eq!(panics(|| drop(rx)), "a value's drop");
        assert!(waits.join().unwrap());
        assert_eq!(DROPPED.load(Ordering::Relaxed), 2);
        // The handle drops the result, and the goroutine drops the closure's values.
        let captured = value(true);
        let ended = go(move || {
            let _captured = &captured;
        });
        assert!(ended.join().unwrap_err().is_panic());
    });
}

fn if_one_panics_the_channel_is_given_back() {
    const VALUES: usize = 100;
    run(|| {
        let dropped = AtomicUsize::new(0);
        allow(100 << 20);
        for _ in 0..100 {
            // A buffer of some 3 MB.
            let (tx, rx) = bounded(VALUES);
            for i in 0..VALUES {
                let value = Value { dropped: &dropped, panics: i == VALUES / 2 };
                assert!(tx.send(([i as u8; 30_000], value)).is_ok());
            }
            panics(|| drop(rx));
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 100 * VALUES);
    });
}

fn if_two_panic_the_process_ends(test: Test) {
    let process = test.process(|| {
        run(|| {
            static DROPPED: AtomicUsize = AtomicUsize::new(0);
            let (tx, rx) = bounded(3);
            for panics in [true, true, false] {
                assert!(tx.send(Value { dropped: &DROPPED, panics }).is_ok());
            }
            drop(rx);
        });
    });
    process.end().with("signal: 6").says("panic in a destructor during cleanup");
}
