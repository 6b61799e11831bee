//! The rules find the faults of a small house.

use super::house::House;
use super::tree::Tree;
use super::{folders, methods, uses, visibility};

const RULES: &str = "\
//! # Floors
//!
//! | rooms | what for |
//! | --- | --- |
//! | `sched` | who runs |
//! | `m`, `p` | threads and processors |
//! | `data` | structs |
//!
//! # Faces
//!
//! | face | modules |
//! | --- | --- |
//! | safe | `chan`, `io` |
//! | raw | `raw` |
//!
//! # Arrows up
//!
//! | from | to | why |
//! | --- | --- | --- |
//! | `m/mod.rs` | `sched::schedule` | a thread begins there |
//!
//! # Arrows between faces
//!
//! | from | to | why |
//! | --- | --- | --- |
//! | `chan/mod.rs` | `raw::hchan` | it is a door |

mod data;
mod m;
mod p;
mod sched;

pub use data::{G, link::Link as GLink};
pub(crate) use sched::park;
";

/// A house without faults.
const FILES: [(&str, &str); 12] = [
    ("lib.rs", "mod runtime; pub mod chan; pub mod io; mod raw; pub use raw::hchan; pub use runtime::{G, GLink};"),
    ("io.rs", "use crate::chan::Chan;"),
    ("chan/mod.rs", "//! | `iter.rs` | |\nmod iter; pub use crate::raw::hchan; pub struct Chan;"),
    ("chan/iter.rs", "fn wait() { crate::runtime::park(); super::Chan; crate::kick!(); }"),
    ("raw.rs", "pub mod hchan { use super::super::runtime::G; }"),
    ("runtime/mod.rs", RULES),
    ("runtime/data/mod.rs", "//! | `link.rs` | |\npub(super) mod link; pub struct G; pub(in crate::runtime) fn g() {}
        pub(in crate::runtime) fn of_tests() {}"),
    ("runtime/data/link.rs", "use super::G; pub struct Link;"),
    ("runtime/m/mod.rs", "use crate::runtime::{data::{self, G}, sched::schedule}; fn m() { data::g() }"),
    ("runtime/p/mod.rs", "use super::data; #[cfg(test)] mod tests { use crate::runtime::{data::of_tests, sched}; }"),
    (
        "runtime/sched/mod.rs",
        "//! | `poll.rs` | |\nmod poll; use crate::runtime::m; #[macro_export] macro_rules! kick { () => { $crate::GLink } }
        pub(crate) fn park() {} pub(in crate::runtime) fn schedule() {}",
    ),
    ("runtime/sched/poll.rs", "use crate::runtime::data::G; impl<T> G<T> { fn find(&self) {} }"),
];

/// Returns the faults of a house, by any rule.
fn faults(files: &[(&str, &str)]) -> Vec<String> {
    let tree = Tree::new(files.iter().map(|(path, source)| (*path, (*source).to_owned())));
    let house = House::new(&tree);
    [
        house.faults(&tree),
        uses::rooms_use_what_is_below(&tree, &house),
        methods::rooms_call_what_is_below(&tree, &house),
        uses::faces_use_what_is_listed(&tree, &house),
        uses::the_list_is_used(&tree, &house),
        visibility::rooms_show_what_is_listed(&tree, &house),
        visibility::rooms_keep_to_themselves(&tree),
        folders::folders_have_tables(&tree),
        folders::tables_are_right(&tree),
        folders::modules_are_folders(&tree),
        folders::files_are_short(&tree),
    ]
    .concat()
}

/// Fails unless a change to a file leads to these faults, and no others.
#[track_caller]
fn finds(file: &str, change: impl Fn(&str) -> String, expected: &[&str]) {
    let mut files = FILES.to_vec();
    let (_, source) = files.iter_mut().find(|(path, _)| *path == file).expect("a file of the house");
    let changed = change(source);
    assert_ne!(*source, changed);
    *source = &changed;
    assert_eq!(faults(&files), expected);
}

/// Does the same for a line that is added to the file.
#[track_caller]
fn finds_line(file: &str, line: &str, expected: &[&str]) {
    finds(file, |source| format!("{source}\n{line}\n"), expected);
}

/// Does the same for a part that is replaced.
#[track_caller]
fn finds_other(file: &str, old: &str, new: &str, expected: &[&str]) {
    finds(file, |source| source.replace(old, new), expected);
}

#[test]
fn a_house_may_be_right() {
    assert_eq!(faults(&FILES), [""; 0]);
}

#[test]
fn an_import_up_is_found() {
    let up = ["runtime/p/mod.rs: runtime::sched::park is in sched, which isn't below p"];
    for import in [
        "use crate::runtime::sched::park;",
        "use crate::runtime::{data::G, sched::{park as other}};",
        "use super::sched::park;",
        "pub(super) use super::{sched::park};",
        "mod inner { use super::super::sched::park; }",
        "fn f() { crate::runtime::sched::park::<u8>() }",
        "fn f() { dbg!(crate::runtime::sched::park()) }",
        "type T = <crate::runtime::sched::park as Iterator>::Item;",
        "macro_rules! f { () => { $crate::runtime::sched::park() } }",
        "struct S(pub (crate::runtime::sched::park, u8));",
        "fn f() { 0..crate::runtime::sched::park; }",
    ] {
        finds_line("runtime/p/mod.rs", import, &up);
    }
    finds_line(
        "runtime/p/mod.rs",
        "use super::m::{self};",
        &["runtime/p/mod.rs: runtime::m is in m, which isn't below p"],
    );
}

#[test]
fn a_method_from_above_is_found() {
    finds_line(
        "runtime/p/mod.rs",
        "fn f() { assert!(g().find()) }",
        &["runtime/p/mod.rs: G::find is from sched, which isn't below p"],
    );
}

#[test]
fn an_import_round_the_order_is_found() {
    for (import, path) in [
        ("use crate::runtime::park;", "runtime::park"),
        ("use super::*;", "runtime::*"),
        ("use crate::runtime;", "runtime"),
        ("use crate::GLink;", "runtime::GLink"),
    ] {
        let found = format!("runtime/p/mod.rs: {path} doesn't say which room that is in");
        finds_line("runtime/p/mod.rs", import, &[&found]);
    }
    for (import, path) in [
        ("use crate::io::read;", "io::read"),
        ("use super::super::chan::Chan;", "chan::Chan"),
        ("use crate::hchan;", "raw::hchan"),
        ("use crate::*;", "*"),
        ("use crate as root;", ""),
    ] {
        let found = format!("runtime/p/mod.rs: {path} isn't in the runtime");
        finds_line("runtime/p/mod.rs", import, &[&found]);
    }
}

#[test]
fn an_exception_that_nobody_needs_is_found() {
    finds_other(
        "runtime/m/mod.rs",
        ", sched::schedule",
        "",
        &[
            "runtime/mod.rs: m/mod.rs doesn't use sched::schedule",
            "runtime/sched/mod.rs: schedule is pub(in crate::runtime), and only sched uses it",
        ],
    );
    finds_other(
        "runtime/mod.rs",
        "| a thread begins there |",
        "| |",
        &["runtime/mod.rs: no reason why m/mod.rs uses sched::schedule"],
    );
    let row = "//! | `m/mod.rs` | `sched::schedule` | a thread begins there |\n";
    let unused = "runtime/mod.rs: m/mod.rs doesn't use sched::schedule";
    finds_other(
        "runtime/mod.rs",
        row,
        &row.repeat(6),
        &["runtime/mod.rs: 6 arrows up, where 5 may be", unused, unused, unused, unused, unused],
    );
}

#[test]
fn a_face_that_goes_elsewhere_is_found() {
    for (import, found) in [
        ("use crate::runtime::data::G;", "runtime::data::G isn't what runtime/mod.rs exports"),
        ("use crate::runtime::schedule;", "runtime::schedule isn't what runtime/mod.rs exports"),
        ("use crate::raw::hchan;", "raw::hchan is of another face"),
        ("use crate::hchan::G;", "raw::hchan::G is of another face"),
        ("use crate::nowhere::G;", "nowhere::G is of no face"),
    ] {
        finds_line("io.rs", import, &[&format!("io.rs: {found}")]);
    }
}

#[test]
fn what_is_listed_and_not_used_is_found() {
    finds_line(
        "runtime/mod.rs",
        "pub(crate) use sched::schedule;",
        &["runtime/mod.rs: no face uses schedule"],
    );
}

#[test]
fn what_is_visible_to_too_many_is_found() {
    for (item, name) in [
        ("pub(crate) fn f() { struct S; }", "f"),
        ("pub(in crate) fn f() {}", "f"),
        ("pub(crate) const unsafe extern \"C\" fn f() {}", "f"),
        ("struct S { a: u8, pub(crate) f: u8 }", "f"),
        ("impl S { pub(crate) const F: u8 = 1; }", "F"),
        ("pub(crate) use std::f; pub use std::g;", "f"),
    ] {
        let found = format!("runtime/p/mod.rs: {name} is pub(crate), and no face uses it");
        finds_line("runtime/p/mod.rs", item, &[&found]);
    }
    // The type of a used item must be visible, too.
    finds_other("runtime/sched/mod.rs", "park() {}", "park() -> S {} pub(crate) struct S;", &[]);
    finds_line(
        "runtime/p/mod.rs",
        "pub(in crate::runtime) static F: u8 = 1;",
        &["runtime/p/mod.rs: F is pub(in crate::runtime), and only p uses it"],
    );
}

#[test]
fn a_table_that_is_wrong_is_found() {
    finds_other(
        "runtime/sched/mod.rs",
        "`poll.rs`",
        "`pool.rs`",
        &[
            "runtime/sched/mod.rs: poll.rs isn't in its table",
            "runtime/sched/mod.rs: pool.rs isn't there, or listed twice",
        ],
    );
    finds_other(
        "runtime/sched/mod.rs",
        "`poll.rs`",
        "`poll.rs`, `poll.rs`",
        &["runtime/sched/mod.rs: poll.rs isn't there, or listed twice"],
    );
    finds_other(
        "runtime/sched/mod.rs",
        "| `poll.rs` | |",
        "| `poll.rs` | `pollWork`, `netpoll.go` |",
        &["runtime/sched/mod.rs: pollWork isn't where its table says"],
    );
    finds_other("runtime/mod.rs", "`m`, `p`", "`m`, `p`, `q`", &["runtime/mod.rs: q isn't there"]);
}

#[test]
fn a_file_in_the_wrong_place_is_found() {
    let with = |path, source| faults(&[&FILES[..], &[(path, source)]].concat());
    assert_eq!(with("chan.rs", ""), ["chan.rs stands beside its folder"]);
    assert_eq!(with("runtime/q/a.rs", ""), ["runtime/q: there is no mod.rs"]);
    finds("io.rs", |source| source.to_owned() + &"\n".repeat(801), &["io.rs has 801 lines"]);
}
