//! The parts of an ELF file that the check needs: <https://refspecs.linuxfoundation.org/elf>.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::notes::is_of_go;

/// The number of the architecture that this is built for.
pub(crate) const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;

pub(crate) struct Elf {
    pub(crate) machine: u16,
    /// The dynamic linker; none in a static program.
    pub(crate) interpreter: Option<PathBuf>,
    /// The libraries that it names.
    pub(crate) needed: Vec<String>,
    /// The names of its dynamic symbols.
    pub(crate) symbols: Vec<String>,
    /// Whether it has a note of Go's.
    pub(crate) has_go: bool,
}

/// A part of the file that is loaded, or that the dynamic linker reads.
#[derive(Clone, Copy)]
struct Segment {
    kind: u32,
    offset: usize,
    address: u64,
    size: usize,
}

impl Elf {
    /// Reads a file. Returns none if it isn't an ELF file of 64 bits for a machine of this byte
    /// order, or is damaged.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Elf>> {
        Ok(Elf::parse(&fs::read(path)?))
    }

    fn parse(file: &[u8]) -> Option<Elf> {
        let little_endian = file.starts_with(b"\x7fELF\x02\x01");
        if !little_endian {
            return None;
        }
        let (machine, headers) = (u16_at(file, 18)?, u64_at(file, 32)? as usize);
        let (size, count) = (u16_at(file, 54)? as usize, u16_at(file, 56)? as usize);
        let segments: Vec<Segment> =
            (0..count).map(|i| Segment::at(file, headers + i * size)).collect::<Option<_>>()?;
        let of_kind = |kind: u32| segments.iter().filter(move |segment| segment.kind == kind);
        let contents =
            |segment: &Segment| file.get(segment.offset..segment.offset.checked_add(segment.size)?);
        let interpreter = of_kind(PT_INTERP).find_map(contents).map(|bytes| {
            let name = bytes.split(|byte| *byte == 0).next().unwrap_or(bytes);
            PathBuf::from(OsString::from_vec(name.to_vec()))
        });
        let has_go = of_kind(PT_NOTE).filter_map(contents).any(is_of_go);
        let dynamic = of_kind(PT_DYNAMIC).find_map(contents).unwrap_or(&[]);
        let entries: Vec<(u64, u64)> = dynamic
            .chunks_exact(16)
            .filter_map(|entry| Some((u64_at(entry, 0)?, u64_at(entry, 8)?)))
            .collect();
        let value = |tag: u64| entries.iter().find(|entry| entry.0 == tag).map(|entry| entry.1);
        let in_file = |address: u64| {
            of_kind(PT_LOAD).find_map(|segment| {
                let from = usize::try_from(address.checked_sub(segment.address)?).ok()?;
                (from < segment.size).then(|| segment.offset + from)
            })
        };
        let (mut needed, mut symbols) = (Vec::new(), Vec::new());
        if let Some(strings) = value(DT_STRTAB).and_then(in_file) {
            let string = |at: u64| string_at(file, strings.checked_add(usize::try_from(at).ok()?)?);
            needed = entries
                .iter()
                .filter(|entry| entry.0 == DT_NEEDED)
                .filter_map(|entry| string(entry.1))
                .collect();
            // The linkers put the strings behind the symbols.
            let first = value(DT_SYMTAB).and_then(in_file).unwrap_or(strings);
            let table = file.get(first..strings).unwrap_or(&[]);
            symbols =
                table.chunks_exact(24).filter_map(|entry| string(u64::from(u32_at(entry, 0)?))).collect();
        }
        Some(Elf { machine, interpreter, needed, symbols, has_go })
    }
}

impl Segment {
    fn at(file: &[u8], at: usize) -> Option<Segment> {
        Some(Segment {
            kind: u32_at(file, at)?,
            offset: u64_at(file, at + 8)? as usize,
            address: u64_at(file, at + 16)?,
            size: u64_at(file, at + 32)? as usize,
        })
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn string_at(file: &[u8], at: usize) -> Option<String> {
    let name = file.get(at..)?.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(name).into_owned())
}
