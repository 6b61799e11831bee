//! Models of requests that a signal brings to a goroutine. A repeated request is noticed, and a
//! request from before the goroutine was given its P doesn't apply to that P.

use loom::thread;

use crate::runtime::base::os::signal_comes;
use crate::runtime::base::this::hold_p;
use crate::runtime::data::runtime2::{M, PIDLE};
use crate::runtime::p::stop::take_from_syscall;
use crate::runtime::preempt::ask::{Asked, ask_by_signal, preempt_m};
use crate::runtime::sched::models_detach::{assert_all_idle, check_with, hand_on, p, park, run_on, signal};

/// Does what the handler does for each signal that has come to the thread of `mp`.
fn handle_signals(mp: &'static M) {
    while signal_comes() {
        mp.signal_has_come();
        signal(mp, mp.take_asked());
    }
}

#[test]
fn who_asks_again_is_heard() {
    check_with(1, 3, || {
        let mp = run_on(p(0));
        mp.has_thread(1);
        preempt_m(mp);
        let sysmon = thread::spawn(move || ask_by_signal(mp, Asked::Detach, 0));
        handle_signals(mp);
        // Inside the runtime, signals do nothing.
        let held = hold_p(mp);
        handle_signals(mp);
        drop(held);
        sysmon.join().unwrap();
        ask_by_signal(mp, Asked::Detach, 0);
        handle_signals(mp);
        assert!(mp.p.is_null());
    });
}

#[test]
fn what_was_asked_before_a_turn_came_is_done() {
    check_with(1, 3, || {
        let mp = run_on(p(0));
        mp.has_thread(1);
        let sysmon = thread::spawn(move || {
            while !take_from_syscall(p(0), PIDLE) {
                thread::yield_now();
            }
            ask_by_signal(mp, Asked::WaitForTurn, 0);
            hand_on(p(0));
        });
        // Inside the handler, no other signal comes.
        signal(mp, Asked::WaitForTurn);
        handle_signals(mp);
        assert!(!mp.p.is_null());
        park(mp);
        sysmon.join().unwrap();
        assert_all_idle();
    });
}
