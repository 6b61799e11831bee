//! Stand-in for the kernel: futexes, barriers, the clock.

use crate::runtime::base::this::getm;
use crate::runtime::data::atomic::AtomicU32;
use crate::sim::count::{Event, Part};
use crate::sim::{self, cost};
use crate::variants::variant;

pub(crate) fn futexsleep(addr: &AtomicU32, val: u32, ns: i64) {
    assert!(ns < 0, "who sleeps for a while sleeps in the poller");
    // Waiting for a mutex keeps the P. An M that waits on its own note has no P.
    let keeps = getm().p().is_some();
    sim::in_part(Part::Kernel, || {
        sim::work(cost(|costs| costs.futex_sleep));
        // From here until this thread sleeps, no other thread does anything.
        sim::look();
        if addr.peek() == val {
            sim::count(Event::FutexSleep);
            sim::sleep(std::ptr::from_ref(addr).addr(), None, keeps);
        }
    });
}

pub(crate) fn futexwakeup(addr: &AtomicU32, _count: u32) {
    sim::in_part(Part::Kernel, || {
        let woken = sim::wake(std::ptr::from_ref(addr).addr());
        if woken {
            sim::count(Event::FutexWake);
        }
        sim::work(cost(|costs| if woken { costs.futex_wake } else { costs.syscall }));
    });
}

pub(crate) fn barrier_in_all_threads() {
    sim::count(Event::LockSlept);
    if variant().swap_unlock {
        return;
    }
    sim::count(Event::Barrier);
    sim::look();
    let (call, interrupt) = cost(|costs| (costs.barrier_call, costs.barrier_interrupt));
    let others = sim::interrupt_all(interrupt);
    sim::kernel(call + call * others as u64);
}

pub(crate) fn barriers_work() -> bool {
    !variant().swap_unlock
}

pub(crate) fn light_barrier() {}

pub(crate) fn osyield() {
    sim::kernel(cost(|costs| costs.syscall));
}

pub(crate) fn usleep(usec: u32) {
    assert_eq!(usec, 3);
    sim::count(Event::Usleep);
    sim::kernel(cost(|costs| costs.syscall));
    let nowhere = 1 + sim::this();
    sim::sleep(nowhere, Some(cost(|costs| costs.usleep)), true);
}

/// Returns the time in nanoseconds.
pub(crate) fn nanotime() -> i64 {
    sim::work(cost(|costs| costs.clock));
    1 + (sim::time() / 1000) as i64
}
