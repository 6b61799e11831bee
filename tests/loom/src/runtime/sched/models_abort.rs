//! Models of aborts. A wait that may be aborted ends, however the abort, the park and the event
//! that the goroutine waits for meet, and the goroutine is made ready once.

use std::ptr;

use loom::thread;

use crate::runtime::atomic::{AtomicPtr, Ordering, check};
use crate::runtime::data::runtime2::{G, GRUNNING, GWAITING, WaitReason};
use crate::runtime::g::status::{ABORTS, cas, castogscanstatus};
use crate::runtime::made::set_goroutines_are_threads;
use crate::runtime::sched::abort::{abort, end_wait_if_marked, until_aborted};
use crate::runtime::sched::park::sleep_until_ready;
use crate::runtime::sched::ready::goready;

const GOID: u64 = 7;

/// A place where one goroutine waits: null, the goroutine, or CAME. SeqCst where an abort may meet
/// a park: `sched/abort.rs` says why.
struct Place(AtomicPtr<G>);

const CAME: *mut G = ptr::without_provenance_mut(1);

impl Place {
    const fn new() -> Self {
        Place(AtomicPtr::new(ptr::null_mut()))
    }

    /// The event that is waited for.
    fn comes(&self) {
        let waits = self.0.swap(CAME, Ordering::AcqRel);
        // SAFETY: null, or a G.
        if let Some(gp) = unsafe { waits.as_ref::<'static>() } {
            goready(gp);
        }
    }

    /// Waits for the event. Returns false if an abort comes first.
    fn wait(&self, gp: &'static G) -> bool {
        let give_up = || {
            let left =
                self.0.compare_exchange(gp.as_ptr(), ptr::null_mut(), Ordering::SeqCst, Ordering::SeqCst);
            left.is_ok().then_some(|| goready(gp))
        };
        // SAFETY: what give_up returns owns what it uses, and only the thread that takes the
        // goroutine out of the place wakes it.
        unsafe { until_aborted(gp, &give_up, || self.park(gp)) };
        self.0.load(Ordering::Acquire) == CAME
    }

    /// The steps of `gopark` and `park_m`; to enter the place is the `unlockf`.
    fn park(&self, gp: &'static G) {
        gp.waitreason.set(WaitReason::Semacquire);
        while !cas(gp, GRUNNING, GWAITING) {
            thread::yield_now();
        }
        if self.0.compare_exchange(ptr::null_mut(), gp.as_ptr(), Ordering::SeqCst, Ordering::SeqCst).is_err()
        {
            gp.waitreason.set(WaitReason::Zero);
        } else {
            end_wait_if_marked(gp);
            sleep_until_ready(gp);
        }
        while !cas(gp, GWAITING, GRUNNING) {
            thread::yield_now();
        }
    }
}

/// Calls `model` with a place, in which a goroutine waits, and with the goroutine.
fn while_it_waits(model: fn(&'static Place, &'static G)) {
    check(Some(2), move || {
        ABORTS.set(true);
        set_goroutines_are_threads();
        let place: &'static Place = Box::leak(Box::new(Place::new()));
        let gp = G::this();
        gp.goid.set(GOID);
        assert!(cas(gp, 0, GRUNNING));
        model(place, gp);
    });
}

#[test]
fn an_abort_ends_the_wait() {
    while_it_waits(|place, gp| {
        let aborts = thread::spawn(move || abort(gp, GOID));
        assert!(!place.wait(gp), "nothing came");
        aborts.join().unwrap();
    });
}

#[test]
fn two_aborts_and_the_event() {
    while_it_waits(|place, gp| {
        let aborts = thread::spawn(move || abort(gp, GOID));
        let comes = thread::spawn(|| place.comes());
        let _ = place.wait(gp);
        // The next wait ends, too.
        let next = Box::leak(Box::new(Place::new()));
        aborts.join().unwrap();
        comes.join().unwrap();
        assert!(!next.wait(gp));
    });
}

#[test]
fn an_abort_of_another_ends_nothing() {
    while_it_waits(|place, gp| {
        let aborts = thread::spawn(move || abort(gp, GOID + 1));
        let comes = thread::spawn(|| place.comes());
        assert!(place.wait(gp));
        aborts.join().unwrap();
        comes.join().unwrap();
    });
}
