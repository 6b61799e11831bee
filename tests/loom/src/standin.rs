//! Stand-ins for the rest of what the shipped files use.

/// Settings.
pub(crate) mod debug {
    pub(crate) fn randomize_scheduler() -> bool {
        false
    }
}

/// Random numbers, which no model asks for.
pub(crate) mod rand {
    pub(crate) fn cheaprandn(_: u32) -> u32 {
        unreachable!("nothing is random under loom")
    }
}

/// Fatal errors.
pub(crate) mod panic {
    pub(crate) fn throw(message: &str) -> ! {
        panic!("{message}")
    }
}

/// Stacks, of which a thread has enough.
pub(crate) mod stack {
    pub(crate) fn with_room<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}

/// The kernel: futexes, barriers, time that doesn't pass.
pub(crate) mod os {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use loom::sync::atomic::{AtomicU32, Ordering, fence};
    use loom::sync::{Condvar, Mutex};

    loom::lazy_static! {
        static ref KERNEL: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    /// Whether the kernel has `membarrier`: a model's setting.
    pub(crate) static MEMBARRIER: AtomicBool = AtomicBool::new(true);

    pub(crate) fn futexsleep(addr: &AtomicU32, val: u32, _forever: i64) {
        let (lock, asleep) = &*KERNEL;
        let held = lock.lock().unwrap();
        if addr.load(Ordering::SeqCst) == val {
            drop(asleep.wait(held).unwrap());
        }
    }

    pub(crate) fn futexwakeup(_: &AtomicU32, _one: u32) {
        let (lock, asleep) = &*KERNEL;
        let _held = lock.lock().unwrap();
        asleep.notify_one();
    }

    pub(crate) fn barriers_work() -> bool {
        MEMBARRIER.load(Relaxed)
    }

    /// What `membarrier` makes of this when it falls here: a full barrier.
    pub(crate) fn light_barrier() {
        fence(Ordering::SeqCst);
    }

    pub(crate) fn barrier_in_all_threads() {
        fence(Ordering::SeqCst);
    }

    pub(crate) fn osyield() {
        loom::thread::yield_now();
    }

    pub(crate) fn usleep(_: u32) {
        loom::thread::yield_now();
    }
}

/// All P's: two of them, in a model of waking.
pub(crate) mod procs {
    use crate::proc::pmask::PMask;
    use crate::runtime2::P;

    pub(crate) struct Procs {
        pub(crate) allp: Box<[&'static P]>,
        pub(crate) idlep_mask: PMask,
        pub(crate) timerp_mask: PMask,
    }

    // SAFETY: P's are made to be shared.
    unsafe impl Sync for Procs {}

    loom::lazy_static! {
        static ref PROCS: Procs = Procs {
            allp: (0..gomaxprocs()).map(P::new).collect(),
            idlep_mask: PMask::new(gomaxprocs()),
            timerp_mask: PMask::new(gomaxprocs()),
        };
    }

    pub(crate) fn procs() -> &'static Procs {
        &PROCS
    }

    pub(crate) fn gomaxprocs() -> i32 {
        3
    }
}

/// Stopping for others, which no model asks for.
pub(crate) mod safepoint {
    use crate::runtime2::P;

    pub(crate) fn asked_to_stop(_: &P) -> bool {
        false
    }
}

/// A monitor that never sleeps.
pub(crate) mod sysmon {
    pub(crate) fn wake_sysmon() {}
}

/// Which M has which P.
pub(crate) mod p {
    use crate::runtime2::{M, P};

    pub(crate) fn acquirep(mp: &'static M, pp: &'static P) {
        assert!(mp.p.is_null());
        mp.p.set(Some(pp));
    }

    pub(crate) fn releasep(mp: &'static M) -> &'static P {
        let pp = mp.p.get().expect("the M has a P");
        mp.p.set(None);
        pp
    }
}

/// Timers, of which no P has any.
pub(crate) mod timers {
    use crate::proc::procs::procs;
    use crate::runtime2::P;

    pub(crate) fn update_timer_p_mask(pp: &P) {
        procs().timerp_mask.clear(pp.id.get());
    }
}

/// Waking M's: a count of those that were.
pub(crate) mod startstop {
    use loom::sync::atomic::{AtomicU32, Ordering};

    use crate::runtime2::P;

    loom::lazy_static! {
        static ref STARTED: AtomicU32 = AtomicU32::new(0);
    }

    pub(crate) fn startm(pp: Option<&'static P>, spinning: bool, _lockheld: bool) {
        assert!(pp.is_some() && spinning);
        STARTED.fetch_add(1, Ordering::SeqCst);
    }

    /// How many M's were woken.
    pub(crate) fn started() -> u32 {
        STARTED.load(Ordering::SeqCst)
    }
}
