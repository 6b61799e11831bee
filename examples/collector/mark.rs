//! The collector: Go's `mgc.go` and `mgcmark.go`, as small as they can be.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::proc::{self, StwReason};
use gosched::runtime2::{G, GRUNNING, GSCANSYSCALL, GWAITING, WaitReason};

use crate::heap;

/// Whether goroutines run while the collector marks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// The world is stopped from the first step to the last: nothing changes.
    Stopped,
    /// The world is stopped twice, for an instant. In between the collector suspends goroutine
    /// after goroutine, and scans the stack of each, which is black from then on. The barrier
    /// ensures that no white object is hidden there.
    Running,
}

/// Marks and sweeps. Returns how many objects were swept, and how many are left. Go's `gcStart`,
/// and the steps that follow it.
///
/// # Safety
/// On a goroutine; no two cycles at a time.
pub unsafe fn cycle(world: World) -> (usize, usize) {
    // SAFETY: on a goroutine, as the caller says, which doesn't park while the world is stopped;
    // nobody else collects.
    unsafe {
        let mut stop = proc::stop_the_world(StwReason::GcSweepTerm);
        // Go's gcResetMarkState.
        proc::for_each_g(|gp| (*gp).gcscandone.set(false));
        heap::begin_marking();
        if world == World::Running {
            proc::start_the_world(stop);
            mark_stacks();
            drain();
            stop = proc::stop_the_world(StwReason::GcMarkTerm);
        } else {
            mark_stacks();
        }
        // A grey object leads to each reachable object that isn't marked yet. The grey objects are
        // from mark_stacks, or from write barriers since the last drain.
        drain();
        let counts = heap::sweep();
        proc::start_the_world(stop);
        counts
    }
}

/// Shades the objects on every goroutine's stack. A goroutine that is made meanwhile begins with
/// nothing but an argument that was shaded. Go's `markroot`, which also has other roots: globals,
/// and channels and results. In this program those have no references.
///
/// # Safety
/// On a goroutine.
unsafe fn mark_stacks() {
    let me = proc::getg();
    // SAFETY: on a goroutine, as the caller says. While its state is waiting, it is in no queue, so
    // nobody makes it ready.
    unsafe {
        // This runs on g0, because the goroutine's own stack is scanned like any other. Two
        // goroutines that suspend each other would wait forever. So this goroutine is waiting
        // meanwhile, and can be suspended.
        proc::systemstack(|| {
            proc::cas_g_to_waiting(me, GRUNNING, WaitReason::GarbageCollectionScan);
            proc::for_each_g_race(|gp| mark_stack(gp));
            proc::casgstatus(me, GWAITING, GRUNNING);
        });
    }
}

/// Suspends a goroutine, and shades the objects on its stack. It does so in a stopped world, too: a
/// goroutine in a system call may come out of the call at any time.
///
/// # Safety
/// As [`proc::suspend_g`].
unsafe fn mark_stack(gp: *mut G) {
    // SAFETY: the caller ensures what suspend_g requires. While the G is suspended, `gcscandone`
    // belongs to this goroutine, and the ranges that a scan names can be read.
    unsafe {
        let state = proc::suspend_g(gp);
        if state.dead {
            return;
        }
        if (*gp).gcscandone.replace(true) {
            proc::throw("g already scanned");
        }
        count(gp, state.stopped);
        proc::scan_stack(gp, |range| {
            for at in range.step_by(size_of::<usize>()) {
                let word = ptr::with_exposed_provenance::<usize>(at).read_volatile();
                heap::find(word).inspect(|object| object.shade());
            }
        });
        proc::resume_g(state);
    }
}

/// Shades what grey objects refer to, until no object is grey. Go's `gcDrain`.
fn drain() {
    while let Some(object) = heap::grey() {
        (0..2).filter_map(|field| object.get(field)).for_each(|object| object.shade());
    }
}

/// Counts of scanned stacks: all; those of goroutines that stopped for the scan at a check; those
/// of goroutines stopped between two instructions; and those of goroutines in a system call.
pub static SCANNED: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// Counts a goroutine that is suspended.
///
/// # Safety
/// `gp` is suspended by the caller.
unsafe fn count(gp: *mut G, stopped: bool) {
    // SAFETY: a G is never freed, and these fields don't change while it is suspended.
    let (is_async, status) = unsafe { ((*gp).async_safe_point.get(), proc::readgstatus(gp)) };
    let kinds = [true, stopped && !is_async, is_async, status == GSCANSYSCALL];
    for (count, is) in SCANNED.iter().zip(kinds) {
        count.fetch_add(usize::from(is), Ordering::Relaxed);
    }
}
