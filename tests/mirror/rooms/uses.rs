//! Which module uses which. Each function returns the faults, a line for each.

use super::house::{Arrow, House, Place, RULES};
use super::paths::{Path, paths};
use super::tree::{File, Tree};

/// Adds a fault of a path, unless an exception allows it. The exception then counts as used.
fn note(wrong: &mut Vec<String>, used: &mut [bool], arrows: &[Arrow], file: &str, path: &Path, why: String) {
    let short = path.strip_prefix(["runtime".to_owned()].as_slice()).map_or(path.clone(), <[String]>::to_vec);
    match arrows.iter().position(|arrow| arrow.allows(file.trim_start_matches("runtime/"), &short)) {
        Some(i) => used[i] = true,
        None => wrong.push(format!("{file}: {} {why}", path.join("::"))),
    }
}

fn unused<'a>(arrows: &'a [Arrow], used: &'a [bool]) -> impl Iterator<Item = String> + 'a {
    let unused = arrows.iter().zip(used).filter(|(_, used)| !**used);
    unused.map(|(arrow, _)| format!("{RULES}: {} doesn't use {}", arrow.from, arrow.to.join("::")))
}

/// Rooms use the rooms below them.
pub fn rooms_use_what_is_below(tree: &Tree, house: &House) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut used = vec![false; house.arrows_up.len()];
    for (name, file, room) in tree.rooms() {
        let floor = house.floor(room);
        for path in paths(&file.tokens, &file.module) {
            let path = house.home(&path);
            let why = match house.place(&path) {
                Place::Room(to) if to == room || house.floor(to) < floor => continue,
                Place::Room(to) => format!("is in {to}, which isn't below {room}"),
                Place::Runtime(_) => "doesn't say which room that is in".to_owned(),
                Place::Face(_) | Place::Unknown => "isn't in the runtime".to_owned(),
            };
            note(&mut wrong, &mut used, &house.arrows_up, name, &path, why);
        }
    }
    wrong.extend(unused(&house.arrows_up, &used));
    wrong
}

/// Faces use what `runtime/mod.rs` exports, and no other face.
pub fn faces_use_what_is_listed(tree: &Tree, house: &House) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut used = vec![false; house.arrows_between_faces.len()];
    for (name, file) in tree.faces() {
        let own = house.place(&file.module);
        if own == Place::Unknown {
            wrong.push(format!("{name} is of no face"));
            continue;
        }
        for written in paths(&file.tokens, &file.module) {
            let path = house.resolve(&written);
            let why = match house.place(&path) {
                _ if house.is_macro_for_all(&written) => continue,
                Place::Runtime(Some(to)) | Place::Room(to)
                    if house.for_faces.iter().any(|name| name == to) =>
                {
                    continue;
                }
                // The runtime itself: the compiler checks a face's uses of it.
                Place::Runtime(None) => continue,
                place @ Place::Face(_) if place == own => continue,
                Place::Room(_) | Place::Runtime(_) => format!("isn't what {RULES} exports"),
                Place::Face(_) => "is of another face".to_owned(),
                Place::Unknown => "is of no face".to_owned(),
            };
            note(&mut wrong, &mut used, &house.arrows_between_faces, name, &path, why);
        }
    }
    wrong.extend(unused(&house.arrows_between_faces, &used));
    wrong
}

/// Each export of `runtime/mod.rs` is used outside of the runtime.
pub fn the_list_is_used(tree: &Tree, house: &House) -> Vec<String> {
    let outside: Vec<&File> = tree.faces().map(|(_, file)| file).chain([tree.get("lib.rs")]).collect();
    let unused = house.for_faces.iter().filter(|name| !outside.iter().any(|file| file.mentions(name)));
    unused.map(|name| format!("{RULES}: no face uses {name}")).collect()
}
