//! From addresses to functions, files and lines: Go's `funcline`, by way of `std::backtrace`.
//!
//! `std::backtrace` knows only the symbols of the calling stack's frames. So a look-up calls it
//! from a made-up frame whose caller, to an unwinder, is at the wanted address, on a stack that
//! leads nowhere ([`Nowhere`]). That is slow, but most goroutines are at the same few addresses,
//! and a report looks up each address once.
//!
//! The program may unload a library at any time (`dlclose`), and an unwinder reads the library's
//! tables. So a library is kept in memory while its code is looked up ([`code_at`]). About code
//! that is gone nothing is known. The lock of `dl_iterate_phdr` would keep every library in place.
//! But its holder may not wait for std's lock: a thread that prints a backtrace takes the two in
//! the other order. So a look-up raises the library's count of users, as a `dlopen` of the
//! program's does.
//!
//! For a look-up std takes a lock, and allocates. The thread that has failed may hold that lock, or
//! malloc's. So in the report of a fatal error a look-up is guarded: if it faults or waits too
//! long, the report goes on without names.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::fmt::{self, Display, Write};
use std::mem::ManuallyDrop;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::{MmapMut, MmapOptions};

use crate::runtime::arch::{Regs, called_from};
use crate::runtime::base::debug::gotraceback;
use crate::runtime::base::guarded::{guarded, is_reporter};
use crate::runtime::base::print::eprintln;
use crate::runtime::embed::hooks::symbolizer;
use crate::runtime::g::callers::{INNER_FRAMES, entry};

/// A function at an address. An address with inlined calls has several.
pub(crate) struct Symbol {
    /// Empty if it isn't known.
    pub(crate) function: String,
    /// Empty if it isn't known.
    pub(crate) file: String,
    /// 0 if it isn't known.
    pub(crate) line: u32,
    /// Whether the function belongs to an embedder's runtime.
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
    /// The functions, the innermost first; empty if they aren't known.
    symbols: Vec<Symbol>,
    /// The start of the outermost function, if an unwinder knows it.
    begin: Option<usize>,
}

/// A function in a stack.
pub(super) struct Frame<'a> {
    pc: usize,
    pub(super) symbol: &'a Symbol,
    /// Whether the other functions at this address are inlined in it.
    is_outermost: bool,
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

    /// Returns the functions at an address inside an instruction (of a call, not its return
    /// address), the innermost first; one function without a name if nothing is known. The answer
    /// is the same each time. For an address that wasn't looked up before, std needs time, locks
    /// and a large stack. So this is called on g0, or on a thread that doesn't run a goroutine.
    pub(crate) fn functions(&mut self, pc: usize) -> &[Symbol] {
        self.look_up(pc);
        self.at(pc)
    }

    /// Lets libraries be unloaded again. Symbols that were looked up stay known.
    pub(in crate::runtime) fn let_libraries_go(&mut self) {
        self.kept.clear();
        self.named.clear();
    }

    /// Looks these addresses up. Called where [`Symbols::functions`] may be called.
    pub(super) fn look_up_all(&mut self, pcs: &[usize]) {
        pcs.iter().for_each(|&pc| self.look_up(pc));
    }

    /// Returns the frames at these addresses, which were looked up, the innermost first. Leaves out
    /// the runtime's frames, unless the level asks for them or there are no others. The same goes
    /// for the frames of this crate's functions that the program calls. If there are no frames of
    /// the program's, these are shown, because the program's closures may be inlined there. Go's
    /// `showframe`.
    pub(super) fn shown<'a>(&'a self, pcs: &'a [usize]) -> impl Iterator<Item = Frame<'a>> {
        let found = pcs.iter().flat_map(|&pc| self.at(pc)).map(Symbol::whose).max();
        let least = if gotraceback().frames > 1 { Whose::Runtime } else { found.unwrap_or(Whose::Runtime) };
        pcs.iter().flat_map(move |&pc| {
            let symbols = self.at(pc);
            let shown = symbols.iter().enumerate().filter(move |(_, symbol)| symbol.whose() >= least);
            shown.map(move |(i, symbol)| Frame { pc, symbol, is_outermost: i + 1 == symbols.len() })
        })
    }

    /// Prints the frames at these addresses that are [`shown`](Symbols::shown), and a note if there
    /// may be more. Go's `traceback2`.
    pub(super) fn print(&mut self, out: &mut impl Write, pcs: &[usize]) -> fmt::Result {
        self.look_up_all(pcs);
        let mut without_place = false;
        self.shown(pcs).try_for_each(|Frame { pc, symbol, is_outermost }| {
            without_place |= symbol.file.is_empty();
            // The offset is relative to the outermost function, to which the frame belongs.
            symbol.print(out, "(...)", pc, if is_outermost { self.begin(pc) } else { None })
        })?;
        self.without_place |= without_place;
        if pcs.len() == INNER_FRAMES {
            writeln!(out, "...additional frames elided...")?;
        }
        Ok(())
    }

    /// Prints the function that made a goroutine, and the place `pc` in it.
    pub(super) fn print_maker(&mut self, out: &mut impl Write, pc: usize, of: impl Display) -> fmt::Result {
        self.look_up(pc);
        let Frame { symbol, is_outermost, .. } = self.maker(pc);
        symbol.print(out, of, pc, if is_outermost { self.begin(pc) } else { None })
    }

    /// Returns the function that made a goroutine at `pc`, which was looked up.
    pub(super) fn maker(&self, pc: usize) -> Frame<'_> {
        let symbols = self.at(pc);
        // Functions of the runtime may be inlined in the function that made the goroutine.
        let last = symbols.len() - 1;
        let is_maker = |symbol: &Symbol| symbol.whose() == Whose::Program;
        let i = symbols.iter().position(is_maker).unwrap_or(last);
        Frame { pc, symbol: &symbols[i], is_outermost: i == last }
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
    fn look_up(&mut self, pc: usize) {
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

/// Returns the symbols of an address: from an embedder, which may know code that no unwinder knows,
/// otherwise from std. Adds the address's library to the libraries that are kept. In the report of
/// a fatal error no library is added, because another thread may have stopped in the dynamic linker
/// for good.
fn look_up(
    pc: usize,
    nowhere: Option<&Nowhere>,
    kept: &mut Vec<Kept>,
    named: &mut BTreeMap<usize, String>,
) -> Known {
    let by_embedder = by_embedder(pc);
    let mut in_library = false;
    // An address that isn't in code has no function: for example a word of a stack that a walk has
    // taken for an address, or a pc in a library that is gone. A look-up would read memory there.
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
        // A hundred goroutines in malloc are at a hundred addresses in a few functions, and a
        // look-up by std needs malloc itself.
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

/// Returns the embedder's symbols for an address, if it knows any.
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

impl Symbol {
    /// Makes a function whose place isn't known.
    fn named(function: String) -> Symbol {
        Symbol { function, file: String::new(), line: 0, own: false }
    }

    /// Returns whose the function is, which decides whether a report shows it. Go's `showframe`.
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
    /// The program calls it. A closure that the program passed may be inlined there.
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

/// In the paths of the files whose functions have names of the C library's.
const STDPARK: &str = "/runtime/stdpark/";

/// The prefix of the names of this crate's functions.
const CRATE: [&str; 2] = ["gosched::", "<gosched::"];

/// Where the code at an address is.
enum Code {
    /// There is no code: the address is in a file's data.
    Data,
    /// In no file that was loaded. An unwinder knows where the function begins if the program has
    /// made the code itself and has said so.
    Elsewhere(Option<usize>),
    /// In the program, or a library that stays as long as this function runs.
    Stays,
    /// In a library that may be unloaded.
    In(Loaded),
}

/// A library that was loaded a moment ago.
struct Loaded {
    /// The dynamic linker's name for it.
    name: CString,
    /// The offset that is added to the addresses in its file.
    base: usize,
}

/// A library that isn't unloaded until this is dropped.
struct Kept {
    handle: *mut c_void,
    base: usize,
}

/// How many bytes behind an address an unwinder may read. It compares the code there with the code
/// of a return from a signal.
const READ_BEHIND: usize = 16;

/// What a walk over the files in memory looks for, and its result.
struct Search {
    pc: usize,
    /// How many files were seen.
    seen: usize,
    found: Option<Code>,
}

/// Returns where the code at `pc` is, at this moment.
fn code_at(pc: usize) -> Code {
    let mut search = Search { pc, seen: 0, found: None };
    // SAFETY: `search_all` gets the search, which nobody else uses meanwhile, and doesn't unwind.
    unsafe { libc::dl_iterate_phdr(Some(search_all), (&raw mut search).cast()) };
    search.found.unwrap_or(Code::Elsewhere(None))
}

/// Looks at all files under the dynamic linker's lock. Otherwise a library could be loaded after
/// the look at its place, so that it isn't seen, and unloaded while the unwinder searches it.
unsafe extern "C" fn search_all(_: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: `visit` gets the search of code_at, and doesn't unwind. The lock can be taken again
    // by its thread.
    let search = unsafe {
        libc::dl_iterate_phdr(Some(visit), search);
        &mut *search.cast::<Search>()
    };
    let pc = search.pc;
    search.found.get_or_insert_with(|| Code::Elsewhere(entry(pc)));
    1
}

/// Looks at one file; ends the walk if the file contains the code.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker passes what it knows of a file that stays where it is until this
    // returns, and the search of code_at.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    let is_program = search.seen == 0;
    search.seen += 1;
    let base = info.dlpi_addr as usize;
    // SAFETY: as many program headers as it says.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let has = |flags: u32, address: usize, room: usize| {
        let of_kind = |header: &&Header| header.p_type == libc::PT_LOAD && header.p_flags & flags == flags;
        headers.iter().filter(of_kind).any(|header| {
            let begin = base.wrapping_add(header.p_vaddr as usize);
            (begin..begin + (header.p_memsz as usize).saturating_sub(room)).contains(&address)
        })
    };
    if !has(0, search.pc, 0) {
        return 0;
    }
    // The kernel's code stays, and this crate's, which may be in a library.
    // SAFETY: getauxval takes no pointer.
    let kernels = unsafe { libc::getauxval(AT_SYSINFO_EHDR) as usize };
    let stays = is_program || has(0, kernels, 0) || has(0, code_at as *const () as usize, 0);
    search.found = Some(if !has(libc::PF_X, search.pc, READ_BEHIND) {
        Code::Data
    } else if stays || info.dlpi_name.is_null() || !CAN_BE_UNLOADED {
        Code::Stays
    } else {
        // SAFETY: a C string, which is there until this returns.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) };
        Code::In(Loaded { name: name.to_owned(), base })
    });
    1
}

/// A program header: libc has a type for each size of words.
#[cfg(target_pointer_width = "64")]
type Header = libc::Elf64_Phdr;

/// The key in the auxiliary vector for the address of the kernel's own code.
const AT_SYSINFO_EHDR: libc::c_ulong = 33;

/// Whether libraries are ever unloaded: musl's stay, and a static program has none.
const CAN_BE_UNLOADED: bool = cfg!(all(target_env = "gnu", not(target_feature = "crt-static")));

impl Loaded {
    /// Whether `kept` is this one.
    fn is(&self, kept: &Kept) -> bool {
        self.base == kept.base
    }

    /// Keeps the library in memory; none if it has been unloaded, or if it can't be kept. Waits for
    /// a library that is just being loaded or unloaded.
    fn keep(&self) -> Option<Kept> {
        keep_library(&self.name, self.base)
    }
}

#[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
fn keep_library(name: &CStr, base: usize) -> Option<Kept> {
    // SAFETY: a C string. Nothing is loaded, so no code of the library's runs.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return None;
    }
    let mut map: *mut usize = std::ptr::null_mut();
    // SAFETY: the library is kept. dlinfo stores the address of its entry in the dynamic linker's
    // list, and the entry's first word is the offset that is added to addresses.
    let there = unsafe {
        let failed = libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) != 0;
        if failed { None } else { map.as_ref().copied() }
    };
    let kept = Kept { handle, base };
    // By now the name may be another library's, or the same file may have been loaded elsewhere.
    (there == Some(base)).then_some(kept)
}

#[cfg(not(all(target_env = "gnu", not(target_feature = "crt-static"))))]
fn keep_library(_: &CStr, _: usize) -> Option<Kept> {
    None
}

// SAFETY: a handle doesn't belong to a thread: any thread may close it.
unsafe impl Send for Kept {}

impl Drop for Kept {
    fn drop(&mut self) {
        #[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
        // SAFETY: the handle that dlopen has returned, once. If the program has closed the library
        // meanwhile, it is unloaded here as it would have been there.
        unsafe {
            libc::dlclose(self.handle);
        }
    }
}

/// A stack on which every walk ends: each word of it is the address of its frame, or 0.
struct Nowhere(MmapMut);

impl Nowhere {
    /// More than any frame has. Hardly any of it is touched.
    const LEN: usize = 64 << 20;
    /// The offset of the frame's stack pointer.
    const SP: usize = 64 << 10;
    /// How far from the stack pointer a rule of CFI may read a word.
    const NEAR: usize = 4 << 10;

    fn new() -> Option<Nowhere> {
        let mut memory = MmapOptions::new().len(Self::LEN).no_reserve_swap().map_anon().ok()?;
        let sp = memory.as_ptr().expose_provenance() + Self::SP;
        for word in memory[Self::SP - Self::NEAR..Self::SP + Self::NEAR].chunks_mut(size_of::<usize>()) {
            word.copy_from_slice(&sp.to_ne_bytes());
        }
        Some(Nowhere(memory))
    }

    /// Returns what `std::backtrace` says about an address.
    fn look_up(&self, pc: usize) -> Vec<Symbol> {
        // std takes the frame's pc for a return address, and looks up pc - 1.
        let ip = pc + 1;
        let regs = Regs::all(ip, self.0.as_ptr().addr() + Self::SP);
        let mut text = String::new();
        // SAFETY: the rules for the caller's registers at `ip`, whatever they are, read only this
        // memory, and find its own address or zero. Formatting doesn't unwind.
        unsafe { called_from(&regs, || text = format!("{:#}", Backtrace::force_capture())) };
        symbols_of(&text, ip)
    }
}

/// Returns the symbols of the frame at `ip` in a backtrace: `7:  0xaddress - function`, and a line
/// `at file:line:column`. The functions into which that function was inlined follow, at the same
/// address.
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

/// Returns the address and the function in a line that begins a frame.
fn frame_of(line: &str) -> Option<(&str, &str)> {
    let (number, rest) = line.split_once(": ")?;
    number.parse::<usize>().ok()?;
    rest.trim_start().split_once(" - ")
}

/// Returns a function's name without the hashes that make the name and its crates unique: `::h` and
/// 16 digits at the end, or digits in brackets behind a crate's name.
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

/// Returns the file and line of `file:line:column`, or of `file:line`.
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
