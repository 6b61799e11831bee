//! `count` as a compiler for x86-64 would emit it.

use std::arch::global_asm;

use crate::sum;

// The frame: check, seal, next and value at 8, 16, 24 and 32 below the saved rbp. The function
// begins with the check that compilers emit: asm/x86_64/morestack.S explains it.
global_asm!(
    ".p2align 4",
    ".globl count, count_end",
    ".hidden count, count_end",
    "count:",
    "    .cfi_startproc",
    "    cmp rsp, fs:[0x70]",
    "    jae 1f",
    "    mov r10d, 48",
    "    xor r11d, r11d",
    "    call {morestack}",
    "    ret",
    "1:  push rbp",
    "    .cfi_def_cfa_offset 16",
    "    .cfi_offset rbp, -16",
    "    mov rbp, rsp",
    "    .cfi_def_cfa_register rbp",
    "    sub rsp, 32",
    "    lea rax, [rbp - 32]",
    "    mov [rbp - 32], rdi",
    "    mov [rbp - 24], rsi",
    "    mov [rbp - 16], rax",
    "    mov [rbp - 8], rax",
    "    not qword ptr [rbp - 8]",
    "    mov rsi, rax",
    "    test rdi, rdi",
    "    jz 2f",
    "    dec rdi",
    "    call count",
    "    jmp 3f",
    "2:  mov rdi, rsi",
    "    call {sum}",
    "3:  leave",
    "    .cfi_def_cfa rsp, 8",
    "    ret",
    "    .cfi_endproc",
    "count_end:",
    morestack = sym __morestack,
    sum = sym sum,
);

unsafe extern "C" {
    fn __morestack();
}
