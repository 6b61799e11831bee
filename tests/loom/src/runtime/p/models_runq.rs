//! Models of the run queue: whatever thieves do, each G is taken once.

use loom::thread;

use crate::runtime::base::os::during_next_usleep;
use crate::runtime::data::atomic::{Ordering, check};
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::runtime2::{G, P, PRUNNING, sched};
use crate::runtime::p::runq::{runqdrain, runqempty, runqget, runqput, runqputbatch, runqsteal};

/// Takes and runs all G's that the owner of `pp` gets.
fn get_all(pp: &'static P) -> Vec<u32> {
    std::iter::from_fn(|| runqget(pp.local())).map(|(gp, _)| gp.run()).collect()
}

/// Steals once for another P, and runs the stolen G's.
fn steal(from: &'static P, steal_run_next_g: bool) -> Vec<u32> {
    let mine = P::new(1);
    let first = runqsteal(mine.local(), from.steal(), steal_run_next_g).map(G::run);
    let mut got = get_all(mine);
    got.extend(first);
    got
}

/// Takes and runs the G's of the global queue, when all threads are done.
fn global() -> Vec<u32> {
    let got: Vec<u32> = std::iter::from_fn(|| sched().runq.pop()).map(G::run).collect();
    assert_eq!(got.len() as i32, sched().runqsize.load(loom::sync::atomic::Ordering::SeqCst));
    got
}

fn assert_each_once(mut got: Vec<u32>, n: u32) {
    got.sort_unstable();
    assert_eq!(got, (1..=n).collect::<Vec<_>>());
}

#[test]
fn put_and_get_against_one_thief() {
    check(Some(3), || {
        let pp = P::new(0);
        let thief = thread::spawn(move || steal(pp, false));
        let mut got = Vec::new();
        runqput(pp.local(), G::new(1), false);
        runqput(pp.local(), G::new(2), false);
        got.extend(runqget(pp.local()).map(|(gp, _)| gp.run()));
        runqput(pp.local(), G::new(3), false);
        got.extend(get_all(pp));
        got.extend(thief.join().unwrap());
        assert_each_once(got, 3);
        assert!(runqempty(pp.steal()));
    });
}

#[test]
fn put_and_get_against_two_thieves() {
    check(Some(2), || {
        let pp = P::new(0);
        runqput(pp.local(), G::new(1), false);
        runqput(pp.local(), G::new(2), false);
        let thieves = [(); 2].map(|()| thread::spawn(move || steal(pp, false)));
        let mut got = get_all(pp);
        for thief in thieves {
            got.extend(thief.join().unwrap());
        }
        assert_each_once(got, 2);
    });
}

#[test]
fn runnext_is_kicked_run_or_stolen() {
    check(Some(3), || {
        let pp = P::new(0);
        let thief = thread::spawn(move || steal(pp, true));
        runqput(pp.local(), G::new(1), true);
        runqput(pp.local(), G::new(2), true);
        let mut got = get_all(pp);
        got.extend(thief.join().unwrap());
        got.extend(get_all(pp));
        assert_each_once(got, 2);
    });
}

#[test]
fn a_full_queue_gives_half_to_the_global_one() {
    check(Some(3), || {
        let pp = P::new(0);
        for id in 1..=4 {
            runqput(pp.local(), G::new(id), false);
        }
        let thief = thread::spawn(move || steal(pp, false));
        runqput(pp.local(), G::new(5), false);
        let mut got = get_all(pp);
        got.extend(thief.join().unwrap());
        got.extend(global());
        assert_each_once(got, 5);
    });
}

#[test]
fn a_slot_is_used_again_only_when_it_was_read() {
    check(Some(3), || {
        let pp = P::new(0);
        for id in 1..=3 {
            runqput(pp.local(), G::new(id), false);
        }
        let thief = thread::spawn(move || steal(pp, false));
        // Goes around the ring, over the slots that the thief may be copying.
        let mut got: Vec<u32> = runqget(pp.local()).map(|(gp, _)| gp.run()).into_iter().collect();
        runqput(pp.local(), G::new(4), false);
        runqput(pp.local(), G::new(5), false);
        got.extend(get_all(pp));
        got.extend(thief.join().unwrap());
        got.extend(global());
        assert_each_once(got, 5);
    });
}

#[test]
fn a_batch_goes_in_whole() {
    check(Some(3), || {
        let pp = P::new(0);
        let thief = thread::spawn(move || steal(pp, false));
        runqput(pp.local(), G::new(1), false);
        let q = GQueue::default();
        for id in 2..=5 {
            q.push_back(G::new(id));
        }
        runqputbatch(pp.local(), &q, 4);
        let mut got = get_all(pp);
        got.extend(thief.join().unwrap());
        got.extend(global());
        assert_each_once(got, 5);
    });
}

#[test]
fn a_drain_takes_what_no_thief_has() {
    check(Some(3), || {
        let pp = P::new(0);
        runqput(pp.local(), G::new(1), false);
        runqput(pp.local(), G::new(2), false);
        runqput(pp.local(), G::new(3), true);
        let thief = thread::spawn(move || steal(pp, true));
        let (q, n) = runqdrain(pp.local());
        let mut got: Vec<u32> = std::iter::from_fn(|| q.pop()).map(G::run).collect();
        assert_eq!(got.len() as i32, n);
        got.extend(thief.join().unwrap());
        assert_each_once(got, 3);
    });
}

#[test]
fn a_queue_with_work_never_looks_empty() {
    check(Some(3), || {
        let pp = P::new(0);
        runqput(pp.local(), G::new(1), true);
        let looker = thread::spawn(move || runqempty(pp.steal()));
        // The first G moves from runnext to the ring, and then runnext is emptied. The G is always
        // in one of them, but a look at one and then at the other could miss it.
        runqput(pp.local(), G::new(2), true);
        let mut got: Vec<u32> = runqget(pp.local()).map(|(gp, _)| gp.run()).into_iter().collect();
        assert!(!looker.join().unwrap());
        got.extend(get_all(pp));
        assert_each_once(got, 2);
    });
}

#[test]
fn a_thief_leaves_a_g_that_has_run_meanwhile() {
    check(Some(3), || {
        for has_run in [false, true] {
            let pp = P::new(0);
            pp.status.store(PRUNNING, Ordering::Relaxed);
            runqput(pp.local(), G::new(1), true);
            if has_run {
                during_next_usleep(move || {
                    let (gp, _) = runqget(pp.local()).expect("it is there");
                    gp.tracking_seq.fetch_sub(1, Ordering::Relaxed);
                    runqput(pp.local(), gp, true);
                });
            }
            assert_eq!(steal(pp, true).is_empty(), has_run);
            assert_eq!(get_all(pp).is_empty(), !has_run);
        }
    });
}
