//! Wakes that are left to sysmon. A signal handler leaves its wakes, and so does code that holds a
//! lock of the runtime's: an allocator of the program's, for example, which the runtime calls with
//! a lock held, and which releases its own lock there.
//!
//! There is room for [`PLACES`] of them. If that isn't enough, all goroutines that wait are woken.
//! A wait may end for no reason, as the kernel's may.
//!
//! `loom` checks this file (`tests/loom`).

use crate::runtime::data::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, array_of, statics};
use crate::runtime::data::runtime2::sched;
use crate::runtime::m::checkdead::counted;
use crate::runtime::p::sysmon_sleep::wake_sysmon_from_signal;
use crate::runtime::stdpark::sizes::PLACES;
use crate::runtime::stdpark::table;

/// A wake. Free if there is no address.
struct Wake {
    addr: AtomicUsize,
    n: AtomicU32,
    bits: AtomicU32,
}

/// The address of one that is being filled: no word is there.
const TAKEN: usize = 1;

statics! {
    static WAKES: [Wake; PLACES] = array_of![Wake {
        addr: AtomicUsize::new(0),
        n: AtomicU32::new(0),
        bits: AtomicU32::new(0),
    }; PLACES];

    /// Whether there was no room for one.
    static ALL: AtomicBool = AtomicBool::new(false);
}

/// Has sysmon wake up to `n` goroutines at `addr`. It takes no lock and allocates nothing.
pub(super) fn wake_later(addr: usize, n: u32, bits: u32) {
    let free =
        |wake: &&Wake| wake.addr.compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
    match WAKES.iter().find(free) {
        Some(wake) => {
            wake.n.store(n, Ordering::Relaxed);
            wake.bits.store(bits, Ordering::Relaxed);
            // Release pairs with wake_those: the other fields are there.
            wake.addr.store(addr, Ordering::Release);
        }
        // Release pairs with wake_those: the caller has changed the word.
        None => _ = ALL.swap(true, Ordering::Release),
    }
    // SeqCst with sysmon's `sysmonwait`: it sees this before it sleeps, or this sees that it does.
    // A swap: after a store sysmon would see what this thread did before, and not what others did.
    sched().ext.wakes_left.swap(true, Ordering::SeqCst);
    wake_sysmon_from_signal();
}

/// Does the wakes that were left. On sysmon's thread.
pub(in crate::runtime) fn wake_those() {
    if !sched().ext.wakes_left.load(Ordering::SeqCst) {
        return;
    }
    counted(|| {
        sched().ext.wakes_left.swap(false, Ordering::SeqCst);
        // Acquire pairs with wake_later.
        if ALL.swap(false, Ordering::Acquire) {
            table::wake_all();
        }
        for wake in WAKES.iter() {
            // Likewise.
            let addr = wake.addr.load(Ordering::Acquire);
            if addr > TAKEN {
                let (n, bits) = (wake.n.load(Ordering::Relaxed), wake.bits.load(Ordering::Relaxed));
                wake.addr.store(0, Ordering::Release);
                table::wake(addr, n, bits);
            }
        }
    });
}
