//! The paths in a module's tokens.

use std::slice;

use proc_macro2::Delimiter;

use crate::tokens::{Token, is};

/// A path from the root of the crate: a name for each module, and one for the item.
pub type Path = Vec<String>;

/// The first word of an exported macro's paths.
pub const DOLLAR_CRATE: &str = "$crate";

/// Returns the paths in a module's tokens that begin in this crate: with `crate`, `self` or
/// `super`, or with a module that the tokens declare.
pub fn paths(tokens: &[Token], module: &[String]) -> Vec<Path> {
    let children = modules(tokens);
    let mut paths = Vec::new();
    collect(tokens, module, &children, &mut paths);
    paths
}

/// Returns the modules that the tokens declare.
pub fn modules(tokens: &[Token]) -> Vec<String> {
    let declared = |pair: &[Token]| match pair {
        [Token::Word(keyword), Token::Word(name)] if keyword == "mod" => Some(name.clone()),
        _ => None,
    };
    tokens.windows(2).filter_map(declared).collect()
}

fn collect(tokens: &[Token], module: &[String], children: &[String], paths: &mut Vec<Path>) {
    let mut i = 0;
    while i < tokens.len() {
        let before = i.checked_sub(1).map(|before| &tokens[before]);
        match (&tokens[i..], before) {
            // A visibility names a module, and uses nothing in it.
            ([Token::Word(public), Token::Group(Delimiter::Parenthesis, scope), ..], _)
                if public == "pub" && is_scope(scope) =>
            {
                i += 1
            }
            // This is another name for the root: paths that begin with it wouldn't be found.
            ([Token::Word(root), Token::Word(renamed), ..], _) if root == "crate" && renamed == "as" => {
                paths.push(Path::new());
            }
            ([Token::Word(keyword), Token::Word(name), Token::Group(_, body), ..], _) if keyword == "mod" => {
                paths.extend(self::paths(body, &[module, slice::from_ref(name)].concat()));
                i += 2;
            }
            ([Token::Word(first), Token::Colons, rest @ ..], before)
                if before != Some(&Token::Colons) && !ends_with_one_dot(&tokens[..i]) =>
            {
                if let Some(mut prefix) = begin(first, module, children) {
                    if before == Some(&Token::Mark('$')) {
                        prefix.push(DOLLAR_CRATE.to_owned());
                    }
                    trees(&mut prefix, rest, paths);
                }
            }
            ([Token::Group(_, body), ..], _) => collect(body, module, children, paths),
            _ => {}
        }
        i += 1;
    }
}

/// Returns whether the tokens are in the parentheses of a visibility, and not a type.
fn is_scope(tokens: &[Token]) -> bool {
    matches!(tokens, [Token::Word(_)]) || tokens.first().is_some_and(|first| is(first, "in"))
}

/// Returns whether a method's name follows, and not the end of a range.
fn ends_with_one_dot(tokens: &[Token]) -> bool {
    let dot = |token: &Token| *token == Token::Mark('.');
    tokens.iter().rev().take_while(|token| dot(token)).count() == 1
}

/// Returns the path for which a path's first word stands.
fn begin(first: &str, module: &[String], children: &[String]) -> Option<Path> {
    match first {
        "crate" => Some(Vec::new()),
        "self" => Some(module.to_vec()),
        "super" => Some(module[..module.len().saturating_sub(1)].to_vec()),
        child if children.iter().any(|other| other == child) => Some([module, &[child.to_owned()]].concat()),
        _ => None,
    }
}

/// Follows a path, into each branch of a `use`'s tree. `tokens` follow its last `::`.
fn trees(prefix: &mut Path, tokens: &[Token], paths: &mut Vec<Path>) {
    match tokens {
        [Token::Word(word), rest @ ..] => {
            match word.as_str() {
                "super" => drop(prefix.pop()),
                "self" => {}
                _ => prefix.push(word.clone()),
            }
            match rest {
                [Token::Colons, rest @ ..] => trees(prefix, rest, paths),
                _ => paths.push(prefix.clone()),
            }
        }
        [Token::Mark('*'), ..] => {
            prefix.push("*".to_owned());
            paths.push(prefix.clone());
        }
        [Token::Group(Delimiter::Brace, branches), ..] => {
            for branch in branches.split(|token| *token == Token::Mark(',')) {
                trees(&mut prefix.clone(), branch, paths);
            }
        }
        [] => {}
        // After `::<` come type arguments.
        _ => paths.push(prefix.clone()),
    }
}

/// A name that a `use` with a visibility gives to a path.
pub struct Export {
    pub name: String,
    pub path: Path,
}

/// Returns a module's re-exports: each name of its `pub use` and `pub(...) use`.
pub fn exports(tokens: &[Token], module: &[String]) -> Vec<Export> {
    let children = modules(tokens);
    let mut exports = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let tree = match &tokens[i + 1..] {
            [Token::Group(Delimiter::Parenthesis, _), Token::Word(keyword), tree @ ..]
                if keyword == "use" =>
            {
                tree
            }
            [Token::Word(keyword), tree @ ..] if keyword == "use" => tree,
            _ => continue,
        };
        if *token != Token::Word("pub".to_owned()) {
            continue;
        }
        let tree = tree.split(|token| *token == Token::Mark(';')).next().unwrap_or_default();
        let mut branches = Vec::new();
        if let [Token::Word(first), Token::Colons, rest @ ..] = tree {
            let mut prefix = begin(first, module, &children).unwrap_or(vec![first.clone()]);
            trees(&mut prefix, rest, &mut branches);
        }
        exports.extend(branches.into_iter().filter_map(|path| {
            let last = path.last()?;
            Some(Export { name: renamed(tree, last).unwrap_or(last.clone()), path })
        }));
    }
    exports
}

/// Returns the name that `last as name` gives, if a tree has that.
fn renamed(tree: &[Token], last: &str) -> Option<String> {
    tree.iter().enumerate().find_map(|(i, token)| match (token, &tree[i + 1..]) {
        (Token::Word(word), [Token::Word(keyword), Token::Word(name), ..])
            if word == last && keyword == "as" =>
        {
            Some(name.clone())
        }
        (Token::Group(_, inner), _) => renamed(inner, last),
        _ => None,
    })
}
