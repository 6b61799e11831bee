//! The house: `src/runtime/mod.rs` says in which order its rooms stand, and who may use what.

mod folders;
mod house;
mod made_up;
mod methods;
mod paths;
mod tree;
mod uses;
mod visibility;

use house::House;
use tree::Tree;

/// Fails with all that is wrong, a line each.
#[track_caller]
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn crate_and_house() -> (Tree, House) {
    let tree = Tree::of_the_crate();
    let house = House::new(&tree);
    (tree, house)
}

#[test]
#[ignore = "src/ has no rooms yet"]
fn the_order_names_every_room() {
    let (tree, house) = crate_and_house();
    none(&house.faults(&tree));
}

#[test]
#[ignore = "src/ has no rooms yet"]
fn rooms_use_what_is_below() {
    let (tree, house) = crate_and_house();
    none(&uses::rooms_use_what_is_below(&tree, &house));
    none(&methods::rooms_call_what_is_below(&tree, &house));
}

#[test]
#[ignore = "src/ has no rooms yet"]
fn faces_use_what_is_listed() {
    let (tree, house) = crate_and_house();
    none(&uses::faces_use_what_is_listed(&tree, &house));
    none(&uses::the_list_is_used(&tree, &house));
}

#[test]
#[ignore = "src/ has no rooms yet"]
fn rooms_show_what_is_used() {
    let (tree, house) = crate_and_house();
    none(&visibility::rooms_show_what_is_listed(&tree, &house));
    none(&visibility::rooms_keep_to_themselves(&tree));
}

#[test]
#[ignore = "src/ has no rooms yet"]
fn folders_have_tables() {
    let tree = Tree::of_the_crate();
    none(&folders::folders_have_tables(&tree));
    none(&folders::tables_are_right(&tree));
    none(&folders::modules_are_folders(&tree));
}

#[test]
#[ignore = "src/ has no rooms yet"]
fn files_are_short() {
    none(&folders::files_are_short(&Tree::of_the_crate()));
}
