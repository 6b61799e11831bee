//! From addresses to functions, files and lines: Go's `funcline`, by way of `std::backtrace`.
//!
//! `std::backtrace` knows the symbols of the calling stack's frames only. So it is called from a frame whose
//! caller, to an unwinder, is at the address in question ([`called_from`]), on a stack that leads nowhere.
//! That is slow, but most goroutines are at the same few addresses, and each address is looked up once in a
//! report.
//!
//! std takes a lock for it, and memory. Whoever has failed may hold that lock, or malloc's, so in the report
//! of a fatal error a look-up is guarded: if it faults or waits too long, the report goes on without names.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::{MmapMut, MmapOptions};

use crate::runtime::arch::{Regs, called_from};
use crate::runtime::base::debug::gotraceback;
use crate::runtime::base::guarded::guarded;
use crate::runtime::base::print::eprintln;
use crate::runtime::embed::symbolizer::symbolizer;
use crate::runtime::g::callers::{INNER_FRAMES, entry};

/// A function at an address. There are several at one address where calls were inlined.
pub(crate) struct Symbol {
    /// Empty if it isn't known.
    pub(crate) function: String,
    /// Empty if it isn't known.
    pub(crate) file: String,
    /// 0 if it isn't known.
    pub(crate) line: u32,
    /// Whether it is one of an embedder's runtime.
    own: bool,
}

/// The symbols of the addresses that were looked up.
pub(crate) struct Symbols {
    known: BTreeMap<usize, Vec<Symbol>>,
    nowhere: Option<Nowhere>,
    /// Whether a function was shown whose place isn't known.
    without_place: bool,
}

/// What an embedder knows of an address, if it does.
fn by_embedder(pc: usize) -> Option<Vec<Symbol>> {
    let symbolizer = symbolizer()?;
    let mut symbols = Vec::new();
    symbolizer(pc, &mut |place| {
        let (function, file) = (place.function.to_owned(), place.file.to_owned());
        symbols.push(Symbol { function, file, line: place.line, own: place.own });
    });
    (!symbols.is_empty()).then_some(symbols)
}

/// What is said of an address that isn't looked up.
static UNKNOWN: [Symbol; 1] = [Symbol { function: String::new(), file: String::new(), line: 0, own: false }];

/// Whether no address can be looked up any more.
static LOST: AtomicBool = AtomicBool::new(false);

/// Gives up looking addresses up, as that has failed, and says so.
pub(super) fn lose_names() {
    unsafe extern "C" {
        /// The head of the program in memory; the linker defines it.
        static __ehdr_start: u8;
    }
    if !LOST.swap(true, Ordering::Relaxed) {
        let program = &raw const __ehdr_start;
        eprintln!("\t(names can't be looked up here; the program is at {program:p})");
    }
}

impl Symbols {
    pub(crate) fn new() -> Symbols {
        Symbols { known: BTreeMap::new(), nowhere: Nowhere::new(), without_place: false }
    }

    /// Symbols for a report that ends the process: they aren't dropped, as a look-up may have been ended in
    /// the middle.
    pub(super) fn of_the_end() -> ManuallyDrop<Symbols> {
        ManuallyDrop::new(Symbols::new())
    }

    /// The functions at an address in an instruction (of a call, not where it returns to), the innermost first; one
    /// without a name if nothing is known. std takes its time, locks and a large stack for an address that wasn't
    /// asked for before: on g0, or on a thread that isn't a goroutine's.
    pub(crate) fn functions(&mut self, pc: usize) -> &[Symbol] {
        // What isn't code has no function, as a word of a stack that a walk has taken for an address. To look it up would
        // read there. An embedder may know code that no unwinder does.
        if entry(pc).is_none() {
            let Some(symbols) = by_embedder(pc) else { return &UNKNOWN };
            self.known.insert(pc, symbols);
        }
        self.look_up(pc);
        self.at(pc)
    }

    /// Prints the frames at these addresses, and that there may be more. The runtime's frames are left out,
    /// unless the level asks for them or there are no others; so are those of what the program calls, in
    /// which its closures are if they were inlined there. Go's `traceback2`.
    pub(super) fn print(&mut self, out: &mut impl Write, pcs: &[usize]) -> fmt::Result {
        pcs.iter().for_each(|&pc| self.look_up(pc));
        let found = pcs.iter().flat_map(|&pc| self.at(pc)).map(Symbol::whose).max();
        let least = if gotraceback().frames > 1 { Whose::Runtime } else { found.unwrap_or(Whose::Runtime) };
        pcs.iter().try_for_each(|&pc| {
            let symbols = self.at(pc);
            let mut without_place = false;
            for (i, symbol) in symbols.iter().enumerate() {
                if symbol.whose() >= least {
                    // The offset is that in the outermost function, which the frame belongs to.
                    symbol.print(out, "(...)", pc, i + 1 == symbols.len())?;
                    without_place |= symbol.file.is_empty();
                }
            }
            self.without_place |= without_place;
            Ok(())
        })?;
        if pcs.len() == INNER_FRAMES {
            writeln!(out, "...additional frames elided...")?;
        }
        Ok(())
    }

    /// Prints the function that made a goroutine, and the place in it: at `pc`.
    pub(super) fn print_maker(&mut self, out: &mut impl Write, pc: usize, of: impl Display) -> fmt::Result {
        self.look_up(pc);
        let symbols = self.at(pc);
        // Functions of the runtime may be inlined in the one that made it.
        let last = symbols.len() - 1;
        let is_maker = |symbol: &Symbol| symbol.whose() == Whose::Program;
        let i = symbols.iter().position(is_maker).unwrap_or(last);
        symbols[i].print(out, of, pc, i == last)
    }

    /// Says on stderr why places are missing, or names, if the cause is how the program was built.
    pub(super) fn explain(&mut self) {
        // A function of this crate, which is built as the program is.
        let ours = symbols_of as *const () as usize;
        self.look_up(ours);
        let ours = &self.at(ours)[0];
        if LOST.load(Ordering::Relaxed) || !self.without_place || !ours.file.is_empty() {
            return;
        }
        if ours.function.is_empty() {
            eprintln!("(no names of functions: the program's symbols were stripped)");
        } else {
            eprintln!(
                "(no files and lines, nor functions that were inlined: \
                 debug = \"limited\" in the program's profile adds them)"
            );
        }
    }

    /// Looks an address up, unless that was done, or can't be done any more.
    fn look_up(&mut self, pc: usize) {
        let Symbols { known, nowhere, .. } = self;
        let look_up = || {
            known.entry(pc).or_insert_with(|| {
                by_embedder(pc).or_else(|| Some(nowhere.as_ref()?.look_up(pc))).unwrap_or_default()
            });
        };
        if !LOST.load(Ordering::Relaxed) && !guarded(look_up) {
            lose_names();
        }
    }

    /// The functions at an address that was looked up; the innermost first.
    fn at(&self, pc: usize) -> &[Symbol] {
        // An end in the middle of a look-up can have left the table in any state.
        let known = if LOST.load(Ordering::Relaxed) { None } else { self.known.get(&pc) };
        known.map(Vec::as_slice).filter(|symbols| !symbols.is_empty()).unwrap_or(&UNKNOWN)
    }
}

impl Symbol {
    fn new(function: &str) -> Symbol {
        // std's word for an address without a symbol.
        let function = if function == "<unknown>" { "" } else { function };
        Symbol { function: without_hashes(function), file: String::new(), line: 0, own: false }
    }

    /// Whose the function is. A report shows those of some, and above: Go's `showframe`.
    pub(crate) fn whose(&self) -> Whose {
        let is_one_of = |names: &[&str]| names.iter().any(|begins| self.function.starts_with(begins));
        if self.own || is_one_of(&RUNTIME) {
            Whose::Runtime
        } else if is_one_of(&CRATE) {
            Whose::Face
        } else {
            Whose::Program
        }
    }

    /// Prints two lines: the function, and the place in it.
    fn print(&self, out: &mut impl Write, after: impl Display, pc: usize, offset: bool) -> fmt::Result {
        let function = if self.function.is_empty() { "??" } else { &self.function };
        write!(out, "{function}{after}\n\t")?;
        match self.file.as_str() {
            "" => write!(out, "pc={pc:#x}")?,
            file => write!(out, "{file}:{}", self.line)?,
        }
        let mut begin = None;
        guarded(|| begin = offset.then(|| entry(pc)).flatten());
        match begin {
            Some(begin) => writeln!(out, " +{:#x}", pc - begin),
            None => writeln!(out),
        }
    }
}

/// Whose a function is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whose {
    /// It runs goroutines, or they park in it.
    Runtime,
    /// The program calls it: what it was given may be inlined there.
    Face,
    Program,
}

/// How the names of functions begin that are the runtime's, besides those of [`CRATE`].
const RUNTIME: [&str; 11] = [
    "gosched_",
    "__morestack",
    "gosched::runtime::",
    "<gosched::runtime::",
    "systemstack_switch",
    "asmcgocall_on_g0",
    "__rust_try",
    "core::ops::function::",
    "std::panic::",
    "std::panicking::",
    "<core::panic::unwind_safe::",
];

/// How the names of this crate's functions begin.
const CRATE: [&str; 2] = ["gosched::", "<gosched::"];

/// A stack on which every walk ends: each word of it is the address of its frame, or 0.
struct Nowhere(MmapMut);

impl Nowhere {
    /// More than any frame has. Hardly any of it is touched.
    const LEN: usize = 64 << 20;
    /// The offset of the frame's stack pointer.
    const SP: usize = 64 << 10;
    /// How far from the stack pointer the words may be that a rule of CFI reads an address from.
    const NEAR: usize = 4 << 10;

    fn new() -> Option<Nowhere> {
        let mut memory = MmapOptions::new().len(Self::LEN).no_reserve_swap().map_anon().ok()?;
        let sp = memory.as_ptr().expose_provenance() + Self::SP;
        for word in memory[Self::SP - Self::NEAR..Self::SP + Self::NEAR].chunks_mut(size_of::<usize>()) {
            word.copy_from_slice(&sp.to_ne_bytes());
        }
        Some(Nowhere(memory))
    }

    /// What `std::backtrace` says of an address.
    fn look_up(&self, pc: usize) -> Vec<Symbol> {
        // std takes the frame's pc for a return address, and looks up pc - 1.
        let ip = pc + 1;
        let regs = Regs::all(ip, self.0.as_ptr().addr() + Self::SP);
        let mut text = String::new();
        // SAFETY: whatever rules for the caller's registers there are at `ip`, they read this memory only,
        // and find its own address or zero. Formatting doesn't unwind.
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
                symbols.push(Symbol::new(function));
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

/// A function's name, without the hashes that make it and its crates unique: `::h` and 16 digits at the end,
/// or digits in brackets behind a crate's name.
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
