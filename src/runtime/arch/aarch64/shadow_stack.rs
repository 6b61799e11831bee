//! Shadow stacks: the processor's own list of return addresses (GCS). A switch of stacks would have
//! to switch it, too.

/// The way to run a program without shadow stacks.
pub(in crate::runtime) const WITHOUT_SHADOW_STACK: &str =
    "run it with GLIBC_TUNABLES=glibc.cpu.aarch64_gcs=0, or link it without -z gcs=always";

/// Whether this thread's returns are compared with a shadow stack.
pub(in crate::runtime) fn has_shadow_stack() -> bool {
    const PR_GET_SHADOW_STACK_STATUS: libc::c_int = 74;
    const PR_SHADOW_STACK_ENABLE: libc::c_ulong = 1;
    let (mut status, none): (_, libc::c_ulong) = (0, 0);
    // SAFETY: the kernel writes a word. A kernel without shadow stacks doesn't know the request.
    let ret = unsafe { libc::prctl(PR_GET_SHADOW_STACK_STATUS, &raw mut status, none, none, none) };
    ret == 0 && status & PR_SHADOW_STACK_ENABLE != 0
}
