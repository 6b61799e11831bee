//! Dead G's, to be used again: a list for each P and one for all, of each kind of stack.
//!
//! A copying G whose stack has grown keeps it while it is on a P's list, if it isn't too large: the
//! next goroutine need not grow from scratch.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::lock::{lock, unlock};
use crate::panic::throw;
use crate::proc::allgs::allglen;
use crate::proc::gqueue::{GList, GQueue};
use crate::proc::procs::procs;
use crate::proc::status::readgstatus;
use crate::runtime2::{G, GDEAD, P, PGFree, StackKind, sched};
use crate::stack::{DEFAULT_ROOM, go_home};

/// A P with so many gives some to the others,
const LOCAL_MAX: i32 = 64;
/// until it has fewer than this; and takes so many when it has none.
const LOCAL_HALF: i32 = 32;

/// The P's list for G's of this kind; none for the rarer sizes of stack.
fn local(pp: &P, kind: StackKind) -> Option<&PGFree> {
    match kind {
        StackKind::Copying => Some(&pp.g_free),
        StackKind::Fixed(DEFAULT_ROOM) => Some(&pp.ext.g_free_fixed),
        StackKind::Fixed(_) => None,
    }
}

/// The common list; `sched.g_free.lock` protects it.
fn global(kind: StackKind) -> &'static GList {
    match kind {
        StackKind::Copying => &sched().g_free.stack,
        StackKind::Fixed(room) => &sched().ext.g_free_fixed[usize::from(room)],
    }
}

/// Changes a count that one thread at a time writes and others read.
#[inline(always)]
fn add(n: &AtomicI32, more: i32) {
    n.store(n.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

impl PGFree {
    #[inline(always)]
    fn push(&self, gp: &'static G) {
        self.g_list.push(gp);
        add(&self.n, 1);
    }

    #[inline(always)]
    fn pop(&self) -> Option<&'static G> {
        let gp = self.g_list.pop()?;
        add(&self.n, -1);
        Some(gp)
    }

    /// Moves G's to the common list until at most `keep` are left.
    #[cold]
    #[inline(never)]
    fn spill(&self, kind: StackKind, keep: i32) {
        let q = GQueue::default();
        let mut inc = 0;
        while self.n.load(Ordering::Relaxed) > keep
            && let Some(gp) = self.pop()
        {
            go_home(gp, false);
            q.push(gp);
            inc += 1;
        }
        lock(&sched().g_free.lock);
        global(kind).push_all(&q);
        add(&sched().g_free.n, inc);
        unlock(&sched().g_free.lock);
    }

    /// Takes G's from the common list.
    #[cold]
    #[inline(never)]
    fn refill(&self, kind: StackKind) {
        lock(&sched().g_free.lock);
        while self.n.load(Ordering::Relaxed) < LOCAL_HALF
            && let Some(gp) = global(kind).pop()
        {
            add(&sched().g_free.n, -1);
            self.push(gp);
        }
        unlock(&sched().g_free.lock);
    }
}

/// Puts a dead G on the free list of `pp`; on the common one without a P. Go's `gfput`.
#[inline]
pub(crate) fn gfput(pp: Option<&P>, gp: &'static G) {
    if readgstatus(gp) != GDEAD {
        throw("gfput: bad status (not Gdead)");
    }
    let kind = gp.ext.kind.get();
    let free = pp.and_then(|pp| local(pp, kind));
    go_home(gp, free.is_some());
    match free {
        Some(free) => {
            free.push(gp);
            if free.n.load(Ordering::Relaxed) >= LOCAL_MAX {
                free.spill(kind, LOCAL_HALF - 1);
            }
        }
        None => {
            lock(&sched().g_free.lock);
            global(kind).push(gp);
            add(&sched().g_free.n, 1);
            unlock(&sched().g_free.lock);
        }
    }
}

/// Takes a dead G of this kind from the free list of `pp`, or from the common one. Go's
/// `gfget`.
#[inline]
pub(crate) fn gfget(pp: Option<&P>, kind: StackKind) -> Option<&'static G> {
    match pp.and_then(|pp| local(pp, kind)) {
        Some(free) => {
            if free.g_list.empty() && !global(kind).empty() {
                free.refill(kind);
            }
            free.pop()
        }
        None => {
            if global(kind).empty() {
                return None;
            }
            lock(&sched().g_free.lock);
            let gp = global(kind).pop();
            if gp.is_some() {
                add(&sched().g_free.n, -1);
            }
            unlock(&sched().g_free.lock);
            gp
        }
    }
}

/// Moves all of `pp`'s dead G's to the common lists. Go's `gfpurge`.
pub(crate) fn gfpurge(pp: &P) {
    for kind in [StackKind::Copying, StackKind::Fixed(DEFAULT_ROOM)] {
        if let Some(free) = local(pp, kind) {
            free.spill(kind, 0);
        }
    }
}

/// Counts a G that has ended and is held by a handle, or one less.
pub(crate) fn count_held(pp: Option<&P>, more: i32) {
    match pp {
        Some(pp) => add(&pp.ext.n_held, more),
        None => {
            sched().ext.n_held.fetch_add(more, Ordering::Relaxed);
        }
    }
}

/// How many goroutines there are that have not ended; a moment's estimate. Go's `gcount`.
pub(crate) fn gcount() -> i32 {
    let count = |n: &AtomicI32| n.load(Ordering::Relaxed);
    let mut unused = count(&sched().g_free.n) + count(&sched().ngsys) + count(&sched().ext.n_held);
    for pp in &procs().allp {
        unused += count(&pp.g_free.n) + count(&pp.ext.g_free_fixed.n) + count(&pp.ext.n_held);
    }
    (allglen() as i32 - unused).max(0)
}
