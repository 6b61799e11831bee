//! What must hold of each file, given the order of the house. Each function returns what is wrong, a
//! line for each.

use proc_macro2::Delimiter;

use super::house::{Arrow, House, Place, RULES};
use super::paths::{Path, exports, paths};
use super::tree::{File, Tree};
use crate::markdown::{names, rows};
use crate::tokens::{Token, mention};

/// A file of one subject has no more lines than this.
const MOST_LINES: usize = 420;

/// That mirrors a file of Go's.
const LONG: &str = "runtime/data/runtime2.rs";

/// The files of rooms, and their rooms.
fn files_of_rooms(tree: &Tree) -> impl Iterator<Item = (&str, &File, &str)> {
    tree.files().filter_map(|(path, file)| match file.module.as_slice() {
        [runtime, room, ..] if runtime == "runtime" => Some((path, file, room.as_str())),
        _ => None,
    })
}

/// The files of faces.
fn files_of_faces(tree: &Tree) -> impl Iterator<Item = (&str, &File)> {
    tree.files().filter(|(_, file)| file.module.first().is_some_and(|first| first != "runtime"))
}

/// Adds what is wrong with a path, unless an exception is made for that, which is noted as used.
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
    for (name, file, room) in files_of_rooms(tree) {
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
    for (name, file) in files_of_faces(tree) {
        let own = house.place(&file.module);
        if own == Place::Unknown {
            wrong.push(format!("{name} is of no face"));
            continue;
        }
        for written in paths(&file.tokens, &file.module) {
            let path = house.resolve(&written);
            let why = match house.place(&path) {
                _ if house.is_macro_for_all(&written) => continue,
                Place::Runtime(Some(to)) if house.for_faces.iter().any(|name| name == to) => continue,
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

/// What `runtime/mod.rs` exports is used outside of it.
pub fn the_list_is_used(tree: &Tree, house: &House) -> Vec<String> {
    let outside: Vec<&File> =
        files_of_faces(tree).map(|(_, file)| file).chain([tree.get("lib.rs")]).collect();
    let unused =
        house.for_faces.iter().filter(|name| !outside.iter().any(|file| mention(&file.tokens, name)));
    unused.map(|name| format!("{RULES}: no face uses {name}")).collect()
}

/// In a room, only what faces use is visible to them.
pub fn rooms_show_what_is_listed(tree: &Tree, house: &House) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, file, _) in files_of_rooms(tree) {
        let mut shown = Vec::new();
        visible_in_crate(&file.tokens, false, &mut shown);
        for Shown { name, is_member } in shown {
            let listed = house.for_faces.contains(&name);
            let touched = is_member && files_of_faces(tree).any(|(_, face)| mention(&face.tokens, &name));
            if !listed && !touched {
                wrong.push(format!("{path}: {name} is pub(crate), and no face uses it"));
            }
        }
    }
    wrong
}

struct Shown {
    name: String,
    /// It is a field or a method: of what is listed, perhaps, but not listed itself.
    is_member: bool,
}

/// What is `pub(crate)`.
fn visible_in_crate(tokens: &[Token], of_type: bool, shown: &mut Vec<Shown>) {
    let mut in_type = of_type;
    for (i, token) in tokens.iter().enumerate() {
        match (token, &tokens[i + 1..]) {
            (public, [Token::Group(_, scope), rest @ ..])
                if is(public, "pub") && matches!(&scope[..], [word] if is(word, "crate")) =>
            {
                let item = rest.split(|token| *token == Token::Mark(';')).next().unwrap_or_default();
                let names = if item.first().is_some_and(|first| is(first, "use")) {
                    let visible = &tokens[i..=i + 2 + item.len()];
                    exports(visible, &[]).into_iter().map(|export| export.name).collect()
                } else {
                    vec![name_of(item)]
                };
                shown.extend(names.into_iter().map(|name| Shown { name, is_member: of_type }));
            }
            (Token::Word(word), _)
                if ["impl", "struct", "enum", "union", "trait"].contains(&word.as_str()) =>
            {
                in_type = true;
            }
            (Token::Group(_, inner), _) => {
                visible_in_crate(inner, in_type, shown);
                in_type &= !matches!(token, Token::Group(Delimiter::Brace, _));
            }
            (Token::Mark(';'), _) => in_type = false,
            _ => {}
        }
    }
}

/// What an item or a field is called.
fn name_of(item: &[Token]) -> String {
    const BEFORE_NAMES: [&str; 12] = [
        "const", "unsafe", "async", "extern", "fn", "struct", "enum", "union", "type", "static", "trait",
        "mod",
    ];
    let mut words = item.iter().filter_map(|token| match token {
        Token::Word(word) => Some(word.as_str()),
        _ => None,
    });
    words.find(|word| !BEFORE_NAMES.contains(word)).unwrap_or_default().to_owned()
}

/// What only its room uses is visible there alone.
pub fn rooms_keep_to_themselves(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, file, room) in files_of_rooms(tree) {
        let is_elsewhere = |other: &&File| other.module.get(1).is_none_or(|other| other != room);
        let elsewhere: Vec<&File> = tree.files().map(|(_, other)| other).filter(is_elsewhere).collect();
        let items = file
            .tokens
            .iter()
            .enumerate()
            .filter_map(|(i, token)| visible_in_runtime(token, &file.tokens[i + 1..]));
        for name in items.map(name_of) {
            if !elsewhere.iter().any(|other| mention(&other.tokens, &name)) {
                wrong.push(format!("{path}: {name} is pub(in crate::runtime), and only {room} uses it"));
            }
        }
    }
    wrong
}

/// What follows `pub(in crate::runtime)`, unless that is a `use`.
fn visible_in_runtime<'a>(token: &Token, next: &'a [Token]) -> Option<&'a [Token]> {
    let [Token::Group(_, scope), item @ ..] = next else { return None };
    let [within, krate, Token::Colons, runtime] = scope.as_slice() else { return None };
    let words = [token, within, krate, runtime];
    let matches = words.iter().zip(["pub", "in", "crate", "runtime"]).all(|(token, word)| is(token, word));
    (matches && !is(item.first()?, "use")).then_some(item)
}

fn is(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(other) if other == word)
}

/// Each folder's `mod.rs` has a table that names each file in it once, and each folder.
pub fn folders_have_tables(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for folder in folders(tree) {
        let rules = format!("{folder}/mod.rs");
        if !tree.paths.contains(&rules) {
            wrong.push(format!("{folder}: there is no mod.rs"));
            continue;
        }
        let source = &tree.get(&rules).source;
        let text = source.lines().filter_map(|line| line.strip_prefix("//!").or(line.strip_prefix("//")));
        let mut listed: Vec<String> = rows(text.map(str::trim))
            .iter()
            .flat_map(|row| names(&row[0]))
            .filter(|name| name.ends_with(".rs") || name.ends_with('/'))
            .collect();
        for name in contents(tree, &folder) {
            match listed.iter().position(|other| *other == name) {
                Some(i) => drop(listed.remove(i)),
                None => wrong.push(format!("{rules}: {name} isn't in its table")),
            }
        }
        wrong.extend(listed.iter().map(|name| format!("{rules}: {name} isn't there, or listed twice")));
    }
    wrong
}

/// The folders of rooms and of faces.
fn folders(tree: &Tree) -> Vec<String> {
    let mut folders: Vec<String> =
        tree.paths.iter().filter_map(|path| Some(path.rsplit_once('/')?.0.to_owned())).collect();
    folders.sort();
    folders.dedup();
    folders.retain(|folder| folder != "runtime");
    folders
}

/// The files in a folder, but for its `mod.rs`, and the folders.
fn contents(tree: &Tree, folder: &str) -> Vec<String> {
    let prefix = format!("{folder}/");
    let mut contents: Vec<String> = tree
        .paths
        .iter()
        .filter_map(|path| path.strip_prefix(&prefix))
        .map(|path| path.split_once('/').map_or(path.to_owned(), |(inner, _)| format!("{inner}/")))
        .filter(|name| name != "mod.rs")
        .collect();
    contents.dedup();
    contents
}

/// A module with modules in it is a folder's `mod.rs`, and not a file beside the folder.
pub fn modules_are_folders(tree: &Tree) -> Vec<String> {
    let beside =
        folders(tree).into_iter().map(|folder| folder + ".rs").filter(|file| tree.paths.contains(file));
    beside.map(|file| format!("{file} stands beside its folder")).collect()
}

/// A file has one subject.
pub fn files_are_short(tree: &Tree) -> Vec<String> {
    let long = tree.files().filter(|(path, file)| *path != LONG && file.source.lines().count() > MOST_LINES);
    long.map(|(path, file)| format!("{path} has {} lines", file.source.lines().count())).collect()
}
