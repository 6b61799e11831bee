//! Which module sees which item. Each function returns the faults, a line for each.

use proc_macro2::Delimiter;

use super::house::House;
use super::paths::exports;
use super::tree::{File, Tree};
use crate::tokens::{Token, is, words};

/// An item that is visible in the whole crate.
struct Shown<'a> {
    name: String,
    /// Whether it is a field or a method. It isn't listed itself, but its type may be.
    is_member: bool,
    /// The tokens after its visibility, without a body.
    signature: &'a [Token],
}

/// A room shows faces only the items that they use, and the types of these.
pub fn rooms_show_what_is_listed(tree: &Tree, house: &House) -> Vec<String> {
    let mut all = Vec::new();
    for (path, file, _) in tree.rooms() {
        let mut shown = Vec::new();
        visible_in_crate(&file.tokens, false, &mut shown);
        all.extend(shown.into_iter().map(|shown| (path, shown)));
    }
    let is_used = |Shown { name, is_member, signature }: &Shown| {
        let is_type = signature.first().is_some_and(|first| TYPES.iter().any(|word| is(first, word)));
        let has_it = |other: &Shown| other.name != *name && words(other.signature).any(|word| word == name);
        house.for_faces.contains(name)
            || *is_member && tree.faces().any(|(_, face)| face.mentions(name))
            || is_type && all.iter().any(|(_, other)| has_it(other))
    };
    // If a whole module is listed, its items are visible, too.
    let is_listed = |path: &str| house.for_faces.iter().any(|name| path.ends_with(&format!("/{name}.rs")));
    let unused = all.iter().filter(|(path, shown)| shown.name != "*" && !is_listed(path) && !is_used(shown));
    unused.map(|(path, shown)| format!("{path}: {} is pub(crate), and no face uses it", shown.name)).collect()
}

/// The keywords that begin a type.
const TYPES: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// Collects the items that are `pub(crate)`.
fn visible_in_crate<'a>(tokens: &'a [Token], of_type: bool, shown: &mut Vec<Shown<'a>>) {
    let mut in_type = of_type;
    for (i, token) in tokens.iter().enumerate() {
        match (token, &tokens[i + 1..]) {
            (public, [Token::Group(_, scope), rest @ ..])
                if is(public, "pub") && scope.last().is_some_and(|word| is(word, "crate")) =>
            {
                let ends =
                    |token: &Token| matches!(token, Token::Mark(';') | Token::Group(Delimiter::Brace, _));
                let signature = rest.split(ends).next().unwrap_or_default();
                let names = if signature.first().is_some_and(|first| is(first, "use")) {
                    let item = tokens[i..].split(|token| *token == Token::Mark(';')).next();
                    let exports = exports(item.unwrap_or_default(), &[]);
                    exports.into_iter().map(|export| export.name).collect()
                } else {
                    vec![name_of(signature)]
                };
                shown.extend(names.into_iter().map(|name| Shown { name, is_member: of_type, signature }));
            }
            (Token::Word(word), _) if word == "impl" || TYPES.contains(&word.as_str()) => {
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

/// Returns the name of an item or a field.
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

/// An item that only its room uses is visible only there. (A type may have to be visible where its
/// functions are.)
pub fn rooms_keep_to_themselves(tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, file, room) in tree.rooms() {
        let elsewhere: Vec<&File> =
            tree.files().filter(|(_, other)| other.room() != Some(room)).map(|(_, other)| other).collect();
        let items = (0..file.tokens.len()).filter_map(|i| visible_in_runtime(&file.tokens[i..]));
        for name in items.filter(|item| !TYPES.iter().any(|word| is(&item[0], word))).map(name_of) {
            if !elsewhere.iter().any(|other| other.mentions(&name)) {
                wrong.push(format!("{path}: {name} is pub(in crate::runtime), and only {room} uses it"));
            }
        }
    }
    wrong
}

/// Returns the tokens after `pub(in crate::runtime)`, if `tokens` begin with that and no `use`
/// follows.
fn visible_in_runtime(tokens: &[Token]) -> Option<&[Token]> {
    let [public, Token::Group(_, scope), item @ ..] = tokens else { return None };
    let [within, krate, Token::Colons, runtime] = scope.as_slice() else { return None };
    let words = [public, within, krate, runtime];
    let matches = words.iter().zip(["pub", "in", "crate", "runtime"]).all(|(token, word)| is(token, word));
    (matches && !is(item.first()?, "use")).then_some(item)
}
