//! Heads of functions with large frames, as gcc's `-fstack-clash-protection` makes them on aarch64,
//! with `--param stack-clash-protection-guard-size=12`.

use std::arch::global_asm;

// Each touches the pages of its frame, and returns.
//
// - `probes_constant`: has a frame of a few pages, each touched by an instruction of its own;
// - `probes_loop`: has a loop, which finds the frame by x12;
// - `probes_variable`: has a frame pointer, and takes as much as its argument says;
// - `probes_waits`: stays in such a loop as long as there is a zero at its argument;
// - `probes_astray`: never ends, and its CFI leads an unwinder to a page that doesn't exist.
global_asm!(
    ".p2align 4",
    ".globl probes_constant, probes_loop, probes_variable, probes_waits, probes_astray",
    ".hidden probes_constant, probes_loop, probes_variable, probes_waits, probes_astray",
    ".type probes_constant, %function",
    "probes_constant:",
    "    .cfi_startproc",
    ".rept 3",
    "    sub sp, sp, #4096",
    "    .cfi_adjust_cfa_offset 4096",
    "    str xzr, [sp, #1024]",
    ".endr",
    "    add sp, sp, #12288",
    "    .cfi_adjust_cfa_offset -12288",
    "    ret",
    "    .cfi_endproc",
    ".size probes_constant, . - probes_constant",
    ".type probes_loop, %function",
    "probes_loop:",
    "    .cfi_startproc",
    "    sub x12, sp, #1048576",
    "    .cfi_def_cfa x12, 1048576",
    "2:",
    "    sub sp, sp, #4096",
    "    str xzr, [sp, #1024]",
    "    cmp sp, x12",
    "    b.ne 2b",
    "    .cfi_def_cfa_register sp",
    "    add sp, sp, #1048576",
    "    .cfi_def_cfa_offset 0",
    "    ret",
    "    .cfi_endproc",
    ".size probes_loop, . - probes_loop",
    ".type probes_variable, %function",
    "probes_variable:",
    "    .cfi_startproc",
    "    stp x29, x30, [sp, #-16]!",
    "    .cfi_def_cfa_offset 16",
    "    .cfi_offset x29, -16",
    "    .cfi_offset x30, -8",
    "    mov x29, sp",
    "    .cfi_def_cfa_register x29",
    "    and x0, x0, #-4096",
    "    mov x1, sp",
    "    sub x1, x1, x0",
    "2:",
    "    sub sp, sp, #4096",
    "    str xzr, [sp, #1024]",
    "    cmp sp, x1",
    "    b.ne 2b",
    "    mov sp, x29",
    "    ldp x29, x30, [sp], #16",
    "    .cfi_restore x29",
    "    .cfi_restore x30",
    "    .cfi_def_cfa sp, 0",
    "    ret",
    "    .cfi_endproc",
    ".size probes_variable, . - probes_variable",
    ".type probes_waits, %function",
    "probes_waits:",
    "    .cfi_startproc",
    "    sub x12, sp, #40960",
    "    .cfi_def_cfa x12, 40960",
    "2:",
    "    yield",
    "    ldrb w1, [x0]",
    "    cbz w1, 2b",
    "    .cfi_def_cfa sp, 0",
    "    ret",
    "    .cfi_endproc",
    ".size probes_waits, . - probes_waits",
    ".type probes_astray, %function",
    "probes_astray:",
    "    .cfi_startproc",
    "    mov x9, #4096",
    "    .cfi_def_cfa x9, 0",
    "    .cfi_offset x30, -8",
    "2:",
    "    sub sp, sp, #4096",
    "    str xzr, [sp, #1024]",
    "    b 2b",
    "    .cfi_endproc",
    ".size probes_astray, . - probes_astray",
);

unsafe extern "C" {
    pub fn probes_constant();
    pub fn probes_loop();
    pub fn probes_variable(bytes: usize);
    pub fn probes_astray();
    pub fn probes_waits(until: *const bool);
}
