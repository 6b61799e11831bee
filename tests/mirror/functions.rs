//! This crate has every function of Go's that belongs to it, under its name, in the files where the
//! reading guide puts that Go file's functions.

use crate::guide;
use crate::sources::{SOURCES, owner_and_name};
use crate::tables;

/// The values of the last column: the part of the runtime that a function belongs to,
const BUILT_WITH: [&str; 3] = ["core", "stacks", "preempt"];

/// or this, and the reason.
const NOT_HERE: &str = "not here, because ";

#[test]
fn core_functions_are_here() {
    let entries = guide::entries();
    let mut missing = Vec::new();
    for [go_file, go, ours, built_with] in tables::rows("functions") {
        if built_with.starts_with(NOT_HERE) {
            continue;
        }
        assert!(BUILT_WITH.contains(&built_with.as_str()), "{go_file}, {go}: what is {built_with}?");
        let go_file = guide::go_file(&go_file);
        let (owner, _) = owner_and_name(&go);
        // The Rust side of a switch has the name of the assembly that it calls.
        let counts = |path: &&str| go_file != "asm_amd64.s" || go == "rt0_go" || path.starts_with("asm/");
        let files: Vec<&str> = SOURCES.files_with(owner, &ours).into_iter().filter(counts).collect();
        let named = |path: &&str| entries.iter().any(|entry| entry.go_file == go_file && entry.path == *path);
        if files.iter().any(named) {
            continue;
        }
        let listed = entries.iter().find(|entry| entry.go_file == go_file && entry.go == go);
        missing.push(format!(
            "{go_file}, {go}: expected a function {ours} in a file that {} has for {go_file}; \
             found in {files:?}, and in the guide {}",
            guide::PATH,
            listed.map_or("nowhere".to_owned(), |entry| format!("as {} in {}", entry.ours, entry.path)),
        ));
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

#[test]
fn what_is_not_here_has_a_reason() {
    let entries = guide::entries();
    let mut wrong = Vec::new();
    for [go_file, go, ours, built_with] in tables::rows("functions") {
        let Some(reason) = built_with.strip_prefix(NOT_HERE) else { continue };
        let go_file = guide::go_file(&go_file);
        let (owner, _) = owner_and_name(&go);
        if reason.trim().is_empty() {
            wrong.push(format!("{go_file}, {go}: no reason"));
        }
        for path in SOURCES.files_with(owner, &ours) {
            wrong.push(format!("{go_file}, {go}: is in {path}"));
        }
        for entry in entries.iter().filter(|entry| entry.go_file == go_file && entry.go == go) {
            wrong.push(format!("{go_file}, {go}: {} has it in {}", guide::PATH, entry.path));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
