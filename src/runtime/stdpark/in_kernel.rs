//! Calls that may block their thread, on a goroutine: where the kernel has no other way to wait.

use crate::runtime::g::explored::{exploring, is_explored};
use crate::runtime::m::sigstack::with_signals_blocked;
use crate::runtime::sched::syscall::{entersyscall, exitsyscall};
use crate::runtime::stdpark::gate::may_park;

/// Makes a call that a signal doesn't end. Others have the P meanwhile.
pub(super) fn hand_on(call: &dyn Fn() -> isize) -> isize {
    if may_hand_on() { in_syscall(call) } else { call() }
}

/// Makes a call that a signal ends. The runtime sends none to a thread in such a call, but one may
/// be on its way: it would have a write return a part, or a wait fail with `EINTR`. A goroutine
/// that keeps its P gets the signal: it is what takes the P away.
pub(super) fn in_kernel(call: &dyn Fn() -> isize) -> isize {
    if may_hand_on() { in_syscall(&|| with_signals_blocked(call)) } else { call() }
}

/// Whether the caller may give its P away. An explored goroutine keeps its turn.
fn may_hand_on() -> bool {
    may_park().is_some_and(|gp| !(exploring() && is_explored(gp)))
}

#[inline(never)]
fn in_syscall(call: &dyn Fn() -> isize) -> isize {
    // SAFETY: on a goroutine that may park, and so holds no lock of the runtime's. It has
    // thread-locals of its own, and may go on on another thread.
    unsafe {
        entersyscall();
        let ret = call();
        exitsyscall();
        ret
    }
}
