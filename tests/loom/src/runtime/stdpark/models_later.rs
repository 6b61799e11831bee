//! Wakes that are left to sysmon, even while it begins to sleep, or when there is no room for them.

use loom::thread;

use crate::runtime::data::atomic::{AtomicBool, Ordering};
use crate::runtime::data::runtime2::sched;
use crate::runtime::p::sysmon_sleep::{sleep_until_woken, wake_sysmon_from_signal};
use crate::runtime::stdpark::futex_table::{ANY_BIT, wake_later, wake_those};
use crate::runtime::stdpark::words::{Word, check, word, words};

/// Tells sysmon to end.
static ENDS: AtomicBool = AtomicBool::new(false);

fn change_and_leave(word: Word) {
    word.change();
    wake_later(word.addr(), 1, ANY_BIT);
}

/// Sysmon sleeps without a limit, unless there are wakes to do. (A swap: see
/// `p/models_sysmon_sleep.rs`.)
fn sleep() {
    assert!(!sched().sysmonwait.swap(true, Ordering::SeqCst));
    let stays = sched().ext.wakes_left.load(Ordering::SeqCst) || ENDS.load(Ordering::SeqCst);
    sleep_until_woken(if stays { 0 } else { -1 });
}

#[test]
fn a_wake_while_sysmon_begins_to_sleep() {
    check(Some(3), || {
        let word = word();
        let waiter = word.waiter();
        let waker = thread::spawn(move || change_and_leave(word));
        sleep();
        wake_those();
        waiter.join().unwrap();
        waker.join().unwrap();
    });
}

/// Sysmon sleeps and does the wakes left to it, until both waiters have continued.
#[test]
fn wakes_while_sysmon_goes_on() {
    check(Some(2), || {
        let both = words(false);
        let waiters = both.map(Word::waiter);
        let waker = thread::spawn(move || {
            both.into_iter().for_each(change_and_leave);
            for waiter in waiters {
                waiter.join().unwrap();
            }
            ENDS.store(true, Ordering::SeqCst);
            wake_sysmon_from_signal();
        });
        while !ENDS.load(Ordering::SeqCst) {
            sleep();
            wake_those();
        }
        waker.join().unwrap();
    });
}

/// The wake finds the room taken, unless sysmon has done the first.
#[test]
fn a_wake_without_room() {
    check(Some(3), || {
        let [first, second] = words(false);
        change_and_leave(first);
        let waiter = second.waiter();
        let waker = thread::spawn(move || change_and_leave(second));
        wake_those();
        // As before a sleep. loom tries this before and after the waker's next step.
        sched().ext.wakes_left.load(Ordering::SeqCst);
        waker.join().unwrap();
        wake_those();
        waiter.join().unwrap();
    });
}

#[test]
fn two_wakes() {
    check(Some(2), || {
        let both = words(false);
        let waiters = both.map(Word::waiter);
        let waker = thread::spawn(move || both.map(change_and_leave));
        wake_those();
        waker.join().unwrap();
        wake_those();
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn two_wakes_at_once() {
    check(Some(2), || {
        let both = words(false);
        let waiter = both[0].waiter();
        let wakers = both.map(|word| thread::spawn(move || change_and_leave(word)));
        wake_those();
        for waker in wakers {
            waker.join().unwrap();
        }
        wake_those();
        waiter.join().unwrap();
    });
}
