//! A profile in the format of `profile.proto`: Go's `profileBuilder`, in `runtime/pprof/proto.go`.
//!
//! Functions have names. If the program has debug information, they also have lines, and inlined
//! functions are there, too. So a reader needs neither the program nor its source. A reader that
//! has them recognizes the files whose code is in memory by their build ids: see [`Mapping`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::runtime::{LabelMap, Symbol, Symbols, Whose};

/// The meaning and the unit of a sample's value.
pub(super) type ValueType = (&'static str, &'static str);

/// Which of the runtime's innermost frames a stack keeps. It never keeps the frames that its
/// goroutine began in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Inner {
    /// All of them: the profile shows where time goes.
    Runtime,
    /// None of them, so that the caller of the runtime comes first: the profile shows which code
    /// waits.
    Caller,
}

/// An address of a stack, and the range of the inlined frames there that are shown: others may be
/// the runtime's.
type Frames = (usize, usize, usize);

/// The function that each goroutine begins in, behind all of its frames.
const GOEXIT: &str = "gosched_goexit";

/// A profile that is being made. It is made on a thread that isn't a goroutine's, because it looks
/// up symbols.
pub(super) struct Builder {
    symbols: Symbols,
    mappings: Vec<Mapping>,
    /// For each mapping, whether every function that was looked up in it is known.
    all_known: Vec<bool>,
    strings: BTreeMap<String, u64>,
    functions: BTreeMap<(String, String), u64>,
    locations: BTreeMap<Frames, u64>,
    profile: Message,
}

/// Their numbers in the message `Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const MAPPING: u64 = 3;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING_TABLE: u64 = 6;
    pub(super) const TIME_NANOS: u64 = 9;
    pub(super) const DURATION_NANOS: u64 = 10;
    pub(super) const PERIOD_TYPE: u64 = 11;
    pub(super) const PERIOD: u64 = 12;
}

fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

impl Builder {
    /// Makes a profile. `values` are the values of each sample, `begun` is the time of its start,
    /// and the period is the distance between samples.
    pub(super) fn new(values: &[ValueType], begun: SystemTime, (kind, period): (ValueType, u64)) -> Self {
        let mappings = mappings();
        let mut builder = Builder {
            symbols: Symbols::new(),
            all_known: vec![true; mappings.len()],
            mappings,
            strings: BTreeMap::new(),
            functions: BTreeMap::new(),
            locations: BTreeMap::new(),
            profile: Message::default(),
        };
        // The first one is.
        builder.string("");
        for value in values {
            let value = builder.value_type(*value);
            builder.profile.message(field::SAMPLE_TYPE, &value);
        }
        let kind = builder.value_type(kind);
        let since = begun.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        builder.profile.number(field::TIME_NANOS, nanoseconds(since));
        builder.profile.message(field::PERIOD_TYPE, &kind).number(field::PERIOD, period);
        builder
    }

    /// Sets how long the program was profiled.
    pub(super) fn duration(&mut self, duration: Duration) {
        self.profile.number(field::DURATION_NANOS, nanoseconds(duration));
    }

    /// Adds a sample: the addresses of its frames, the innermost first.
    pub(super) fn sample<'a>(
        &mut self,
        pcs: &[usize],
        inner: Inner,
        values: &[i64],
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) {
        let frames = self.frames(pcs, inner);
        let locations: Vec<u64> = frames.into_iter().map(|frames| self.location(frames)).collect();
        self.sample_at(&locations, values, labels);
    }

    /// Adds a sample of an invented function, which stands for a thing that isn't a function.
    pub(super) fn sample_of(&mut self, function: &str, values: &[i64]) {
        let mut location = Message::default();
        // No code is at this address.
        let id = self.next_location((0, 0, 0));
        let function = self.function(function, "");
        location.number(1, id).message(4, Message::default().number(1, function));
        self.profile.message(field::LOCATION, &location);
        self.sample_at(&[id], values, []);
    }

    fn sample_at<'a>(
        &mut self,
        locations: &[u64],
        values: &[i64],
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) {
        let mut sample = Message::default();
        sample.numbers(1, locations.iter().copied()).numbers(2, values.iter().map(|value| *value as u64));
        for (key, value) in labels {
            let (key, value) = (self.string(key), self.string(value));
            sample.message(3, Message::default().number(1, key).number(2, value));
        }
        self.profile.message(field::SAMPLE, &sample);
    }

    /// Returns the frames at these addresses that are shown: without the frames that the goroutine
    /// began in, and, depending on `inner`, without the runtime's innermost ones. All are shown if
    /// none is the program's, or if the stack isn't a goroutine's: a stack of the scheduler has
    /// functions of the library, which may be the program's.
    fn frames(&mut self, pcs: &[usize], inner: Inner) -> Vec<Frames> {
        let mut frames: Vec<(usize, Whose)> = Vec::new();
        for (i, pc) in pcs.iter().enumerate() {
            frames.extend(self.symbols.functions(*pc).iter().map(|symbol| (i, symbol.whose())));
        }
        let last = pcs.last().and_then(|pc| self.symbols.functions(*pc).last());
        let began = last.is_some_and(|symbol| symbol.function == GOEXIT);
        let outermost = frames.iter().rposition(|(_, whose)| *whose == Whose::Program).filter(|_| began);
        let end = outermost.map_or(frames.len(), |last| last + 1);
        let innermost = frames.iter().position(|(_, whose)| *whose > Whose::Runtime);
        let begin = innermost.filter(|first| inner == Inner::Caller && *first < end).unwrap_or(0);
        let mut shown: Vec<Frames> = Vec::new();
        for (at, (i, _)) in frames.iter().enumerate().take(end).skip(begin) {
            let first = frames[..at].iter().rev().take_while(|(other, _)| other == i).count();
            match shown.last_mut().filter(|(pc, _, end)| *pc == pcs[*i] && *end == first) {
                Some((_, _, end)) => *end += 1,
                None => shown.push((pcs[*i], first, first + 1)),
            }
        }
        shown
    }

    fn next_location(&mut self, frames: Frames) -> u64 {
        let next = self.locations.len() as u64 + 1;
        self.locations.insert(frames, next);
        next
    }

    /// The number of a location, which is written when it is first asked for.
    fn location(&mut self, frames: Frames) -> u64 {
        if let Some(id) = self.locations.get(&frames) {
            return *id;
        }
        let (pc, begin, end) = frames;
        let id = self.next_location(frames);
        let mapping = self.mappings.iter().position(|at| (at.start..at.limit).contains(&(pc as u64)));
        let mut location = Message::default();
        location.number(1, id).number(2, mapping.map_or(0, |i| i as u64 + 1)).number(3, pc as u64);
        let lines: Vec<(String, String, u32)> = self.symbols.functions(pc)[begin..end]
            .iter()
            .map(|Symbol { function, file, line, .. }| (function.clone(), file.clone(), *line))
            .collect();
        for (function, file, line) in lines {
            if function.is_empty() {
                mapping.inspect(|i| self.all_known[*i] = false);
                continue;
            }
            let function = self.function(&function, &file);
            location.message(4, Message::default().number(1, function).number(2, line.into()));
        }
        self.profile.message(field::LOCATION, &location);
        id
    }

    /// The number of a function, which is written when it is first asked for. It has no
    /// `system_name`: pprof would take that for a name of C++, and cut out the text in angle
    /// brackets.
    fn function(&mut self, name: &str, file: &str) -> u64 {
        let next = self.functions.len() as u64 + 1;
        let id = *self.functions.entry((name.to_owned(), file.to_owned())).or_insert(next);
        if id == next {
            let (name, file) = (self.string(name), self.string(file));
            let mut function = Message::default();
            function.number(1, id).number(2, name).number(4, file);
            self.profile.message(field::FUNCTION, &function);
        }
        id
    }

    /// The number of a string, which is written when it is first asked for.
    fn string(&mut self, string: &str) -> u64 {
        if let Some(number) = self.strings.get(string) {
            return *number;
        }
        let next = self.strings.len() as u64;
        self.strings.insert(string.to_owned(), next);
        self.profile.bytes(field::STRING_TABLE, string.as_bytes());
        next
    }

    fn value_type(&mut self, (kind, unit): ValueType) -> Message {
        let (kind, unit) = (self.string(kind), self.string(unit));
        let mut message = Message::default();
        message.number(1, kind).number(2, unit);
        message
    }

    /// The profile, compressed.
    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        for (i, at) in std::mem::take(&mut self.mappings).iter().enumerate() {
            let (file, build_id) = (self.string(&at.file), self.string(&at.build_id));
            let mut mapping = Message::default();
            mapping.number(1, i as u64 + 1).number(2, at.start).number(3, at.limit).number(4, at.offset);
            mapping.number(5, file).number(6, build_id);
            // The flags for functions, files, lines, and inlined frames.
            let known = self.all_known[i].into();
            (7..=10).for_each(|flag| _ = mapping.number(flag, known));
            self.profile.message(field::MAPPING, &mapping);
        }
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        compressed.write_all(&self.profile.into_bytes())?;
        compressed.finish()
    }
}

/// Labels, in the form that [`Builder::sample`] takes.
pub(super) fn labels_of(labels: Option<&LabelMap>) -> impl Iterator<Item = (&str, &str)> {
    labels.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()))
}

/// A range of memory that holds code.
struct Mapping {
    start: u64,
    /// One past its last byte.
    limit: u64,
    /// Where in the file the range begins.
    offset: u64,
    /// The file's path, or the kernel's name for code without a file.
    file: String,
    /// In hexadecimal digits; empty if the file has none.
    build_id: String,
}

/// The code of this process, the program's own file first. Empty if `/proc` can't be read. Go's
/// `parseProcSelfMaps`.
fn mappings() -> Vec<Mapping> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let program = fs::read_link("/proc/self/exe").unwrap_or_default();
    let mut mappings: Vec<Mapping> = maps.lines().filter_map(parse).collect();
    mappings.sort_by_key(|mapping| program.as_os_str() != mapping.file.as_str());
    for mapping in &mut mappings {
        mapping.build_id = build_id(&mapping.file).ok().flatten().unwrap_or_default();
    }
    mappings
}

/// Parses a line of `/proc/self/maps`, `start-limit perms offset device inode path`. `None` if it
/// isn't of code that has a name.
fn parse(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, limit) = fields.next()?.split_once('-')?;
    let executable = fields.next()?.as_bytes().get(2) == Some(&b'x');
    let offset = fields.next()?;
    let path = fields.nth(2)?.trim_start();
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    (executable && !path.is_empty()).then_some(())?;
    Some(Mapping {
        start: hex(start)?,
        limit: hex(limit)?,
        offset: hex(offset)?,
        file: path.strip_suffix(" (deleted)").unwrap_or(path).to_owned(),
        build_id: String::new(),
    })
}

/// The build id of a file; `None` if it isn't an ELF file with a build id. Go's `elfBuildID`.
fn build_id(path: &str) -> io::Result<Option<String>> {
    /// The type of a program header: notes.
    const PT_NOTE: u64 = 4;

    let file = File::open(path)?;
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0)?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return Ok(None);
    }
    let (at, size, count) = (number(&header, 32, 8), number(&header, 54, 2), number(&header, 56, 2));
    for i in 0..count {
        let mut segment = [0; 56];
        file.read_exact_at(&mut segment, at + i * size)?;
        if number(&segment, 0, 4) == PT_NOTE {
            let mut notes = vec![0; number(&segment, 32, 8).min(1 << 16) as usize];
            file.read_exact_at(&mut notes, number(&segment, 8, 8))?;
            if let Some(id) = build_id_in(&notes) {
                return Ok(Some(id.iter().map(|byte| format!("{byte:02x}")).collect()));
            }
        }
    }
    Ok(None)
}

/// The number in `len` bytes at the offset `at`, the lowest byte first.
fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    bytes[at..at + len].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The build id among notes. Each note has the lengths of its name and of its content, its type,
/// the name and the content, the last two padded to a multiple of four bytes.
fn build_id_in(mut notes: &[u8]) -> Option<&[u8]> {
    /// The type of a note of GNU's.
    const NT_GNU_BUILD_ID: u64 = 3;

    while notes.len() >= 12 {
        let (name, says) = (number(notes, 0, 4) as usize, number(notes, 4, 4) as usize);
        let kind = number(notes, 8, 4);
        let begin = 12 + name.next_multiple_of(4);
        let said = notes.get(begin..begin + says)?;
        if kind == NT_GNU_BUILD_ID && notes[12..].starts_with(b"GNU\0") {
            return Some(said);
        }
        notes = notes.get(begin + says.next_multiple_of(4)..)?;
    }
    None
}

/// A message of [protocol buffers](https://protobuf.dev/programming-guides/encoding) that is being
/// written, field by field.
#[derive(Default)]
struct Message(Vec<u8>);

/// The wire types of fields: a number, or a length and then that number of bytes.
const VARINT: u64 = 0;
const LEN: u64 = 2;

impl Message {
    fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A number, in groups of seven bits, the lowest first.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Writes a number; 0 is left out, because a reader takes a missing field for 0.
    fn number(&mut self, field: u64, value: u64) -> &mut Self {
        if value != 0 {
            self.varint(field << 3 | VARINT);
            self.varint(value);
        }
        self
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | LEN);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Writes several numbers. Negative ones are written as 64 bits.
    fn numbers(&mut self, field: u64, values: impl IntoIterator<Item = u64>) -> &mut Self {
        let mut all = Message::default();
        values.into_iter().for_each(|value| all.varint(value));
        self.message(field, &all)
    }

    fn message(&mut self, field: u64, message: &Message) -> &mut Self {
        self.bytes(field, &message.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps() {
        let line = "55d0-55d8 r-xp 00002000 08:01 1234                       /a program (deleted)";
        let mapping = parse(line).expect("code");
        assert_eq!((mapping.start, mapping.limit, mapping.offset), (0x55d0, 0x55d8, 0x2000));
        assert_eq!(mapping.file, "/a program");
        assert!(parse("55d0-55d8 rw-p 00002000 08:01 1234   /a").is_none());
        assert!(parse("55d0-55d8 r-xp 00000000 00:00 0 ").is_none());
    }

    #[test]
    fn a_build_id_behind_another_note() {
        let notes =
            b"\x04\0\0\0\x01\0\0\0\x01\0\0\0GNU\0x\0\0\0\x04\0\0\0\x02\0\0\0\x03\0\0\0GNU\0\xab\xcd\0\0";
        assert_eq!(build_id_in(notes), Some(&b"\xab\xcd"[..]));
        assert_eq!(build_id_in(&notes[..20]), None);
        assert_eq!(build_id_in(&notes[..37]), None);
    }

    /// The examples of the encoding's description.
    #[test]
    fn as_described() {
        let mut message = Message::default();
        message.number(1, 150).number(3, 0).bytes(2, b"testing").numbers(6, [3, 270, 86942]);
        let expected = b"\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05";
        assert_eq!(message.into_bytes(), expected);
    }
}
