//! Changing the number of P's: Go's `procresize`, `p.init` and `p.destroy`.

use std::alloc::{Layout, alloc_zeroed};
use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::Ordering;

use crate::runtime::arch::tsan;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::nanotime;
use crate::runtime::base::this::this_m;
use crate::runtime::data::runtime2::{P, PDEAD, PGCSTOP, PIDLE, PRUNNING, sched};
use crate::runtime::embed::hooks::hooks;
use crate::runtime::embed::trace::{Event, trace};
use crate::runtime::g::gfree::{LOCAL_MAX, count_held};
use crate::runtime::g::sudog::reset_sudogcache;
use crate::runtime::lock::rank::{LockRank, assert_world_stopped, lock_init};
use crate::runtime::lock::{assert_lock_held, lock, unlock};
use crate::runtime::m::startm::{mget, mget_specific};
use crate::runtime::p::free_lists::purge;
use crate::runtime::p::owner::{acquirep, pidleput};
use crate::runtime::p::procs::{ALLP_LOCK, PMask, Procs, RandomOrder, gomaxprocs, set_procs};
use crate::runtime::p::runq::{globrunqputhead, runqempty};
use crate::runtime::p::timer_heap::hand_timers;

/// P's and tables, kept for the next change.
static KEPT: Kept = Kept { every_p: UnsafeCell::new(Vec::new()), tables: UnsafeCell::new(Vec::new()) };

struct Kept {
    /// Every P ever made, also those beyond GOMAXPROCS: an M in a system call may still point to
    /// one.
    every_p: UnsafeCell<Vec<&'static P>>,
    /// Every table ever made. GOMAXPROCS may change any number of times, so there is only one table
    /// of each length. An M that still uses an earlier table finds the same P's there, and hints
    /// that may be wrong.
    tables: UnsafeCell<Vec<&'static Procs>>,
}

// SAFETY: the vectors are only touched with ALLP_LOCK held.
unsafe impl Sync for Kept {}

/// Makes P's until there are `nprocs`. Fails if there is no memory for them.
pub(in crate::runtime) fn make_ps(nprocs: i32) -> io::Result<()> {
    lock(&ALLP_LOCK.0);
    // SAFETY: ALLP_LOCK is held, so no other reference to the vector lives.
    let every = unsafe { &mut *KEPT.every_p.get() };
    let missing = (nprocs as usize).saturating_sub(every.len());
    let mut made = every.try_reserve(missing).is_ok();
    while made && every.len() < nprocs as usize {
        // SAFETY: the layout isn't empty, all zero is a valid P, and a P is never freed.
        let pp = unsafe {
            tsan::ignore_accesses(|| alloc_zeroed(Layout::new::<P>())).cast::<P>().as_ref::<'static>()
        };
        every.extend(pp);
        made = pp.is_some();
    }
    unlock(&ALLP_LOCK.0);
    if made { Ok(()) } else { Err(io::ErrorKind::OutOfMemory.into()) }
}

/// Calls `f` with every P ever made, also with P's that aren't in use now but may be again.
pub(in crate::runtime) fn for_every_p(f: impl FnMut(&P)) {
    lock(&ALLP_LOCK.0);
    // SAFETY: ALLP_LOCK is held, so no other reference to the vector lives.
    let every = unsafe { &*KEPT.every_p.get() };
    every.iter().copied().for_each(f);
    unlock(&ALLP_LOCK.0);
}

/// Returns the first `nprocs` P's, and makes those that are missing.
fn first_ps(nprocs: i32) -> Box<[&'static P]> {
    if make_ps(nprocs).is_err() {
        throw("procresize: out of memory");
    }
    lock(&ALLP_LOCK.0);
    // SAFETY: ALLP_LOCK is held, so no other reference to the vector lives.
    let every = unsafe { &*KEPT.every_p.get() };
    let first = every[..nprocs as usize].into();
    unlock(&ALLP_LOCK.0);
    first
}

/// Returns the table of these P's, with none of them in its set of idle P's.
fn table(allp: &[&'static P]) -> &'static Procs {
    lock(&ALLP_LOCK.0);
    // SAFETY: ALLP_LOCK is held, so no other reference to the vector lives.
    let tables = unsafe { &mut *KEPT.tables.get() };
    let procs = match tables.iter().find(|procs| procs.allp.len() == allp.len()) {
        Some(procs) => procs,
        None => {
            let nprocs = allp.len() as i32;
            let mut steal_order = RandomOrder::new();
            steal_order.reset(nprocs as u32);
            let (idlep_mask, timerp_mask) = (PMask::new(nprocs), PMask::new(nprocs));
            let procs: &Procs =
                Box::leak(Box::new(Procs { allp: allp.into(), idlep_mask, timerp_mask, steal_order }));
            tables.push(procs);
            procs
        }
    };
    unlock(&ALLP_LOCK.0);
    // A P that isn't idle may get timers at any time.
    (0..allp.len() as i32).for_each(|id| procs.timerp_mask.set(id));
    procs
}

impl P {
    /// Sets up P `id`, new or dead until now. Go's `p.init`.
    fn init(&self, id: i32) {
        self.id.set(id);
        self.status.store(PGCSTOP, Ordering::Relaxed);
        reset_sudogcache(self);
        self.ext.max_free.store(LOCAL_MAX, Ordering::Relaxed);
        lock_init(&self.timers_lock, LockRank::TIMERS);
        if let Some(p_init) = hooks().p_init {
            p_init(self);
        }
    }

    /// Gives away everything that the P has, its timers to `heir`. `sched.lock` is held and the
    /// world is stopped. Go's `p.destroy`.
    fn destroy(&'static self, heir: &'static P) {
        assert_lock_held(&sched().lock);
        assert_world_stopped();
        // From the tail on, each G goes to the head of the global queue, so the order is kept.
        while let Some(gp) = self.local().take_last() {
            globrunqputhead(gp);
        }
        if let Some(gp) = self.local().take_next() {
            globrunqputhead(gp);
        }
        hand_timers(heir, self);
        purge(self);
        count_held(None, self.ext.n_held.swap(0, Ordering::Relaxed));
        let created = self.ext.goroutines_created.swap(0, Ordering::Relaxed);
        sched().ext.goroutines_created.fetch_add(created, Ordering::Relaxed);
        if let Some(p_destroy) = hooks().p_destroy {
            p_destroy(self);
        }
        self.status.store(PDEAD, Ordering::Relaxed);
    }
}

/// Changes the number of P's to `nprocs`. `sched.lock` is held and the world is stopped. Returns
/// the P's that have work, linked, for the caller to start. The caller's M keeps its P or gets the
/// first one; a thread that isn't ours gets none. Go's `procresize`.
pub(in crate::runtime) fn procresize(nprocs: i32) -> Option<&'static P> {
    assert_lock_held(&sched().lock);
    assert_world_stopped();
    let old = gomaxprocs();
    if nprocs <= 0 {
        throw("procresize: invalid arg");
    }
    let now = nanotime();
    if sched().procresizetime.get() != 0 {
        let elapsed = now - sched().procresizetime.get();
        sched().totaltime.set(sched().totaltime.get() + i64::from(old) * elapsed);
    }
    sched().procresizetime.set(now);

    let every = first_ps(old.max(nprocs));
    for id in old..nprocs {
        every[id as usize].init(id);
    }
    set_procs(table(&every[..nprocs as usize]));

    let mp = this_m();
    if let Some(mp) = mp {
        match mp.p() {
            Some(pp) if pp.id.get() < nprocs => pp.status.store(PRUNNING, Ordering::Relaxed),
            pp => {
                if let Some(pp) = pp {
                    trace(|| Event::ProcStop(pp));
                    pp.m.set(None);
                }
                mp.p.set(None);
                let first = every[0];
                first.m.set(None);
                first.status.store(PIDLE, Ordering::Relaxed);
                acquirep(mp, first);
            }
        }
    }
    trace(|| Event::Gomaxprocs(nprocs));
    let heir = mp.and_then(|mp| mp.p()).unwrap_or(every[0]);
    for id in nprocs..old {
        every[id as usize].destroy(heir);
    }

    let link = |list: &mut Option<&'static P>, pp: &'static P| pp.link.set(list.replace(pp));
    let (mut runnable, mut without_m) = (None, None);
    for &pp in every[..nprocs as usize].iter().rev() {
        if mp.and_then(|mp| mp.p()).is_some_and(|mine| std::ptr::eq(mine, pp)) {
            continue;
        }
        pp.status.store(PIDLE, Ordering::Relaxed);
        if runqempty(pp.steal()) {
            pidleput(pp);
            continue;
        }
        // The goroutine that ran on this P continues on the same thread.
        pp.m.set(pp.ext.oldm.get().and_then(mget_specific));
        link(if pp.m.is_null() { &mut without_m } else { &mut runnable }, pp);
    }
    // These come last: each of the other P's has its own M by now.
    while let Some(pp) = without_m {
        without_m = pp.link.get();
        pp.m.set(mget());
        link(&mut runnable, pp);
    }
    runnable
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::base::testing::zeroed;
    use crate::runtime::data::ext::StackKind;
    use crate::runtime::data::runtime2::{G, GDEAD, M};
    use crate::runtime::g::gfree::{gfget, gfput};
    use crate::runtime::lock::rank::{world_started, world_stopped};
    use crate::runtime::m::startm::mput;
    use crate::runtime::mem::home::home_stack;
    use crate::runtime::p::owner::pidleget;
    use crate::runtime::p::procs::procs;
    use crate::runtime::p::runq::{globrunqput, runqput};

    /// No other test of this binary starts the runtime.
    #[test]
    fn a_p_that_goes_leaves_what_it_has() {
        let gs: [&G; 6] = std::array::from_fn(|_| zeroed());
        let ms: [&M; 2] = std::array::from_fn(|_| zeroed());
        let dead = zeroed::<G>();
        dead.atomicstatus.store(GDEAD, Ordering::Relaxed);
        world_stopped();
        lock(&sched().lock);
        assert!(procresize(4).is_none(), "none has work yet");
        // A world that has been stopped has no idle P.
        while pidleget().is_some() {}

        let ps = procs().allp.clone();
        gs[1..4].iter().for_each(|gp| runqput(ps[3].local(), gp, false));
        runqput(ps[3].local(), gs[0], true);
        globrunqput(gs[4]);
        runqput(ps[1].local(), gs[5], false);
        dead.stack.set(home_stack(dead));
        gfput(Some(ps[3]), dead);
        // More M's than there are here, so that checkdead finds no deadlock.
        let mnext = sched().mnext.replace(100);
        ms.iter().for_each(|mp| mput(mp));
        ps[1].ext.oldm.set(Some(ms[0]));
        let runnable = procresize(2);

        assert!(runnable.is_some_and(|pp| pp.id.get() == 1 && pp.link.get().is_none()));
        assert!(ps[1].m.get().is_some_and(|mp| std::ptr::eq(mp, ms[0])), "not the M that it had");
        assert!(mget().is_some_and(|mp| std::ptr::eq(mp, ms[1])) && mget().is_none());
        sched().mnext.set(mnext);
        assert!(pidleget().is_some_and(|pp| pp.id.get() == 0) && pidleget().is_none());
        assert_eq!([0, 1, 2, 3].map(|i| ps[i].status.load(Ordering::Relaxed)), [PIDLE, PIDLE, PDEAD, PDEAD]);
        assert_eq!(sched().runqsize.load(Ordering::Relaxed), 5);
        for gp in &gs[..5] {
            assert!(sched().runq.pop().is_some_and(|popped| std::ptr::eq(popped, *gp)), "another order");
        }
        sched().runqsize.store(0, Ordering::Relaxed);
        unlock(&sched().lock);
        world_started();
        assert!(gfget(None, StackKind::Copying).is_some_and(|gp| std::ptr::eq(gp, dead)));
    }
}
