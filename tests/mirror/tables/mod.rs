//! The tables of Go 1.22.10's names that lie beside this file.

use crate::repository::read;

/// The rows of a table, without its heading.
pub fn rows<const COLUMNS: usize>(table: &str) -> Vec<[String; COLUMNS]> {
    let path = format!("tests/mirror/tables/{table}-go1.22.10.tsv");
    let row = |line: &str| {
        let cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
        cells.try_into().unwrap_or_else(|_| panic!("{path}: not {COLUMNS} columns: {line}"))
    };
    read(&path).lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

/// What a Go type is called here: Rust's types begin with a capital.
pub fn type_name(go: &str) -> String {
    let (first, rest) = go.split_at(1);
    first.to_uppercase() + rest
}
