//! Indexes of folders: such a page lists the folder's contents.

use std::fs;

use crate::markdown::{links, rows};
use crate::repository::{absolute, files_below, read};

#[test]
fn each_page_is_in_the_index() {
    let index = read("docs/README.md");
    let links: Vec<&str> = links(&index).collect();
    let pages = files_below("docs").into_iter().filter(|path| path.ends_with(".md"));
    let pages = pages.map(|path| path.trim_start_matches("docs/").to_owned());
    let missing: Vec<String> =
        pages.filter(|page| page != "README.md" && !links.contains(&page.as_str())).collect();
    assert!(missing.is_empty(), "docs/README.md doesn't list {}", missing.join(", "));
}

#[test]
fn each_folder_of_tests_is_in_the_index() {
    const PAGE: &str = "tests/README.md";
    let index = read(PAGE);
    let links: Vec<&str> = links(&index).collect();
    let entries = fs::read_dir(absolute("tests")).expect("the folder");
    let names = entries.flatten().map(|entry| entry.file_name().display().to_string());
    let missing: Vec<String> = names
        .filter(|name| name != "README.md" && name != "target" && !links.contains(&name.as_str()))
        .collect();
    assert!(missing.is_empty(), "{PAGE} doesn't list {}", missing.join(", "));
    let gone: Vec<&str> =
        links.into_iter().filter(|link| !absolute(&format!("tests/{link}")).exists()).collect();
    assert!(gone.is_empty(), "{PAGE} lists what isn't there: {}", gone.join(", "));
}

#[test]
fn each_row_of_the_tests_has_a_command() {
    let text = read("tests/README.md");
    let rows = rows(text.lines());
    let without: Vec<&str> =
        rows.iter().filter(|row| !row[row.len() - 1].contains('`')).map(|row| row[0].as_str()).collect();
    assert!(without.is_empty(), "no command: {}", without.join(", "));
}
