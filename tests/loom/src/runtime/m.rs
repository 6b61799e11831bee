//! The count of spinning M's, M's that wait for their turn, waits that signals end; and a stand-in
//! for waking other M's: a count of woken M's.

#[path = "../../../../src/runtime/m/signaled.rs"]
pub(crate) mod signaled;
#[path = "../../../../src/runtime/m/spinning.rs"]
pub(crate) mod spinning;
#[path = "../../../../src/runtime/m/turn.rs"]
pub(crate) mod turn;

/// The number of idle M's, which no model reads.
pub(crate) mod checkdead {
    pub(crate) fn incidlelocked(_: i32) {}

    pub(crate) fn counted<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}

/// Goroutines that are locked to a thread, of which there are none.
pub(crate) mod lockosthread {
    use crate::runtime::data::runtime2::{G, M};

    pub(crate) fn wire_while_panicking(_: &G, _: &M) {}
}

/// Threads, of which no model makes one.
pub(crate) mod thread {
    use std::io;

    use crate::runtime::data::link::Link;
    use crate::runtime::data::runtime2::{M, P};
    use crate::runtime::m::spinning::Spinning;

    pub(crate) struct AllM(pub(crate) Link<M>);

    loom::lazy_static! {
        pub(crate) static ref ALLM: AllM = AllM(Link::null());
    }

    pub(crate) fn m_reserve_id() -> i64 {
        unreachable!("no model makes a thread")
    }

    pub(crate) fn newm(_: Option<fn()>, _: Option<&'static P>, _id: i64) -> io::Result<()> {
        unreachable!("no model makes a thread")
    }

    pub(crate) fn no_thread(_: &'static P, _: Option<Spinning>, _: &io::Error) {
        unreachable!("no model makes a thread")
    }
}

pub(crate) mod startm {
    use std::cell::RefCell;

    use crate::runtime::data::atomic::{AtomicU32, Ordering};
    use crate::runtime::data::runtime2::{M, P};
    use crate::runtime::m::spinning::Spinning;
    use crate::runtime::p::owner::acquirep;

    loom::lazy_static! {
        static ref STARTED: AtomicU32 = AtomicU32::new(0);
    }

    loom::thread_local! {
        static WITH: RefCell<Vec<(&'static P, Option<Spinning>)>> = RefCell::default();
    }

    pub(crate) fn startm(pp: Option<&'static P>, spinning: Option<Spinning>) {
        WITH.with(|with| with.borrow_mut().push((pp.expect("a P"), spinning)));
        STARTED.fetch_add(1, Ordering::SeqCst);
    }

    /// No model wakes an M that has stopped: the M ends.
    pub(crate) fn stopm(_: &M) {}

    pub(crate) fn m_park(_: &M) {
        unreachable!("no goroutine is locked to its thread")
    }

    pub(crate) fn take_nextp(_: &M) {
        unreachable!("no goroutine is locked to its thread")
    }

    /// Returns how many M's were woken.
    pub(crate) fn started() -> u32 {
        STARTED.load(Ordering::SeqCst)
    }

    /// Returns an M that this thread has woken, with its P, to continue here.
    pub(crate) fn next_started() -> Option<&'static M> {
        let (pp, spinning) = WITH.with(|with| with.borrow_mut().pop())?;
        let mp = M::without_p();
        if let Some(spinning) = spinning {
            spinning.give(mp);
        }
        acquirep(mp, pp);
        Some(mp)
    }
}
