//! Models of timers: a thread that sets a timer, and an M that goes to sleep, never miss each
//! other. (loom fails if all threads are blocked, and an M that sleeps too long in the poller is
//! blocked.)

use std::ffi::c_void;
use std::ptr;

use loom::thread;

use crate::runtime::base::this;
use crate::runtime::data::atomic::{Ordering, check};
use crate::runtime::data::runtime2::{G, M, P, sched};
use crate::runtime::data::timer::Timer;
use crate::runtime::m::startm::started;
use crate::runtime::made::new_timer;
use crate::runtime::netpoll::epoll::{SOON, netpoll_break};
use crate::runtime::p::procs::procs;
use crate::runtime::sched::poll::poll_or_stop;
use crate::runtime::sched::wake::{Dropped, drop_p, resetspinning};
use crate::runtime::time::modify::{addtimer, modtimer};

/// The time of the timer that exists from the start.
const LATE: i64 = 10 * SOON;

fn p(id: usize) -> &'static P {
    procs().allp[id]
}

/// The function of a timer. No model runs it.
unsafe extern "C" fn nothing(_: *mut c_void, _: usize) {}

fn timer(when: i64) -> &'static Timer {
    new_timer(when, nothing, ptr::null_mut())
}

/// P 0 runs on this thread. It has a timer that is due late, unless `known` is 0.
fn begin(known: i64) -> Option<&'static Timer> {
    sched().lastpoll.store(1, Ordering::SeqCst);
    procs().timerp_mask.set(0);
    let mp = M::new(p(0));
    mp.curg.set(Some(G::new(0)));
    this::set_m(mp);
    (known != 0).then(|| {
        let late = timer(known);
        addtimer(late);
        late
    })
}

/// Does what findRunnable does without work: looks for timers, if it may, and sleeps until there
/// may be something to do. `known` is the first timer's time at its last look.
fn give_up(mp: &'static M, may_spin: bool, known: i64) {
    if may_spin {
        mp.become_spinning();
    }
    loop {
        let pp = mp.p.peek().expect("an M that searches has a P");
        let was_spinning = mp.spinning.get();
        match drop_p(mp, pp, procs()) {
            Dropped::Run(_) => unreachable!("there is no work"),
            Dropped::Again => {}
            Dropped::Stop => {
                poll_or_stop(mp, procs(), known, was_spinning);
                return;
            }
        }
    }
}

/// P 0 starts a timer that is due soon, or sets its timer to an earlier time.
fn set_timer(late: Option<&'static Timer>) {
    match late {
        Some(late) => _ = modtimer(late, SOON, 0, Some(nothing), ptr::null_mut(), 0),
        None => addtimer(timer(SOON)),
    }
    who_was_woken_looks();
}

/// Does what any M does, on the M that was woken, if one was.
fn who_was_woken_looks() {
    if started() != 0 {
        // That M looks at all timers, and then ends a poll that is too long.
        netpoll_break();
    }
}

/// One M goes to sleep, until `known` if `known` isn't 0.
fn against_one(may_spin: bool, known: i64) {
    check(Some(3), move || {
        let late = begin(known);
        let giving_up = thread::spawn(move || give_up(M::new(p(1)), may_spin, known));
        set_timer(late);
        giving_up.join().unwrap();
    });
}

#[test]
fn an_earlier_time_against_the_last_spinner() {
    against_one(true, LATE);
}

#[test]
fn an_earlier_time_against_one_that_does_not_spin() {
    against_one(false, LATE);
}

#[test]
fn a_new_timer_against_the_last_spinner() {
    against_one(true, 0);
}

/// P 0 is in the scheduler when it sets the earlier time, as for a goroutine that goes to sleep.
/// Then it finds a goroutine to run.
fn in_the_scheduler(may_spin: bool) {
    check(Some(3), move || {
        let late = begin(LATE);
        let mp = this::getm();
        mp.curg.set(None);
        let giving_up = thread::spawn(move || give_up(M::new(p(1)), may_spin, LATE));
        set_timer(late);
        resetspinning(mp);
        who_was_woken_looks();
        giving_up.join().unwrap();
    });
}

#[test]
fn who_owes_a_wake_against_the_last_spinner() {
    in_the_scheduler(true);
}

#[test]
fn who_owes_a_wake_against_one_that_does_not_spin() {
    in_the_scheduler(false);
}
