//! All kinds at once, by goroutines and threads that take turns at being woken and at giving up.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use super::objects::{Cond, Mutex, RwLock, Sem, after};
use super::{ok, on_goroutines_and_threads, times};
use crate::harness::rng::Rng;
use crate::harness::{Test, tests};

tests! {
    a_ledger_of_all
}

const ACCOUNTS: usize = 4;
const WORKERS: usize = 12;

struct Account {
    mutex: Mutex,
    changed: Cond,
    balance: AtomicUsize,
}

static BOOK: RwLock = RwLock::new();
static ENTRIES: AtomicUsize = AtomicUsize::new(0);
static TOKENS: Sem = Sem::new();
static ACCOUNTS_OF_ALL: [Account; ACCOUNTS] =
    [const { Account { mutex: Mutex::new(), changed: Cond::new(), balance: AtomicUsize::new(0) } }; ACCOUNTS];

/// Pays in, or takes out what others pay in: at the end all is 0, if nothing is lost.
fn work(i: usize) {
    let mut rng = Rng::new(i as u64);
    ok(TOKENS.post());
    for round in 0..times(200) {
        let account = &ACCOUNTS_OF_ALL[(i / 2 + round) % ACCOUNTS];
        ok(TOKENS.wait());
        if i.is_multiple_of(2) {
            account.mutex.with(|| account.balance.fetch_add(1, Relaxed));
            if rng.below(2) == 0 {
                account.changed.signal()
            } else {
                account.changed.broadcast()
            }
            ok(TOKENS.post());
        } else {
            // A token that is kept while this waits might be missing for the one that pays in.
            ok(TOKENS.post());
            account.mutex.with(|| {
                while account.balance.load(Relaxed) == 0 {
                    if rng.below(2) == 0 {
                        ok(account.changed.wait(&account.mutex));
                    } else {
                        let soon = after(libc::CLOCK_REALTIME, Duration::from_micros(rng.below(100) as u64));
                        let result = account.changed.wait_until(&account.mutex, &soon);
                        assert!([0, libc::ETIMEDOUT].contains(&result));
                    }
                }
                account.balance.fetch_sub(1, Relaxed);
            });
        }
        if rng.below(3) == 0 {
            ok(BOOK.write());
            let before = ENTRIES.load(Relaxed);
            thread::yield_now();
            ENTRIES.store(before + 1, Relaxed);
        } else {
            ok(BOOK.read());
            ENTRIES.load(Relaxed);
        }
        BOOK.unlock();
    }
}

fn a_ledger_of_all(test: Test) {
    on_goroutines_and_threads(test, WORKERS - 4, 4, work, || {
        assert!(ACCOUNTS_OF_ALL.iter().all(|account| account.balance.load(Relaxed) == 0));
        assert_eq!(TOKENS.value() as usize, WORKERS);
    });
}
