//! Code that keeps secrets in registers, on aarch64.

use std::arch::global_asm;
use std::ffi::c_void;

/// The number of secrets of [`keep`]: one in each register that a call preserves, and one in its
/// frame.
pub const KEPT: u64 = 20;

global_asm!(
    ".globl keep",
    ".hidden keep",
    "keep:",
    "stp x29, x30, [sp, #-176]!",
    "stp x19, x20, [sp, #16]",
    "stp x21, x22, [sp, #32]",
    "stp x23, x24, [sp, #48]",
    "stp x25, x26, [sp, #64]",
    "stp x27, x28, [sp, #80]",
    "stp d8, d9, [sp, #96]",
    "stp d10, d11, [sp, #112]",
    "stp d12, d13, [sp, #128]",
    "stp d14, d15, [sp, #144]",
    "mvn x0, x0",
    "add x19, x0, #1",
    "add x20, x0, #2",
    "add x21, x0, #3",
    "add x22, x0, #4",
    "add x23, x0, #5",
    "add x24, x0, #6",
    "add x25, x0, #7",
    "add x26, x0, #8",
    "add x27, x0, #9",
    "add x28, x0, #10",
    "add x29, x0, #11",
    "add x9, x0, #12",
    "fmov d8, x9",
    "add x9, x0, #13",
    "fmov d9, x9",
    "add x9, x0, #14",
    "fmov d10, x9",
    "add x9, x0, #15",
    "fmov d11, x9",
    "add x9, x0, #16",
    "fmov d12, x9",
    "add x9, x0, #17",
    "fmov d13, x9",
    "add x9, x0, #18",
    "fmov d14, x9",
    "add x9, x0, #19",
    "fmov d15, x9",
    "add x9, x0, #20",
    "str x9, [sp, #160]",
    "mov x9, xzr",
    "mov x0, x2",
    "blr x1",
    "ldp x19, x20, [sp, #16]",
    "ldp x21, x22, [sp, #32]",
    "ldp x23, x24, [sp, #48]",
    "ldp x25, x26, [sp, #64]",
    "ldp x27, x28, [sp, #80]",
    "ldp d8, d9, [sp, #96]",
    "ldp d10, d11, [sp, #112]",
    "ldp d12, d13, [sp, #128]",
    "ldp d14, d15, [sp, #144]",
    "ldp x29, x30, [sp], #176",
    "ret",
);

/// Called meanwhile, with the pointer that `keep` is given.
pub type Meanwhile = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" {
    /// Calls `f(arg)` with the numbers after `!complement` in x19 to x29, d8 to d15, and its frame.
    pub fn keep(complement: u64, f: Meanwhile, arg: *mut c_void);
}

/// On aarch64, no compiler makes blocks from the heap in place of `alloca`.
pub const KEEP_IN_ALLOCA: Option<unsafe extern "C" fn(complement: u64, f: Meanwhile)> = None;
