//! Loops in assembly that hold known values in every register of the processor and in the lowest
//! words of their stack, and store at the end what they find there. Some loops check their stack,
//! and hold only the registers that a check preserves.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::ops::Range;

#[cfg(target_arch = "aarch64")]
pub use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

/// The purpose of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stops {
    /// It is interrupted at any instruction.
    Anywhere,
    /// It checks its stack.
    AtChecks,
}

/// Loads all registers, holds them for the rounds, and stores them.
pub type Loop = unsafe extern "C" fn(load: *const Held, store: *mut Held);

unsafe extern "C" {
    fn gosched_morestack();
    static held_begin: u8;
    static held_end: u8;
}

/// Returns the code of the loops that are interrupted.
pub fn code() -> Range<usize> {
    (&raw const held_begin).addr()..(&raw const held_end).addr()
}

impl Held {
    /// Fails, and prints all values, if `found` differs from the expected values after the loop.
    pub fn check(&self, found: &Held) {
        let (expected, found) = (self.after(), found.comparable());
        if found != expected {
            eprintln!("found {found:#x?}\ninstead of {expected:#x?}");
            std::process::exit(1);
        }
    }
}
