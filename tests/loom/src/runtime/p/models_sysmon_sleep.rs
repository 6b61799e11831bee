//! Models of sysmon's sleep: it is woken once, whether its time is over or not.

use loom::thread;

use crate::runtime::data::atomic::{Ordering, check};
use crate::runtime::data::runtime2::sched;
use crate::runtime::p::sysmon_asleep::{sleep_until_woken, wake_sysmon_from_signal};

/// Begins sysmon's sleep. (By a swap, not a store: a thread that swaps without seeing a store comes
/// before it, but loom orders it after the store.)
fn begins_to_sleep() {
    assert!(!sched().sysmonwait.swap(true, Ordering::SeqCst));
}

/// Sysmon sleeps for a limited time.
fn sleep() {
    begins_to_sleep();
    sleep_until_woken(1);
}

/// notewakeup throws if a note is woken twice.
#[test]
fn a_late_wake_is_none_of_the_next_sleep() {
    check(Some(3), || {
        let wakers = [(); 2].map(|()| thread::spawn(wake_sysmon_from_signal));
        sleep();
        sleep();
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}

/// loom fails if all threads are blocked.
#[test]
fn who_sleeps_for_good_is_woken() {
    check(Some(3), || {
        let late = thread::spawn(wake_sysmon_from_signal);
        sleep();
        begins_to_sleep();
        let waker = thread::spawn(wake_sysmon_from_signal);
        assert!(sleep_until_woken(-1));
        waker.join().unwrap();
        late.join().unwrap();
    });
}
