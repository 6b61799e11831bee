//! Models of M's that wait for their turn. None waits while a P is idle, whichever thread releases
//! the P. An M that was allowed to continue without a P gets none. No note is woken twice. (loom
//! fails if all threads are blocked, and an M that waits in vain is blocked.)

use loom::sync::Mutex as LoomMutex;
use loom::thread;

use crate::runtime::base::this::{set_m, signal_after};
use crate::runtime::data::atomic::{AtomicBool, Ordering};
use crate::runtime::data::runtime2::{G, M, P, PIDLE, sched};
use crate::runtime::data::turns::Turn;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::turn::{let_one_go, let_some_go, wait_for_turn};
use crate::runtime::p::owner::pidleput;
use crate::runtime::p::runq::globrunqput;
use crate::runtime::p::stop::take_from_syscall;
use crate::runtime::preempt::ask::Asked;
use crate::runtime::sched::detach::attached;
use crate::runtime::sched::models_detach::{
    assert_all_idle, check_with, hand_on, need_p_and_park, p, park, retake, run_on, signal, stop_and_start,
};
use crate::runtime::sched::wake::wakep;

loom::lazy_static! {
    /// The goroutine of the model has parked.
    static ref PARKED: AtomicBool = AtomicBool::new(false);
    /// A lock of the program's.
    static ref MALLOC: LoomMutex<()> = LoomMutex::new(());
}

/// Makes this thread that of a new M, whose goroutine has lost `pp` to the caller.
pub(super) fn lost(pp: &'static P) -> &'static M {
    let mp = run_on(pp);
    signal(mp, Asked::Detach);
    assert!(take_from_syscall(pp, PIDLE));
    mp
}

/// Waits until the goroutine of `mp` has a P. Then the goroutine parks. A goroutine that is kept
/// doesn't park if it would have to wait for a lock, and gets a P as it parks.
fn gets_it(mp: &'static M, turn: Turn) {
    if wait_for_turn(mp, turn) {
        attached(mp);
        park(mp);
    } else {
        assert!(turn == Turn::Kept);
        need_p_and_park();
    }
}

/// Makes this thread that of a new M, whose goroutine has lost its P long ago. It waits for a P,
/// and parks.
fn waits_without(turn: Turn) {
    let mp = M::without_p();
    mp.curg.set(Some(G::new(2)));
    set_m(mp);
    gets_it(mp, turn);
}

/// Makes `pp` idle.
fn idle(pp: &'static P) {
    lock(&sched().lock);
    pidleput(pp);
    unlock(&sched().lock);
}

/// The goroutine of `mp` is kept, calls `then`, and parks. Before, it may have been allowed to
/// continue without a P.
fn is_kept(mp: &'static M, then: impl FnOnce()) {
    let got = wait_for_turn(mp, Turn::Kept);
    then();
    assert_eq!(got, mp.p().is_some());
    assert!(mp.nextp.is_null());
    if got {
        attached(mp);
        park(mp);
    } else {
        need_p_and_park();
    }
}

/// A goroutine waits for a P that another thread has.
fn against(turn: Turn, lets_go: fn(&'static P)) {
    check_with(1, 2, move || {
        let mp = lost(p(0));
        let other = thread::spawn(move || lets_go(p(0)));
        gets_it(mp, turn);
        other.join().unwrap();
        assert_all_idle();
    });
}

/// An M finds no work. It may have been spinning.
fn finds_nothing(pp: &'static P, spins: bool) {
    let mp = M::new(pp);
    if spins {
        mp.become_spinning();
    }
    park(mp);
}

#[test]
fn who_is_kept_gets_a_p_that_is_handed_on() {
    against(Turn::Kept, hand_on);
}

#[test]
fn who_needs_one_gets_a_p_that_is_handed_on() {
    against(Turn::Needed, hand_on);
}

#[test]
fn who_needs_one_gets_that_of_the_last_spinner() {
    against(Turn::Needed, |pp| finds_nothing(pp, true));
}

#[test]
fn who_needs_one_gets_that_of_one_that_does_not_spin() {
    against(Turn::Needed, |pp| finds_nothing(pp, false));
}

/// Another M spins, and finds work that keeps it. The thread that hands the P on wakes no M.
#[test]
fn who_needs_one_gets_a_p_for_which_nobody_is_woken() {
    check_with(2, 3, || {
        sched().nmspinning.store(1, Ordering::SeqCst);
        let mp = lost(p(0));
        let other = thread::spawn(|| hand_on(p(0)));
        gets_it(mp, Turn::Needed);
        other.join().unwrap();
        assert_eq!(sched().npidle.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn two_wait_for_one_p() {
    check_with(1, 2, || {
        let first = lost(p(0));
        let second = thread::spawn(|| waits_without(Turn::Kept));
        let other = thread::spawn(|| hand_on(p(0)));
        gets_it(first, Turn::Needed);
        second.join().unwrap();
        other.join().unwrap();
        assert_all_idle();
    });
}

#[test]
fn who_waits_and_work_both_get_a_p() {
    check_with(2, 2, || {
        let mp = lost(p(0));
        let other = thread::spawn(|| hand_on(p(0)));
        let submitter = thread::spawn(|| {
            let mp = run_on(p(1));
            lock(&sched().lock);
            globrunqput(G::new(3));
            unlock(&sched().lock);
            wakep();
            park(mp);
        });
        gets_it(mp, Turn::Needed);
        other.join().unwrap();
        submitter.join().unwrap();
        assert_all_idle();
    });
}

#[test]
fn one_is_let_go_on_while_a_p_becomes_idle() {
    check_with(1, 2, || {
        let mp = lost(p(0));
        let other = thread::spawn(|| hand_on(p(0)));
        let suspender = thread::spawn(move || let_one_go(mp));
        is_kept(mp, || {});
        other.join().unwrap();
        suspender.join().unwrap();
        assert_all_idle();
    });
}

#[test]
fn the_first_that_are_kept_go_on_and_the_others_stay() {
    check_with(1, 1, || {
        let turns = &sched().ext.turns;
        let kept: [_; 4] = std::array::from_fn(|_| M::without_p());
        let needed = M::without_p();
        lock(&sched().lock);
        kept.iter().for_each(|mp| turns.push(mp, Turn::Kept));
        turns.push(needed, Turn::Needed);
        unlock(&sched().lock);
        let_some_go(2);
        let woken = |mp: &M| mp.park.key.load(Ordering::Relaxed) != 0;
        assert_eq!(kept.map(woken), [true, true, false, false]);
        assert!(!woken(needed));
        assert_eq!(turns.len.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn who_needs_a_p_gets_it_when_the_world_starts() {
    check_with(2, 2, || {
        let mp = run_on(p(1));
        idle(p(0));
        let mut waits = None;
        stop_and_start(|| {
            waits = Some(thread::spawn(|| waits_without(Turn::Needed)));
        });
        waits.unwrap().join().unwrap();
        assert!(mp.p.is_null());
        assert_all_idle();
    });
}

#[test]
fn a_stopped_world_waits_for_nothing_that_one_has_who_is_kept() {
    check_with(2, 1, || {
        let mp = lost(p(0));
        let other = thread::spawn(|| hand_on(p(0)));
        let stopper = thread::spawn(|| {
            run_on(p(1));
            stop_and_start(|| drop(MALLOC.lock().unwrap()));
        });
        let malloc = MALLOC.lock().unwrap();
        is_kept(mp, || drop(malloc));
        other.join().unwrap();
        stopper.join().unwrap();
        assert_all_idle();
    });
}

/// The goroutine of an M without a P gets one. A signal comes when the M ends its hold on the P, or
/// on itself, for the `nth` time.
fn signal_when_it_gets_one(nth: u32, handler: fn(&'static M)) {
    check_with(1, 2, move || {
        lost(p(0));
        let sysmon = thread::spawn(|| {
            hand_on(p(0));
            while !PARKED.load(Ordering::SeqCst) && !retake(p(0)) {
                thread::yield_now();
            }
        });
        signal_after(nth, handler);
        need_p_and_park();
        PARKED.store(true, Ordering::SeqCst);
        sysmon.join().unwrap();
        assert_all_idle();
    });
}

#[test]
fn who_gets_one_is_asked_to_let_it_go() {
    (1..=3).for_each(|nth| signal_when_it_gets_one(nth, |mp| signal(mp, Asked::Detach)));
}

#[test]
fn who_gets_one_is_asked_to_wait_for_its_turn() {
    (1..=3).for_each(|nth| signal_when_it_gets_one(nth, |mp| signal(mp, Asked::WaitForTurn)));
}
