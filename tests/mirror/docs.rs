//! What the documentation in the sources shows and tests.

use syn::{GenericParam, Generics, Ident, Item};

use crate::repository::{files_below, read};

/// The type, if it is one that programs see, and what it has for parameters.
fn public_type(item: &Item) -> Option<(&Ident, &Generics)> {
    let (vis, ident, generics) = match item {
        Item::Struct(item) => (&item.vis, &item.ident, &item.generics),
        Item::Enum(item) => (&item.vis, &item.ident, &item.generics),
        Item::Union(item) => (&item.vis, &item.ident, &item.generics),
        _ => return None,
    };
    matches!(vis, syn::Visibility::Public(_)).then_some((ident, generics))
}

/// The lines of a file's examples, with their numbers.
fn examples(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let line = line.trim_start();
        let line = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).unwrap_or(line).trim_start();
        let fence = line.starts_with("```");
        inside ^= fence;
        (inside && !fence).then_some((i + 1, line))
    })
}

#[test]
fn no_example_hides_what_it_promises() {
    let files = files_below("src").into_iter().chain(files_below("docs")).chain(["README.md".to_owned()]);
    let mut hidden = Vec::new();
    for path in files.filter(|path| path.ends_with(".rs") || path.ends_with(".md")) {
        for (number, line) in examples(&read(&path)) {
            if line.starts_with("# ") && (line.contains("unsafe") || line.contains("SAFETY")) {
                hidden.push(format!("{path}:{number}: {line}"));
            }
        }
    }
    assert!(hidden.is_empty(), "pasted, these examples don't compile:\n{}", hidden.join("\n"));
}

#[test]
fn the_variance_of_each_type_is_tested() {
    const TABLES: &str = "tests/variance.rs";
    // It names files whose types say their variance themselves.
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
