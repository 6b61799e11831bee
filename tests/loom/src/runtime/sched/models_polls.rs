//! Models of a descriptor for which nobody parks: an M polls for it, now or later.

use loom::thread;

use crate::runtime::data::atomic::{Ordering, check};
use crate::runtime::data::runtime2::{M, sched};
use crate::runtime::m::startm::next_started;
use crate::runtime::netpoll::epoll::becomes_ready;
use crate::runtime::netpoll::{netpoll_adjust_waiters, netpoll_any_waiters};
use crate::runtime::p::procs::procs;
use crate::runtime::sched::poll::{poll_or_stop, wake_net_poller_from_outside};
use crate::runtime::sched::wake::{Dropped, drop_p};

/// Does what an M does that finds nothing, until it stops: findRunnable, again and again.
fn give_up(mp: &'static M) {
    while let Some(pp) = mp.p.peek() {
        let was_spinning = mp.spinning.get();
        match drop_p(mp, pp, procs()) {
            Dropped::Run(_) => unreachable!("there is no work"),
            Dropped::Again => {}
            Dropped::Stop => _ = poll_or_stop(mp, procs(), 0, was_spinning),
        }
    }
}

/// A thread without a P begins a wait for a descriptor, which is ready then. Other M's release
/// their P's meanwhile.
fn against(spinning: &'static [bool]) {
    check(Some(2), move || {
        sched().lastpoll.store(1, Ordering::SeqCst);
        let others: Vec<_> = spinning
            .iter()
            .enumerate()
            .map(|(id, &spins)| {
                thread::spawn(move || {
                    let mp = M::new(procs().allp[id]);
                    if spins {
                        mp.become_spinning();
                    }
                    give_up(mp);
                })
            })
            .collect();
        netpoll_adjust_waiters(1);
        wake_net_poller_from_outside();
        becomes_ready();
        while let Some(mp) = next_started() {
            give_up(mp);
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(!netpoll_any_waiters(), "nobody polls, and nobody will");
    });
}

#[test]
fn a_wait_from_outside_against_the_last_spinner() {
    against(&[true]);
}

#[test]
fn a_wait_from_outside_against_one_that_does_not_spin() {
    against(&[false]);
}

#[test]
fn a_wait_from_outside_against_two() {
    against(&[true, false]);
}
