//! The fields of structs, in the table and in the sources.

use syn::{Item, ItemStruct, Type};

use crate::tables::rows;

/// Returns the table's fields of a Go struct, in our spelling. `a.b` is field `b` of the struct in
/// field `a`.
pub fn in_table(go: &str) -> Vec<String> {
    let row = |[_, of, _, _, ours]: [String; 5]| (of == go).then_some(ours);
    rows("fields").into_iter().filter_map(row).collect()
}

/// Returns the fields of a struct in `file`, in order. If `wanted` has fields of a field, that
/// field is followed by its own fields.
pub fn in_source(file: &syn::File, name: &str, wanted: &[String]) -> Vec<String> {
    let mut fields = Vec::new();
    for field in &declaration(file, name).fields {
        let outer = field.ident.as_ref().unwrap_or_else(|| panic!("{name} is a tuple")).to_string();
        let prefix = outer.clone() + ".";
        fields.push(outer);
        if wanted.iter().any(|wanted| wanted.starts_with(&prefix)) {
            let inner = in_source(file, &type_of(&field.ty), &[]);
            fields.extend(inner.into_iter().map(|inner| prefix.clone() + &inner));
        }
    }
    fields
}

/// Returns the declaration of a struct in `file`.
pub fn declaration<'a>(file: &'a syn::File, name: &str) -> &'a ItemStruct {
    let named = |item: &'a Item| match item {
        Item::Struct(item) if item.ident == name => Some(item),
        _ => None,
    };
    file.items.iter().find_map(named).unwrap_or_else(|| panic!("there is no struct {name}"))
}

fn type_of(ty: &Type) -> String {
    match ty {
        Type::Path(ty) => ty.path.segments.last().map_or_else(String::new, |last| last.ident.to_string()),
        _ => panic!("a nested struct is a plain type"),
    }
}
