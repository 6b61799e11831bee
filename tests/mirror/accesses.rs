//! How the sources use the fields of the four large structs.
//!
//! Tokens have no types, so a field is known by its name. Several of these structs may have a field
//! of the same name. Then an access by Go's name for one of the structs (`gp`, `mp`, `pp`,
//! `sched()`) doesn't count for another. Any other access may be to each. So "untouched" is always
//! right, and "used" may be wrong if another type has a field of that name, too.

use std::collections::BTreeMap;

use proc_macro2::Delimiter;

use crate::repository::{files_below, read};
use crate::tokens::{self, Token, without_tests};

/// The most that the sources do with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    Untouched,
    /// The field is set, and nothing reads it.
    Set,
    /// The field is read, and nothing sets it.
    Read,
    Used,
}

/// The usual name of a variable that points to each of the structs.
const POINTERS: [(&str, &str); 4] = [("g", "gp"), ("m", "mp"), ("p", "pp"), ("schedt", "sched")];

/// For each field's name: the variables that lead to it, and the accesses.
pub struct Accesses(BTreeMap<String, Vec<(String, Access)>>);

impl Accesses {
    /// Collects the accesses of all files.
    pub fn of_the_crate() -> Self {
        Self::new(
            files_below("src")
                .into_iter()
                .filter(|path| path.ends_with(".rs"))
                .map(|path| (read(&path), path)),
        )
    }

    /// Collects the accesses of sources, which have names.
    fn new(sources: impl Iterator<Item = (String, String)>) -> Self {
        let mut accesses = Accesses(BTreeMap::new());
        for (source, name) in sources {
            accesses.collect(&without_tests(tokens::of(&name, &source)));
        }
        accesses
    }

    fn collect(&mut self, tokens: &[Token]) {
        for (i, token) in tokens.iter().enumerate() {
            match (token, &tokens[i + 1..]) {
                (Token::Group(_, inner), _) => self.collect(inner),
                (Token::Mark('.'), [Token::Word(field), rest @ ..])
                    if !matches!(rest, [Token::Group(Delimiter::Parenthesis, _), ..]) =>
                {
                    self.0.entry(field.clone()).or_default().push((pointer(&tokens[..i]), access(rest)));
                }
                _ => {}
            }
        }
    }

    /// Returns how a field of a struct of Go's is used, or, for `a.b`, a field of its field. The
    /// structs in `with_it` have a field of that name, too.
    pub fn of(&self, go: &str, field: &str, with_it: &[&str]) -> Access {
        let anothers =
            |by: &str| POINTERS.iter().any(|(of, name)| name == &by && *of != go && with_it.contains(of));
        let all = field.split('.').filter(|name| *name != "ext").map(|name| {
            let accesses = self.0.get(name).into_iter().flatten();
            accesses.filter(|(by, _)| !anothers(by)).map(|(_, access)| *access).reduce(both)
        });
        all.map(|access| access.unwrap_or(Access::Untouched)).min().unwrap_or(Access::Untouched)
    }
}

/// Combines two accesses to a field.
fn both(one: Access, other: Access) -> Access {
    if one == other { one } else { Access::Used }
}

/// Returns the name before a field's dot: of a variable, or of a function that was called.
fn pointer(before: &[Token]) -> String {
    match before {
        [.., Token::Word(name)] | [.., Token::Word(name), Token::Group(Delimiter::Parenthesis, _)] => {
            name.clone()
        }
        _ => String::new(),
    }
}

/// Returns the kind of access to a field, judged by the tokens that follow.
fn access(after: &[Token]) -> Access {
    match after {
        [Token::Mark('='), next, ..] if *next != Token::Mark('=') => Access::Set,
        [Token::Mark('.'), Token::Word(method), Token::Group(Delimiter::Parenthesis, _), ..] => {
            match method.as_str() {
                "set" | "store" => Access::Set,
                "get" | "load" => Access::Read,
                _ => Access::Used,
            }
        }
        _ => Access::Used,
    }
}

#[test]
fn an_access_is_found() {
    let access_by = |source: &str| {
        let accesses = Accesses::new([(source.to_owned(), "made up".to_owned())].into_iter());
        accesses.of("p", "timers", &["g", "p"])
    };
    for (source, expected) in [
        ("struct P { timers: u8 } fn timers() { pp.timers(); }", Access::Untouched),
        ("fn f() { gp.timers.set(1); }", Access::Untouched),
        ("#[cfg(test)] mod tests { fn f() { pp.timers.set(1); } }", Access::Untouched),
        ("fn f() { pp.timers.set(1); pp.timers = 1; }", Access::Set),
        ("fn f() { assert!(other.timers.get() == 1); }", Access::Read),
        ("fn f() { pp.timers.set(pp.timers.get() + 1); }", Access::Used),
        ("fn f() { g(&pp.timers); }", Access::Used),
    ] {
        assert_eq!(access_by(source), expected, "{source}");
    }
}
