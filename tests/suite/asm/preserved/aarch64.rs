//! The registers that a call preserves on aarch64: the callee-saved ones, and fpcr.

use std::arch::{asm, naked_asm};

/// The registers that [`with_registers`] loads and stores.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// x19 to x29.
    x: [u64; 11],
    /// d8 to d15.
    d: [u64; 8],
    fpcr: u64,
}

/// Calls `f` with the registers as in `loaded`, and notes in `found` their values when it returns.
///
/// ```text
///     | caller's fpcr, found       | 160
///     | caller's d8-d15, x19-x28   | 16
///     | return address             |
///     | caller's x29               | <- sp at the call
/// ```
///
/// # Safety
/// `f` keeps the C ABI; both pointers are valid.
#[unsafe(naked)]
pub unsafe extern "C" fn with_registers(
    f: unsafe extern "C" fn(),
    loaded: *const Registers,
    found: *mut Registers,
) {
    naked_asm!(
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
        "mrs x9, fpcr",
        "stp x9, x2, [sp, #160]",
        "ldp x19, x20, [x1]",
        "ldp x21, x22, [x1, #16]",
        "ldp x23, x24, [x1, #32]",
        "ldp x25, x26, [x1, #48]",
        "ldp x27, x28, [x1, #64]",
        "ldr x29, [x1, #80]",
        "ldp d8, d9, [x1, #88]",
        "ldp d10, d11, [x1, #104]",
        "ldp d12, d13, [x1, #120]",
        "ldp d14, d15, [x1, #136]",
        "ldr x9, [x1, #152]",
        "msr fpcr, x9",
        "blr x0",
        "ldp x10, x2, [sp, #160]",
        "stp x19, x20, [x2]",
        "stp x21, x22, [x2, #16]",
        "stp x23, x24, [x2, #32]",
        "stp x25, x26, [x2, #48]",
        "stp x27, x28, [x2, #64]",
        "str x29, [x2, #80]",
        "stp d8, d9, [x2, #88]",
        "stp d10, d11, [x2, #104]",
        "stp d12, d13, [x2, #120]",
        "stp d14, d15, [x2, #136]",
        "mrs x9, fpcr",
        "str x9, [x2, #152]",
        "msr fpcr, x10",
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
    )
}

impl Registers {
    /// Puts `word(n)` into the n-th register. `pattern` selects a rounding, flush-to-zero and
    /// default NaN's for fpcr; without a pattern fpcr has its default.
    pub fn new(word: impl Fn(u64) -> u64, pattern: Option<u32>) -> Registers {
        Registers {
            x: std::array::from_fn(|i| word(i as u64 + 1)),
            d: std::array::from_fn(|i| word(i as u64 + 12)),
            fpcr: pattern.map_or(0, |pattern| u64::from(pattern & 0xf) << 22),
        }
    }
}

/// Sets fpcr to a value with which no goroutine starts, like a C function that sets the rounding
/// and returns.
pub fn spoil_control_words() {
    // SAFETY: nothing computes before this returns.
    unsafe { asm!("msr fpcr, {}", in(reg) 0x03c0_0000_u64) };
}

/// Returns whether fpcr has its default.
pub fn control_words_are_default() -> bool {
    let fpcr: u64;
    // SAFETY: a copy of a register.
    unsafe { asm!("mrs {}, fpcr", out(reg) fpcr) };
    fpcr == 0
}
