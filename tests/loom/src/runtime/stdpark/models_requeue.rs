//! Waiters are moved to another word, of the same bucket or not, while another thread ends their
//! waits.

use loom::thread;

use crate::runtime::stdpark::futex_table::{ANY_BIT, Waited, requeue};
use crate::runtime::stdpark::words::{Word, check, words};
use crate::runtime::time::modify::{LATER, time_comes};

/// Wakes up to `n` waiters at `from` and moves up to `most` to `to`, if the first word is still 0.
/// Returns how many were woken.
fn move_waiters(from: Word, n: u32, to: Word, most: u32) -> u32 {
    // SAFETY: words stay.
    unsafe { requeue(from.addr(), n, to.addr(), most, Some(0)) }.map_or(0, |(woken, _)| woken)
}

/// Two goroutines wait at the first word; if `limited`, one of them with a limit. A waiter is woken
/// and the other moved, or both are moved. Beside that runs `other`, which returns how many waiters
/// it has woken.
fn requeue_beside(limited: bool, other: fn([Word; 2]) -> u32) {
    for (same_bucket, n, most) in [(false, 1, 1), (true, 0, 2)] {
        check(Some(2), move || {
            let [from, to] = words(same_bucket);
            let first = if limited { from.limited_waiter() } else { from.waiter() };
            let second = from.waiter();
            let other = thread::spawn(move || other([from, to]));
            let mut wakes = move_waiters(from, n, to, most) + other.join().unwrap();
            // Ends the remaining waits.
            from.change();
            wakes += from.wake(u32::MAX) + to.wake(u32::MAX);
            assert_eq!(first.join().unwrap() + second.join().unwrap(), wakes);
        });
    }
}

#[test]
fn a_wake_at_the_old_word() {
    requeue_beside(false, |[from, _]| from.wake(1));
}

#[test]
fn a_change_of_the_old_word() {
    requeue_beside(false, |[from, _]| {
        from.change();
        from.wake(u32::MAX)
    });
}

#[test]
fn a_wake_at_the_new_word() {
    requeue_beside(false, |[_, to]| to.wake(1));
}

#[test]
fn the_time() {
    requeue_beside(true, |_| {
        time_comes();
        0
    });
}

/// Neither call waits for a lock that the other one holds.
#[test]
fn a_requeue_the_other_way() {
    requeue_beside(false, |[from, to]| move_waiters(to, 0, from, 1));
}

/// A requeue that expects the old value moves no waiter for the new one.
#[test]
fn a_waiter_for_the_new_value() {
    check(Some(3), || {
        let [from, to] = words(false);
        let waiter = thread::spawn(move || {
            from.change();
            from.wait_while(1, ANY_BIT, Some(LATER))
        });
        let timer = thread::spawn(time_comes);
        // SAFETY: words stay.
        let done = unsafe { requeue(from.addr(), 0, to.addr(), u32::MAX, Some(0)) };
        assert!(matches!(done, None | Some((0, 0))));
        assert!(matches!(waiter.join().unwrap(), Waited::TimedOut));
        timer.join().unwrap();
    });
}
