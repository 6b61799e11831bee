//! The contents of `docs/design/reading-guide.md`, as far as tests can check them.

use crate::markdown::{self, names};
use crate::repository::read;

/// The guide's path.
pub const PATH: &str = "docs/design/reading-guide.md";

/// "This function of Go's is this one of ours, in this file."
pub struct Entry {
    pub go_file: String,
    pub go: String,
    pub ours: String,
    pub path: String,
}

/// Returns the text below a heading of the second level.
pub fn part(title: &str) -> String {
    let text = read(PATH);
    let part = text.split("\n## ").find_map(|part| part.strip_prefix(title)?.strip_prefix('\n'));
    part.unwrap_or_else(|| panic!("{PATH} has no part {title}")).to_owned()
}

/// Returns the cells of a part's tables, without the tables' own headings. Only tables below
/// headings of the third level that contain `about` count.
pub fn rows(title: &str, about: &str) -> Vec<Vec<String>> {
    let part = part(title);
    let mut wanted = true;
    let rows = markdown::rows(part.lines().filter(|line| {
        wanted = line.strip_prefix("### ").map_or(wanted, |heading| heading.contains(about));
        wanted
    }));
    assert!(!rows.is_empty(), "{PATH}: no table about {about} below {title}");
    rows
}

/// Returns the files of the repository to which a text links, by their paths from its root.
pub fn links(text: &str) -> Vec<String> {
    let targets = markdown::links(text).filter_map(|target| target.strip_prefix("../../"));
    targets.map(str::to_owned).collect()
}

/// Returns the Go file of a row of the table of functions, as the guide calls it.
pub fn go_file(row: &str) -> &str {
    if row == "asm" { "asm_amd64.s" } else { row }
}

/// Returns all entries: Go's file, ours, Go's functions, and functions that only this crate has.
pub fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for row in rows("Go's functions", "") {
        let [go_file, path, functions @ ..] = row.as_slice() else { panic!("{PATH}: short row: {row:?}") };
        let (Some(go_file), Some(path)) = (names(go_file).pop(), links(path).pop()) else {
            panic!("{PATH}: no file in {row:?}")
        };
        for names in functions.iter().flat_map(|cell| cell.split(", ")).map(names) {
            let (Some(go), Some(ours)) = (names.first(), names.last()) else { continue };
            entries.push(Entry {
                go_file: go_file.clone(),
                go: go.clone(),
                ours: ours.clone(),
                path: path.clone(),
            });
        }
    }
    entries
}
