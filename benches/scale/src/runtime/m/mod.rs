//! M's as they ship: how they sleep, and are woken. An M is a thread of the simulation.

#[path = "../../../../../src/runtime/m/spinning.rs"]
pub(crate) mod spinning;
#[path = "../../../../../src/runtime/m/startm.rs"]
pub(crate) mod startm;

/// Nothing checks for deadlocks.
pub(crate) mod checkdead {
    pub(crate) fn checkdead() {}
}

/// Makes threads, which never fails.
pub(crate) mod thread {
    use std::io;

    use crate::runtime::base::this::add_m;
    use crate::runtime::data::runtime2::{M, P, sched};
    use crate::runtime::m::spinning::Spinning;
    use crate::runtime::sched::mstart;
    use crate::sim;
    use crate::sim::cost;

    pub(crate) fn m_reserve_id() -> i64 {
        sched().mnext.replace(sched().mnext.get() + 1)
    }

    pub(crate) fn newm(f: Option<fn()>, pp: Option<&'static P>, _id: i64) -> io::Result<()> {
        let mp = M::new();
        mp.nextp.set(pp);
        add_m(mp);
        let (clone, latency) = cost(|costs| (costs.clone, costs.wake_latency));
        sim::spawn(Box::new(move || mstart(mp, f)), clone + latency);
        sim::kernel(clone);
        Ok(())
    }

    pub(in crate::runtime) fn no_thread(_: &P, _: Option<Spinning>, _: &io::Error) {
        unreachable!("a thread could be made")
    }

    pub(crate) fn wanted_p() -> Option<&'static P> {
        None
    }
}

/// No goroutine keeps its thread.
pub(crate) mod turn {
    pub(crate) fn need_before_queues() -> bool {
        false
    }

    pub(crate) fn turn_before_queue() -> bool {
        false
    }

    pub(crate) fn turn_needed() -> bool {
        false
    }

    pub(crate) fn turns_waiting() -> bool {
        false
    }
}
