//! Code that reaches the end of its stack, on x86-64.

use std::arch::{asm, global_asm};

// Code with a frame map. A check written by hand makes its stack grow, while the address of a local
// is in its frame twice, at 8 and 16 below the frame pointer. Returns whether the first has moved
// with the stack, plus 2 if the second has.
global_asm!(
    ".p2align 4",
    ".globl mapped, mapped_end",
    ".hidden mapped, mapped_end",
    "mapped:",
    "    push rbp",
    "    mov rbp, rsp",
    "    sub rsp, 32",
    "    lea rax, [rbp - 32]",
    "    mov [rbp - 8], rax",
    "    mov [rbp - 16], rax",
    "    xor eax, eax",
    "    mov r10d, 100000",
    "    call {morestack}",
    "    lea rcx, [rbp - 32]",
    "    cmp rcx, [rbp - 8]",
    "    sete al",
    "    xor edx, edx",
    "    cmp rcx, [rbp - 16]",
    "    sete dl",
    "    lea eax, [rax + 2 * rdx]",
    "    leave",
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
    unsafe { asm!("call {}", sym gosched_morestack, inout("r10") 1_usize << 40 => _, out("r11") _) };
}

/// Calls `f` with `bytes` bytes less of stack.
pub fn call_below(bytes: usize, f: extern "C" fn()) {
    // SAFETY: calls a function without arguments; rsp is back when it has returned.
    unsafe {
        asm!(
            "mov r12, rsp",
            "sub rsp, {bytes}",
            "and rsp, -16",
            "call {f}",
            "mov rsp, r12",
            bytes = in(reg) bytes,
            f = in(reg) f,
            out("r12") _,
            clobber_abi("C"),
        );
    }
}
