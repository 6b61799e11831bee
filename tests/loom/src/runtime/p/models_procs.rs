//! Models of the table of P's: a thread that reads the number of P's finds all of them, and whole.

use loom::thread;

use crate::runtime::data::atomic::check;
use crate::runtime::data::runtime2::P;
use crate::runtime::p::procs_made::{PMask, Procs, RandomOrder, gomaxprocs, procs, set_procs};

/// Makes a new table of `n` new P's.
fn table(n: i32) -> &'static Procs {
    Box::leak(Box::new(Procs {
        allp: (0..n).map(P::new).collect(),
        idlep_mask: PMask::new(n),
        timerp_mask: PMask::new(n),
        steal_order: RandomOrder::new(),
    }))
}

/// Looks at all P's of the table. loom fails if this sees a P before it is published.
fn count() -> i32 {
    let allp = procs().allp.iter().enumerate();
    allp.inspect(|(i, pp)| assert_eq!(pp.id.get(), *i as i32)).count() as i32
}

#[test]
fn who_finds_that_there_are_some_finds_them() {
    check(None, || {
        let boot = thread::spawn(|| set_procs(table(2)));
        let n = gomaxprocs();
        assert!(n == 0 || count() == n);
        boot.join().unwrap();
    });
}

#[test]
fn who_has_no_p_finds_one_of_the_tables() {
    check(None, || {
        set_procs(table(1));
        let resize = thread::spawn(|| set_procs(table(2)));
        assert!((1..=2).contains(&count()));
        resize.join().unwrap();
    });
}
