//! The P in a child of `fork`. The child has one thread, and copies of the parent's queues: a
//! goroutine that let others run there would run those that the parent runs, too.

use std::sync::atomic::Ordering;

use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::this_m;
use crate::runtime::data::runtime2::P;

/// [`P::run_safe_point_fn`] in a child of `fork`: the P is asked to stop, and there is no function
/// to run.
const FORKED: u32 = 2;

/// Has each child of `fork` mark the P of its thread: see [`end_if_forked`].
pub(in crate::runtime) fn mark_children_of_fork() {
    unsafe extern "C" fn mark_p() {
        // Nobody takes the P meanwhile: the child has no sysmon.
        if let Some(pp) = this_m().and_then(|mp| mp.p.peek()) {
            pp.run_safe_point_fn.store(FORKED, Ordering::Relaxed);
        }
    }
    // SAFETY: the handler reads thread-locals and stores to an atomic. If there is no memory to
    // register it, children aren't marked.
    unsafe { libc::pthread_atfork(None, None, Some(mark_p)) };
}

/// Ends the process if it is a child of `fork`. `pp` is about to run another goroutine.
pub(in crate::runtime) fn end_if_forked(pp: &P) {
    if pp.run_safe_point_fn.load(Ordering::Relaxed) == FORKED {
        eprintln!(
            "fatal error: a goroutine waits, yields or ends in a child of fork, where no other can run: \
             the child may call exec or _exit"
        );
        // SAFETY: it ends this process, without the parent's handlers of exit.
        unsafe { libc::_exit(2) };
    }
}
