//! The registers of x86-64, and the red zone.

use std::arch::global_asm;
use std::collections::BTreeSet;
use std::mem::offset_of;

use super::{Loop, Stops, gosched_morestack};
use crate::harness::rng::Rng;

/// The vector registers that a loop holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// xmm0 to 15.
    Sse,
    /// ymm0 to 15.
    Avx,
    /// zmm0 to 31, and k0 to 7.
    Avx512,
}

impl Vectors {
    /// The registers that every processor has.
    pub const LEAST: Vectors = Vectors::Sse;

    /// Returns the largest set that this processor has.
    pub fn of_this_processor() -> Vectors {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            Vectors::Avx512
        } else if is_x86_feature_detected!("avx") {
            Vectors::Avx
        } else {
            Vectors::Sse
        }
    }
}

/// The values of the registers.
#[repr(C, align(64))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    vectors: [[u64; 8]; 32],
    masks: [u64; 8],
    /// rax, rcx, rdx, rbx, rbp, rsi, rdi, r8 to r15.
    general: [u64; 15],
    flags: u64,
    /// The words below rsp, from the top. The remaining `rounds` follow.
    red_zone: [u64; 15],
    rounds: u64,
    x87: [i64; 8],
    mxcsr: u32,
    fcw: u32,
}

/// The positions of these in `general`.
const RAX: usize = 0;
const RCX: usize = 1;
const RDX: usize = 2;
const RBX: usize = 3;
const R10: usize = 9;
const R11: usize = 10;

/// The direction flag; the loops change the others.
const FLAGS: u64 = 1 << 10;
/// The loops don't set the sticky bits of mxcsr.
const MXCSR_CONTROL: u32 = 0xffc0;

impl Held {
    /// All zeros.
    pub fn zero() -> Self {
        Held {
            vectors: [[0; 8]; 32],
            masks: [0; 8],
            general: [0; 15],
            flags: 0,
            red_zone: [0; 15],
            rounds: 0,
            x87: [0; 8],
            mxcsr: 0,
            fcw: 0,
        }
    }

    /// Random values, for a loop of `rounds` rounds.
    pub fn random(rng: &mut Rng, vectors: Vectors, stops: Stops, rounds: u64) -> Self {
        let (registers, words) = match (vectors, stops) {
            (Vectors::Sse, _) => (16, 2),
            (Vectors::Avx, _) => (16, 4),
            (Vectors::Avx512, Stops::AtChecks) => (16, 8),
            (Vectors::Avx512, Stops::Anywhere) => (32, 8),
        };
        let mut held = Held {
            general: std::array::from_fn(|_| rng.next()),
            flags: rng.next() & FLAGS,
            red_zone: std::array::from_fn(|_| rng.next()),
            rounds,
            x87: std::array::from_fn(|_| rng.next() as i64 >> 12),
            // Any rounding, flush to zero, denormals are zero.
            mxcsr: 0x1f80 | (rng.next() as u32 & 7) << 13 | (rng.next() as u32 & 1) << 6,
            // Any rounding, and the precision of a double or the full one.
            fcw: 0x027f | (rng.next() as u32 & 3) << 10 | (rng.next() as u32 & 1) << 8,
            ..Held::zero()
        };
        for register in &mut held.vectors[..registers] {
            register[..words].fill_with(|| rng.next());
        }
        match stops {
            Stops::Anywhere if vectors == Vectors::Avx512 => held.masks.fill_with(|| rng.next()),
            Stops::Anywhere => {}
            Stops::AtChecks => {
                (held.general[R10], held.general[R11]) = (0, 0);
                held.flags = 0;
                held.x87 = [0; 8];
            }
        }
        held
    }

    /// Returns the values that are in a register or in the red zone at each instruction of the
    /// loop. That excludes rax, rbx, r9, some vectors and a word of the red zone, which the loop
    /// changes, and r10 and r11, which a check needs.
    pub fn kept(&self) -> BTreeSet<u64> {
        let general = [1, 2, 4, 5, 6, 7, 11, 12, 13, 14].map(|i| self.general[i]);
        let vectors = (0..32).filter(|i| ![0, 15, 16].contains(i)).flat_map(|i| self.vectors[i]);
        let red_zone = (0..15).filter(|&i| i != 7).map(|i| self.red_zone[i]);
        vectors.filter(|&word| word != 0).chain(general).chain(red_zone).collect()
    }

    /// Returns the stored values, without the bits that the loop doesn't set.
    pub(super) fn comparable(&self) -> Self {
        let mut comparable = self.clone();
        comparable.flags &= FLAGS;
        comparable.mxcsr &= MXCSR_CONTROL;
        comparable
    }

    /// Returns the expected values after the loop, which counts, and subtracts the borrow of a
    /// comparison.
    pub(super) fn after(&self) -> Self {
        let mut after = self.comparable();
        after.general[RAX] = self.general[RAX].wrapping_add(self.rounds);
        let borrow = u64::from(self.general[RCX] < self.general[RDX]);
        after.general[RBX] = self.general[RBX].wrapping_sub(borrow.wrapping_mul(self.rounds));
        after.rounds = 0;
        after
    }
}

/// The number of instructions of a loop.
const INSTRUCTIONS: usize = 17;

unsafe extern "C" {
    fn held_sse(load: *const Held, store: *mut Held);
    fn held_avx(load: *const Held, store: *mut Held);
    fn held_avx512(load: *const Held, store: *mut Held);
    fn checked_sse(load: *const Held, store: *mut Held);
    fn checked_avx(load: *const Held, store: *mut Held);
    fn checked_avx512(load: *const Held, store: *mut Held);
    static held_sse_table: [usize; INSTRUCTIONS];
    static held_avx_table: [usize; INSTRUCTIONS];
    static held_avx512_table: [usize; INSTRUCTIONS];
}

/// Returns the loop that holds these registers.
pub fn held(vectors: Vectors, stops: Stops) -> Loop {
    match (stops, vectors) {
        (Stops::Anywhere, Vectors::Sse) => held_sse,
        (Stops::Anywhere, Vectors::Avx) => held_avx,
        (Stops::Anywhere, Vectors::Avx512) => held_avx512,
        (Stops::AtChecks, Vectors::Sse) => checked_sse,
        (Stops::AtChecks, Vectors::Avx) => checked_avx,
        (Stops::AtChecks, Vectors::Avx512) => checked_avx512,
    }
}

/// Returns the addresses of the instructions of a loop that is interrupted.
pub fn instructions(vectors: Vectors) -> &'static [usize] {
    // SAFETY: tables that the linker has filled.
    unsafe {
        match vectors {
            Vectors::Sse => &held_sse_table,
            Vectors::Avx => &held_avx_table,
            Vectors::Avx512 => &held_avx512_table,
        }
    }
}

// rdi = what to load, rsi = where to store. While the loop runs:
//
//              | return address, rbx, rbp, r12-r15 |
//              | caller's mxcsr, fcw               |
//     rsp ---> | where to store                    |
//              | red zone: 15 words, and what is   |
//              | left of the rounds                |
global_asm!(
    ".macro LOAD_SSE",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "movdqu xmm\\i, [rdi + {vectors} + 64 * \\i]",
    ".endr",
    ".endm",
    ".macro STORE_SSE",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "movdqu [rax + {vectors} + 64 * \\i], xmm\\i",
    ".endr",
    ".endm",
    ".macro LOAD_AVX",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "vmovdqu ymm\\i, [rdi + {vectors} + 64 * \\i]",
    ".endr",
    ".endm",
    ".macro STORE_AVX",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "vmovdqu [rax + {vectors} + 64 * \\i], ymm\\i",
    ".endr",
    "vzeroupper",
    ".endm",
    ".macro LOAD_AVX512",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
    "vmovdqu64 zmm\\i, [rdi + {vectors} + 64 * \\i]",
    ".endr",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7",
    "kmovq k\\i, [rdi + {masks} + 8 * \\i]",
    ".endr",
    ".endm",
    ".macro STORE_AVX512",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
    "vmovdqu64 [rax + {vectors} + 64 * \\i], zmm\\i",
    ".endr",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7",
    "kmovq [rax + {masks} + 8 * \\i], k\\i",
    ".endr",
    "vzeroupper",
    ".endm",
    ".macro LOAD_CHECKED_AVX512",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "vmovdqu64 zmm\\i, [rdi + {vectors} + 64 * \\i]",
    ".endr",
    ".endm",
    ".macro STORE_CHECKED_AVX512",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "vmovdqu64 [rax + {vectors} + 64 * \\i], zmm\\i",
    ".endr",
    "vzeroupper",
    ".endm",
    // An instruction of a loop, noted in the function's table.
    ".macro IN_LOOP instruction:vararg",
    "9:",
    ".pushsection .data.rel.ro, \"aw\"",
    ".quad 9b",
    ".popsection",
    "\\instruction",
    ".endm",
    ".macro HELD stops, name, load, store, flip:vararg",
    ".pushsection .data.rel.ro, \"aw\"",
    ".p2align 3",
    ".globl \\name\\()_table",
    ".hidden \\name\\()_table",
    "\\name\\()_table:",
    ".popsection",
    ".p2align 4",
    ".globl \\name",
    ".hidden \\name",
    ".type \\name, @function",
    "\\name:",
    ".cfi_startproc",
    ".irp register, rbx, rbp, r12, r13, r14, r15",
    "push \\register",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset \\register, 0",
    ".endr",
    "sub rsp, 16",
    ".cfi_adjust_cfa_offset 16",
    "stmxcsr [rsp + 8]",
    "fnstcw [rsp + 12]",
    "mov [rsp], rsi",
    "\\load",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14",
    "mov rax, [rdi + {red_zone} + 8 * \\i]",
    "mov [rsp - 8 - 8 * \\i], rax",
    ".endr",
    "mov rax, [rdi + {rounds}]",
    "mov [rsp - 128], rax",
    "fninit",
    "fldcw [rdi + {fcw}]",
    "ldmxcsr [rdi + {mxcsr}]",
    ".ifc \\stops, ANYWHERE",
    ".irp i, 7, 6, 5, 4, 3, 2, 1, 0",
    "fild qword ptr [rdi + {x87} + 8 * \\i]",
    ".endr",
    ".endif",
    "bt qword ptr [rdi + {flags}], 10",
    "jnc 1f",
    "std",
    "1:",
    "mov rax, [rdi + {general}]",
    "mov rcx, [rdi + {general} + 8]",
    "mov rdx, [rdi + {general} + 16]",
    "mov rbx, [rdi + {general} + 24]",
    "mov rbp, [rdi + {general} + 32]",
    "mov rsi, [rdi + {general} + 40]",
    ".irp i, 8, 9, 10, 11, 12, 13, 14, 15",
    "mov r\\i, [rdi + {general} + 8 * (\\i - 1)]",
    ".endr",
    "mov rdi, [rdi + {general} + 48]",
    "2:",
    ".ifc \\stops, AT_CHECKS",
    "lea rsp, [rsp - 136]",
    "mov r10d, 100",
    "lea r11, [rsp - 100]",
    "cmp r11, fs:[0x70]",
    "jae 3f",
    "call {morestack}",
    "3:",
    "lea rsp, [rsp + 136]",
    "xor r10d, r10d",
    "xor r11d, r11d",
    ".endif",
    // The loop undoes its changes, except to rax, which counts, and to rbx.
    "IN_LOOP lea rax, [rax + 1]",
    "IN_LOOP xchg rsi, rdi",
    "IN_LOOP \\flip",
    "IN_LOOP not r9",
    ".ifc \\stops, ANYWHERE",
    "IN_LOOP fxch st(5)",
    ".endif",
    "IN_LOOP xor [rsp - 64], r8",
    "IN_LOOP lea r10, [r10 + r11]",
    // The carry leads from each branch to the next, and zero to the last.
    "IN_LOOP cmp rcx, rdx",
    "IN_LOOP sbb rbx, 0",
    "IN_LOOP xchg rsi, rdi",
    "IN_LOOP \\flip",
    "IN_LOOP not r9",
    ".ifc \\stops, ANYWHERE",
    "IN_LOOP fxch st(5)",
    ".endif",
    "IN_LOOP xor [rsp - 64], r8",
    "IN_LOOP sub r10, r11",
    "IN_LOOP dec qword ptr [rsp - 128]",
    "IN_LOOP jnz 2b",
    "xchg rax, [rsp]",
    "mov [rax + {general} + 8], rcx",
    "mov [rax + {general} + 16], rdx",
    "mov [rax + {general} + 24], rbx",
    "mov [rax + {general} + 32], rbp",
    "mov [rax + {general} + 40], rsi",
    "mov [rax + {general} + 48], rdi",
    ".irp i, 8, 9, 10, 11, 12, 13, 14, 15",
    "mov [rax + {general} + 8 * (\\i - 1)], r\\i",
    ".endr",
    "mov rcx, [rsp]",
    "mov [rax + {general}], rcx",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14",
    "mov rcx, [rsp - 8 - 8 * \\i]",
    "mov [rax + {red_zone} + 8 * \\i], rcx",
    ".endr",
    "mov rcx, [rsp - 128]",
    "mov [rax + {rounds}], rcx",
    "pushfq",
    "pop [rax + {flags}]",
    "cld",
    "fnstcw [rax + {fcw}]",
    "stmxcsr [rax + {mxcsr}]",
    ".ifc \\stops, ANYWHERE",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7",
    "fistp qword ptr [rax + {x87} + 8 * \\i]",
    ".endr",
    ".endif",
    "\\store",
    "fldcw [rsp + 12]",
    "ldmxcsr [rsp + 8]",
    "add rsp, 16",
    ".cfi_adjust_cfa_offset -16",
    ".irp register, r15, r14, r13, r12, rbp, rbx",
    "pop \\register",
    ".cfi_adjust_cfa_offset -8",
    ".cfi_restore \\register",
    ".endr",
    "ret",
    ".cfi_endproc",
    ".size \\name, . - \\name",
    ".endm",
    ".text",
    ".globl held_begin, held_end",
    ".hidden held_begin, held_end",
    "held_begin:",
    "HELD ANYWHERE, held_sse, LOAD_SSE, STORE_SSE, pxor xmm0, xmm1",
    "HELD ANYWHERE, held_avx, LOAD_AVX, STORE_AVX, vxorps ymm0, ymm0, ymm1",
    "HELD ANYWHERE, held_avx512, LOAD_AVX512, STORE_AVX512, vpxorq zmm16, zmm16, zmm1",
    "held_end:",
    "HELD AT_CHECKS, checked_sse, LOAD_SSE, STORE_SSE, pxor xmm0, xmm1",
    "HELD AT_CHECKS, checked_avx, LOAD_AVX, STORE_AVX, vxorps ymm0, ymm0, ymm1",
    "HELD AT_CHECKS, checked_avx512, LOAD_CHECKED_AVX512, STORE_CHECKED_AVX512, vpxorq zmm15, zmm15, zmm1",
    morestack = sym gosched_morestack,
    vectors = const offset_of!(Held, vectors),
    masks = const offset_of!(Held, masks),
    general = const offset_of!(Held, general),
    flags = const offset_of!(Held, flags),
    red_zone = const offset_of!(Held, red_zone),
    rounds = const offset_of!(Held, rounds),
    x87 = const offset_of!(Held, x87),
    mxcsr = const offset_of!(Held, mxcsr),
    fcw = const offset_of!(Held, fcw),
);
