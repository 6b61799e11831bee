//! Code that reaches the end of its stack, on aarch64.

use std::arch::{asm, global_asm};

// Code with a frame map. A check written by hand makes its stack grow, while the address of a local
// is in its frame twice, at 8 and 16 below the frame pointer. Returns whether the first has moved
// with the stack, plus 2 if the second has.
global_asm!(
    ".p2align 4",
    ".globl mapped, mapped_end",
    ".hidden mapped, mapped_end",
    "mapped:",
    "    stp x29, x30, [sp, #-16]!",
    "    mov x29, sp",
    "    sub sp, sp, #32",
    "    mov x9, sp",
    "    stp x9, x9, [x29, #-16]",
    "    mov x9, xzr",
    "    mov w16, #0x86a0", // 100,000
    "    movk w16, #1, lsl #16",
    "    bl {morestack}",
    "    sub x9, x29, #32",
    "    ldp x11, x10, [x29, #-16]",
    "    cmp x9, x10",
    "    cset w0, eq",
    "    cmp x9, x11",
    "    cset w1, eq",
    "    add w0, w0, w1, lsl #1",
    "    mov sp, x29",
    "    ldp x29, x30, [sp], #16",
    "    ret",
    "mapped_end:",
    morestack = sym gosched_morestack,
);

unsafe extern "C" {
    fn gosched_morestack();
    pub fn mapped() -> usize;
    pub fn mapped_end();
}

/// Calls morestack from code without a check, for more stack than any thread has.
pub fn ask_for_stack() {
    // SAFETY: it changes no register but these.
    unsafe {
        asm!("bl {}", sym gosched_morestack, inout("x16") 1_usize << 40 => _, out("x17") _, out("x30") _)
    };
}

/// Calls `f` with `bytes` bytes less of stack.
pub fn call_below(bytes: usize, f: extern "C" fn()) {
    // SAFETY: calls a function without arguments; sp is back when it has returned.
    unsafe {
        asm!(
            "mov x20, sp",
            "sub x9, x20, x9",
            "and sp, x9, #-16",
            "blr x10",
            "mov sp, x20",
            inout("x9") bytes => _,
            inout("x10") f => _,
            out("x20") _,
            clobber_abi("C"),
        );
    }
}
