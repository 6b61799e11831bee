//! The order of the house, as the doc of `src/runtime/mod.rs` has it:
//!
//! - "Floors" is a table with a row for each floor, the roof first. The rooms on it are in its
//!   first cell. What a room uses is below its floor.
//! - "Faces" is a table of what stands beside the runtime and uses it: in a face's second cell are
//!   its modules. No face uses another. What a face uses of the runtime is what
//!   `src/runtime/mod.rs` exports.
//! - "Arrows up" and "Arrows between faces" are tables of exceptions: a file, the path that it
//!   nevertheless uses, and the reason.

use std::collections::BTreeMap;

use proc_macro2::Delimiter;

use super::paths::{DOLLAR_CRATE, Path, exports, modules};
use super::tree::{File, Tree};
use crate::markdown::{names, rows};
use crate::tokens::{Token, words};

/// Where that is.
pub const RULES: &str = "runtime/mod.rs";

/// How many exceptions there may be for rooms.
const MOST_ARROWS_UP: usize = 5;

pub struct House {
    /// The rooms on each floor, from the ground.
    floors: Vec<Vec<String>>,
    /// Each face's modules.
    faces: Vec<Vec<String>>,
    pub arrows_up: Vec<Arrow>,
    pub arrows_between_faces: Vec<Arrow>,
    /// What faces may use of the runtime.
    pub for_faces: Vec<String>,
    /// What modules export, by the paths that this gives it.
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

/// Where in the house a path leads.
#[derive(Debug, PartialEq)]
pub enum Place<'a> {
    Room(&'a str),
    /// Into the runtime, but not to a room: the name, if there is one.
    Runtime(Option<&'a str>),
    /// A face, by its number.
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

    /// A path as a file has it, without the name that the root of the crate gives it.
    pub fn resolve(&self, path: &Path) -> Path {
        let path = path.strip_prefix([DOLLAR_CRATE.to_owned()].as_slice()).unwrap_or(path);
        let first =
            path.get(..1).and_then(|first| self.exports.get(first).or_else(|| self.macros.get(&first[0])));
        first.map_or_else(|| path.to_vec(), |home| [home, &path[1..]].concat())
    }

    /// A path as [`resolve`](Self::resolve) has it; that of a macro, which can only use public
    /// names, by where it is at home.
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

    /// Whether a path is that of a macro of the runtime's that everybody may use.
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

    /// What is wrong with the order itself.
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
    /// Whether it is for this file and path.
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

/// The rows of the tables below a heading of a module's doc, without the tables' own headings.
fn table(text: &str, title: &str) -> Vec<Vec<String>> {
    let doc = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let part = doc.skip_while(|line| line.strip_prefix("# ") != Some(title)).skip(1);
    rows(part.take_while(|line| !line.starts_with("# ")))
}

/// The macros that a file exports, with the module that it is.
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
