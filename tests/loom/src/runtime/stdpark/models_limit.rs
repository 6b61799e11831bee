//! The time or a wake ends a wait with a limit, and only one of them.

use loom::thread;

use crate::runtime::stdpark::futex_table::{ANY_BIT, Waited};
use crate::runtime::stdpark::words::{check, woken, word, words};
use crate::runtime::time::modify::{LATER, time_comes};

/// The word stays, so that the time ends the wait if the wake comes too early.
#[test]
fn the_time_beside_a_wake() {
    check(Some(3), || {
        let word = word();
        let timer = thread::spawn(time_comes);
        let waiter = thread::spawn(move || match word.wait(ANY_BIT, Some(LATER)) {
            Waited::Changed => panic!("the word stays"),
            how => woken(how),
        });
        let wakes = word.wake(1);
        assert_eq!(waiter.join().unwrap(), wakes);
        timer.join().unwrap();
    });
}

#[test]
fn the_time_beside_a_change() {
    check(Some(3), || {
        let word = word();
        let timer = thread::spawn(time_comes);
        let waiter = word.limited_waiter();
        word.change();
        let wakes = word.wake(1);
        assert_eq!(waiter.join().unwrap(), wakes);
        timer.join().unwrap();
    });
}

/// A wait without a limit follows a wait with one: the timer does nothing to it.
#[test]
fn the_next_wait() {
    check(Some(2), || {
        let [first, second] = words(false);
        let timer = thread::spawn(time_comes);
        let waiter =
            thread::spawn(move || [first.wait(ANY_BIT, Some(LATER)), second.wait(ANY_BIT, None)].map(woken));
        let early = first.wake(1);
        second.change();
        let late = second.wake(1);
        assert_eq!(waiter.join().unwrap(), [early, late]);
        timer.join().unwrap();
    });
}
