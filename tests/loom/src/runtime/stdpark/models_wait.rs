//! A waiter counts itself and looks at the word; a waker changes the word and looks at the count.

use loom::thread;

use crate::runtime::stdpark::futex_table::wake;
use crate::runtime::stdpark::words::{Word, check, woken, word};

fn change_and_wake(word: Word, n: u32) -> u32 {
    word.change();
    word.wake(n)
}

#[test]
fn a_wake_beside_a_wait() {
    check(None, || {
        let word = word();
        let waiter = word.waiter();
        let wakes = change_and_wake(word, 1);
        assert_eq!(waiter.join().unwrap(), wakes);
    });
}

#[test]
fn one_wake_of_all() {
    check(Some(3), || {
        let word = word();
        let waiters = [(); 2].map(|()| word.waiter());
        let wakes = change_and_wake(word, u32::MAX);
        assert_eq!(waiters.map(|waiter| waiter.join().unwrap()).iter().sum::<u32>(), wakes);
    });
}

#[test]
fn two_wakes_of_one() {
    check(Some(2), || {
        let word = word();
        let waiters = [(); 2].map(|()| word.waiter());
        let waker = thread::spawn(move || change_and_wake(word, 1));
        let wakes = change_and_wake(word, 1) + waker.join().unwrap();
        assert_eq!(waiters.map(|waiter| waiter.join().unwrap()).iter().sum::<u32>(), wakes);
    });
}

/// Each wake finds the waiter of its bit.
#[test]
fn wakes_of_a_bit() {
    check(Some(2), || {
        let word = word();
        let waiters = [1, 2].map(|bits| thread::spawn(move || woken(word.wait(bits, None))));
        word.change();
        let wakes = [1, 2].map(|bits| wake(word.addr(), u32::MAX, bits));
        assert_eq!(waiters.map(|waiter| waiter.join().unwrap()), wakes);
    });
}
