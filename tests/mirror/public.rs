//! The public items of the crate, found in the sources: `sync::Mutex`, `sync::Mutex::lock`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{
    Attribute, File, GenericArgument, ImplItem, Item, ItemImpl, ItemMacro, PathArguments, TraitItem, Type,
    UseTree, Visibility,
};

use crate::repository::{files_below, read};

/// All public items by their public paths, without those of `capi`.
pub static PUBLIC: LazyLock<BTreeSet<String>> = LazyLock::new(|| Sources::new().public());

/// A path from the crate's root: `["sync", "mutex", "Mutex"]`.
type Path = Vec<String>;

/// The sources, by modules.
struct Sources {
    modules: BTreeMap<Path, File>,
    /// The paths that the names in a module have, of those that it imports.
    imports: BTreeMap<(Path, String), Path>,
    /// The public functions of a type, by its path, behind which is the argument of an impl that is
    /// for one argument only: `Pollable`, `TcpStream`.
    functions: BTreeMap<Path, BTreeSet<String>>,
}

impl Sources {
    fn new() -> Self {
        let mut modules = BTreeMap::new();
        for path in files_below("src").iter().filter(|path| path.ends_with(".rs")) {
            let file = syn::parse_file(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
            let mut module: Path =
                path["src/".len()..path.len() - ".rs".len()].split('/').map(str::to_owned).collect();
            if module.last().is_some_and(|last| last == "mod" || last == "lib") {
                module.pop();
            }
            modules.insert(module, file);
        }
        let mut sources = Sources { modules, imports: BTreeMap::new(), functions: BTreeMap::new() };
        for (module, file) in &sources.modules {
            for item in &file.items {
                if let Item::Use(item) = item {
                    imports(module, &item.tree, Path::new(), &mut |name, path| {
                        sources.imports.insert((module.clone(), name), path);
                    });
                }
            }
        }
        let mut functions: BTreeMap<Path, BTreeSet<String>> = BTreeMap::new();
        for (module, file) in &sources.modules {
            for item in &file.items {
                match item {
                    Item::Impl(item) if item.trait_.is_none() => {
                        if let Some(owner) = sources.owner(module, item) {
                            functions.entry(owner).or_default().extend(item.items.iter().flat_map(members));
                        }
                    }
                    Item::Macro(item) if item.ident.is_none() => {
                        for (ty, made) in sources.made(file, item) {
                            let owner = sources.resolve(below(module, &ty[0]));
                            functions.entry([owner, ty[1..].to_vec()].concat()).or_default().extend(made);
                        }
                    }
                    Item::Trait(item) => {
                        let names = item.items.iter().filter_map(|item| match item {
                            TraitItem::Fn(function) => Some(function.sig.ident.to_string()),
                            _ => None,
                        });
                        functions.insert(below(module, &item.ident.to_string()), names.collect());
                    }
                    _ => {}
                }
            }
        }
        sources.functions = functions;
        sources
    }

    /// Returns the path of what a path in a module stands for, as far as it is in the crate.
    fn resolve(&self, mut path: Path) -> Path {
        while let Some((name, module)) = path.split_last() {
            match self.imports.get(&(module.to_owned(), name.clone())) {
                Some(import) => path = import.clone(),
                None => break,
            }
        }
        path
    }

    /// Returns the type of an impl.
    fn owner(&self, module: &Path, item: &ItemImpl) -> Option<Path> {
        let Type::Path(ty) = &*item.self_ty else { return None };
        let last = ty.path.segments.last()?;
        let mut owner = self.resolve(below(module, &last.ident.to_string()));
        let parameters: BTreeSet<String> =
            item.generics.type_params().map(|parameter| parameter.ident.to_string()).collect();
        if let PathArguments::AngleBracketed(arguments) = &last.arguments
            && let [GenericArgument::Type(Type::Path(argument))] = Vec::from_iter(&arguments.args)[..]
            && let Some(argument) = argument.path.segments.last().map(|last| last.ident.to_string())
            && !parameters.contains(&argument)
        {
            owner.push(argument);
        }
        Some(owner)
    }

    /// Returns types, and functions that a file makes for them by a macro, its own or another's.
    fn made(&self, file: &File, call: &ItemMacro) -> Vec<(Path, Vec<String>)> {
        let items = self.modules.values().flat_map(|file| &file.items);
        let rules = file.items.iter().chain(items).find_map(|item| match item {
            Item::Macro(item) if item.ident.as_ref().is_some_and(|name| call.mac.path.is_ident(name)) => {
                Some(item.mac.tokens.to_string())
            }
            _ => None,
        });
        rules.map_or(Vec::new(), |rules| made(&rules, call.mac.tokens.clone()))
    }

    fn public(&self) -> BTreeSet<String> {
        let mut public = BTreeSet::new();
        self.add_module(&Path::new(), &Path::new(), &mut public);
        for item in self.modules.values().flat_map(|file| &file.items) {
            if let Item::Macro(ItemMacro { ident: Some(name), attrs, .. }) = item
                && attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"))
                && !is_hidden(attrs)
            {
                public.insert(format!("{name}!"));
            }
        }
        public
    }

    /// Adds the items of a module, whose public path is given.
    fn add_module(&self, module: &Path, path: &Path, public: &mut BTreeSet<String>) {
        for item in &self.modules[module].items {
            match item {
                Item::Use(item) if is_public(&item.vis, &item.attrs) => {
                    imports(module, &item.tree, Path::new(), &mut |name, _| {
                        self.add(&below(module, &name), &below(path, &name), public);
                    });
                }
                Item::Mod(item) if is_public(&item.vis, &item.attrs) && item.ident != "capi" => {
                    let name = item.ident.to_string();
                    self.add(&below(module, &name), &below(path, &name), public);
                }
                _ => {
                    if let Some(name) = public_name(item) {
                        self.add(&below(module, &name), &below(path, &name), public);
                    }
                }
            }
        }
    }

    /// Adds an item, or the items of a module, with its public path.
    fn add(&self, item: &Path, path: &Path, public: &mut BTreeSet<String>) {
        let item = self.resolve(item.clone());
        if self.modules.contains_key(&item) {
            return self.add_module(&item, path, public);
        }
        public.insert(path.join("::"));
        let alias = item.split_last().and_then(|(name, module)| {
            let mut items = self.modules.get(module)?.items.iter();
            match items.find(|item| public_name(item).as_ref() == Some(name))? {
                Item::Type(alias) => Some((module.to_owned(), name, &alias.ty)),
                _ => None,
            }
        });
        let functions: Vec<&BTreeSet<String>> = match alias {
            Some((module, name, ty)) => {
                let Type::Path(ty) = &**ty else { return };
                let last = ty.path.segments.last().expect("a path has a segment");
                let owner = self.resolve(below(&module, &last.ident.to_string()));
                [below(&owner, name), owner].iter().filter_map(|owner| self.functions.get(owner)).collect()
            }
            // Those of impls for one argument, too.
            None => {
                let begin = self.functions.range(item.clone()..);
                begin.take_while(|(owner, _)| owner.starts_with(&item)).map(|(_, names)| names).collect()
            }
        };
        let functions = functions.into_iter().flatten();
        public.extend(functions.map(|function| format!("{}::{function}", path.join("::"))));
    }
}

fn below(module: &Path, name: &str) -> Path {
    let mut path = module.clone();
    path.push(name.to_owned());
    path
}

/// Calls `found` with each name that a `use` in a module makes, and its path if it is in the crate.
fn imports(module: &Path, tree: &UseTree, prefix: Path, found: &mut dyn FnMut(String, Path)) {
    let absolute = |path: Path| match path.first().map(String::as_str) {
        Some("crate") => path[1..].to_vec(),
        Some("self") => [module, &path[1..]].concat(),
        Some("super") => [&module[..module.len() - 1], &path[1..]].concat(),
        _ => [module, &path[..]].concat(),
    };
    match tree {
        UseTree::Path(tree) => imports(module, &tree.tree, below(&prefix, &tree.ident.to_string()), found),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| imports(module, tree, prefix.clone(), found))
        }
        UseTree::Name(name) if name.ident == "self" => {
            let name = prefix.last().expect("`self` is in a group").clone();
            found(name, absolute(prefix));
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            found(name.clone(), absolute(below(&prefix, &name)));
        }
        UseTree::Rename(rename) => {
            found(rename.rename.to_string(), absolute(below(&prefix, &rename.ident.to_string())));
        }
        UseTree::Glob(_) => {}
    }
}

fn is_public(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    matches!(visibility, Visibility::Public(_)) && !is_hidden(attributes)
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        attribute.path().is_ident("doc") && list.is_ok_and(|list| list.tokens.to_string() == "hidden")
    })
}

/// Returns the name of a type, a trait or a function that is public.
fn public_name(item: &Item) -> Option<String> {
    let (visibility, attributes, name) = match item {
        Item::Enum(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Fn(item) => (&item.vis, &item.attrs, &item.sig.ident),
        Item::Struct(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Trait(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Type(item) => (&item.vis, &item.attrs, &item.ident),
        _ => return None,
    };
    is_public(visibility, attributes).then(|| name.to_string())
}

/// Returns the names of the public functions that an item of an impl makes.
fn members(item: &ImplItem) -> Vec<String> {
    match item {
        ImplItem::Fn(function) if is_public(&function.vis, &function.attrs) => {
            vec![function.sig.ident.to_string()]
        }
        ImplItem::Macro(item) => called(item.mac.tokens.clone()),
        _ => Vec::new(),
    }
}

/// Returns the names before parentheses, which are the functions that a macro makes: `read(bool);`.
fn called(tokens: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let pairs = tokens.windows(2).filter_map(|pair| match pair {
        [TokenTree::Ident(name), TokenTree::Group(group)] if group.delimiter() == Delimiter::Parenthesis => {
            Some(name.to_string())
        }
        _ => None,
    });
    pairs.collect()
}

/// Returns types, and functions that a call of a macro makes for them. `rules` are its rules, which
/// have one impl. That impl is of a type that the call names, or of one with such a type as its
/// argument. The functions have names in the rules, or those before parentheses in the call, in
/// braces behind the type.
fn made(rules: &str, call: TokenStream) -> Vec<(Path, Vec<String>)> {
    let Some((_, of)) = rules.split_once("impl ") else { return Vec::new() };
    let of = of.strip_prefix('<').map_or(of, |of| of.split_once('>').map_or(of, |(_, of)| of)).trim_start();
    let whole = of.split(['<', '{']).next().and_then(|whole| whole.rsplit("::").next()).map(str::trim);
    let whole = whole.filter(|whole| !whole.starts_with('$'));
    let named = rules.split("pub fn ").skip(1).filter_map(|rest| rest.split([' ', '(']).next());
    let named: Vec<String> = named.filter(|name| !name.starts_with('$')).map(str::to_owned).collect();
    let (mut made, mut ty) = (Vec::new(), None);
    for token in call {
        match token {
            TokenTree::Ident(name) if name.to_string().starts_with(char::is_uppercase) => {
                let path = whole.map(str::to_owned).into_iter().chain([name.to_string()]).collect();
                made.push((Path::clone(&path), named.clone()));
                ty = Some(path);
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                made.extend(ty.clone().map(|ty| (ty, called(group.stream()))));
            }
            _ => {}
        }
    }
    made
}
