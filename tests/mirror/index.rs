//! Indexes of folders: such a page lists the folder's contents.

use std::fs;

use crate::markdown::{links, rows};
use crate::repository::{absolute, files_below, read};

/// The index of a folder of `docs/`, and the index above it.
#[test]
fn each_page_is_in_its_indexes() {
    const TOP: &str = "docs/README.md";
    let mut missing = Vec::new();
    for path in files_below("docs").into_iter().filter(|path| path.ends_with(".md") && path != TOP) {
        let (folder, name) = path.rsplit_once('/').expect("a folder");
        let below_top = path.trim_start_matches("docs/");
        let mut indexes = vec![(TOP.to_owned(), below_top)];
        if name != "README.md" {
            indexes.push((format!("{folder}/README.md"), name));
        }
        for (index, link) in indexes {
            if !links(&read(&index)).any(|listed| listed == link) {
                missing.push(format!("{index} doesn't list {link}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Returns the anchors of a page's headings, as the hosting service and rustdoc make them: lower
/// case, without marks.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let mut parts = heading.trim_start_matches('#').trim().split("](");
        let mut text = parts.next().unwrap_or_default().to_owned();
        text.extend(parts.filter_map(|part| Some(part.split_once(')')?.1)));
        text.retain(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        text.to_lowercase().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// Links to other sites and to items of the documentation are not for this test.
#[test]
fn each_link_of_a_page_leads_somewhere() {
    let below = ["docs", "examples", "tests"].into_iter().flat_map(files_below);
    let pages = below.filter(|path| path.ends_with(".md"));
    let mut dead = Vec::new();
    for path in pages.chain(["CHANGELOG.md", "CONTRIBUTING.md", "README.md"].map(str::to_owned)) {
        let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let text = read(&path);
        for link in links(&text).filter(|link| !link.contains("::") && !link.contains("//")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { format!("{folder}/{file}") };
            let there = absolute(&target).exists()
                && (heading.is_empty() || anchors(&read(&target)).iter().any(|anchor| anchor == heading));
            if !there {
                dead.push(format!("{path}: {link}"));
            }
        }
    }
    assert!(dead.is_empty(), "these links lead nowhere:\n{}", dead.join("\n"));
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
