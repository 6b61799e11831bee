//! Loops in assembly that hold every register of the processor, and their stack's lowest words,
//! with known values, and say at the end what is there. Some check their stack, and hold what a
//! check preserves.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::ops::Range;

#[cfg(target_arch = "aarch64")]
pub use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

/// What a loop is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stops {
    /// It is interrupted, anywhere.
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

/// The code of the loops that are interrupted.
pub fn code() -> Range<usize> {
    (&raw const held_begin).addr()..(&raw const held_end).addr()
}

impl Held {
    /// Fails with all that is there, if `found` isn't what must be there after the loop.
    pub fn check(&self, found: &Held) {
        let (expected, found) = (self.after(), found.comparable());
        if found != expected {
            eprintln!("found {found:#x?}\ninstead of {expected:#x?}");
            std::process::exit(1);
        }
    }
}
