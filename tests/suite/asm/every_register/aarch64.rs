//! The registers of aarch64, and the words at sp.

use std::arch::{asm, global_asm, is_aarch64_feature_detected};
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::mem::offset_of;

use gosched::runtime2::G;

use super::{Loop, Stops, gosched_morestack};
use crate::harness::rng::Rng;

/// The vector registers that a loop holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// v0 to 31.
    Simd,
    /// z0 to 31, p0 to 15 and ffr.
    Sve,
}

impl Vectors {
    /// The registers that every processor has.
    pub const LEAST: Vectors = Vectors::Simd;

    /// Returns the largest set that this processor has.
    pub fn of_this_processor() -> Vectors {
        if is_aarch64_feature_detected!("sve") { Vectors::Sve } else { Vectors::Simd }
    }

    /// Returns how many words a vector register has. A predicate register has as many bytes.
    fn words(self) -> usize {
        match self {
            Vectors::Simd => 2,
            Vectors::Sve => {
                let words;
                // SAFETY: the processor has SVE.
                unsafe {
                    asm!(".arch_extension sve", "cntd {}", out(reg) words, options(nomem, nostack, preserves_flags));
                }
                words
            }
        }
    }
}

/// The values of the registers.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// x0 to x30. x0 counts the rounds that are left.
    general: [u64; 31],
    nzcv: u64,
    /// The words from sp on.
    stack: [u64; 8],
    fpcr: u64,
    fpsr: u64,
    predicates: [[u8; 32]; 16],
    ffr: [u8; 32],
    vectors: [[u64; 32]; 32],
}

/// The flags, in nzcv.
const NEGATIVE: u64 = 1 << 31;
const ZERO: u64 = 1 << 30;
const CARRY: u64 = 1 << 29;
const OVERFLOW: u64 = 1 << 28;

/// Alternative half-precision, default NaN, flush to zero, any rounding.
const FPCR: u64 = 0x1f << 22;
/// The sticky bits.
const FPSR: u64 = 1 << 27 | 0x9f;

impl Held {
    /// All zeros.
    pub fn zero() -> Self {
        Held {
            general: [0; 31],
            nzcv: 0,
            stack: [0; 8],
            fpcr: 0,
            fpsr: 0,
            predicates: [[0; 32]; 16],
            ffr: [0; 32],
            vectors: [[0; 32]; 32],
        }
    }

    /// Random values, for a loop of `rounds` rounds.
    pub fn random(rng: &mut Rng, vectors: Vectors, stops: Stops, rounds: u64) -> Self {
        let words = vectors.words();
        let mut held = Held {
            general: std::array::from_fn(|_| rng.next()),
            stack: std::array::from_fn(|_| rng.next()),
            fpcr: rng.next() & FPCR,
            fpsr: rng.next() & FPSR,
            ..Held::zero()
        };
        held.general[0] = rounds;
        for register in &mut held.vectors {
            register[..words].fill_with(|| rng.next());
        }
        if vectors == Vectors::Sve {
            for register in &mut held.predicates {
                register[..words].fill_with(|| rng.next() as u8);
            }
            // First ones only, and then zeros only.
            let ones = rng.below(8 * words + 1);
            held.ffr[..ones / 8].fill(0xff);
            if !ones.is_multiple_of(8) {
                held.ffr[ones / 8] = (1 << (ones % 8)) - 1;
            }
        }
        if stops == Stops::AtChecks {
            for register in [16, 17, 30] {
                held.general[register] = 0;
            }
        }
        held
    }

    /// Returns the values that are in a register or on the stack at each instruction of the loop.
    /// That excludes x0, x2, x4 to x6, x9 and a vector, which the loop changes, and x16, x17 and
    /// x30, which a check needs.
    pub fn kept(&self) -> BTreeSet<u64> {
        let changed = [0, 2, 4, 5, 6, 9, 16, 17, 30];
        let general = (0..31).filter(|i| !changed.contains(i)).map(|i| self.general[i]);
        let vectors = self.vectors[1..].iter().flatten().copied();
        vectors.filter(|&word| word != 0).chain(general).chain(self.stack).collect()
    }

    /// Returns everything that was stored.
    pub(super) fn comparable(&self) -> Self {
        self.clone()
    }

    /// Returns the expected values after the loop. The loop adds up the flags, once from x1 and
    /// once from x7.
    pub(super) fn after(&self) -> Self {
        let x = &self.general;
        let (rounds, flags) = (x[0], [x[1], x[7]]);
        let set = |flag| flags.map(|flags| u64::from(flags & flag != 0));
        let both = |flag| set(flag).iter().sum::<u64>();
        // x2 + x3 + carry, and then x2 - x8 - !carry.
        let sum = x[3].wrapping_sub(x[8]).wrapping_add(both(CARRY)).wrapping_sub(1);
        let mut after = self.clone();
        after.general[0] = 0;
        for (register, each) in [(2, sum), (4, both(NEGATIVE)), (5, both(ZERO)), (6, both(OVERFLOW))] {
            after.general[register] = x[register].wrapping_add(rounds.wrapping_mul(each));
        }
        after.nzcv = flags[1] & (NEGATIVE | ZERO | CARRY | OVERFLOW);
        after
    }
}

/// The number of instructions of a loop.
const INSTRUCTIONS: usize = 18;

unsafe extern "C" {
    fn held_simd(load: *const Held, store: *mut Held);
    fn held_sve(load: *const Held, store: *mut Held);
    fn checked_simd(load: *const Held, store: *mut Held);
    fn checked_sve(load: *const Held, store: *mut Held);
    fn gosched_getg() -> *mut c_void;
    static held_simd_table: [usize; INSTRUCTIONS];
    static held_sve_table: [usize; INSTRUCTIONS];
}

/// Returns the loop that holds these registers.
pub fn held(vectors: Vectors, stops: Stops) -> Loop {
    match (stops, vectors) {
        (Stops::Anywhere, Vectors::Simd) => held_simd,
        (Stops::Anywhere, Vectors::Sve) => held_sve,
        (Stops::AtChecks, Vectors::Simd) => checked_simd,
        (Stops::AtChecks, Vectors::Sve) => checked_sve,
    }
}

/// Returns the addresses of the instructions of a loop that is interrupted.
pub fn instructions(vectors: Vectors) -> &'static [usize] {
    // SAFETY: tables that the linker has filled.
    unsafe {
        match vectors {
            Vectors::Simd => &held_simd_table,
            Vectors::Sve => &held_sve_table,
        }
    }
}

// x0 = what to load, x1 = where to store. While the loop runs:
//
//              | caller's x19-x30, d8-d15       |  96
//              | caller's fpcr                  |  80
//              | where the guard is; in the end |
//              | what x0 was                    |  72
//              | where to store                 |  64
//     sp ---> | 8 words                        |
global_asm!(
    ".arch_extension sve",
    // These change x9. x0 is where to load from, or where to store.
    ".macro VECTORS insn, letter",
    "add x9, x0, #{vectors}",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31",
    "\\insn \\letter\\()\\i, [x9]",
    "add x9, x9, #256",
    ".endr",
    ".endm",
    ".macro PREDICATES insn",
    "add x9, x0, #{predicates}",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "\\insn p\\i, [x9]",
    "add x9, x9, #32",
    ".endr",
    ".endm",
    ".macro LOAD_SIMD",
    "VECTORS ldr, q",
    ".endm",
    ".macro STORE_SIMD",
    "VECTORS str, q",
    ".endm",
    ".macro LOAD_SVE",
    "add x9, x0, #{ffr}",
    "ldr p0, [x9]",
    "wrffr p0.b",
    "PREDICATES ldr",
    "VECTORS ldr, z",
    ".endm",
    ".macro STORE_SVE",
    "VECTORS str, z",
    "PREDICATES str",
    "rdffr p0.b",
    "add x9, x0, #{ffr}",
    "str p0, [x9]",
    ".endm",
    // Moves the registers that a call preserves to or from the stack.
    ".macro CALLERS insn",
    "\\insn x19, x20, [sp, #96]",
    "\\insn x21, x22, [sp, #112]",
    "\\insn x23, x24, [sp, #128]",
    "\\insn x25, x26, [sp, #144]",
    "\\insn x27, x28, [sp, #160]",
    "\\insn x29, x30, [sp, #176]",
    "\\insn d8, d9, [sp, #192]",
    "\\insn d10, d11, [sp, #208]",
    "\\insn d12, d13, [sp, #224]",
    "\\insn d14, d15, [sp, #240]",
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
    ".type \\name, %function",
    "\\name:",
    ".cfi_startproc",
    "sub sp, sp, #256",
    ".cfi_adjust_cfa_offset 256",
    "CALLERS stp",
    ".irp i, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30",
    ".cfi_rel_offset x\\i, 96 + 8 * (\\i - 19)",
    ".endr",
    ".irp i, 8, 9, 10, 11, 12, 13, 14, 15",
    ".cfi_rel_offset d\\i, 192 + 8 * (\\i - 8)",
    ".endr",
    "mrs x9, fpcr",
    "str x9, [sp, #80]",
    "str x1, [sp, #64]",
    ".ifc \\stops, AT_CHECKS",
    "mov x19, x0",
    "bl {getg}",
    "add x0, x0, #{guard}",
    "str x0, [sp, #72]",
    "mov x0, x19",
    ".endif",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7",
    "ldr x9, [x0, #{stack} + 8 * \\i]",
    "str x9, [sp, #8 * \\i]",
    ".endr",
    "ldr x9, [x0, #{fpcr}]",
    "msr fpcr, x9",
    "ldr x9, [x0, #{fpsr}]",
    "msr fpsr, x9",
    "\\load",
    ".irp i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30",
    "ldr x\\i, [x0, #{general} + 8 * \\i]",
    ".endr",
    "ldr x0, [x0, #{general}]",
    "2:",
    ".ifc \\stops, AT_CHECKS",
    "ldr x16, [sp, #72]",
    "ldr x16, [x16]",
    "mov x17, sp",
    "sub x17, x17, #100",
    "cmp x17, x16",
    "b.hs 3f",
    "mov x16, #100",
    "bl {morestack}",
    "3:",
    "mov x16, xzr",
    "mov x17, xzr",
    "mov x30, xzr",
    ".endif",
    // The loop undoes its changes, except to x0, which counts, and to results of the flags. An
    // emulator interrupts code only at the target of a branch: hence the two branches to the next
    // instruction.
    "IN_LOOP sub x0, x0, #1",
    "IN_LOOP msr nzcv, x1",
    "IN_LOOP \\flip",
    "IN_LOOP mvn x9, x9",
    "IN_LOOP b 4f",
    "4:",
    "IN_LOOP adc x2, x2, x3",
    "IN_LOOP cinc x4, x4, mi",
    "IN_LOOP cinc x5, x5, eq",
    "IN_LOOP cinc x6, x6, vs",
    "IN_LOOP msr nzcv, x7",
    "IN_LOOP \\flip",
    "IN_LOOP mvn x9, x9",
    "IN_LOOP b 5f",
    "5:",
    "IN_LOOP sbc x2, x2, x8",
    "IN_LOOP cinc x4, x4, mi",
    "IN_LOOP cinc x5, x5, eq",
    "IN_LOOP cinc x6, x6, vs",
    "IN_LOOP cbnz x0, 2b",
    "str x0, [sp, #72]",
    "ldr x0, [sp, #64]",
    ".irp i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30",
    "str x\\i, [x0, #{general} + 8 * \\i]",
    ".endr",
    "ldr x9, [sp, #72]",
    "str x9, [x0, #{general}]",
    "mrs x9, nzcv",
    "str x9, [x0, #{nzcv}]",
    "mrs x9, fpcr",
    "str x9, [x0, #{fpcr}]",
    "mrs x9, fpsr",
    "str x9, [x0, #{fpsr}]",
    ".irp i, 0, 1, 2, 3, 4, 5, 6, 7",
    "ldr x9, [sp, #8 * \\i]",
    "str x9, [x0, #{stack} + 8 * \\i]",
    ".endr",
    "\\store",
    "ldr x9, [sp, #80]",
    "msr fpcr, x9",
    "CALLERS ldp",
    ".irp i, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30",
    ".cfi_restore x\\i",
    ".endr",
    ".irp i, 8, 9, 10, 11, 12, 13, 14, 15",
    ".cfi_restore d\\i",
    ".endr",
    "add sp, sp, #256",
    ".cfi_adjust_cfa_offset -256",
    "ret",
    ".cfi_endproc",
    ".size \\name, . - \\name",
    ".endm",
    ".text",
    ".globl held_begin, held_end",
    ".hidden held_begin, held_end",
    "held_begin:",
    "HELD ANYWHERE, held_simd, LOAD_SIMD, STORE_SIMD, eor v0.16b, v0.16b, v1.16b",
    "HELD ANYWHERE, held_sve, LOAD_SVE, STORE_SVE, eor z0.b, p3/m, z0.b, z1.b",
    "held_end:",
    "HELD AT_CHECKS, checked_simd, LOAD_SIMD, STORE_SIMD, eor v0.16b, v0.16b, v1.16b",
    "HELD AT_CHECKS, checked_sve, LOAD_SVE, STORE_SVE, eor z0.b, p3/m, z0.b, z1.b",
    getg = sym gosched_getg,
    morestack = sym gosched_morestack,
    guard = const offset_of!(G, stackguard0),
    general = const offset_of!(Held, general),
    nzcv = const offset_of!(Held, nzcv),
    stack = const offset_of!(Held, stack),
    fpcr = const offset_of!(Held, fpcr),
    fpsr = const offset_of!(Held, fpsr),
    predicates = const offset_of!(Held, predicates),
    ffr = const offset_of!(Held, ffr),
    vectors = const offset_of!(Held, vectors),
);
