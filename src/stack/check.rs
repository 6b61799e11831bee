//! Checks made by hand.

use crate::arch::morestack_check;

/// What the runtime's own functions may need beyond [`STACK_GUARD`](crate::stack::STACK_GUARD),
/// which is there for them: without optimisation, their frames are several times as large.
const ENTRY_ROOM: usize = if cfg!(debug_assertions) { 4096 } else { 0 };

/// The check at the head of a function that is called on copying stacks and takes more than a few
/// words. `tests/stack_use.rs` measures what they take.
///
/// The function itself must not be inlined, so that its frame comes after this, and so that the
/// address of a thread-local isn't kept across what may park.
#[inline(always)]
pub(crate) fn entry_check() {
    morestack_check(ENTRY_ROOM);
}

/// Calls `f` when `n` bytes of stack remain below the caller's frame, for `f`, all that it calls
/// without a check of its own, and 200 bytes of a debug build's frames around it.
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

/// Calls a function when there is room for it on a copying stack.
#[macro_export]
macro_rules! morestack_check {
    ($n:expr, $f:expr $(, $arg:expr)* $(,)?) => {
        $crate::proc::with_stack($n, || $f($($arg),*))
    };
}
