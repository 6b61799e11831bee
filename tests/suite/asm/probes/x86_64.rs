//! Heads of functions with large frames, as gcc's `-fstack-clash-protection` makes them on x86-64.

use std::arch::global_asm;

// Each touches the pages of its frame, and returns.
//
// - `probes_constant`: has a frame of a few pages, each touched by an instruction of its own;
// - `probes_loop`: has a loop, which finds the frame by r11;
// - `probes_variable`: has a frame pointer, and takes as much as its argument says;
// - `probes_waits`: stays in such a loop as long as there is a zero at its argument;
// - `probes_astray`: never ends, and its CFI leads an unwinder to a page that doesn't exist.
global_asm!(
    ".p2align 4",
    ".globl probes_constant, probes_loop, probes_variable, probes_waits, probes_astray",
    ".hidden probes_constant, probes_loop, probes_variable, probes_waits, probes_astray",
    ".type probes_constant, @function",
    "probes_constant:",
    "    .cfi_startproc",
    ".rept 3",
    "    sub rsp, 4096",
    "    .cfi_adjust_cfa_offset 4096",
    "    or qword ptr [rsp], 0",
    ".endr",
    "    add rsp, 12288",
    "    .cfi_adjust_cfa_offset -12288",
    "    ret",
    "    .cfi_endproc",
    ".size probes_constant, . - probes_constant",
    ".type probes_loop, @function",
    "probes_loop:",
    "    .cfi_startproc",
    "    lea r11, [rsp - 1048576]",
    "    .cfi_def_cfa r11, 1048584",
    "2:",
    "    sub rsp, 4096",
    "    or qword ptr [rsp], 0",
    "    cmp rsp, r11",
    "    jne 2b",
    "    .cfi_def_cfa_register rsp",
    "    add rsp, 1048576",
    "    .cfi_def_cfa_offset 8",
    "    ret",
    "    .cfi_endproc",
    ".size probes_loop, . - probes_loop",
    ".type probes_variable, @function",
    "probes_variable:",
    "    .cfi_startproc",
    "    push rbp",
    "    .cfi_def_cfa_offset 16",
    "    .cfi_offset rbp, -16",
    "    mov rbp, rsp",
    "    .cfi_def_cfa_register rbp",
    "    and rdi, -4096",
    "    mov rdx, rsp",
    "    sub rdx, rdi",
    "2:",
    "    sub rsp, 4096",
    "    or qword ptr [rsp + 4088], 0",
    "    cmp rsp, rdx",
    "    jne 2b",
    "    leave",
    "    .cfi_def_cfa rsp, 8",
    "    ret",
    "    .cfi_endproc",
    ".size probes_variable, . - probes_variable",
    ".type probes_waits, @function",
    "probes_waits:",
    "    .cfi_startproc",
    "    lea r11, [rsp - 40960]",
    "    .cfi_def_cfa r11, 40968",
    "2:",
    "    pause",
    "    cmp byte ptr [rdi], 0",
    "    je 2b",
    "    .cfi_def_cfa rsp, 8",
    "    ret",
    "    .cfi_endproc",
    ".size probes_waits, . - probes_waits",
    ".type probes_astray, @function",
    "probes_astray:",
    "    .cfi_startproc",
    "    mov eax, 4096",
    "    .cfi_def_cfa rax, 0",
    "2:",
    "    sub rsp, 4096",
    "    or qword ptr [rsp], 0",
    "    jmp 2b",
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
