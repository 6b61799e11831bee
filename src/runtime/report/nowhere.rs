//! What `std::backtrace` says of an address: a frame there is called from nowhere, so it is the
//! last.

use std::backtrace::Backtrace;

use memmap2::{MmapMut, MmapOptions};

use crate::runtime::arch::{Regs, called_from};
use crate::runtime::report::symbols::Symbol;

/// A stack on which every walk ends: each word of it is the address of its frame, or 0.
pub(super) struct Nowhere(MmapMut);

impl Nowhere {
    /// More than any frame has. Hardly any of it is touched.
    const LEN: usize = 64 << 20;
    /// The offset of the frame's stack pointer.
    const SP: usize = 64 << 10;
    /// How far from the stack pointer the words may be that a rule of CFI reads an address from.
    const NEAR: usize = 4 << 10;

    pub(super) fn new() -> Option<Nowhere> {
        let mut memory = MmapOptions::new().len(Self::LEN).no_reserve_swap().map_anon().ok()?;
        let sp = memory.as_ptr().expose_provenance() + Self::SP;
        for word in memory[Self::SP - Self::NEAR..Self::SP + Self::NEAR].chunks_mut(size_of::<usize>()) {
            word.copy_from_slice(&sp.to_ne_bytes());
        }
        Some(Nowhere(memory))
    }

    /// What `std::backtrace` says of an address.
    pub(super) fn look_up(&self, pc: usize) -> Vec<Symbol> {
        // std takes the frame's pc for a return address, and looks up pc - 1.
        let ip = pc + 1;
        let regs = Regs::all(ip, self.0.as_ptr().addr() + Self::SP);
        let mut text = String::new();
        // SAFETY: whatever rules for the caller's registers there are at `ip`, they read this
        // memory only, and find its own address or zero. Formatting doesn't unwind.
        unsafe { called_from(&regs, || text = format!("{:#}", Backtrace::force_capture())) };
        symbols_of(&text, ip)
    }
}

/// The symbols of the frame at `ip` in a backtrace: `7:  0xaddress - function`, and a line `at
/// file:line:column`. Functions with a call that was inlined follow, at the same address.
fn symbols_of(text: &str, ip: usize) -> Vec<Symbol> {
    let address = format!("{ip:#x}");
    let mut symbols: Vec<Symbol> = Vec::new();
    let mut here = false;
    for line in text.lines().map(str::trim_start) {
        if let Some((found, function)) = frame_of(line) {
            here = found == address;
            if here {
                // std's word for an address without a symbol.
                let function = if function == "<unknown>" { "" } else { function };
                symbols.push(Symbol::named(without_hashes(function)));
            }
        } else if here && let (Some(place), Some(last)) = (line.strip_prefix("at "), symbols.last_mut()) {
            (last.file, last.line) = file_and_line(place);
        }
    }
    symbols
}

/// Address and function of a line that begins a frame.
fn frame_of(line: &str) -> Option<(&str, &str)> {
    let (number, rest) = line.split_once(": ")?;
    number.parse::<usize>().ok()?;
    rest.trim_start().split_once(" - ")
}

/// A function's name, without the hashes that make it and its crates unique: `::h` and 16 digits at
/// the end, or digits in brackets behind a crate's name.
fn without_hashes(name: &str) -> String {
    let is_hash = |digits: &str| digits.len() > 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let name = match name.rsplit_once("::h") {
        Some((path, hash)) if is_hash(hash) => path,
        _ => name,
    };
    let mut parts = name.split('[');
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(']') {
            Some((hash, rest)) if is_hash(hash) => short.push_str(rest),
            _ => {
                short.push('[');
                short.push_str(part);
            }
        }
    }
    short
}

/// File and line of `file:line:column`, or of `file:line` where there is no column.
fn file_and_line(place: &str) -> (String, u32) {
    let split = |place: &str| {
        let (rest, number) = place.rsplit_once(':')?;
        Some((rest.to_owned(), number.parse::<u32>().ok()?))
    };
    match split(place) {
        Some((rest, last)) => split(&rest).unwrap_or((rest, last)),
        None => (place.to_owned(), 0),
    }
}
