//! Shadow stacks: the processor's own list of return addresses (CET). A switch of stacks would have
//! to switch it, too.

use crate::runtime::arch::syscall::syscall;

/// The way to run a program without shadow stacks.
pub(in crate::runtime) const WITHOUT_SHADOW_STACK: &str =
    "run it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off, or link it without -z shstk";

/// Whether this thread's returns are compared with a shadow stack.
pub(in crate::runtime) fn has_shadow_stack() -> bool {
    const ARCH_SHSTK_STATUS: libc::c_int = 0x5005;
    const ARCH_SHSTK_SHSTK: u64 = 1;
    let mut features = 0_u64;
    // SAFETY: the kernel writes a word. A kernel without shadow stacks doesn't know the request.
    let ret = unsafe { syscall!(SYS_arch_prctl, ARCH_SHSTK_STATUS, &raw mut features) };
    ret == 0 && features & ARCH_SHSTK_SHSTK != 0
}
