//! The order of the house, as the doc of `src/runtime/mod.rs` has it:
//!
//! - "Floors" is a table with a row for each floor, the roof first. The first cell has the floor's
//!   rooms. A room uses only rooms on lower floors.
//! - "Faces" is a table of the modules beside the runtime that use it: a face's second cell has the
//!   face's modules. No face uses another. A face uses only what `src/runtime/mod.rs` exports of
//!   the runtime.
//! - "Arrows up" and "Arrows between faces" are tables of exceptions: a file, the path that it
//!   nevertheless uses, and the reason.

use std::collections::BTreeMap;

use proc_macro2::Delimiter;

use super::paths::{DOLLAR_CRATE, Path, exports, modules};
use super::tree::{File, Tree};
use crate::markdown::{names, rows};
use crate::tokens::{Token, words};

/// The file with these tables.
pub const RULES: &str = "runtime/mod.rs";

/// The most exceptions that there may be for rooms.
const MOST_ARROWS_UP: usize = 5;

pub struct House {
    /// The rooms on each floor, from the ground.
    floors: Vec<Vec<String>>,
    /// Each face's modules.
    faces: Vec<Vec<String>>,
    pub arrows_up: Vec<Arrow>,
    pub arrows_between_faces: Vec<Arrow>,
    /// The items of the runtime that faces may use.
    pub for_faces: Vec<String>,
    /// The exports of modules: the path that an export makes, and the path behind it.
    exports: BTreeMap<Path, Path>,
    /// The exported macros, which are all at the root.
    macros: BTreeMap<String, Path>,
}

/// An exception.
pub struct Arrow {
    pub from: String,
    pub to: Path,
    pub reason: String,
}

/// The place in the house to which a path leads.
#[derive(Debug, PartialEq)]
pub enum Place<'a> {
    Room(&'a str),
    /// Into the runtime, but not into a room: the name, if there is one.
    Runtime(Option<&'a str>),
    /// A face, by number.
    Face(usize),
    Unknown,
}

impl House {
    pub fn new(tree: &Tree) -> Self {
        let rules = tree.get(RULES);
        let text = &rules.source;
        let cells = |title, column: usize| -> Vec<Vec<String>> {
            table(text, title).iter().map(|row| names(&row[column])).collect()
        };
        let mut floors = cells("Floors", 0);
        floors.reverse();
        let exported = tree.files().flat_map(|(_, file)| {
            let exports = exports(&file.tokens, &file.module).into_iter();
            exports.map(|export| ([&file.module[..], &[export.name]].concat(), export.path))
        });
        let macros = tree.files().flat_map(|(_, file)| exported_macros(file));
        House {
            floors,
            faces: cells("Faces", 1),
            arrows_up: arrows(text, "Arrows up"),
            arrows_between_faces: arrows(text, "Arrows between faces"),
            for_faces: exports(&rules.tokens, &rules.module).into_iter().map(|export| export.name).collect(),
            exports: exported.collect(),
            macros: macros.collect(),
        }
    }

    pub fn rooms(&self) -> impl Iterator<Item = &String> {
        self.floors.iter().flatten()
    }

    pub fn floor(&self, room: &str) -> Option<usize> {
        self.floors.iter().position(|rooms| rooms.iter().any(|other| other == room))
    }

    /// Returns a path as a file writes it, with exports of the root replaced.
    pub fn resolve(&self, path: &Path) -> Path {
        let path = path.strip_prefix([DOLLAR_CRATE.to_owned()].as_slice()).unwrap_or(path);
        let first =
            path.get(..1).and_then(|first| self.exports.get(first).or_else(|| self.macros.get(&first[0])));
        first.map_or_else(|| path.to_vec(), |home| [home, &path[1..]].concat())
    }

    /// Returns what [`resolve`](Self::resolve) returns. A macro can use only public names, so its
    /// paths are replaced by the items' home paths.
    pub fn home(&self, path: &Path) -> Path {
        let mut home = self.resolve(path);
        if path.first().is_some_and(|first| first == DOLLAR_CRATE) {
            let mut seen = Vec::new();
            while let Some((len, to)) =
                (1..=home.len()).find_map(|len| Some((len, self.exports.get(&home[..len])?)))
                && !seen.contains(to)
            {
                seen.push(to.clone());
                home = [to, &home[len..]].concat();
            }
        }
        home
    }

    /// Returns whether a path is that of a macro of the runtime's that everybody may use.
    pub fn is_macro_for_all(&self, written: &Path) -> bool {
        let name = written.iter().find(|name| *name != DOLLAR_CRATE);
        name.and_then(|name| self.macros.get(name)).is_some_and(|module| module[0] == "runtime")
    }

    pub fn place<'a>(&self, path: &'a Path) -> Place<'a> {
        match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["runtime", room, ..] if self.floor(room).is_some() => Place::Room(&path[1]),
            ["runtime", ..] => Place::Runtime(path.get(1).map(String::as_str)),
            [module, ..] => {
                let face = self.faces.iter().position(|modules| modules.iter().any(|other| other == module));
                face.map_or(Place::Unknown, Place::Face)
            }
            [] => Place::Unknown,
        }
    }

    /// Returns the faults of the order itself.
    pub fn faults(&self, tree: &Tree) -> Vec<String> {
        let mut faults = Vec::new();
        let declared = modules(&tree.get(RULES).tokens);
        for room in &declared {
            if self.floor(room).is_none() {
                faults.push(format!("{RULES}: {room} stands on no floor"));
            }
        }
        for room in self.rooms().filter(|room| !declared.contains(room)) {
            faults.push(format!("{RULES}: {room} isn't there"));
        }
        if self.arrows_up.len() > MOST_ARROWS_UP {
            faults
                .push(format!("{RULES}: {} arrows up, where {MOST_ARROWS_UP} may be", self.arrows_up.len()));
        }
        for arrow in self.arrows_up.iter().chain(&self.arrows_between_faces) {
            if arrow.reason.is_empty() {
                faults.push(format!("{RULES}: no reason why {} uses {}", arrow.from, arrow.to.join("::")));
            }
        }
        faults
    }
}

impl Arrow {
    /// Returns whether the exception is for this file and path.
    pub fn allows(&self, file: &str, path: &Path) -> bool {
        self.from == file && path.starts_with(&self.to)
    }
}

fn arrows(text: &str, title: &str) -> Vec<Arrow> {
    let arrow = |row: &Vec<String>| Arrow {
        from: names(&row[0]).concat(),
        to: names(&row[1]).concat().split("::").map(str::to_owned).collect(),
        reason: row[2].clone(),
    };
    table(text, title).iter().map(arrow).collect()
}

/// Returns the rows of the tables below a heading of a module's doc, without the tables' own
/// headings.
fn table(text: &str, title: &str) -> Vec<Vec<String>> {
    let doc = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let part = doc.skip_while(|line| line.strip_prefix("# ") != Some(title)).skip(1);
    rows(part.take_while(|line| !line.starts_with("# ")))
}

/// Returns the macros that a file exports, each with the file's module.
fn exported_macros(file: &File) -> Vec<(String, Path)> {
    let mut macros = Vec::new();
    let mut exported = false;
    for (i, token) in file.tokens.iter().enumerate() {
        match (token, &file.tokens[i + 1..]) {
            (Token::Group(Delimiter::Bracket, attribute), _) => {
                exported |= words(attribute).any(|word| word == "macro_export")
            }
            (Token::Group(Delimiter::Brace, _) | Token::Mark(';'), _) => exported = false,
            (Token::Word(word), [Token::Mark('!'), Token::Word(name), ..])
                if word == "macro_rules" && exported =>
            {
                macros.push((name.clone(), file.module.clone()));
            }
            _ => {}
        }
    }
    macros
}
