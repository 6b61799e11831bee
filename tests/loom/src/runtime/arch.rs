//! Stand-ins: the running goroutine, which no model asks for; and stacks: each thread has one.

use std::cell::Cell;

use crate::runtime::data::runtime2::G;

#[path = "../../../../src/runtime/arch/tsan.rs"]
pub(crate) mod tsan;

/// The stack pointer of each goroutine.
pub(crate) const SP: usize = 2;

unsafe extern "C" {
    fn gosched_reentersyscall(pc: usize, sp: usize, bp: usize);
}

pub(crate) fn prefetch<T>(_: *const T) {}

pub(crate) fn getg() -> Option<&'static G> {
    None
}

pub(crate) fn stack_pointer() -> usize {
    SP
}

loom::thread_local! {
    /// How often this thread has switched to g0's stack.
    static ON_G0: Cell<u32> = Cell::new(0);
}

/// Returns whether this thread has switched to g0's stack, unless it did so for a whole model.
pub(crate) fn on_g0() -> bool {
    ON_G0.with(Cell::get) != 0
}

pub(crate) fn systemstack<R>(f: impl FnOnce() -> R) -> R {
    ON_G0.with(|depth| depth.set(depth.get() + 1));
    let r = f();
    ON_G0.with(|depth| depth.set(depth.get() - 1));
    r
}

pub(crate) fn systemstack_scannable<R>(f: impl FnOnce() -> R) -> R {
    systemstack(f)
}

pub(crate) unsafe fn mcall(_: unsafe extern "C" fn(*mut G) -> !) {
    unreachable!("no model leaves a stack")
}

pub(crate) unsafe fn entersyscall_here() {
    // SAFETY: this is what the assembly does.
    unsafe { gosched_reentersyscall(0, SP, 0) }
}

pub(crate) unsafe fn entersyscallblock_here() {
    unreachable!("no model hands its P on by itself")
}

/// System calls. The only one maps the table of descriptors.
pub(crate) mod syscall {
    /// No model looks at errno.
    pub(crate) fn keeping_errno<R>(f: impl FnOnce() -> R) -> R {
        f()
    }

    macro_rules! syscall {
        (SYS_mmap, 0, $len:expr, $access:expr, $flags:expr, -1_isize, 0) => {{
            let _: (usize, libc::c_int, libc::c_int) = ($len, $access, $flags);
            $crate::runtime::stdpark::numbers::map_entries()
        }};
    }
    pub(crate) use syscall;
}
