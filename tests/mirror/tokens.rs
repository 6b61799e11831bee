//! Files as tokens, which show the bodies of macros, too.

use std::collections::BTreeSet;
use std::iter;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The part of a token that the tests need.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Word(String),
    /// `::`
    Colons,
    Mark(char),
    Group(Delimiter, Vec<Token>),
    Literal,
}

/// Returns a file's tokens.
pub fn of(name: &str, source: &str) -> Vec<Token> {
    read(source.parse().unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn read(stream: TokenStream) -> Vec<Token> {
    let mut tokens = Vec::new();
    for tree in stream {
        match tree {
            TokenTree::Ident(word) => tokens.push(Token::Word(word.to_string())),
            TokenTree::Literal(_) => tokens.push(Token::Literal),
            TokenTree::Group(group) => tokens.push(Token::Group(group.delimiter(), read(group.stream()))),
            TokenTree::Punct(mark) if mark.as_char() == ':' && tokens.last() == Some(&Token::Mark(':')) => {
                tokens.pop();
                tokens.push(Token::Colons);
            }
            TokenTree::Punct(mark) => tokens.push(Token::Mark(mark.as_char())),
        }
    }
    tokens
}

/// Returns the tokens without each item, statement and field that follows `#[cfg(test)]` or
/// `#[cfg(all(test, ..))]`.
pub fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut rest = tokens.into_iter();
    while let Some(token) = rest.next() {
        match token {
            token if kept.last() == Some(&Token::Mark('#')) && is_cfg_test(&token) => {
                kept.pop();
                let ends =
                    |token: &Token| matches!(token, Token::Mark(';') | Token::Group(Delimiter::Brace, _));
                rest.find(ends);
            }
            Token::Group(delimiter, inner) => kept.push(Token::Group(delimiter, without_tests(inner))),
            token => kept.push(token),
        }
    }
    kept
}

fn is_cfg_test(token: &Token) -> bool {
    let Token::Group(Delimiter::Bracket, attribute) = token else { return false };
    let [Token::Word(cfg), Token::Group(_, condition)] = attribute.as_slice() else { return false };
    let condition = match condition.as_slice() {
        [all, Token::Group(_, conditions)] if is(all, "all") => conditions,
        condition => condition,
    };
    cfg == "cfg" && condition.first().is_some_and(|first| is(first, "test"))
}

/// Returns all words in the tokens.
pub fn words(tokens: &[Token]) -> Box<dyn Iterator<Item = &str> + '_> {
    Box::new(tokens.iter().flat_map(|token| match token {
        Token::Group(_, inner) => words(inner),
        Token::Word(word) => Box::new(iter::once(word.as_str())),
        _ => Box::new(iter::empty()),
    }))
}

/// Returns whether a token is that word.
pub fn is(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(other) if other == word)
}

/// Returns the names of the items and methods that the tokens define.
pub fn definitions(tokens: &[Token]) -> BTreeSet<&str> {
    const BEFORE: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"];
    let mut names = BTreeSet::new();
    for (i, token) in tokens.iter().enumerate() {
        match (token, &tokens[i + 1..]) {
            (Token::Group(_, inner), _) => names.extend(definitions(inner)),
            (Token::Word(word), [Token::Mark('!'), Token::Word(name), ..]) if word == "macro_rules" => {
                names.insert(name);
            }
            (Token::Word(word), [Token::Word(name), ..]) if BEFORE.contains(&word.as_str()) => {
                names.insert(name);
            }
            _ => {}
        }
    }
    names
}
