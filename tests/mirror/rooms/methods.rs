//! Methods that a room gives to a type of a room below. Their callers need no import of that room,
//! so calls must be looked for by the method's name.

use proc_macro2::Delimiter;

use super::house::House;
use super::tree::Tree;
use crate::tokens::{Token, definitions, is};

/// No room calls a method that a room above defines.
pub fn rooms_call_what_is_below(tree: &Tree, house: &House) -> Vec<String> {
    let definitions: Vec<_> = tree.rooms().map(|(_, file, room)| (room, definitions(&file.tokens))).collect();
    let defined_in = |name: &str| -> Vec<&str> {
        definitions.iter().filter(|(_, names)| names.contains(name)).map(|(room, _)| *room).collect()
    };
    let mut wrong = Vec::new();
    for (_, file, room) in tree.rooms() {
        for (owner, body) in impls(&file.tokens).filter(|(owner, _)| !defined_in(owner).contains(&room)) {
            for method in methods(body) {
                let rooms = defined_in(&method);
                // The call may mean another method of that name.
                let may_call = |caller| {
                    rooms.iter().any(|room| *room == caller || house.floor(room) < house.floor(caller))
                };
                let calls = tree
                    .rooms()
                    .filter(|(_, file, caller)| !may_call(caller) && calls(&file.tokens, &method));
                wrong.extend(calls.map(|(path, _, caller)| {
                    format!("{path}: {owner}::{method} is from {room}, which isn't below {caller}")
                }));
            }
        }
    }
    wrong
}

/// Returns the inherent `impl`s of a file: the type's name, and the body.
fn impls(tokens: &[Token]) -> impl Iterator<Item = (String, &[Token])> {
    tokens.iter().enumerate().filter(|(_, token)| is(token, "impl")).filter_map(|(i, _)| {
        let rest = &tokens[i + 1..];
        let end = rest.iter().position(|token| matches!(token, Token::Group(Delimiter::Brace, _)))?;
        let (head, Token::Group(_, body)) = (&rest[..end], &rest[end]) else { return None };
        let mut depth = 0;
        let mut owner = None;
        for token in head.iter().take_while(|token| !is(token, "where")) {
            match token {
                Token::Mark('<') => depth += 1,
                Token::Mark('>') => depth -= 1,
                Token::Word(word) if word == "for" => return None,
                Token::Word(word) if depth == 0 => owner = Some(word.clone()),
                _ => {}
            }
        }
        Some((owner?, body.as_slice()))
    })
}

/// Returns the functions of an `impl`.
fn methods(body: &[Token]) -> impl Iterator<Item = String> {
    body.windows(2).filter_map(|pair| match pair {
        [keyword, Token::Word(name)] if is(keyword, "fn") => Some(name.clone()),
        _ => None,
    })
}

/// Returns whether there is a call of a method of that name.
fn calls(tokens: &[Token], name: &str) -> bool {
    let is_call = |triple: &[Token]| match triple {
        [
            Token::Mark('.') | Token::Colons,
            method,
            Token::Group(Delimiter::Parenthesis, _) | Token::Colons,
        ] => is(method, name),
        _ => false,
    };
    tokens.windows(3).any(is_call)
        || tokens.iter().any(|token| matches!(token, Token::Group(_, inner) if calls(inner, name)))
}
