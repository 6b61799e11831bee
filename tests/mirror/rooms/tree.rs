//! The crate as a tree of modules: the real crate, or a made-up one.

use std::collections::{BTreeMap, HashSet};

use super::paths::{Path, modules};
use crate::repository::{files_below, read};
use crate::tokens::{self, Token, without_tests};

/// Files by their paths below `src/`.
pub struct Tree(BTreeMap<String, File>);

pub struct File {
    pub source: String,
    /// The tokens without unit tests.
    pub tokens: Vec<Token>,
    /// All names in the file, including those in unit tests.
    words: HashSet<String>,
    /// The module that this file is.
    pub module: Path,
    /// Whether it is declared as a module, and not only for unit tests.
    is_declared: bool,
}

impl Tree {
    pub fn of_the_crate() -> Self {
        let paths = files_below("src");
        Self::new(
            paths.iter().filter(|path| path.ends_with(".rs")).map(|path| (&path["src/".len()..], read(path))),
        )
    }

    /// Makes a tree of files, given their sources.
    pub fn new<'a>(files: impl Iterator<Item = (&'a str, String)>) -> Self {
        let files = files.map(|(path, source)| {
            let tokens = tokens::of(path, &source);
            let words = tokens::words(&tokens).map(str::to_owned).collect();
            let tokens = without_tests(tokens);
            (path.to_owned(), File { module: module(path), tokens, words, source, is_declared: true })
        });
        let mut files: BTreeMap<String, File> = files.collect();
        let undeclared: Vec<Path> = files
            .values()
            .filter(|file| !is_declared(file, &files))
            .map(|file| file.module.clone())
            .collect();
        for file in files.values_mut() {
            file.is_declared = !undeclared.iter().any(|module| file.module.starts_with(module));
        }
        Tree(files)
    }

    pub fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    pub fn get(&self, path: &str) -> &File {
        self.0.get(path).unwrap_or_else(|| panic!("there is no src/{path}"))
    }

    /// Returns the files of rooms, with their rooms, except for modules of unit tests.
    pub fn rooms(&self) -> impl Iterator<Item = (&str, &File, &str)> {
        self.files()
            .filter(|(_, file)| file.is_declared)
            .filter_map(|(path, file)| Some((path, file, file.room()?)))
    }

    /// Returns the files of faces, with the same exception.
    pub fn faces(&self) -> impl Iterator<Item = (&str, &File)> {
        let is_face = |file: &File| file.module.first().is_some_and(|first| first != "runtime");
        self.files().filter(move |(_, file)| file.is_declared && is_face(file))
    }

    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }
}

impl File {
    /// Returns whether a name is somewhere in the file.
    pub fn mentions(&self, name: &str) -> bool {
        self.words.contains(name)
    }

    /// Returns the file's room, if it is in one.
    pub fn room(&self) -> Option<&str> {
        match self.module.as_slice() {
            [runtime, room, ..] if runtime == "runtime" => Some(room),
            _ => None,
        }
    }
}

/// Returns whether a file is declared as a module, and not only for unit tests.
fn is_declared(file: &File, files: &BTreeMap<String, File>) -> bool {
    let Some((name, above)) = file.module.split_last() else { return true };
    files.values().any(|parent| parent.module == above && modules(&parent.tokens).contains(name))
}

/// Returns the module that a file is: `a/b.rs` and `a/b/mod.rs` are `a::b`, `lib.rs` is the root.
fn module(path: &str) -> Path {
    let path = path.strip_suffix(".rs").unwrap_or_else(|| panic!("src/{path} isn't Rust"));
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" { Path::new() } else { path.split('/').map(str::to_owned).collect() }
}
