//! The examples in the documentation, and what tests them.

use syn::{GenericParam, Generics, Ident, Item};

use crate::repository::{files_below, read};

/// Returns the type, if programs see it, and its parameters.
fn public_type(item: &Item) -> Option<(&Ident, &Generics)> {
    let (vis, ident, generics) = match item {
        Item::Struct(item) => (&item.vis, &item.ident, &item.generics),
        Item::Enum(item) => (&item.vis, &item.ident, &item.generics),
        Item::Union(item) => (&item.vis, &item.ident, &item.generics),
        _ => return None,
    };
    matches!(vis, syn::Visibility::Public(_)).then_some((ident, generics))
}

/// An example: the line of its fence, the fence's text, and the lines inside.
struct Example<'a> {
    number: usize,
    tags: &'a str,
    lines: Vec<(usize, &'a str)>,
}

impl Example<'_> {
    /// Returns whether rustdoc takes it for Rust. Examples in other languages name theirs.
    fn is_rust(&self) -> bool {
        let first = self.tags.split(',').next().unwrap_or_default().trim();
        matches!(first, "" | "rust" | "no_run" | "should_panic" | "compile_fail" | "ignore")
            || first.starts_with("edition")
    }
}

/// Returns the examples of a file, in Rust or not. A comment in an example of a page is a part of
/// it.
fn examples<'a>(path: &str, text: &'a str) -> Vec<Example<'a>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    let mut inside = false;
    for (i, line) in text.lines().enumerate() {
        let mut line = line.trim();
        if path.ends_with(".rs") {
            line = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).unwrap_or(line).trim();
        }
        if let Some(tags) = line.strip_prefix("```") {
            inside = !inside;
            if inside {
                examples.push(Example { number: i + 1, tags, lines: Vec::new() });
            }
        } else if inside {
            examples.last_mut().expect("a fence began it").lines.push((i + 1, line));
        }
    }
    examples
}

/// The files whose examples a reader pastes.
fn documents() -> impl Iterator<Item = String> {
    let files = files_below("src").into_iter().chain(files_below("docs"));
    files.filter(|path| path.ends_with(".rs") || path.ends_with(".md")).chain(["README.md".to_owned()])
}

/// rustdoc compiles a line that begins with `# ` and doesn't show it. Without such lines, readers
/// paste exactly what rustdoc compiles.
#[test]
fn no_example_hides_a_line() {
    let mut hidden = Vec::new();
    for path in documents() {
        let text = read(&path);
        for example in examples(&path, &text).iter().filter(|example| example.is_rust()) {
            for (number, line) in &example.lines {
                if *line == "#" || line.starts_with("# ") {
                    hidden.push(format!("{path}:{number}: {line}"));
                }
            }
        }
    }
    assert!(hidden.is_empty(), "pasted, these examples lack a line:\n{}", hidden.join("\n"));
}

/// rustdoc compiles the examples of a page that a `#[doc = include_str!(..)]` of the crate names.
#[test]
fn the_examples_of_each_page_are_compiled() {
    let sources: String =
        files_below("src").iter().filter(|path| path.ends_with(".rs")).map(|path| read(path)).collect();
    let mut uncompiled = Vec::new();
    for path in documents().filter(|path| path.ends_with(".md")) {
        let text = read(&path);
        let included = sources.contains(&format!("../{path}\")]"));
        let mut rust = examples(&path, &text).into_iter().filter(|example| example.is_rust());
        if let Some(example) = rust.find(|example| !included && !example.tags.contains("ignore")) {
            uncompiled
                .push(format!("{path}:{}: no `#[doc = include_str!(..)]` names the page", example.number));
        }
    }
    assert!(uncompiled.is_empty(), "{}", uncompiled.join("\n"));
}

/// Where a part of the program has no types, gdb may find an empty type by that name.
#[test]
fn the_commands_for_gdb_find_types_by_statics() {
    let script = read("tools/gosched-gdb.py");
    assert!(script.contains("lookup_static_symbol"));
    let by_name: Vec<&str> = script.lines().filter(|line| line.contains("lookup_type(\"gosched::")).collect();
    assert!(by_name.is_empty(), "{}", by_name.join("\n"));
}

#[test]
fn the_variance_of_each_type_is_tested() {
    const TABLES: &str = "tests/variance.rs";
    // The types of these files have tests of their variance in place.
    const THEMSELVES: &str = "src/chan/select_";
    let text = read(TABLES);
    let (types, lifetimes) = text.split_once("\nmod lifetimes {").expect("two tables");
    let mut missing = Vec::new();
    for path in
        files_below("src").iter().filter(|path| path.ends_with(".rs") && !path.starts_with(THEMSELVES))
    {
        let file = syn::parse_file(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        for (name, generics) in file.items.iter().filter_map(public_type) {
            let row = format!("\n        {name} \"");
            let of = |table: &str, kind: fn(&GenericParam) -> bool| {
                !generics.params.iter().any(kind) || table.contains(&row)
            };
            if !of(types, |param| matches!(param, GenericParam::Type(_)))
                || !of(lifetimes, |param| matches!(param, GenericParam::Lifetime(_)))
            {
                missing.push(format!("{path}: {name} has no row in {TABLES}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The README has what a reader needs to decide. Pages have the rest.
#[test]
fn the_readme_is_short() {
    const MOST: usize = 160;
    let lines = read("README.md").lines().count();
    assert!(lines <= MOST, "{lines} lines, and {MOST} are the most");
}
