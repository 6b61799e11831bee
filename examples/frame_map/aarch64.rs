//! `count` as a compiler for aarch64 would emit it.

use std::arch::global_asm;
use std::mem::offset_of;

use gosched::runtime2::G;

use crate::sum;

// The frame: check, seal, next and value at 8, 16, 24 and 32 below the frame record. The check of
// the stack comes after the frame is made, and is for the frame of the next call: before that, the
// check's `bl` would overwrite x30, the return address.
global_asm!(
    ".p2align 2",
    ".globl count, count_end",
    ".hidden count, count_end",
    "count:",
    "    .cfi_startproc",
    "    stp x29, x30, [sp, #-16]!",
    "    .cfi_def_cfa_offset 16",
    "    .cfi_offset x29, -16",
    "    .cfi_offset x30, -8",
    "    mov x29, sp",
    "    .cfi_def_cfa_register x29",
    "    sub sp, sp, #32",
    "    sub x9, x29, #32",
    "    mvn x10, x9",
    "    stp x0, x1, [x9]",
    "    stp x9, x10, [x9, #16]",
    "    bl gosched_getg",
    "    ldr x10, [x0, #{stackguard0}]",
    "    cmp sp, x10",
    "    b.hs 1f",
    "    mov x16, #48",
    "    bl gosched_morestack",
    "1:  sub x1, x29, #32",
    "    ldr x0, [x1]",
    "    cbz x0, 2f",
    "    sub x0, x0, #1",
    "    bl count",
    "    b 3f",
    "2:  mov x0, x1",
    "    bl {sum}",
    "3:  mov sp, x29",
    "    .cfi_def_cfa_register sp",
    "    ldp x29, x30, [sp], #16",
    "    .cfi_def_cfa_offset 0",
    "    .cfi_restore x29",
    "    .cfi_restore x30",
    "    ret",
    "    .cfi_endproc",
    "count_end:",
    stackguard0 = const offset_of!(G, stackguard0),
    sum = sym sum,
);
