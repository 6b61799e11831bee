//! Models of goroutines that lose their P's to a signal handler. At any time a P has one owner,
//! whichever thread takes it or gets it back. A stop of the world counts the P once, and the P
//! isn't lost. (loom fails if two threads are in a P's fields, and nothing orders them.)

use loom::thread;

use crate::runtime::base::this::{getm, hold_p, set_m};
use crate::runtime::data::atomic::{AtomicBool, Ordering, check};
use crate::runtime::data::runtime2::{G, M, P, PIDLE, sched};
use crate::runtime::m::startm::next_started;
use crate::runtime::m::turn::turn_before_queue;
use crate::runtime::p::owner::acquirep;
use crate::runtime::p::procs::{procs, set_gomaxprocs};
use crate::runtime::p::stop::{asked_to_stop, take_from_syscall};
use crate::runtime::preempt::ask::Asked;
use crate::runtime::sched::detach::{hold_with_p, leave_m, lose_p};
use crate::runtime::sched::entersyscall::{entersyscall, exitsyscallfast, gcstopm, handoffp, let_turn};
use crate::runtime::sched::wake::{Dropped, drop_p, resetspinning};
use crate::runtime::world::stw::{StwReason, start_the_world, stop_the_world};

pub(in crate::runtime) fn p(id: usize) -> &'static P {
    procs().allp[id]
}

/// Checks a model with `gomaxprocs` P's and at most `bound` preemptions.
pub(in crate::runtime) fn check_with(
    gomaxprocs: i32,
    bound: usize,
    model: impl Fn() + Sync + Send + 'static,
) {
    set_gomaxprocs(gomaxprocs);
    check(Some(bound), model);
}

/// Makes this thread that of a new M, which runs a goroutine on `pp`.
pub(in crate::runtime) fn run_on(pp: &'static P) -> &'static M {
    let mp = M::without_p();
    mp.curg.set(Some(G::new(1)));
    set_m(mp);
    acquirep(mp, pp);
    mp
}

/// Makes a signal come to the thread of `mp`, and ask its goroutine for `what`.
pub(in crate::runtime) fn signal(mp: &'static M, what: Asked) {
    lose_p(mp, mp.curg.get().expect("a goroutine"), what, 0);
}

/// Uses `pp`, which only this thread may do.
pub(in crate::runtime) fn touch(pp: &P) {
    pp.schedtick.store(pp.schedtick.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Does what sysmon does about `pp`: takes the P if its goroutine has lost it, and hands it on.
pub(in crate::runtime) fn retake(pp: &'static P) -> bool {
    let taken = take_from_syscall(pp, PIDLE);
    if taken {
        touch(pp);
        hand_on(pp);
    }
    taken
}

/// Hands on `pp`, which this thread has, and does the work of the M that this wakes.
pub(in crate::runtime) fn hand_on(pp: &'static P) {
    handoffp(pp);
    run_started();
}

/// Does the work of the M's that this thread has woken.
pub(in crate::runtime) fn run_started() {
    while let Some(mp) = next_started() {
        set_m(mp);
        find_runnable(mp);
    }
}

/// Does what findRunnable does on `mp`, which has a P, until `mp` stops. It looks for a stop of the
/// world, for M's that wait for their turn, and for work in the global queue. Returns how much work
/// there was.
pub(in crate::runtime) fn find_runnable(mp: &'static M) -> u32 {
    let mut ran = 0;
    while let Some(pp) = mp.p() {
        touch(pp);
        if asked_to_stop(pp) {
            gcstopm(mp);
        } else if turn_before_queue() && let_turn(mp, pp) {
            continue;
        } else if let Dropped::Run(_) = drop_p(mp, pp, procs()) {
            if mp.spinning.get() {
                resetspinning(mp);
            }
            ran += 1;
        }
    }
    ran
}

/// Makes this thread's goroutine do something that needs a P, and park.
pub(in crate::runtime) fn need_p_and_park() {
    let (_, mp, held) = hold_with_p();
    touch(held.p().expect("a P"));
    drop(held);
    park(mp);
}

/// Parks the goroutine of `mp`, and does all that this thread does afterwards.
pub(in crate::runtime) fn park(mp: &'static M) {
    if mp.p.is_null() {
        leave_m(mp);
    }
    find_runnable(mp);
    run_started();
}

/// When all is quiet, checks that each P is on the idle list, and that no M waits for one.
pub(in crate::runtime) fn assert_all_idle() {
    assert_eq!(sched().npidle.load(Ordering::SeqCst), procs().allp.len() as i32);
    let mut idle = std::iter::successors(sched().pidle.get(), |pp| pp.link.get());
    for &pp in &procs().allp {
        assert_eq!(pp.status.load(Ordering::SeqCst), PIDLE);
        assert!(pp.m.is_null());
        touch(pp);
    }
    assert!(idle.by_ref().take(procs().allp.len()).count() == procs().allp.len() && idle.next().is_none());
    assert_eq!(sched().nmspinning.load(Ordering::SeqCst), 0);
    assert_eq!(sched().ext.turns.len.load(Ordering::SeqCst), 0);
    assert_eq!(sched().ext.ndetached.load(Ordering::SeqCst), 0);
    assert_eq!(sched().runqsize.load(Ordering::SeqCst), 0);
}

/// Makes this thread's goroutine stop the world, look at each P, start the world, and park.
pub(in crate::runtime) fn stop_and_start(meanwhile: impl FnOnce()) {
    let stopped = stop_the_world(StwReason::Unknown);
    procs().allp.iter().for_each(|pp| touch(pp));
    meanwhile();
    start_the_world(stopped);
    park(getm());
}

#[test]
fn sysmon_takes_it_or_the_m_gets_it_back() {
    check_with(1, 3, || {
        let mp = run_on(p(0));
        let sysmon = thread::spawn(|| _ = retake(p(0)));
        signal(mp, Asked::Detach);
        need_p_and_park();
        sysmon.join().unwrap();
        assert_all_idle();
    });
}

#[test]
fn who_is_kept_gets_it_when_sysmon_has_taken_it() {
    check_with(1, 3, || {
        let mp = run_on(p(0));
        let sysmon = thread::spawn(|| {
            while !retake(p(0)) {
                thread::yield_now();
            }
        });
        signal(mp, Asked::WaitForTurn);
        touch(hold_p(mp).p().expect("a P"));
        park(mp);
        sysmon.join().unwrap();
        assert_all_idle();
    });
}

#[test]
fn a_stop_of_the_world_counts_it_once() {
    check_with(2, 2, || {
        let stopper = thread::spawn(|| {
            run_on(p(1));
            stop_and_start(|| {});
        });
        let mp = run_on(p(0));
        signal(mp, Asked::Detach);
        need_p_and_park();
        stopper.join().unwrap();
        assert_all_idle();
    });
}

#[test]
fn a_stop_of_the_world_while_sysmon_takes_it() {
    check_with(2, 1, || {
        let stopper = thread::spawn(|| {
            run_on(p(1));
            stop_and_start(|| {});
        });
        let sysmon = thread::spawn(|| _ = retake(p(0)));
        let mp = run_on(p(0));
        signal(mp, Asked::Detach);
        need_p_and_park();
        stopper.join().unwrap();
        sysmon.join().unwrap();
        assert_all_idle();
    });
}

loom::lazy_static! {
    /// Tells the computing goroutines to end.
    static ref ENOUGH: AtomicBool = AtomicBool::new(false);
}

#[test]
fn a_stop_of_the_world_takes_it_from_one_that_computes() {
    check_with(2, 2, || {
        let stopper = thread::spawn(|| {
            run_on(p(1));
            stop_and_start(|| ENOUGH.store(true, Ordering::SeqCst));
        });
        let mp = run_on(p(0));
        signal(mp, Asked::Detach);
        while !ENOUGH.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        need_p_and_park();
        stopper.join().unwrap();
        assert_all_idle();
    });
}

/// A goroutine enters a system call without a P, and returns.
fn system_call(mp: &'static M) {
    // SAFETY: the call ends below.
    unsafe { entersyscall() };
    let held = hold_p(mp);
    let oldp = mp.oldp.get();
    mp.oldp.set(None);
    let got = exitsyscallfast(mp, oldp);
    drop(held);
    if got {
        park(mp);
    }
}

#[test]
fn who_has_lost_it_enters_a_system_call() {
    check_with(1, 3, || {
        let mp = run_on(p(0));
        let sysmon = thread::spawn(|| _ = retake(p(0)));
        signal(mp, Asked::Detach);
        system_call(mp);
        sysmon.join().unwrap();
        assert_all_idle();
    });
}
