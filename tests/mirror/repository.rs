//! The repository's files, by their paths from its root.

use std::fs;
use std::path::PathBuf;

/// Returns a file's path on this machine.
pub fn absolute(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../..", path].iter().collect()
}

/// Returns the text of a file.
pub fn read(path: &str) -> String {
    fs::read_to_string(absolute(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the files in a folder and in its subfolders, sorted, without cargo's output.
pub fn files_below(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(absolute(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut files: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_name() != "target")
        .flat_map(|entry| {
            let path = format!("{folder}/{}", entry.file_name().display());
            if entry.path().is_dir() { files_below(&path) } else { vec![path] }
        })
        .collect();
    files.sort();
    files
}
