//! The suite's tests assert no upper bound of elapsed time: such a test is flaky on a slow machine.
//!
//! A bound is a comparison in `assert!` whose lesser side has a call of `elapsed`, or a variable
//! that was set from such a call alone. Lower bounds hold on every machine and aren't counted.
//! Loops that run for some time assert nothing.

use std::collections::BTreeSet;

use crate::repository::{files_below, read};
use crate::tokens::{self, Token, is, words};

const MEASURES: [&str; 2] = ["elapsed", "duration_since"];

/// Returns how many upper bounds of elapsed time a file asserts.
fn bounds(tokens: &[Token]) -> usize {
    let mut measured = BTreeSet::from(MEASURES);
    collect_measured(tokens, &mut measured);
    asserted_bounds(tokens, &measured)
}

/// Adds the variables that are set from an elapsed time.
fn collect_measured<'a>(tokens: &'a [Token], measured: &mut BTreeSet<&'a str>) {
    for (i, token) in tokens.iter().enumerate() {
        match (token, &tokens[i + 1..]) {
            (Token::Group(_, inner), _) => collect_measured(inner, measured),
            (Token::Word(word), rest) if word == "let" => {
                let statement = rest.split(|token| *token == Token::Mark(';')).next().unwrap_or(rest);
                let mut parts = statement.splitn(2, |token| *token == Token::Mark('='));
                let (Some(pattern), Some(value)) = (parts.next(), parts.next()) else { continue };
                // A tuple may have other values, too.
                if let [Token::Word(name)]
                | [_, Token::Word(name)]
                | [Token::Word(name), Token::Mark(':'), ..] = pattern
                    && words(value).any(|word| MEASURES.contains(&word))
                {
                    measured.insert(name);
                }
            }
            _ => {}
        }
    }
}

fn asserted_bounds(tokens: &[Token], measured: &BTreeSet<&str>) -> usize {
    let bounds = tokens.iter().enumerate().map(|(i, token)| match (&tokens[..i], token) {
        ([.., name, Token::Mark('!')], Token::Group(_, condition))
            if is(name, "assert") || is(name, "debug_assert") =>
        {
            bounds_in(condition, measured)
        }
        (_, Token::Group(_, inner)) => asserted_bounds(inner, measured),
        _ => 0,
    });
    bounds.sum()
}

/// Returns the comparisons in an assertion whose lesser side is measured.
fn bounds_in(condition: &[Token], measured: &BTreeSet<&str>) -> usize {
    let ends = |token: &Token| matches!(token, Token::Mark(',' | ';' | '&' | '|' | '<' | '>'));
    let is_measured = |side: &[Token]| words(side).any(|word| measured.contains(word));
    let bounds = condition.iter().enumerate().map(|(i, token)| match token {
        // The mark isn't part of a turbofish.
        Token::Mark('<') if !condition[..i].ends_with(&[Token::Colons]) => {
            let lesser = condition[..i].rsplit(ends).next().unwrap_or_default();
            usize::from(is_measured(lesser))
        }
        Token::Mark('>') => {
            let lesser = condition[i + 1..].split(ends).next().unwrap_or_default();
            usize::from(is_measured(lesser))
        }
        Token::Group(_, inner) => bounds_in(inner, measured),
        _ => 0,
    });
    bounds.sum()
}

#[test]
fn a_bound_is_found() {
    for (source, expected) in [
        ("assert!(start.elapsed() < LIMIT);", 1),
        ("assert!(start.elapsed().as_secs() <= 2, \"too late\");", 1),
        ("fn f() { assert!(all && LIMIT > start.elapsed()); }", 1),
        ("let mut took = start.elapsed(); assert!(took < LIMIT);", 1),
        ("let took: Duration = start.elapsed(); assert!(LIMIT >= took);", 1),
        ("assert!(all.iter().all(|start| start.elapsed() < LIMIT));", 1),
        ("assert!(start.elapsed() >= LIMIT);", 0),
        ("assert!(LIMIT <= start.elapsed());", 0),
        ("let took: Duration = start.elapsed(); assert!(Duration::ZERO < took);", 0),
        ("let most = start.elapsed().as_secs(); assert!(times < most, \"{most}\");", 0),
        ("let (n, took) = (3, start.elapsed()); assert!(n < 4);", 0),
        ("while start.elapsed() < LIMIT {} assert!(n < 3);", 0),
        ("assert!(a < b, \"{:?}\", start.elapsed());", 0),
    ] {
        assert_eq!(bounds(&tokens::of("made up", source)), expected, "{source}");
    }
}

#[test]
fn no_upper_bound_of_elapsed_time_is_asserted() {
    let count = |path: String| (bounds(&tokens::of(&path, &read(&path))), path);
    let files = files_below("tests/suite").into_iter().filter(|path| path.ends_with(".rs"));
    let found: Vec<_> = files.map(count).filter(|(bounds, _)| *bounds > 0).collect();
    assert!(found.is_empty(), "assert what happened, not how fast: {found:?}");
}
