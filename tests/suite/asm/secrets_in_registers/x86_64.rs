//! Code that keeps secrets in registers, on x86-64.

use std::arch::global_asm;
use std::ffi::c_void;

/// How many [`keep`] has: one in each register that a call preserves, one in its frame.
pub const KEPT: u64 = 7;

global_asm!(
    ".globl keep, keep_in_alloca",
    ".hidden keep, keep_in_alloca",
    "keep:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "not rdi",
    "lea rbx, [rdi + 1]",
    "lea rbp, [rdi + 2]",
    "lea r12, [rdi + 3]",
    "lea r13, [rdi + 4]",
    "lea r14, [rdi + 5]",
    "lea r15, [rdi + 6]",
    "lea rdi, [rdi + 7]",
    "push rdi",
    "mov rdi, rdx",
    "call rsi",
    "pop rdi",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
    "keep_in_alloca:",
    "push rbp",
    "mov rbp, rsp",
    "push rbx",
    "push r12",
    "mov r12, rsi",
    "mov rbx, rdi",
    "mov edi, 8192",
    "call __morestack_allocate_stack_space",
    "not rbx",
    "lea rbx, [rbx + 1]",
    "mov [rax + 4096], rbx",
    "xor ebx, ebx",
    "call r12",
    "lea rsp, [rbp - 16]", // what was taken is below
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
);

/// Does something meanwhile, with the pointer that it is passed.
pub type Meanwhile = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" {
    /// Calls `f(arg)` with the numbers after `!complement` in rbx, rbp, r12 to r15, and its frame.
    pub fn keep(complement: u64, f: Meanwhile, arg: *mut c_void);
    fn keep_in_alloca(complement: u64, f: Meanwhile);
}

/// Calls `f` with the number after `!complement` in what it has got from `alloca`.
pub const KEEP_IN_ALLOCA: Option<unsafe extern "C" fn(complement: u64, f: Meanwhile)> = Some(keep_in_alloca);
