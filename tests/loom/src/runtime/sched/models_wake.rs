//! Models of waking: work and an idle P never miss each other.

use loom::thread;

use crate::runtime::data::atomic::{Ordering, check};
use crate::runtime::data::ext::OwesWake;
use crate::runtime::data::runtime2::{G, M, P, sched};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::startm::started;
use crate::runtime::p::owner::pidleput;
use crate::runtime::p::procs::procs;
use crate::runtime::p::runq::{globrunqput, runqempty, runqput, runqsteal};
use crate::runtime::sched::wake::{Dropped, drop_p, resetspinning, wakep};

/// Does what findRunnable does once there is no local work: searches, if it may, then releases the
/// P. Returns whether it found work.
fn search_and_drop(mp: &'static M, may_spin: bool) -> bool {
    if may_spin {
        mp.become_spinning();
    }
    loop {
        let pp = mp.p.peek().expect("an M that searches has a P");
        if mp.spinning.get() {
            for steal_run_next_g in [false, true] {
                for &victim in &procs().allp {
                    if !std::ptr::eq(pp, victim)
                        && runqsteal(pp.local(), victim.steal(), steal_run_next_g).is_some()
                    {
                        if steal_run_next_g {
                            mp.ext.owes_wake.set(OwesWake::Yes);
                        }
                        resetspinning(mp);
                        return true;
                    }
                }
            }
        }
        match drop_p(mp, pp, procs()) {
            Dropped::Run(_) => {
                if mp.spinning.get() {
                    resetspinning(mp);
                }
                return true;
            }
            Dropped::Again => {}
            Dropped::Stop => return false,
        }
    }
}

fn p(id: usize) -> &'static P {
    procs().allp[id]
}

/// Makes P `id` idle from the start.
fn idle(id: usize) {
    lock(&sched().lock);
    pidleput(p(id));
    unlock(&sched().lock);
}

/// When all is quiet: if there is work that no M has, and a P is idle, checks that an M was woken
/// or is looking.
fn assert_conserved() {
    let work = !runqempty(p(0).steal()) || sched().runqsize.load(Ordering::SeqCst) != 0;
    let idle = sched().npidle.load(Ordering::SeqCst) != 0;
    let looking = sched().nmspinning.load(Ordering::SeqCst) != 0 || started() != 0;
    assert!(!(work && idle) || looking, "work waits, a P is idle, and nobody looks");
}

/// P 0 submits work, to run next on itself.
fn submit() {
    runqput(p(0).local(), G::new(1), true);
    wakep();
}

/// P 0 submits work to the global queue, as a yield does.
fn submit_global() {
    lock(&sched().lock);
    globrunqput(G::new(1));
    unlock(&sched().lock);
    wakep();
}

/// There are two busy P's, and a third that isn't in the model: its M is in a call that doesn't
/// return.
fn against_one(submit: fn(), may_spin: bool) {
    check(Some(3), move || {
        let giving_up = thread::spawn(move || search_and_drop(M::new(p(1)), may_spin));
        submit();
        giving_up.join().unwrap();
        assert_conserved();
    });
}

#[test]
fn submission_against_the_last_spinner() {
    against_one(submit, true);
}

#[test]
fn submission_against_one_that_does_not_spin() {
    against_one(submit, false);
}

#[test]
fn global_submission_against_the_last_spinner() {
    against_one(submit_global, true);
}

#[test]
fn global_submission_against_one_that_does_not_spin() {
    against_one(submit_global, false);
}

/// The short cut of wakep: some M has already been told that a spinner is needed, while another
/// becomes a spinner and clears the note.
#[test]
fn submission_while_the_note_is_taken() {
    check(Some(2), || {
        sched().needspinning.store(1, Ordering::SeqCst);
        let spinner = thread::spawn(|| search_and_drop(M::new(p(1)), true));
        let quiet = thread::spawn(|| search_and_drop(M::new(p(2)), false));
        submit();
        spinner.join().unwrap();
        quiet.join().unwrap();
        assert_conserved();
    });
}

/// P 0 submits two G's. An M that looks for work takes one of them, while another P is idle.
fn two_against_one(submit_second: fn()) {
    check(Some(3), move || {
        idle(2);
        let spinner = thread::spawn(|| search_and_drop(M::new(p(1)), true));
        submit();
        submit_second();
        spinner.join().unwrap();
        assert_conserved();
    });
}

#[test]
fn who_takes_one_of_two_looks_for_the_other() {
    two_against_one(submit);
}

#[test]
fn who_takes_one_looks_for_one_of_the_global_queue() {
    two_against_one(submit_global);
}

#[test]
fn an_idle_p_is_woken_once() {
    check(Some(3), || {
        idle(1);
        idle(2);
        let other = thread::spawn(|| {
            runqput(p(0).local(), G::new(2), true);
            wakep();
        });
        other.join().unwrap();
        wakep();
        // The first submit wakes an M; the second leaves its G to that M.
        assert_eq!(started(), 1);
        assert_conserved();
    });
}
