//! The contents of folders. Each function returns the faults, a line for each.

use std::collections::BTreeSet;

use super::tree::Tree;
use crate::markdown::{names, rows};
use crate::tokens::definitions;

/// A file of one subject has no more lines than this.
const MOST_LINES: usize = 800;

/// The file that mirrors a file of Go's may have more.
const LONG: &str = "runtime/data/runtime2.rs";

/// Each folder's `mod.rs` has a table that names each file in it once, and each folder.
pub fn folders_have_tables(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for folder in folders(tree) {
        let rules = format!("{folder}/mod.rs");
        if !tree.has(&rules) {
            wrong.push(format!("{folder}: there is no mod.rs"));
            continue;
        }
        let mut listed: Vec<String> = table(tree, &folder).into_iter().flat_map(|row| row.files).collect();
        for name in contents(tree, &folder) {
            match listed.iter().position(|other| *other == name) {
                Some(i) => drop(listed.remove(i)),
                None => wrong.push(format!("{rules}: {name} isn't in its table")),
            }
        }
        // A `mod.rs` with functions of its own may be listed, too.
        listed.retain(|name| name != "mod.rs");
        wrong.extend(listed.iter().map(|name| format!("{rules}: {name} isn't there, or listed twice")));
    }
    wrong
}

/// Each name in a file's row of such a table is defined in that file, in this spelling or in Go's.
pub fn tables_are_right(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for folder in folders(tree).iter().filter(|folder| tree.has(&format!("{folder}/mod.rs"))) {
        for Row { files, names } in table(tree, folder) {
            let files = tree.files().filter(|(path, _)| {
                let inner = path.strip_prefix(folder).map(|name| &name[1..]);
                let is_listed = |file: &String, inner: &str| {
                    *file == inner || file.ends_with('/') && inner.starts_with(file.as_str())
                };
                inner.is_some_and(|inner| files.iter().any(|file| is_listed(file, inner)))
            });
            let defined: BTreeSet<String> =
                files.flat_map(|(_, file)| definitions(&file.tokens)).map(spelled_alike).collect();
            let is_there = |name: &str| {
                let ours = spelled_alike(name);
                defined.contains(&ours) || defined.contains(&format!("gosched{ours}"))
            };
            let missing = names.iter().filter(|name| !is_there(name));
            wrong.extend(missing.map(|name| format!("{folder}/mod.rs: {name} isn't where its table says")));
        }
    }
    wrong
}

/// Spells a name of Go's and ours alike, for a function, a type or a constant.
fn spelled_alike(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

/// A row of a folder's table.
struct Row {
    /// The files in the first cell.
    files: Vec<String>,
    /// The items' names in the other cells.
    names: Vec<String>,
}

/// Returns the rows about files in the table of a folder's `mod.rs`, which is in its doc or in a
/// comment.
fn table(tree: &Tree, folder: &str) -> Vec<Row> {
    let lines = tree.get(&format!("{folder}/mod.rs")).source.lines();
    let text = lines.filter_map(|line| line.strip_prefix("//!").or(line.strip_prefix("//")));
    let rows = rows(text.map(|line| line.strip_prefix(' ').unwrap_or(line))).into_iter().map(|row| Row {
        files: names(&row[0])
            .into_iter()
            .filter(|name| name.ends_with(".rs") || name.ends_with('/'))
            .collect(),
        names: row[1..].iter().flat_map(|cell| names(cell)).filter_map(|name| item(&name)).collect(),
    });
    rows.filter(|row| !row.files.is_empty()).collect()
}

/// Returns the last name of a path or of a method.
fn item(name: &str) -> Option<String> {
    let name = name.trim_end_matches('!').rsplit("::").next()?;
    name.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| name.to_owned())
}

/// Returns the folders of rooms and of faces.
fn folders(tree: &Tree) -> Vec<String> {
    let mut folders: Vec<String> =
        tree.files().filter_map(|(path, _)| Some(path.rsplit_once('/')?.0.to_owned())).collect();
    folders.sort();
    folders.dedup();
    folders.retain(|folder| folder != "runtime");
    folders
}

/// Returns the files in a folder, except for its `mod.rs`, and the subfolders.
fn contents(tree: &Tree, folder: &str) -> Vec<String> {
    let prefix = format!("{folder}/");
    let mut contents: Vec<String> = tree
        .files()
        .filter_map(|(path, _)| path.strip_prefix(&prefix))
        .map(|path| path.split_once('/').map_or(path.to_owned(), |(inner, _)| format!("{inner}/")))
        .filter(|name| name != "mod.rs")
        .collect();
    contents.dedup();
    contents
}

/// A module with modules in it is a folder's `mod.rs`, and not a file beside the folder.
pub fn modules_are_folders(tree: &Tree) -> Vec<String> {
    let beside = folders(tree).into_iter().map(|folder| folder + ".rs").filter(|file| tree.has(file));
    beside.map(|file| format!("{file} stands beside its folder")).collect()
}

/// A file has one subject.
pub fn files_are_short(tree: &Tree) -> Vec<String> {
    let long = tree.files().filter(|(path, file)| *path != LONG && file.source.lines().count() > MOST_LINES);
    long.map(|(path, file)| format!("{path} has {} lines", file.source.lines().count())).collect()
}
