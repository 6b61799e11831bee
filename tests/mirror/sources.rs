//! The functions that the sources define, in Rust and in assembly.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use syn::parse::ParseStream;
use syn::{ForeignItemFn, ImplItem, Item, Type};

use crate::repository::{files_below, read};
use crate::tables::type_name;

/// All files of the sources.
pub static SOURCES: LazyLock<Sources> = LazyLock::new(Sources::new);

/// The functions that each file of `src/` and `asm/` defines.
pub struct Sources(BTreeMap<String, Vec<Function>>);

struct Function {
    /// The type of which it is a method.
    owner: Option<String>,
    name: String,
}

impl Sources {
    fn new() -> Self {
        let files = files_below("src").into_iter().filter(|path| path.ends_with(".rs"));
        let files = files.chain(files_below("asm"));
        Sources(files.map(|path| (path.clone(), functions(&path))).collect())
    }

    /// Returns whether a file defines `name`, as a function or as a method of `owner`. A function
    /// that assembly calls or defines may have the prefix of assembly's symbols.
    pub fn define(&self, path: &str, owner: Option<&str>, name: &str) -> bool {
        let owner = owner.map(type_name);
        let symbol = format!("gosched_{name}");
        self.0.get(path).is_some_and(|functions| {
            functions.iter().any(|function| {
                let of_owner = owner.is_none() || function.owner.is_none() || function.owner == owner;
                of_owner && (function.name == name || function.name == symbol)
            })
        })
    }

    /// Returns the files that define `name`, as [`define`](Self::define) does.
    pub fn files_with(&self, owner: Option<&str>, name: &str) -> Vec<&str> {
        self.0.keys().map(String::as_str).filter(|path| self.define(path, owner, name)).collect()
    }
}

/// Returns a method's type and the function's name: `gQueue.push`, `GQueue::push`.
pub fn owner_and_name(function: &str) -> (Option<&str>, &str) {
    match function.rsplit_once("::").or_else(|| function.rsplit_once('.')) {
        Some((owner, name)) => (Some(owner), name),
        None => (None, function),
    }
}

fn functions(path: &str) -> Vec<Function> {
    let text = read(path);
    match path.rsplit_once('.') {
        Some((_, "rs")) => {
            let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
            file.items.iter().flat_map(in_rust).collect()
        }
        _ => text.lines().filter_map(in_assembly).collect(),
    }
}

/// Returns the functions that an item defines. Functions of a file's tests don't count.
fn in_rust(item: &Item) -> Vec<Function> {
    match item {
        Item::Fn(function) => vec![Function { owner: None, name: function.sig.ident.to_string() }],
        Item::Impl(item) => {
            let owner = match &*item.self_ty {
                Type::Path(ty) => ty.path.segments.last().map(|last| last.ident.to_string()),
                _ => None,
            };
            let method = |item: &ImplItem| match item {
                ImplItem::Fn(method) => {
                    Some(Function { owner: owner.clone(), name: method.sig.ident.to_string() })
                }
                _ => None,
            };
            item.items.iter().filter_map(method).collect()
        }
        // A macro that writes the bodies, such as the raw face's `offered!`, is called with
        // signatures alone.
        Item::Macro(item) => {
            let functions = item.mac.parse_body_with(signatures).unwrap_or_default();
            let names = functions.iter().map(|function| function.sig.ident.to_string());
            names.map(|name| Function { owner: None, name }).collect()
        }
        Item::Mod(module) if module.ident != "tests" => {
            module.content.iter().flat_map(|(_, items)| items).flat_map(in_rust).collect()
        }
        _ => Vec::new(),
    }
}

fn signatures(input: ParseStream<'_>) -> syn::Result<Vec<ForeignItemFn>> {
    let mut functions = Vec::new();
    while !input.is_empty() {
        functions.push(input.parse()?);
    }
    Ok(functions)
}

fn in_assembly(line: &str) -> Option<Function> {
    let name = line.strip_prefix("FUNCTION ").or_else(|| line.strip_prefix("ENTRY "))?;
    let name = name.split(',').next()?;
    Some(Function { owner: None, name: name.to_owned() })
}
