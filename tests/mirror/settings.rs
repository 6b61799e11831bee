//! The page on settings lists what the runtime reads of the environment.

use std::collections::BTreeSet;

use crate::markdown::{names, rows};
use crate::repository::{files_below, read};

const PAGE: &str = "docs/guide/settings.md";

/// What stands before the name where a setting is defined or a variable is read.
const BEFORE: [&str; 5] =
    ["Setting::new(", "Setting::of_words(", "path_setting(", "env::var(", "env::var_os("];

/// The prefix of our own variables. A constant may have such a name.
const OURS: &str = "GOSCHED_";

/// Returns the names of the settings and variables that a source reads.
fn names_in(source: &str) -> Vec<String> {
    let literals = || source.split('"').zip(source.split('"').skip(1));
    let behind = literals().filter(|(code, _)| BEFORE.iter().any(|before| code.ends_with(before)));
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let ours = literals().filter(|(_, text)| text.starts_with(OURS) && is_name(text));
    behind.chain(ours).map(|(_, name)| name.to_owned()).collect()
}

#[test]
fn each_setting_has_a_row() {
    let sources = files_below("src").into_iter().filter(|path| path.ends_with(".rs"));
    let mut settings: BTreeSet<String> = sources.flat_map(|path| names_in(&read(&path))).collect();
    // cargo sets the other variables that build.rs reads.
    settings.extend(names_in(&read("build.rs")).into_iter().filter(|name| name.starts_with(OURS)));
    let rows: BTreeSet<String> = rows(read(PAGE).lines()).iter().flat_map(|row| names(&row[0])).collect();
    let missing: Vec<&String> = settings.difference(&rows).collect();
    assert!(missing.is_empty(), "{PAGE} has no row for {missing:?}");
    let gone: Vec<&String> = rows.difference(&settings).collect();
    assert!(gone.is_empty(), "{PAGE} has rows for {gone:?}, which nothing reads");
}
