//! The shipped mutex, or another one in its place.

use crate::runtime::base::os::{futexsleep, futexwakeup};
use crate::runtime::data::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::runtime::data::ext::MutexKey;
use crate::runtime::data::runtime2::Mutex;
use crate::sim;
use crate::sim::cost;
use crate::sim::lines::Access;
use crate::variants::{Lock, variant};

pub(crate) fn lock(l: &Mutex) {
    match variant().lock {
        Lock::Shipped => l.key.lock(),
        Lock::OneSpins => one_spins(&l.key),
        Lock::Queue => queue(&l.key),
    }
}

pub(crate) fn unlock(l: &Mutex) {
    match variant().lock {
        Lock::Shipped => l.key.unlock(),
        Lock::OneSpins => unlock_of_one_spins(&l.key),
        Lock::Queue => unlock_of_queue(&l.key),
    }
}

/// Bits of the first word: the mutex is locked; a thread spins. The bits above them count the
/// sleepers.
const LOCKED: u32 = 1;
const SPINS: u32 = 2;
const SLEEPER: u32 = 4;

/// How often the spinning thread looks before it sleeps as well, and the length of its pauses.
const LOOKS: u32 = 40;
const PAUSES: u64 = 30;

/// Roughly Go 1.27's mutex: one thread spins, the others sleep, and an unlock wakes nobody as long
/// as a thread spins.
fn one_spins(key: &MutexKey) {
    let (mut spins, mut looks) = (false, 0);
    loop {
        let word = key.locked.load(Relaxed);
        let mine = if spins { SPINS } else { 0 };
        if word & LOCKED == 0 {
            if key.locked.compare_exchange(word, word & !mine | LOCKED, Acquire, Relaxed).is_ok() {
                return;
            }
        } else if spins && looks < LOOKS {
            sim::pauses(PAUSES);
            looks += 1;
        } else if !spins && word & SPINS == 0 {
            spins = key.locked.compare_exchange(word, word | SPINS, Relaxed, Relaxed).is_ok();
            looks = 0;
        } else if key.locked.compare_exchange(word, (word & !mine) + SLEEPER, Relaxed, Relaxed).is_ok() {
            spins = false;
            // Each wake is for one thread.
            loop {
                let wakes = key.sleeping.load(Relaxed);
                if wakes == 0 {
                    futexsleep(&key.sleeping, 0, -1);
                } else if key.sleeping.compare_exchange(wakes, wakes - 1, Acquire, Relaxed).is_ok() {
                    break;
                }
            }
        }
    }
}

fn unlock_of_one_spins(key: &MutexKey) {
    loop {
        let word = key.locked.load(Relaxed);
        let wake = word >= SLEEPER && word & SPINS == 0;
        let new = word - LOCKED - if wake { SLEEPER } else { 0 };
        if key.locked.compare_exchange(word, new, Release, Relaxed).is_ok() {
            if wake {
                key.sleeping.fetch_add(1, Release);
                futexwakeup(&key.sleeping, 1);
            }
            return;
        }
    }
}

/// The best possible mutex: waiters get it in order, each of them one line transfer after the
/// unlock. Neither a sleep nor another thread's spinning costs anything.
fn queue(key: &MutexKey) {
    if key.locked.fetch_add(1, Acquire) != 0 {
        sim::sleep(std::ptr::from_ref(key).addr(), None, true);
    }
}

fn unlock_of_queue(key: &MutexKey) {
    if key.locked.fetch_sub(1, Release) != 1 {
        let place = std::ptr::from_ref(key);
        assert!(sim::wake_after(place.addr(), cost(|costs| costs.far)), "who waits sleeps");
        sim::access(place, Access::Load);
    }
}
