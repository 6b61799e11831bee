//! `pthread_once`.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use gosched::go;

use super::objects::Once;
use super::{MANY, all_end, live_with_one_p_and_several, without_threads};
use crate::harness::{Test, tests};

tests! {
    many_wait_for_the_first
    one_that_unwinds_begins_anew
}

fn many_wait_for_the_first(test: Test) {
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    extern "C-unwind" fn make() {
        thread::sleep(Duration::from_millis(1));
        thread::yield_now();
        CALLS.fetch_add(1, Relaxed);
    }

    without_threads(test, || {
        static ONCE: Once = Once::new();
        let call = || {
            ONCE.call(make);
            assert_eq!(CALLS.load(Relaxed), 1);
        };
        all_end((0..MANY).map(|_| go(call)).collect());
    });
}

fn one_that_unwinds_begins_anew(test: Test) {
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    extern "C-unwind" fn fail_twice() {
        thread::yield_now();
        assert!(CALLS.fetch_add(1, Relaxed) >= 2, "not yet");
    }

    live_with_one_p_and_several(test, || {
        static ONCE: Once = Once::new();
        static FAILED: AtomicUsize = AtomicUsize::new(0);
        let call = || {
            if catch_unwind(|| ONCE.call(fail_twice)).is_err() {
                FAILED.fetch_add(1, Relaxed);
            }
        };
        all_end((0..10).map(|_| go(call)).collect());
        assert_eq!((FAILED.load(Relaxed), CALLS.load(Relaxed)), (2, 3));
    });
}
