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
