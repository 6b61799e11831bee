//! The house: `src/runtime/mod.rs` gives the order of its rooms, and who may use what.

mod folders;
mod house;
mod made_up;
mod methods;
mod paths;
mod tree;
mod uses;
mod visibility;

use std::sync::LazyLock;

use house::House;
use tree::Tree;

/// Fails with all faults, a line each.
#[track_caller]
fn none(wrong: &[Vec<String>]) {
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

static TREE: LazyLock<Tree> = LazyLock::new(Tree::of_the_crate);
static HOUSE: LazyLock<House> = LazyLock::new(|| House::new(&TREE));

#[test]
fn the_order_names_every_room() {
    none(&[HOUSE.faults(&TREE)]);
}

#[test]
fn rooms_use_what_is_below() {
    none(&[uses::rooms_use_what_is_below(&TREE, &HOUSE), methods::rooms_call_what_is_below(&TREE, &HOUSE)]);
}

#[test]
fn faces_use_what_is_listed() {
    none(&[uses::faces_use_what_is_listed(&TREE, &HOUSE), uses::the_list_is_used(&TREE, &HOUSE)]);
}

#[test]
fn rooms_show_what_is_used() {
    none(&[
        visibility::rooms_show_what_is_listed(&TREE, &HOUSE),
        visibility::rooms_keep_to_themselves(&TREE),
    ]);
}

#[test]
fn folders_have_tables() {
    none(&[
        folders::folders_have_tables(&TREE),
        folders::tables_are_right(&TREE),
        folders::modules_are_folders(&TREE),
    ]);
}

#[test]
fn files_are_short() {
    none(&[folders::files_are_short(&TREE)]);
}
