//! The statements of `docs/design/reading-guide.md` are true.

use crate::accesses::{Access, Accesses};
use crate::guide::{self, PATH, entries, go_file, links};
use crate::markdown::names;
use crate::places::ADDED;
use crate::repository::read;
use crate::sources::{SOURCES, owner_and_name};
use crate::structs::{in_source, in_table};
use crate::tables::{rows, snake_case, type_name};

/// Fails with all faults, a line each.
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{PATH}:\n{}", wrong.join("\n"));
}

#[test]
fn functions_are_where_it_says() {
    let mut wrong = Vec::new();
    for entry in entries() {
        let (owner, name) = owner_and_name(&entry.ours);
        let name = snake_case(name);
        if !SOURCES.define(&entry.path, owner, &name) {
            wrong.push(format!(
                "{}: {} is not in {}, but in {:?}",
                entry.go_file,
                entry.ours,
                entry.path,
                SOURCES.files_with(owner, &name)
            ));
        }
    }
    none(&wrong);
}

#[test]
fn core_functions_are_listed() {
    let entries = entries();
    let mut wrong = Vec::new();
    for [file, go, _, built_with] in rows("functions") {
        let listed = entries.iter().any(|entry| entry.go_file == go_file(&file) && entry.go == go);
        if built_with == "core" && !listed {
            wrong.push(format!("{}: {go} is missing", go_file(&file)));
        }
    }
    none(&wrong);
}

/// The four large structs.
const LARGE: [&str; 4] = ["g", "m", "p", "schedt"];

/// Returns the fields of a large struct, Go's and those that this port adds.
fn fields(go: &str) -> Vec<String> {
    let added = syn::parse_file(&read(ADDED)).expect("Rust");
    let added = in_source(&added, &(type_name(go) + "Ext"), &[]);
    in_table(go).into_iter().chain(added.iter().map(|field| format!("ext.{field}"))).collect()
}

#[test]
fn each_field_is_in_one_group() {
    let mut wrong = Vec::new();
    for go in LARGE {
        let mut ungrouped = fields(go);
        let groups = guide::rows("The fields", &format!("`{go}`"));
        for field in groups.iter().flat_map(|group| names(&group[1])) {
            match ungrouped.iter().position(|other| *other == field) {
                Some(i) => drop(ungrouped.remove(i)),
                None => wrong.push(format!("{go}: {field} is no field, or in two groups")),
            }
        }
        wrong.extend(ungrouped.iter().map(|field| format!("{go}: {field} is in no group")));
    }
    none(&wrong);
}

/// The third column says how each field is used.
#[test]
fn fields_are_used_as_it_says() {
    let accesses = Accesses::of_the_crate();
    let fields = LARGE.map(fields);
    let mut wrong = Vec::new();
    for go in LARGE {
        for group in guide::rows("The fields", &format!("`{go}`")) {
            let expected = match group[2].as_str() {
                "used" => Access::Used,
                "set" => Access::Set,
                "read" => Access::Read,
                "unused" | "the embedder's" => Access::Untouched,
                other => panic!("{PATH}: what is {other}?"),
            };
            for field in names(&group[1]) {
                let with_it = LARGE.iter().zip(&fields).filter(|(_, fields)| fields.contains(&field));
                let with_it: Vec<&str> = with_it.map(|(go, _)| *go).collect();
                let found = accesses.of(go, &field, &with_it);
                if found != expected {
                    wrong.push(format!("{go}: {field} is said to be {}, and is {found:?}", group[2]));
                }
            }
        }
    }
    none(&wrong);
}

/// Each name in a paragraph or a row is in one of the files to which it links.
#[test]
fn names_are_where_it_links_to() {
    let mut wrong = Vec::new();
    for title in ["What is different", "An hour", "A day"] {
        let part = guide::part(title);
        for block in part.split("\n\n").flat_map(|paragraph| paragraph.split("\n|")) {
            let paths = links(block);
            let text: String = paths.iter().map(|path| read(path)).collect();
            let unseen = names(block).into_iter().filter(|name| !text.contains(name.as_str()));
            wrong.extend(unseen.map(|name| format!("{title}: {name} is not in {paths:?}")));
        }
    }
    none(&wrong);
}
