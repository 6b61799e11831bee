//! All goroutines as JSON, for tools.

use std::fmt::{self, Display, Formatter, Write};
use std::io;

use crate::runtime::arch::getg;
use crate::runtime::report::dump::{goroutine_stacks, write_parts};
use crate::runtime::report::groups::{Created, Group, Known, Member, Stacks};

/// Writes the states and the stacks of all goroutines as JSON, each stack once.
///
/// The schema is stable. A change that a reader could notice, other than a new field, comes with
/// another `version`. Fields are in the order shown, and all of them are there.
///
/// ```text
/// {"version": 1, "goroutines": 121, "groups": [
///   {"state": "chan receive", "locked_to_thread": false, "system": false, "stack": "all",
///    "frames": [{"function": "example::work", "file": "/src/example.rs", "line": 12}],
///    "created": {"function": null, "file": "src/main.rs", "line": 7, "column": 5},
///    "goroutines": [
///     {"id": 7, "name": "worker", "parent": 1, "waited_ms": 180000,
///      "labels": {"service": "mail"}}]}]}
/// ```
///
/// | field | type | meaning |
/// | --- | --- | --- |
/// | `version` | number | the version of the schema: 1 |
/// | `goroutines` | number | how many goroutines there are, in all groups |
/// | `groups` | array | goroutines with equal stacks, as in [`dump_goroutines_grouped`]: the largest groups come first |
/// | `state` | string | what the goroutines wait for, in Go's words, or `running`, `runnable`, `syscall` and the like: the words of a traceback |
/// | `locked_to_thread` | boolean | whether each of them is locked to its thread |
/// | `system` | boolean | whether they are an embedder's own |
/// | `stack` | string | `all`; `innermost`, if there may be more than the 100 frames that were looked at; `failed`, if an unwinder failed to find more; `unknown`, if the goroutine runs and its stack couldn't be found |
/// | `frames` | array | the functions that a traceback shows, the innermost first; inlined functions have frames of their own |
/// | `function` | string or null | the function's name, with its path |
/// | `file` | string or null | the source file, as the compiler has named it |
/// | `line` | number or null | the line, from 1 |
/// | `created` | object or null | where the goroutines were made. Either `function` is null, or `column` |
/// | `column` | number or null | the column, from 1 |
/// | `goroutines` (of a group) | array | the goroutines; those that have waited longest come first |
/// | `id` | number | the goroutine's number, see [`goid`](crate::goid) |
/// | `name` | string or null | its name |
/// | `parent` | number | the number of the goroutine that made it; 0 if none did |
/// | `waited_ms` | number or null | for how many milliseconds it has waited or been in a system call, right to about a second; null if it does neither, or has just begun |
/// | `labels` | object | its [labels](crate::labels), each a string. None if the goroutine runs and doesn't stop |
///
/// Goroutines are looked at as by [`dump_goroutines_grouped`], and
/// [`set_traceback`](crate::set_traceback) sets whether the runtime's own frames are there.
///
/// ```
/// gosched::run(|| {
///     let mut report = Vec::new();
///     gosched::dump_json(&mut report).unwrap();
///     assert!(report.starts_with(b"{\"version\": 1, "));
/// });
/// ```
///
/// Go has no counterpart.
///
/// [`dump_goroutines_grouped`]: crate::dump_goroutines_grouped
///
/// # Errors
/// The errors of `out`.
///
/// # Panics
/// As `out` does.
pub fn dump_json(out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let stacks = goroutine_stacks();
    let mut parts = Parts { stacks: &stacks, next: Part::Begin };
    // Writing to a string doesn't fail.
    write_parts(out, getg(), |text, _| parts.write_next(text).is_ok_and(|more| more))
}

/// The parts of a dump. Each is small, as long as labels are.
struct Parts<'a> {
    stacks: &'a Stacks,
    next: Part,
}

/// The part to write next.
enum Part {
    Begin,
    /// The head of this group.
    Group(usize),
    /// A goroutine of a group.
    Member(usize, usize),
    /// Nothing.
    Nothing,
}

impl Parts<'_> {
    /// Writes the next part. Returns whether there was one.
    fn write_next(&mut self, out: &mut String) -> Result<bool, fmt::Error> {
        let groups = &self.stacks.groups;
        self.next = match self.next {
            Part::Begin => {
                let count: usize = groups.iter().map(|group| group.goroutines.len()).sum();
                write!(out, "{{\"version\": 1, \"goroutines\": {count}, \"groups\": [")?;
                Part::Group(0)
            }
            Part::Group(i) => match groups.get(i) {
                Some(group) => {
                    out.push_str(if i == 0 { "\n" } else { ",\n" });
                    write_head(out, self.stacks, group)?;
                    Part::Member(i, 0)
                }
                None => {
                    out.push_str("]}\n");
                    Part::Nothing
                }
            },
            Part::Member(i, at) => match groups[i].goroutines.get(at) {
                Some(member) => {
                    out.push_str(if at == 0 { "\n" } else { ",\n" });
                    write_member(out, member)?;
                    Part::Member(i, at + 1)
                }
                None => {
                    out.push_str("]}");
                    Part::Group(i + 1)
                }
            },
            Part::Nothing => return Ok(false),
        };
        Ok(true)
    }
}

/// Writes a group as far as its first goroutine.
fn write_head(out: &mut String, stacks: &Stacks, group: &Group) -> fmt::Result {
    let stack = match group.known() {
        Known::All => "all",
        Known::Innermost => "innermost",
        Known::Failed => "failed",
        Known::Nothing => "unknown",
    };
    write!(
        out,
        "{{\"state\": {}, \"locked_to_thread\": {}, \"system\": {}, \"stack\": \"{stack}\", \"frames\": [",
        Text(group.what()),
        group.is_locked(),
        group.is_system(),
    )?;
    for (i, symbol) in stacks.frames(group).enumerate() {
        out.push_str(if i == 0 { "{" } else { ", {" });
        write_place(out, &symbol.function, &symbol.file, symbol.line)?;
        out.push('}');
    }
    out.push_str("], \"created\": ");
    match stacks.created(group) {
        Created::At(location) => {
            out.push('{');
            write_place(out, "", location.file(), location.line())?;
            write!(out, ", \"column\": {}}}", location.column())?;
        }
        Created::By(symbol) => {
            out.push('{');
            write_place(out, &symbol.function, &symbol.file, symbol.line)?;
            out.push_str(", \"column\": null}");
        }
        Created::Unknown => out.push_str("null"),
    }
    out.push_str(", \"goroutines\": [");
    Ok(())
}

/// Writes the fields of a place. What isn't known is empty or 0.
fn write_place(out: &mut String, function: &str, file: &str, line: u32) -> fmt::Result {
    write!(out, "\"function\": {}, \"file\": {}, \"line\": ", TextOrNull(function), TextOrNull(file))?;
    if line == 0 { out.write_str("null") } else { write!(out, "{line}") }
}

fn write_member(out: &mut String, member: &Member) -> fmt::Result {
    let Member { goid, name, waited, labels, parent } = member;
    let name = TextOrNull(name.as_str());
    write!(out, "{{\"id\": {goid}, \"name\": {name}, \"parent\": {parent}, \"waited_ms\": ")?;
    match waited {
        Some(waited) => write!(out, "{}", waited.as_millis())?,
        None => out.push_str("null"),
    }
    out.push_str(", \"labels\": {");
    for (i, (key, value)) in labels.iter().flat_map(|labels| labels.iter()).enumerate() {
        write!(out, "{}{}: {}", if i == 0 { "" } else { ", " }, Text(key), Text(value))?;
    }
    out.push_str("}}");
    Ok(())
}

/// A string of JSON.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                // JSON allows no control character in a string.
                '\0'..='\x1f' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// A string of JSON, or null if it is empty.
struct TextOrNull<'a>(&'a str);

impl Display for TextOrNull<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("null") } else { Text(self.0).fmt(f) }
    }
}
