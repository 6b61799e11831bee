//! Checks of the stack that are written by hand, where no compiler makes them, and the limit word
//! that compilers' checks compare rsp with.
//!
//! The limit word is in the thread's own memory, which is gone when the thread is. So the M has the
//! word's address as long as there is a thread, and a thread that writes to another thread's word
//! holds the M's lock meanwhile.

use std::sync::atomic::Ordering;

use crate::runtime::arch::tsan;
use crate::runtime::arch::{morestack_check, stack_limit, thread_pointer};
use crate::runtime::data::runtime2::{G, M};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::sizes::{LARGE_FRAMES, STACK_PREEMPT};

/// The bytes that the runtime's own functions may need in addition to
/// [`STACK_GUARD`](crate::runtime::mem::sizes::STACK_GUARD), which is reserved for them.
pub(crate) const ENTRY_ROOM: usize = if LARGE_FRAMES { 4096 } else { 0 };

/// Checks the stack at the head of a function of the runtime that is called on copying stacks and
/// takes more than a few words of stack. `tests/suite/raw/stack_use.rs` measures how much such
/// functions take.
///
/// The function itself must not be inlined. So its frame is made after the check, and the address
/// of a thread-local isn't kept across a point that may park.
#[inline(always)]
pub(crate) fn entry_check() {
    morestack_check(ENTRY_ROOM);
}

/// Stops the goroutine if it is asked to stop: a check that asks for no room.
#[inline(always)]
pub(crate) fn stop_if_asked() {
    morestack_check(0);
}

/// Calls `f` with `n` bytes of stack below the caller's frame: for
/// [`morestack_check!`](crate::morestack_check).
#[doc(hidden)]
#[inline(always)]
pub fn with_stack<R>(n: usize, f: impl FnOnce() -> R) -> R {
    #[inline(never)]
    fn call<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
    morestack_check(n);
    call(f)
}

/// `morestack_check!(bytes, f, args..)` makes sure that `bytes` bytes of stack remain below the
/// caller's frame, then calls `f(args..)` and returns its result. Go's compiler puts such a check,
/// and the call of `morestack`, into each prologue; in Rust the check is made before the call, and
/// `f` isn't inlined.
///
/// A copying stack without room is moved, and every address in it that points into it is adjusted.
/// A fixed stack without room, or a copying stack that would be larger than
/// [`set_max_stack`](crate::proc::set_max_stack) allows, ends the process with a report. On a
/// thread that isn't ours nothing is checked; g0's stack never grows.
///
/// A goroutine that is asked to stop stops at a check: others may run before `f` is called, and `f`
/// may be called on another thread. Nothing obtained from a thread-local may be kept across a
/// check.
///
/// `bytes` is for the frame of `f`, with some 100 bytes for the call, and for the frames of all
/// that `f` calls without a check of their own. The arguments are evaluated after the check. [What
/// code on copying stacks must do](crate::proc::copying_stacks) has the rest.
///
/// ```
/// use gosched::morestack_check;
///
/// fn depth(tree: &[Vec<usize>], node: usize) -> usize {
///     // In a debug build, with its larger frames, 1,000 bytes are enough.
///     let below = tree[node].iter().map(|&child| morestack_check!(1_000, depth, tree, child));
///     1 + below.max().unwrap_or(0)
/// }
/// assert_eq!(depth(&[vec![1, 2], vec![], vec![3], vec![]], 0), 3);
/// ```
#[macro_export]
macro_rules! morestack_check {
    ($n:expr, $f:expr $(, $arg:expr)* $(,)?) => {
        $crate::proc::with_stack($n, || $f($($arg),*))
    };
}

/// Lets other threads find this thread's limit word.
pub(in crate::runtime) fn remember_stack_limit(mp: &M) {
    lock(&mp.ext.stack_limit_lock);
    // SAFETY: the thread pointer is this thread's own.
    mp.ext.stack_limit.set(unsafe { stack_limit(thread_pointer()) });
    unlock(&mp.ext.stack_limit_lock);
}

/// Undoes [`remember_stack_limit`], before the thread ends.
pub(in crate::runtime) fn forget_stack_limit(mp: &M) {
    lock(&mp.ext.stack_limit_lock);
    mp.ext.stack_limit.set(None);
    unlock(&mp.ext.stack_limit_lock);
}

/// Makes the next check of `gp`, which runs on the thread of `mp`, fail, as a rule.
///
/// If that thread is just switching stacks, it may overwrite the word, or the check of another
/// goroutine or of the scheduler fails instead. So a thread that asks a goroutine to stop this way
/// asks again, and a goroutine that wasn't asked goes on.
pub(in crate::runtime) fn poison_stack_limit(mp: &M, gp: &G) {
    if gp.ext.tp.get() != 0 {
        // SAFETY: the word is the goroutine's own, in its home, which is never unmapped. At worst
        // the goroutine has ended, and the next goroutine there sets the word when it begins.
        if let Some(limit) = unsafe { stack_limit(gp.ext.tp.get()) } {
            limit.store(STACK_PREEMPT, Ordering::Relaxed);
        }
        return;
    }
    lock(&mp.ext.stack_limit_lock);
    if let Some(limit) = mp.ext.stack_limit.get() {
        // Relaxed: the store publishes nothing. If newstack doesn't see the request yet, this
        // poisoning is lost, and is done again.
        tsan::ignore_accesses(|| limit.store(STACK_PREEMPT, Ordering::Relaxed));
    }
    unlock(&mp.ext.stack_limit_lock);
}
