//! The tables of Go 1.22.10's names, which are beside this file.

use crate::repository::read;

/// Returns the rows of a table, without its heading.
pub fn rows<const COLUMNS: usize>(table: &str) -> Vec<[String; COLUMNS]> {
    let path = format!("tests/mirror/tables/{table}-go1.22.10.tsv");
    let row = |line: &str| {
        let cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
        cells.try_into().unwrap_or_else(|_| panic!("{path}: not {COLUMNS} columns: {line}"))
    };
    read(&path).lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

/// Returns our name for a Go type: Rust's types begin with a capital.
pub fn type_name(go: &str) -> String {
    let (first, rest) = go.split_at(1);
    first.to_uppercase() + rest
}

/// Returns a name of Go's in our spelling. Our own names stay the same.
pub fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (i, c) in chars.iter().enumerate() {
        let before = i.checked_sub(1).map_or('_', |before| chars[before]);
        let ends_capitals = chars.get(i + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && before != '_' && (!before.is_ascii_uppercase() || ends_capitals) {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
