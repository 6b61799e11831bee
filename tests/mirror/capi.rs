//! The C functions, against the raw layer's in Rust, and against the tests in C.

use std::collections::BTreeSet;

use crate::repository::{files_below, read};

/// Functions with another name in C: in Rust, in C.
const RENAMED: [(&str, &str); 22] = [
    ("gosched", "gosched_yield"),
    ("gosched_if_busy", "gosched_yield_if_busy"),
    ("goschedguarded", "gosched_yield_guarded"),
    ("gopark", "gosched_park"),
    ("goparkunlock", "gosched_parkunlock"),
    ("goready", "gosched_ready"),
    ("goexit", "gosched_exit"),
    ("time_sleep", "gosched_sleep"),
    ("with_stack", "gosched_ensure_stack"),
    ("makechan", "gosched_chan_make"),
    ("freechan", "gosched_chan_free"),
    ("closechan", "gosched_chan_close"),
    // A function of Rust's has an argument that says whether it waits. C also has a function that
    // doesn't report a closed channel.
    ("chansend", "gosched_chan_send"),
    ("chansend1", "gosched_chan_send"),
    ("selectnbsend", "gosched_chan_try_send"),
    ("chanrecv", "gosched_chan_recv"),
    ("chanrecv1", "gosched_chan_recv"),
    ("chanrecv2", "gosched_chan_recv"),
    ("selectnbrecv", "gosched_chan_try_recv"),
    ("selectgo", "gosched_select"),
    ("netpoll_is_poll_descriptor", "gosched_is_poll_descriptor"),
    ("getm", "gosched_acquirem"),
];

/// Functions that C doesn't need, and the reason.
const RUST_ALONE: [(&str, &str); 1] = [("sched", "C knows no fields of Go's structs")];

/// Returns the names after one of `starts` at the beginning of a line.
fn names<'a>(text: &'a str, starts: &'a [&str]) -> impl Iterator<Item = String> + 'a {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let rest = starts.iter().find_map(|start| line.strip_prefix(start))?;
        Some(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?.to_owned())
    })
}

/// Returns the functions of the runtime that a file re-exports: their names are in lower case.
fn passed_on(text: &str) -> Vec<String> {
    let lists = text.split("pub use crate::runtime::{").skip(1);
    let names = lists.flat_map(|list| list.split('}').next().unwrap_or_default().split(','));
    let names = names.map(|name| name.trim().to_owned());
    names.filter(|name| name.starts_with(|c: char| c.is_lowercase())).collect()
}

fn in_rust() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in files_below("src/raw") {
        let text = read(&path);
        found.extend(names(&text, &["pub fn ", "pub unsafe fn "]));
        found.extend(passed_on(&text));
    }
    found.remove("$name");
    found.remove("");
    found
}

fn in_c() -> BTreeSet<String> {
    let files = files_below("src/capi");
    files.iter().flat_map(|path| names(&read(path), &["pub fn "]).collect::<Vec<_>>()).collect()
}

#[test]
fn c_has_what_rust_has() {
    let in_c = in_c();
    let name_in_c = |name: &str| match RENAMED.iter().find(|(rust, _)| *rust == name) {
        Some((_, c)) => (*c).to_owned(),
        None => format!("gosched_{}", name.strip_prefix("poll_runtime_").unwrap_or(name)),
    };
    let missing: Vec<_> = in_rust()
        .into_iter()
        .filter(|name| !RUST_ALONE.iter().any(|(alone, _)| alone == name))
        .filter(|name| !in_c.contains(&name_in_c(name)))
        .collect();
    assert!(missing.is_empty(), "the raw layer has these, and the header doesn't: {}", missing.join(", "));
}

#[test]
fn each_function_of_the_header_is_called_by_a_test_in_c() {
    let tests: String = files_below("tests/c").iter().map(|path| read(path)).collect();
    let called = |name: &String| tests.contains(&format!("{name}("));
    let missing: Vec<_> = in_c().into_iter().filter(|name| !called(name)).collect();
    assert!(missing.is_empty(), "no test in tests/c calls these: {}", missing.join(", "));
}
