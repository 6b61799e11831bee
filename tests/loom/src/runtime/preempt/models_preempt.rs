//! Models of signals: they are sent to the M's present thread. (A signal to another thread would be
//! on its way forever.)

use loom::thread;

use crate::runtime::base::os::was_sent;
use crate::runtime::data::atomic::check;
use crate::runtime::data::runtime2::{G, M};
use crate::runtime::p::owner::wirep;
use crate::runtime::p::procs::procs;
use crate::runtime::preempt::ask::preemptone;

/// Threads: one that has ended, and the M's next one.
const OLD: u64 = 1;
const NEW: u64 = 2;

#[test]
fn a_new_m_is_asked_by_who_finds_it_at_its_p() {
    check(Some(3), || {
        let (pp, gp) = (procs().allp[0], G::new(1));
        let starting = thread::spawn(move || {
            let mp = M::without_p();
            mp.has_thread(NEW);
            wirep(mp, pp);
            mp.curg.set(Some(gp));
        });
        let asked = preemptone(pp);
        assert_eq!(asked, was_sent(NEW));
        starting.join().unwrap();
    });
}

/// An M gets another thread, which calls `then`, while it is asked to stop.
fn asked_while_it_gets_another_thread(then: fn(&M)) {
    check(Some(3), move || {
        let mp = M::without_p();
        mp.has_thread(OLD);
        let starting = thread::spawn(move || {
            mp.has_no_thread();
            mp.has_thread(NEW);
            then(mp);
        });
        // The first signal may go to the old thread. But then no signal is on its way only if there
        // is a new thread.
        if mp.send_signal().is_some()
            && let Some(thread) = mp.send_signal()
        {
            assert_eq!(thread, NEW);
        }
        starting.join().unwrap();
    });
}

#[test]
fn an_m_is_asked_while_it_gets_another_thread() {
    asked_while_it_gets_another_thread(|_| {});
}

#[test]
fn an_m_is_asked_again_when_a_signal_has_come() {
    asked_while_it_gets_another_thread(|mp| {
        if mp.send_signal().is_some() {
            mp.signal_has_come();
        }
    });
}
