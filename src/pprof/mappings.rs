//! The files whose code is in memory, with their build ids: Go's `parseProcSelfMaps` and
//! `elfBuildID`, in `runtime/pprof`.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

/// A range of memory that holds code.
pub(super) struct Mapping {
    pub(super) start: u64,
    /// One past its last byte.
    pub(super) limit: u64,
    /// Where in the file the range begins.
    pub(super) offset: u64,
    /// The file's path, or the kernel's name for code without a file.
    pub(super) file: String,
    /// In hexadecimal digits; empty if the file has none.
    pub(super) build_id: String,
}

/// The code of this process, the program's own file first. Empty if `/proc` can't be read.
pub(super) fn mappings() -> Vec<Mapping> {
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

/// The build id of a file; `None` if it isn't an ELF file with a build id.
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
}
