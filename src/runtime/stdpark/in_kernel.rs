//! Calls that may block their thread, on a goroutine: where the kernel has no other way to wait.

use crate::runtime::g::explored::{exploring, is_explored};
use crate::runtime::m::sigstack::with_signals_blocked;
use crate::runtime::sched::syscall::{entersyscall, exitsyscall};
use crate::runtime::stdpark::gate::may_park;

/// Makes a call that a signal doesn't end. Others have the P meanwhile.
#[inline(never)]
pub(super) fn hand_on(call: &dyn Fn() -> isize) -> isize {
    // An explored goroutine keeps its turn.
    if may_park().is_none_or(|gp| exploring() && is_explored(gp)) {
        return call();
    }
    // SAFETY: on a goroutine that may park, and so holds no lock of the runtime's. It has
    // thread-locals of its own, and may go on on another thread.
    unsafe {
        entersyscall();
        let ret = call();
        exitsyscall();
        ret
    }
}

/// Makes a call that a signal ends. The runtime sends none to a thread in such a call, but one may
/// be on its way: it would have a write return a part, or a wait fail with `EINTR`.
pub(super) fn in_kernel(call: &dyn Fn() -> isize) -> isize {
    hand_on(&|| with_signals_blocked(call))
}
