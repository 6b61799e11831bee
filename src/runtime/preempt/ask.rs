//! Asking a running goroutine to stop: Go's `preemptone` and `preemptM`.

use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::base::debug::async_preempt_off;
use crate::runtime::base::os::{SIG_PREEMPT, signal_m};
use crate::runtime::base::this::this_m;
use crate::runtime::data::runtime2::{G, M, P};
use crate::runtime::mem::sizes::STACK_PREEMPT;
use crate::runtime::mem::stack_limit::poison_stack_limit;
use crate::runtime::preempt::asked::Asked;
use crate::runtime::preempt::preemptible;

/// How long a goroutine may run before it is asked to stop. Go's `forcePreemptNS`.
pub(in crate::runtime) const FORCE_PREEMPT_NS: i64 = 10 * 1000 * 1000;

/// Asks the goroutine that runs on `pp` to stop; says whether one does, other than the caller's.
///
/// Best effort: another goroutine may run there by then, or none, and the request may get lost. A
/// caller that must have it stopped asks again. Go's `preemptone`.
pub(in crate::runtime) fn preemptone(pp: &P) -> bool {
    let Some(mp) = other_m(pp) else { return false };
    // Also if the M is between two goroutines, as one that switches all the time often is: the
    // slice ends.
    pp.preempt.store(true, Ordering::Relaxed);
    let Some(gp) = mp.curg.get().filter(|gp| !ptr::eq(*gp, &mp.ext.g0)) else { return false };
    ask(mp, gp);
    preempt_m(mp);
    true
}

/// The M that has `pp`, unless it is this thread's.
pub(in crate::runtime) fn other_m(pp: &P) -> Option<&'static M> {
    // Acquire pairs with wirep.
    let mp = pp.m.load(Ordering::Acquire)?;
    (!this_m().is_some_and(|mine| ptr::eq(mp, mine))).then_some(mp)
}

/// Makes the stack checks of `gp`, which runs on `mp`, fail.
pub(in crate::runtime) fn ask(mp: &M, gp: &G) {
    gp.preempt.store(true, Ordering::Relaxed);
    gp.stackguard0.store(STACK_PREEMPT, Ordering::Relaxed);
    poison_stack_limit(mp, gp);
}

/// Sends a preemption signal to the thread of `mp`, unless one is on its way. Sends none where it
/// would be of no use: it might cut a system call of that thread short for nothing. Go's
/// `preemptM`.
pub(in crate::runtime) fn preempt_m(mp: &M) {
    if preemptible::any() {
        send(mp);
    }
}

/// Asks the goroutine of `mp` for something that a signal handler does, if it is still that which
/// runs in this time slice, or has no P.
pub(in crate::runtime) fn ask_by_signal(mp: &M, what: Asked, schedtick: u32) {
    mp.ask(what, schedtick);
    send(mp);
}

/// Sends the signal, unless one is on its way. A thread that isn't ours has an M only while it
/// waits for something, and runs no code for long; and its signal stack, if it has one, may be too
/// small for this CPU's vector registers.
fn send(mp: &M) {
    if async_preempt_off() || mp.isextra.get() {
        return;
    }
    if let Some(thread) = mp.send_signal()
        && !signal_m(thread, SIG_PREEMPT)
    {
        mp.signal_not_sent();
    }
}
