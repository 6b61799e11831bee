//! Goroutines that run on without a P. Go has none, because it can stop every loop.
//!
//! User code needs its thread, and only the runtime needs the P. A goroutine in code that the
//! runtime doesn't know may have used up its time, or its thread may sleep in the kernel. Such a
//! goroutine *loses its P and keeps its thread*: it is **detached**. It doesn't move, so its
//! thread-locals, the thread's locks and a half-done `malloc` stay valid.
//!
//! Sysmon asks for this by a signal. The handler, on the goroutine's own thread, leaves the P as
//! `entersyscall` does ([`lose_p`]). From then on the winner of the CAS from `PSYSCALL` has the P.
//!
//! | | `g.atomicstatus` | `m.p` | `m.ext.detached_since` | the P |
//! | --- | --- | --- | --- | --- |
//! | runs | `GRUNNING` | P | 0 | `PRUNNING` |
//! | detached, its P not taken yet | `GRUNNING` | null | when | `PSYSCALL`, also in `m.oldp` |
//! | detached | `GRUNNING` | null | when | somebody else's |
//! | in a system call | `GSYSCALL` | null | 0 | `PSYSCALL`, or somebody else's |
//!
//! A detached goroutine stays `GRUNNING`. So the handler doesn't change the status, which could
//! make it wait, and `suspendG` waits until the goroutine comes to a safe point, as for any running
//! goroutine.
//!
//! - **The handler detaches only where `m.locks` is 0, and not on g0.** So code that relies on its
//!   P holds the P: it reads `m.p` while `locks` isn't 0, and uses the result only that long. Code
//!   on g0 only has to tolerate that there is no P.
//! - Most of the runtime works without a P, as on a foreign thread: a G goes to the global queue in
//!   place of the P's own, and a sudog comes from the central cache. So a goroutine needn't wait
//!   for a P to go on. In code that can't park it must not wait for a P, as it may hold a lock of
//!   std's. Code that needs a P ([`hold_with_p`]) waits.
//! - A goroutine has a P again when it has waited for anything, or when a P was free at once.
//! - Until the P is gone, the handler takes no lock, allocates nothing, and calls no tracer and no
//!   hook. Then it may wait for its turn (`m/turn.rs`), which takes `sched.lock`. As `locks` was 0,
//!   this thread doesn't hold that lock.
//! - A goroutine in the C library doesn't wait for its turn, because it may hold a lock of
//!   malloc's. It is asked again a moment later ([`MAX_SPARED`]).
//!
//! `procPin` is the opposite: it keeps a goroutine on its P.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::runtime::arch::systemstack_scannable;
use crate::runtime::base::debug::detach_always;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::{nanotime, this_thread_cpu_time};
use crate::runtime::base::this::{Held, getm, goroutine, hold_p, releasem};
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::runtime2::{G, GRUNNING, GSCAN, M, P, PRUNNING, PSYSCALL, WaitReason, sched};
use crate::runtime::data::turns::Turn;
use crate::runtime::g::explored::{exploring, keeps_p};
use crate::runtime::g::status::{cas_g_from_waiting, cas_g_to_waiting, readgstatus};
use crate::runtime::m::turn::wait_for_turn;
use crate::runtime::p::sysmon_sleep::wake_sysmon_from_signal;
use crate::runtime::preempt::ask::Asked;
use crate::runtime::preempt::libc_code::in_libc;
use crate::runtime::sched::entersyscall::exitsyscallfast;

/// The maximum number of goroutines that wait for their turn to compute. Beyond it, others keep
/// their P's for longer. Each goroutine that waits takes a thread.
static MAX_DETACHED: AtomicUsize = AtomicUsize::new(2_000);

/// How often in succession a goroutine goes on when it is asked to wait for its turn in the C
/// library. Sysmon asks again after 0.1 ms. A goroutine that is always in the C library, as in
/// `memcpy`, waits in the end.
const MAX_SPARED: u32 = 64;

/// [`set_max_detached`](crate::set_max_detached).
pub(crate) fn set_max_detached(max: usize) -> usize {
    MAX_DETACHED.swap(max, Ordering::Relaxed)
}

/// Returns the limit on goroutines that wait for their turn, if it is reached.
pub(in crate::runtime) fn limit_reached() -> Option<usize> {
    let max = MAX_DETACHED.load(Ordering::Relaxed);
    (sched().ext.turns.len.load(Ordering::Relaxed) as usize >= max).then_some(max)
}

/// Does what `gp`, which the thread of `mp` ran when a signal came, was asked for: it goes on
/// without its P, or when its turn comes. If `gp` is in code that relies on its P, nothing happens,
/// and sysmon asks again. Called in the signal handler, which has interrupted `gp` at `pc`.
pub(in crate::runtime) fn lose_p(mp: &'static M, gp: &'static G, asked: Asked, pc: usize) {
    let asked = if detach_always() { Asked::Detach } else { asked };
    if asked == Asked::Nothing {
        return;
    }
    let spared = mp.ext.spared.swap(0, Ordering::Relaxed);
    if !in_user_code(mp, gp) || keeps_p(gp) {
        return;
    }
    if asked == Asked::WaitForTurn && spared < MAX_SPARED && in_libc(pc) {
        mp.ext.spared.store(spared + 1, Ordering::Relaxed);
        return;
    }
    match mp.p.peek() {
        Some(pp)
            if detach_always()
                || mp.ext.asked_in.load(Ordering::Relaxed) == pp.schedtick.load(Ordering::Relaxed) =>
        {
            detach(mp, pp, asked);
        }
        // Another goroutine was asked.
        Some(_) => return,
        None if mp.ext.detached_since.load(Ordering::Relaxed) == 0 => return,
        None => {}
    }
    if asked == Asked::WaitForTurn {
        if wait_for_turn(mp, Turn::Kept) {
            attached(mp);
        } else {
            // The goroutine may compute for a while before it is asked again.
            mp.ext.cpu_seen.store(this_thread_cpu_time(), Ordering::Relaxed);
        }
    }
}

/// Whether `gp` isn't in a function of the runtime's that relies on the P of `mp`. `gp` may be
/// leaving its stack for g0's, which then finds no P, or coming from there. It may also be in a
/// handler of the program's.
pub(in crate::runtime) fn in_user_code(mp: &M, gp: &G) -> bool {
    mp.runs(gp)
        && mp.locks.get() == 0
        && mp.mallocing.get() == 0
        && mp.preemptoff.get().is_null()
        && !mp.isextra.get()
        // Code on a copying stack has checks, and between them hardly the room that a signal may
        // need.
        && gp.ext.kind.get() != StackKind::Copying
        && readgstatus(gp) & !GSCAN == GRUNNING
        // If not null, the goroutine reads registers from a block that is on its P's list already:
        // see `preempt/xregs.rs`.
        && gp.ext.x_regs.get().is_null()
}

/// Lets the P of `mp` go.
fn detach(mp: &'static M, pp: &'static P, asked: Asked) {
    if pp.status.load(Ordering::Relaxed) != PRUNNING {
        return;
    }
    sched().ext.detachments[asked as usize - 1].fetch_add(1, Ordering::Relaxed);
    sched().ext.ndetached.fetch_add(1, Ordering::Relaxed);
    let now = nanotime();
    mp.ext.detached_since.store(now, Ordering::Relaxed);
    if asked == Asked::WaitForTurn {
        pp.ext.last_turn.ended.store(now, Ordering::Relaxed);
    }
    mp.ext.cpu_seen.store(this_thread_cpu_time(), Ordering::Relaxed);
    // The time slice ends with this goroutine: the next goroutine on the P gets a slice of its own.
    pp.preempt.store(exploring(), Ordering::Relaxed);
    mp.syscalltick.set(pp.syscalltick.load(Ordering::Relaxed));
    pp.m.set(None);
    mp.oldp.set(Some(pp));
    mp.p.set(None);
    pp.ext.detached_from.set(Some(mp));
    pp.ext.trace_marks.left_at(&mp.ext.trace_buffer);
    // Stored last: from here on the P belongs to the thread that changes the status. The store
    // pairs with that thread's CAS, in take_from_syscall or exitsyscallfast. SeqCst: see
    // `P::status`.
    pp.status.store(PSYSCALL, Ordering::SeqCst);
    wake_sysmon_from_signal();
}

/// Notes that the goroutine of `mp` isn't detached any more: it has a P, is in a system call, or
/// has left.
#[cold]
#[inline(never)]
pub(super) fn attached(mp: &M) {
    let since = mp.ext.detached_since.swap(0, Ordering::Relaxed);
    if since != 0 {
        sched().ext.ndetached.fetch_sub(1, Ordering::Relaxed);
        sched().ext.detached_time.fetch_add(nanotime() - since, Ordering::Relaxed);
    }
}

/// Gets a P for `mp`, which has none, if one is free: the P that it had, or an idle one. The caller
/// holds `mp`, or is on g0.
fn get_p(mp: &'static M) -> bool {
    let oldp = mp.oldp.get();
    mp.oldp.set(None);
    let got = exitsyscallfast(mp, oldp);
    if got {
        mp.p().inspect(|pp| pp.ext.detached_from.set(None));
        attached(mp);
    }
    got
}

/// Called on g0 when the goroutine of `mp`, which has lost its P, leaves `mp`. Gets a P for what
/// `mp` does next, if one is free.
pub(super) fn leave_m(mp: &'static M) -> bool {
    let got = get_p(mp);
    attached(mp);
    got
}

/// Gets a P for `mp`; if none is free, waits for its turn. Called on g0.
#[cold]
#[inline(never)]
pub(super) fn need_p(mp: &'static M) {
    if !get_p(mp) {
        wait_for_turn(mp, Turn::Needed);
        attached(mp);
    }
}

/// Returns the running goroutine and its M, which has a P and keeps it. Waits for a P if the M's
/// was taken. Called where a goroutine can park.
pub(in crate::runtime) fn hold_with_p() -> (&'static G, &'static M, Held) {
    let (gp, mp) = goroutine();
    // The M is held while the goroutine waits, too. Otherwise the handler of a signal might wait
    // for another P meanwhile.
    let held = hold_p(mp);
    if held.p().is_none() && !get_p(mp) {
        systemstack_scannable(|| {
            // The status is waiting, so that the goroutine can be suspended meanwhile: the
            // suspender may have the P that the goroutine waits for.
            cas_g_to_waiting(gp, GRUNNING, WaitReason::Preempted);
            need_p(mp);
            cas_g_from_waiting(gp);
        });
    }
    (gp, mp, held)
}

/// Keeps the caller on its P; returns the P's number. Go's `procPin`.
pub(crate) fn proc_pin() -> i32 {
    let (_, _, held) = hold_with_p();
    let Some(pp) = held.p() else { throw("procPin: no p") };
    mem::forget(held);
    pp.id.get()
}

/// Undoes [`proc_pin`]. Go's `procUnpin`.
pub(crate) fn proc_unpin() {
    releasem(Some(getm()));
}
