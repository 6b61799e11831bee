//! From addresses to functions, files and lines: Go's `funcline`, by way of `std::backtrace`.
//!
//! `std::backtrace` knows only the symbols of the calling stack's frames. So it is called from a
//! frame whose caller, to an unwinder, is at the address in question, on a stack that leads nowhere
//! (`nowhere.rs`). That is slow, but most goroutines are at the same few addresses, and a report
//! looks up each address once.
//!
//! The program may unload a library meanwhile. Then nothing is known of its code. A library is kept
//! in memory while its code is looked up (`libraries.rs`).
//!
//! For a look-up std takes a lock, and memory. The thread that has failed may hold that lock, or
//! malloc's. So in the report of a fatal error a look-up is guarded: if it faults or waits too
//! long, the report goes on without names.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::runtime::base::debug::gotraceback;
use crate::runtime::base::guarded::{guarded, is_reporter};
use crate::runtime::base::print::eprintln;
use crate::runtime::embed::symbolizer::symbolizer;
use crate::runtime::g::callers::{INNER_FRAMES, entry};
use crate::runtime::report::libraries::{Code, Kept, code_at};
use crate::runtime::report::nowhere::Nowhere;

/// A function at an address. There are several at one address where calls were inlined.
pub(crate) struct Symbol {
    /// Empty if it isn't known.
    pub(crate) function: String,
    /// Empty if it isn't known.
    pub(crate) file: String,
    /// 0 if it isn't known.
    pub(crate) line: u32,
    /// Whether it belongs to an embedder's runtime.
    own: bool,
}

/// The symbols of the addresses that were looked up.
pub(crate) struct Symbols {
    known: BTreeMap<usize, Known>,
    nowhere: Option<Nowhere>,
    /// The libraries whose code was looked up, which stay until this is dropped.
    kept: Vec<Kept>,
    /// The functions of these libraries that have no lines, by their start addresses.
    named: BTreeMap<usize, String>,
    /// Whether a function was shown whose place isn't known.
    without_place: bool,
}

/// The symbols of an address.
#[derive(Default)]
struct Known {
    /// The functions, the innermost first; none if it isn't known.
    symbols: Vec<Symbol>,
    /// The start of the outermost of them, if an unwinder knows it.
    begin: Option<usize>,
}

/// The symbol of an address from an embedder, if it knows one.
fn by_embedder(pc: usize) -> Option<Vec<Symbol>> {
    let symbolizer = symbolizer()?;
    let mut symbols = Vec::new();
    symbolizer(pc, &mut |place| {
        let (function, file) = (place.function.to_owned(), place.file.to_owned());
        symbols.push(Symbol { function, file, line: place.line, own: place.own });
    });
    (!symbols.is_empty()).then_some(symbols)
}

/// The answer for an address that isn't looked up.
static UNKNOWN: [Symbol; 1] = [Symbol { function: String::new(), file: String::new(), line: 0, own: false }];

/// Whether no address can be looked up any more.
static LOST: AtomicBool = AtomicBool::new(false);

/// Gives up looking addresses up after a failure, and prints a message.
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
        Symbols {
            known: BTreeMap::new(),
            nowhere: Nowhere::new(),
            kept: Vec::new(),
            named: BTreeMap::new(),
            without_place: false,
        }
    }

    /// Symbols for a report that ends the process. They aren't dropped, because a look-up may have
    /// been ended in the middle.
    pub(super) fn of_the_end() -> ManuallyDrop<Symbols> {
        ManuallyDrop::new(Symbols::new())
    }

    /// The functions at an address inside an instruction (of a call, not its return address), the
    /// innermost first; one function without a name if nothing is known. The answer is the same
    /// each time. For an address that wasn't looked up before, std needs time, locks and a large
    /// stack: so this is called on g0, or on a thread that doesn't run a goroutine.
    pub(crate) fn functions(&mut self, pc: usize) -> &[Symbol] {
        self.look_up(pc);
        self.at(pc)
    }

    /// Lets libraries be unloaded again. Symbols that were looked up stay known.
    pub(in crate::runtime) fn let_libraries_go(&mut self) {
        self.kept.clear();
        self.named.clear();
    }

    /// Prints the frames at these addresses, and that there may be more. The runtime's frames are
    /// left out, unless the level asks for them or there are no others; so are those of what the
    /// program calls, in which its closures are if they were inlined there. Go's `traceback2`.
    pub(super) fn print(&mut self, out: &mut impl Write, pcs: &[usize]) -> fmt::Result {
        pcs.iter().for_each(|&pc| self.look_up(pc));
        let found = pcs.iter().flat_map(|&pc| self.at(pc)).map(Symbol::whose).max();
        let least = if gotraceback().frames > 1 { Whose::Runtime } else { found.unwrap_or(Whose::Runtime) };
        pcs.iter().try_for_each(|&pc| {
            let symbols = self.at(pc);
            let mut without_place = false;
            for (i, symbol) in symbols.iter().enumerate() {
                if symbol.whose() >= least {
                    // The offset is relative to the outermost function, to which the frame belongs.
                    let begin = if i + 1 == symbols.len() { self.begin(pc) } else { None };
                    symbol.print(out, "(...)", pc, begin)?;
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
        // Functions of the runtime may be inlined in the function that made the goroutine.
        let last = symbols.len() - 1;
        let is_maker = |symbol: &Symbol| symbol.whose() == Whose::Program;
        let i = symbols.iter().position(is_maker).unwrap_or(last);
        symbols[i].print(out, of, pc, if i == last { self.begin(pc) } else { None })
    }

    /// Writes to stderr why places or names are missing, if the cause is the way the program was
    /// built.
    pub(super) fn explain(&mut self) {
        // The address of a function of this crate, which is built like the program.
        let ours = look_up as *const () as usize;
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

    /// Looks an address up, unless it was looked up before, or look-ups are no longer possible.
    pub(super) fn look_up(&mut self, pc: usize) {
        let Symbols { known, nowhere, kept, named, .. } = self;
        let look_up = || {
            known.entry(pc).or_insert_with(|| look_up(pc, nowhere.as_ref(), kept, named));
        };
        if !LOST.load(Ordering::Relaxed) && !guarded(look_up) {
            lose_names();
        }
    }

    /// The functions at an address that was looked up; the innermost first.
    fn at(&self, pc: usize) -> &[Symbol] {
        // A look-up that was ended in the middle may have left the table in any state.
        let known = if LOST.load(Ordering::Relaxed) { None } else { self.known.get(&pc) };
        known.map(|known| known.symbols.as_slice()).filter(|symbols| !symbols.is_empty()).unwrap_or(&UNKNOWN)
    }

    /// The start of the outermost function at an address, if an unwinder knows it.
    fn begin(&self, pc: usize) -> Option<usize> {
        if !LOST.load(Ordering::Relaxed) {
            return self.known.get(&pc)?.begin;
        }
        let mut begin = None;
        guarded(|| begin = entry(pc));
        begin
    }
}

/// Returns the symbols of an address: from an embedder, which may know code that no unwinder does,
/// otherwise from std. The address's library is added to the libraries that are kept. In the report
/// of a fatal error no library is added, because another thread may have stopped in the dynamic
/// linker for good.
fn look_up(
    pc: usize,
    nowhere: Option<&Nowhere>,
    kept: &mut Vec<Kept>,
    named: &mut BTreeMap<usize, String>,
) -> Known {
    let by_embedder = by_embedder(pc);
    let mut in_library = false;
    // An address that isn't in code has no function, such as a word of a stack that a walk has
    // taken for an address, or the pc of a library that is gone. A look-up would read memory there.
    let (there, begin) = match code_at(pc) {
        Code::Data => (false, None),
        Code::Elsewhere(begin) => (begin.is_some(), begin),
        Code::Stays => (true, entry(pc)),
        Code::In(library) => {
            in_library = true;
            let stays = is_reporter() || kept.iter().any(|kept| library.is(kept)) || {
                kept.extend(library.keep());
                kept.last().is_some_and(|kept| library.is(kept))
            };
            (stays, if stays { entry(pc) } else { None })
        }
    };
    let by_std = || {
        // A hundred goroutines in malloc are at a hundred addresses in a few functions, and std
        // needs malloc too.
        let begin = begin.filter(|_| in_library);
        if let Some(function) = begin.and_then(|begin| named.get(&begin)) {
            return Some(vec![Symbol::named(function.clone())]);
        }
        let symbols = nowhere.filter(|_| there)?.look_up(pc);
        if let ([only], Some(begin)) = (symbols.as_slice(), begin)
            && only.file.is_empty()
        {
            named.insert(begin, only.function.clone());
        }
        Some(symbols)
    };
    Known { symbols: by_embedder.or_else(by_std).unwrap_or_default(), begin }
}

impl Symbol {
    /// Makes a function whose place isn't known.
    pub(super) fn named(function: String) -> Symbol {
        Symbol { function, file: String::new(), line: 0, own: false }
    }

    /// Whose the function is. A report shows those of some, and above: Go's `showframe`.
    pub(crate) fn whose(&self) -> Whose {
        let is_one_of = |names: &[&str]| names.iter().any(|begins| self.function.starts_with(begins));
        if self.own || is_one_of(&RUNTIME) || self.file.contains(STDPARK) {
            Whose::Runtime
        } else if is_one_of(&CRATE) {
            Whose::Face
        } else {
            Whose::Program
        }
    }

    /// Prints two lines: the function, and the place in it. The place is the line, and the offset
    /// of `pc` from the function's start.
    fn print(
        &self,
        out: &mut impl Write,
        after: impl Display,
        pc: usize,
        begin: Option<usize>,
    ) -> fmt::Result {
        let function = if self.function.is_empty() { "??" } else { &self.function };
        write!(out, "{function}{after}\n\t")?;
        match self.file.as_str() {
            "" => write!(out, "pc={pc:#x}")?,
            file => write!(out, "{file}:{}", self.line)?,
        }
        match begin {
            Some(begin) => writeln!(out, " +{:#x}", pc - begin),
            None => writeln!(out),
        }
    }
}

/// The owner of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whose {
    /// It runs goroutines, or they park in it.
    Runtime,
    /// The program calls it: what it was given may be inlined there.
    Face,
    Program,
}

/// The prefixes of the names of the runtime's functions, besides [`CRATE`].
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

/// In the path of the file of a function that has the name of one of the C library's.
const STDPARK: &str = "/runtime/stdpark/";

/// The prefix of the names of this crate's functions.
const CRATE: [&str; 2] = ["gosched::", "<gosched::"];
