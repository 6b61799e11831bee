//! Waits that are queued, and sleep only after something else: of goroutines and of threads.

use loom::sync::{Mutex, MutexGuard};
use loom::thread::{self, JoinHandle};

use crate::runtime::data::runtime2::G;
use crate::runtime::stdpark::futex_table::{ANY_BIT, wake};
use crate::runtime::stdpark::queued::{Queued, has_queued};
use crate::runtime::stdpark::words::{Word, check, word};
use crate::runtime::time::modify::{LATER, time_comes};

/// Which of two waiters are threads.
const KINDS: [[bool; 2]; 3] = [[false, false], [false, true], [true, true]];

impl Word {
    /// Makes a wait at this address, of this goroutine, or of its thread.
    fn queued(self, is_thread: bool) -> Queued {
        Queued::new((!is_thread).then(G::this), self.addr(), ANY_BIT)
    }
}

/// A mutex and what it protects: how often a waiter may go on.
type Tokens = std::sync::Arc<Mutex<u32>>;

/// Waits for the condition at `word`, with the mutex.
fn wait<'a>(
    word: Word,
    is_thread: bool,
    tokens: &'a Tokens,
    held: MutexGuard<'a, u32>,
) -> MutexGuard<'a, u32> {
    let waiter = word.queued(is_thread);
    // SAFETY: it sleeps below.
    unsafe { waiter.queue() };
    drop(held);
    assert!(waiter.sleep(None, false));
    tokens.lock().unwrap()
}

/// Makes a goroutine or a thread that waits for a token, and takes it.
fn taker(word: Word, is_thread: bool, tokens: &Tokens) -> JoinHandle<()> {
    let tokens = tokens.clone();
    thread::spawn(move || {
        let mut held = tokens.lock().unwrap();
        while *held == 0 {
            held = wait(word, is_thread, &tokens, held);
        }
        *held -= 1;
    })
}

/// Adds tokens, and wakes up to `n` as a signal does: it looks for waiters without a fence.
fn give(word: Word, tokens: &Tokens, more: u32, n: u32) {
    *tokens.lock().unwrap() += more;
    if has_queued(word.addr()) {
        wake(word.addr(), n, ANY_BIT);
    }
}

#[test]
fn a_condition() {
    for is_thread in [false, true] {
        check(None, move || {
            let (word, tokens) = (word(), Tokens::default());
            let taker = taker(word, is_thread, &tokens);
            give(word, &tokens, 1, 1);
            taker.join().unwrap();
        });
    }
}

#[test]
fn a_broadcast() {
    for kinds in KINDS {
        check(Some(2), move || {
            let (word, tokens) = (word(), Tokens::default());
            let takers = kinds.map(|is_thread| taker(word, is_thread, &tokens));
            give(word, &tokens, 2, u32::MAX);
            takers.into_iter().for_each(|taker| taker.join().unwrap());
        });
    }
}

#[test]
fn two_signals() {
    for kinds in KINDS {
        check(Some(2), move || {
            let (word, tokens) = (word(), Tokens::default());
            let takers = kinds.map(|is_thread| taker(word, is_thread, &tokens));
            let others = tokens.clone();
            let giver = thread::spawn(move || give(word, &others, 1, 1));
            give(word, &tokens, 1, 1);
            giver.join().unwrap();
            takers.into_iter().for_each(|taker| taker.join().unwrap());
        });
    }
}

/// A wake and the time: the wake counts the wait if, and only if, it has ended it.
#[test]
fn the_time_beside_a_wake() {
    for is_thread in [false, true] {
        check(Some(3), move || {
            let word = word();
            // A thread's time comes by itself.
            let timer = (!is_thread).then(|| thread::spawn(time_comes));
            let waiter = thread::spawn(move || {
                let waiter = word.queued(is_thread);
                // SAFETY: it sleeps below.
                unsafe { waiter.queue() };
                u32::from(waiter.sleep(Some(LATER), false))
            });
            let woken = wake(word.addr(), 1, ANY_BIT);
            assert_eq!(waiter.join().unwrap(), woken);
            timer.into_iter().for_each(|timer| timer.join().unwrap());
        });
    }
}

/// The wait ends before the sleep, as when a second try succeeds.
#[test]
fn a_wake_beside_a_leave() {
    for is_thread in [false, true] {
        check(None, move || {
            let word = word();
            let waiter = thread::spawn(move || {
                let waiter = word.queued(is_thread);
                // SAFETY: it leaves below.
                unsafe { waiter.queue() };
                u32::from(!waiter.leave())
            });
            let woken = wake(word.addr(), 1, ANY_BIT);
            assert_eq!(waiter.join().unwrap(), woken);
        });
    }
}

/// Waiters of both ways are at one address. The wake of one wakes one.
#[test]
fn beside_a_wait_at_the_word() {
    check(Some(2), || {
        let word = word();
        let at_word = word.waiter();
        let queued = thread::spawn(move || {
            let waiter = word.queued(false);
            // SAFETY: it sleeps below.
            unsafe { waiter.queue() };
            u32::from(waiter.sleep(Some(LATER), false))
        });
        let timer = thread::spawn(time_comes);
        word.change();
        let mut woken = word.wake(1);
        timer.join().unwrap();
        woken += word.wake(u32::MAX);
        assert_eq!(at_word.join().unwrap() + queued.join().unwrap(), woken);
    });
}
