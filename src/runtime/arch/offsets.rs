//! Asserts each line of `asm/offsets.h` against the structs, at compile time, and reads the numbers
//! that other files of assembly define.

use std::mem::offset_of;

use crate::runtime::arch::Regs;
use crate::runtime::data::runtime2::{G, Gobuf, M, Stack};

const HEADER: &[u8] = include_bytes!("../../../asm/offsets.h");

macro_rules! assert_offsets {
    ($($name:literal: $struct:ident, $($field:tt).+;)*) => {
        $(const _: () = assert!(
            defined(HEADER, $name.as_bytes()) == offset_of!($struct, $($field).+),
            concat!("asm/offsets.h: ", $name, " is not the offset of ", stringify!($struct.$($field).+)),
        );)*
        const _: () = assert!(
            defines() == [$($name),*].len(),
            "asm/offsets.h has a line that src/runtime/arch/offsets.rs doesn't check",
        );
    };
}

assert_offsets! {
    "GOBUF_SP": Gobuf, sp;
    "GOBUF_PC": Gobuf, pc;
    "GOBUF_G": Gobuf, g;
    "GOBUF_CTXT": Gobuf, ctxt;
    "GOBUF_BP": Gobuf, bp;
    "STACK_LO": Stack, lo;
    "STACK_HI": Stack, hi;
    "G_STACK": G, stack;
    "G_STACKGUARD0": G, stackguard0;
    "G_M": G, m;
    "G_SCHED": G, sched;
    "G_STARTPC": G, startpc;
    "G_X_REGS": G, ext.x_regs;
    "G_TP": G, ext.tp;
    "G_SANITIZER": G, ext.sanitizer;
    "M_G0": M, g0;
    "M_MOREBUF": M, morebuf;
    "M_GSIGNAL": M, gsignal;
    "M_CURG": M, curg;
    "M_TP": M, ext.tp;
    "M_NEXT_TP": M, ext.next_tp;
    "M_THREAD_FIBER": M, ext.thread_fiber;
    "M_FIBER_TURNS": M, ext.fiber_turns;
    "M_SYSCALL_REGS": M, ext.syscall_regs;
    "REGS_PC": Regs, pc;
    "REGS_SP": Regs, sp;
    "REGS_FP": Regs, fp;
    "REGS_SAVED": Regs, saved;
}

const DEFINE: &[u8] = b"#define ";

/// Whether `word` is at offset `at` of `file`.
const fn stands_at(file: &[u8], at: usize, word: &[u8]) -> bool {
    let mut i = 0;
    while i < word.len() {
        if at + i >= file.len() || file[at + i] != word[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Returns the number in the line `#define name number` of `file`, a file of assembly.
pub(super) const fn defined(file: &[u8], name: &[u8]) -> usize {
    let mut at = 0;
    while at < file.len() {
        if stands_at(file, at, DEFINE) && stands_at(file, at + DEFINE.len(), name) {
            let mut digit = at + DEFINE.len() + name.len();
            if file[digit] == b' ' {
                let mut value = 0;
                digit += 1;
                while file[digit].is_ascii_digit() {
                    value = value * 10 + (file[digit] - b'0') as usize;
                    digit += 1;
                }
                return value;
            }
        }
        at += 1;
    }
    panic!("assembly doesn't define that")
}

/// Returns how many numbers the header defines.
const fn defines() -> usize {
    let mut count = 0;
    let mut at = 0;
    while at < HEADER.len() {
        count += stands_at(HEADER, at, DEFINE) as usize;
        at += 1;
    }
    count
}
