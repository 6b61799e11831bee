//! The crate as a tree of modules: the real one, or one that is made up.

use std::collections::{BTreeMap, HashSet};

use super::paths::{Path, modules};
use crate::repository::{files_below, read};
use crate::tokens::{self, Token};

/// What is below `src/`.
pub struct Tree {
    /// Of all files.
    pub paths: Vec<String>,
    /// Those that aren't modules of unit tests.
    files: BTreeMap<String, File>,
}

pub struct File {
    pub source: String,
    pub tokens: Vec<Token>,
    /// All names in it.
    words: HashSet<String>,
    /// The module that it is.
    pub module: Path,
}

impl Tree {
    pub fn of_the_crate() -> Self {
        let paths = files_below("src");
        Self::new(paths.iter().map(|path| (&path["src/".len()..], read(path))))
    }

    /// Of files with their sources.
    pub fn new<'a>(files: impl Iterator<Item = (&'a str, String)>) -> Self {
        let files = files.map(|(path, source)| {
            let tokens = tokens::of(path, &source);
            let words = tokens::words(&tokens).map(str::to_owned).collect();
            (path.to_owned(), File { module: module(path), tokens, words, source })
        });
        let mut files: BTreeMap<String, File> = files.collect();
        let paths = files.keys().cloned().collect();
        let undeclared: Vec<Path> = files
            .values()
            .filter(|file| !is_declared(file, &files))
            .map(|file| file.module.clone())
            .collect();
        files.retain(|_, file| !undeclared.iter().any(|module| file.module.starts_with(module)));
        Tree { paths, files }
    }

    pub fn get(&self, path: &str) -> &File {
        self.files.get(path).unwrap_or_else(|| panic!("there is no src/{path}"))
    }

    /// The files of rooms, with their rooms.
    pub fn rooms(&self) -> impl Iterator<Item = (&str, &File, &str)> {
        self.files().filter_map(|(path, file)| Some((path, file, file.room()?)))
    }

    /// The files of faces.
    pub fn faces(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files().filter(|(_, file)| file.module.first().is_some_and(|first| first != "runtime"))
    }

    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }
}

impl File {
    /// Whether a name is somewhere in it.
    pub fn mentions(&self, name: &str) -> bool {
        self.words.contains(name)
    }

    /// The room that it is in, if it is in one.
    pub fn room(&self) -> Option<&str> {
        match self.module.as_slice() {
            [runtime, room, ..] if runtime == "runtime" => Some(room),
            _ => None,
        }
    }
}

/// Whether a file is a module that isn't for unit tests alone.
fn is_declared(file: &File, files: &BTreeMap<String, File>) -> bool {
    let Some((name, above)) = file.module.split_last() else { return true };
    files.values().any(|parent| parent.module == above && modules(&parent.tokens).contains(name))
}

/// The module that a file is: `a/b.rs` and `a/b/mod.rs` are `a::b`, `lib.rs` is the root.
fn module(path: &str) -> Path {
    let path = path.strip_suffix(".rs").unwrap_or_else(|| panic!("src/{path} isn't Rust"));
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" { Path::new() } else { path.split('/').map(str::to_owned).collect() }
}
