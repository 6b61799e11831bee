//! Dead G's, to be used again. For each kind of stack, each P has a list, and all P's share one.
//!
//! A copying G whose stack has grown, but not too large, keeps that stack while it is on a P's
//! list, so that the next goroutine needn't grow from scratch. On the common list its stack is its
//! home page's. The list's [`Level`] says when the page goes back to the kernel.

use std::iter::from_fn;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::runtime::base::fatal::throw;
use crate::runtime::data::ext::{BATCH, Level, StackKind};
use crate::runtime::data::gqueue::{GList, GQueue};
use crate::runtime::data::runtime2::{G, GDEAD, Mutex, P, PGFree, sched};
use crate::runtime::g::allgs::{allgadd, allgremove, uncount};
use crate::runtime::g::callers::forget_ancestors;
use crate::runtime::g::status::readgstatus;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::cache::{Cache, List};
use crate::runtime::mem::sizes::default_room;
use crate::runtime::mem::{go_home, home};
use crate::runtime::tls;

/// A P with this many dead G's gives some to the common list, until it has fewer than half. A P
/// without any takes half as many from there.
pub(in crate::runtime) const LOCAL_MAX: i32 = 64;

/// Returns the P's list for G's of this kind; none for the rarer sizes of stack.
fn local(pp: &P, kind: StackKind) -> Option<&PGFree> {
    match kind {
        StackKind::Copying => Some(&pp.g_free),
        StackKind::Fixed(room) if room == default_room() => Some(&pp.ext.g_free_fixed),
        StackKind::Thread(room) if room == default_room() => Some(&pp.ext.g_free_thread),
        StackKind::Fixed(_) | StackKind::Thread(_) => None,
    }
}

/// Dead G's of a kind.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Dead(pub(in crate::runtime) StackKind);

impl Cache for Dead {
    type List = Common;

    fn shared(self) -> (&'static Mutex, Common, &'static Level) {
        (&sched().g_free.lock, Common(self.list()), &sched().ext.g_free_levels[home::number(self.0)])
    }
}

impl Dead {
    fn list(self) -> &'static GList {
        match self.0 {
            StackKind::Copying => &sched().g_free.stack,
            StackKind::Fixed(room) => &sched().ext.g_free_fixed[usize::from(room)],
            StackKind::Thread(room) => &sched().ext.g_free_thread[usize::from(room)],
        }
    }
}

/// The dead G's of a kind that no P has.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Common(&'static GList);

impl List for Common {
    type Item = &'static G;

    fn push(self, gp: &'static G) {
        self.0.push(gp);
        add_to_count(&sched().g_free.n, 1);
    }

    fn pop(self) -> Option<&'static G> {
        let gp = self.0.pop()?;
        add_to_count(&sched().g_free.n, -1);
        Some(gp)
    }
}

impl List for &PGFree {
    type Item = &'static G;

    #[inline(always)]
    fn push(self, gp: &'static G) {
        self.g_list.push(gp);
        add_to_count(&self.n, 1);
    }

    #[inline(always)]
    fn pop(self) -> Option<&'static G> {
        let gp = self.g_list.pop()?;
        add_to_count(&self.n, -1);
        Some(gp)
    }
}

/// Changes a count that one thread at a time writes and others read.
#[inline(always)]
fn add_to_count(n: &AtomicI32, more: i32) {
    n.store(n.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// Puts a dead G on the free list of `pp`, or on the common list without a P. Returns whether `pp`
/// was asked to empty its lists. Go's `gfput`.
#[inline(always)]
pub(in crate::runtime) fn gfput(pp: Option<&P>, gp: &'static G) -> bool {
    if readgstatus(gp) != GDEAD {
        throw("gfput: bad status (not Gdead)");
    }
    let kind = gp.ext.kind.get();
    let Some((pp, free)) = pp.and_then(|pp| Some((pp, local(pp, kind)?))) else {
        globgfput(gp, kind);
        return false;
    };
    go_home(gp, true);
    free.push(gp);
    free.n.load(Ordering::Relaxed) >= pp.ext.max_free.load(Ordering::Relaxed) && too_many(pp, free, kind)
}

/// Puts a dead G on the common list.
#[cold]
#[inline(never)]
fn globgfput(gp: &'static G, kind: StackKind) {
    go_home(gp, false);
    Dead(kind).give(1, |dead| dead.push(gp));
}

/// Moves some of the G's of `pp` to the common list, unless `pp` was asked to empty its lists.
/// Returns whether it was asked.
#[cold]
#[inline(never)]
fn too_many(pp: &P, free: &PGFree, kind: StackKind) -> bool {
    let asked = pp.ext.max_free.load(Ordering::Relaxed) < LOCAL_MAX;
    if !asked {
        spill(free, kind, LOCAL_MAX / 2 - 1);
    }
    asked
}

/// Moves G's to the common list until at most `keep` are left. [`Cache::spill`] doesn't do, because
/// each G first goes back to its home page's stack, without the lock.
#[cold]
#[inline(never)]
fn spill(free: &PGFree, kind: StackKind, keep: i32) {
    let q = GQueue::default();
    let surplus = (free.n.load(Ordering::Relaxed) - keep).max(0);
    for gp in from_fn(|| free.g_list.pop()).take(surplus as usize) {
        go_home(gp, false);
        q.push(gp);
    }
    Dead(kind).give(surplus as usize, |dead| {
        dead.0.push_all(&q);
        // The two counts change one right after the other: gcount mustn't miss the G's for long.
        add_to_count(&free.n, -surplus);
        add_to_count(&sched().g_free.n, surplus);
    });
}

/// Asks a P to empty its lists when the next goroutine ends there.
pub(in crate::runtime) fn ask_to_purge(pp: &P) {
    pp.ext.max_free.store(0, Ordering::Relaxed);
}

/// Takes a dead G of this kind from the free list of `pp`, or from the common one. Go's
/// `gfget`.
#[inline(always)]
pub(in crate::runtime) fn gfget(pp: Option<&P>, kind: StackKind) -> Option<&'static G> {
    let free = pp.and_then(|pp| local(pp, kind));
    if let Some(gp) = free.and_then(|free| free.pop()) {
        return Some(gp);
    }
    // Looks without the lock first: while goroutines are only made, there is nothing to take.
    if Dead(kind).list().empty() {
        return None;
    }
    free.map_or_else(|| Dead(kind).take(), |free| Dead(kind).refill(free, LOCAL_MAX as usize / 2))
}

/// Moves all of `pp`'s dead G's to the common lists. Go's `gfpurge`.
pub(in crate::runtime) fn gfpurge(pp: &P) {
    spill(&pp.g_free, StackKind::Copying, 0);
    spill(&pp.ext.g_free_fixed, StackKind::Fixed(default_room()), 0);
    spill(&pp.ext.g_free_thread, StackKind::Thread(default_room()), 0);
}

/// Adds `more` to the number of G's that have ended and are held by a handle.
pub(in crate::runtime) fn count_held(pp: Option<&P>, more: i32) {
    match pp {
        Some(pp) => add_to_count(&pp.ext.n_held, more),
        None => {
            sched().ext.n_held.fetch_add(more, Ordering::Relaxed);
        }
    }
}

/// Hands back a batch of dead G's of one kind that nobody has needed, with their pages. Returns
/// whether there were any.
pub(in crate::runtime) fn hand_back() -> bool {
    home::kinds().any(hand_back_kind)
}

fn hand_back_kind(kind: StackKind) -> bool {
    let g_free = &sched().g_free;
    let dead = Dead(kind).surplus(BATCH, |gp| {
        // The G counts as dead until it no longer counts as a G.
        add_to_count(&g_free.n, 1);
        gp
    });
    if dead.is_empty() {
        return false;
    }

    dead.iter().for_each(|gp| {
        forget_ancestors(gp);
        tls::free(gp);
    });
    allgremove(&dead);
    lock(&g_free.lock);
    // The two counts change one right after the other: gcount mustn't take dead G's for goroutines
    // for long.
    add_to_count(&g_free.n, -(dead.len() as i32));
    uncount(dead.len());
    unlock(&g_free.lock);
    let kept = home::discard(kind, &dead);

    // The memory of these is locked. They don't count in the level, so that they aren't tried again
    // forever.
    if allgadd(&kept).is_ok() {
        Dead(kind).give(0, |dead| kept.iter().for_each(|gp| dead.push(gp)));
    }
    true
}
