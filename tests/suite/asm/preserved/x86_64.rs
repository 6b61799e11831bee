//! The registers that a call preserves on x86-64: the callee-saved ones, and both control words.

use std::arch::{asm, naked_asm};

/// The registers that [`with_registers`] loads and stores.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    rbx: u64,
    rbp: u64,
    r12: u64,
    r13: u64,
    r14: u64,
    r15: u64,
    mxcsr: u32,
    fcw: u16,
    pad: u16,
}

/// Calls `f` with the registers as in `loaded`, and notes in `found` their values when it returns.
///
/// ```text
///     | return address             |
///     | caller's rbp, rbx, r12-r15 |
///     | found                      |
///     | caller's mxcsr, fcw        | <- rsp at the call
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
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push rdx",
        "sub rsp, 16",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov rax, rdi",
        "mov rbx, [rsi]",
        "mov rbp, [rsi + 8]",
        "mov r12, [rsi + 16]",
        "mov r13, [rsi + 24]",
        "mov r14, [rsi + 32]",
        "mov r15, [rsi + 40]",
        "ldmxcsr [rsi + 48]",
        "fldcw [rsi + 52]",
        "call rax",
        "mov rdx, [rsp + 16]",
        "mov [rdx], rbx",
        "mov [rdx + 8], rbp",
        "mov [rdx + 16], r12",
        "mov [rdx + 24], r13",
        "mov [rdx + 32], r14",
        "mov [rdx + 40], r15",
        "stmxcsr [rdx + 48]",
        "fnstcw [rdx + 52]",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 24",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// The defaults, which every goroutine starts with.
const MXCSR: u32 = 0x1f80;
const FCW: u16 = 0x037f;

impl Registers {
    /// Puts `word(n)` into the n-th register. `pattern` selects a rounding, flush-to-zero and
    /// denormals-are-zero, and a precision of the x87 for the control words; without a pattern
    /// these have their defaults.
    pub fn new(word: impl Fn(u64) -> u64, pattern: Option<u32>) -> Registers {
        let (mxcsr, fcw) = pattern.map_or((MXCSR, FCW), |pattern| {
            (
                MXCSR | (pattern & 3) << 13 | (pattern >> 2 & 1) << 15 | (pattern >> 3 & 1) << 6,
                FCW & !0x0f00 | (pattern as u16 & 3) << 10 | (pattern as u16 >> 1 & 2) << 8,
            )
        });
        Registers {
            rbx: word(1),
            rbp: word(2),
            r12: word(3),
            r13: word(4),
            r14: word(5),
            r15: word(6),
            mxcsr,
            fcw,
            pad: 0,
        }
    }
}

/// Sets both control words to values with which no goroutine starts, like a C function that sets
/// the rounding and returns.
pub fn spoil_control_words() {
    // SAFETY: nothing computes before this returns.
    unsafe { asm!("ldmxcsr [{}]", "fldcw [{}]", in(reg) &(MXCSR | 0xe040), in(reg) &0x0c7f_u16) };
}

/// Returns whether both control words have their defaults.
pub fn control_words_are_default() -> bool {
    let (mut mxcsr, mut fcw) = (0u32, 0u16);
    // SAFETY: stores both words.
    unsafe { asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut mxcsr, in(reg) &raw mut fcw) };
    mxcsr & 0xffc0 == MXCSR && fcw == FCW
}
