//! The list of flaky tests is empty.

use crate::repository::read;

const LIST: &str = "tests/quarantine.txt";

/// Returns the lines that name a test.
fn entries(list: &str) -> Vec<&str> {
    list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[test]
fn an_entry_is_found() {
    let list = "# a comment\n\nchan::select::a_name  #123  2026-11-27\n  # another\n";
    assert_eq!(entries(list), ["chan::select::a_name  #123  2026-11-27"]);
}

#[test]
fn no_test_is_in_quarantine() {
    let list = read(LIST);
    let entries = entries(&list);
    assert!(entries.is_empty(), "mend these tests, or move them to the slow set:\n{}", entries.join("\n"));
}
