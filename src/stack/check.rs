//! Checks made by hand.

use crate::arch::morestack_check;

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
