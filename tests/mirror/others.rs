//! What each public item of std, crossbeam-channel, tokio and Go is here. `docs/guide/others.md`
//! has the answers, and this writes it:
//!
//! ```sh
//! GOSCHED_MIRROR=update cargo test -p gosched-mirror others
//! ```
//!
//! `tables/items-of-others.tsv` has their items; `tools/items-of-others.py` writes it.
//! `tables/others.tsv` has the answers. Each row has a library, its items, the counterparts here,
//! and words, which say how an item differs, or why there is none. `Mutex::*` stands for a type and
//! its functions, and `*` for all items of the library. As a counterpart, it stands for the same
//! names. The answer of an item is that of the row that names it most exactly.

use std::fmt::Write;
use std::{env, fs};

use crate::public::PUBLIC;
use crate::repository::{absolute, read};
use crate::tables::snake_case;

const PAGE: &str = "docs/guide/others.md";
const ITEMS: &str = "tests/mirror/tables/items-of-others.tsv";
const ANSWERS: &str = "tests/mirror/tables/others.tsv";

/// Returns the rows of a file, without its comments.
fn rows<const COLUMNS: usize>(path: &str) -> Vec<[String; COLUMNS]> {
    let row = |line: &str| {
        let cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
        cells.try_into().unwrap_or_else(|_| panic!("{path}: not {COLUMNS} columns: {line}"))
    };
    read(path).lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

/// The patterns with which a row answers an item: the item itself, its type's, or the library's.
fn patterns(item: &str) -> [String; 4] {
    let owner = item.split(['.', ':']).next().expect("a split has a part");
    [item.to_owned(), format!("{owner}::*"), format!("{owner}.*"), "*".to_owned()]
}

/// An answer, with the items that have it.
struct Answer {
    pattern: String,
    here: String,
    words: String,
    items: Vec<String>,
}

impl Answer {
    /// Returns the names here that stand for an item.
    fn counterparts(&self, item: &str) -> Vec<String> {
        let matched = self.pattern.trim_end_matches(['*', '.', ':']);
        let rest = item.strip_prefix(matched).expect("the pattern matches").split(['.', ':']);
        let rest: Vec<&str> = rest.filter(|part| !part.is_empty()).collect();
        let counterpart = |here: &str| match here.strip_suffix("::*") {
            // A function of Go's has a capital.
            Some(owner) if self.pattern.contains('.') => {
                let rest = rest.iter().map(|part| snake_case(part));
                [owner.to_owned()].into_iter().chain(rest).collect::<Vec<_>>().join("::")
            }
            Some(owner) => [&[owner], &rest[..]].concat().join("::"),
            None => here.to_owned(),
        };
        self.here.split(", ").filter(|here| !here.is_empty()).map(counterpart).collect()
    }
}

/// Returns the answers by libraries, in the order of the files, and what is wrong with them.
fn answers() -> (Vec<(String, Vec<Answer>)>, Vec<String>) {
    let mut wrong = Vec::new();
    let mut libraries: Vec<(String, Vec<Answer>)> = Vec::new();
    for [library, pattern, here, words] in rows(ANSWERS) {
        if libraries.last().is_none_or(|(last, _)| *last != library) {
            libraries.push((library.clone(), Vec::new()));
        }
        if here.is_empty() && words.is_empty() {
            wrong.push(format!("{library}, {pattern}: neither a counterpart nor a reason"));
        }
        let answers = &mut libraries.last_mut().expect("one was pushed").1;
        answers.push(Answer { pattern, here, words, items: Vec::new() });
    }
    for [library, item] in rows(ITEMS) {
        let answers = libraries.iter_mut().find(|(name, _)| *name == library);
        let answers = &mut answers.unwrap_or_else(|| panic!("{ANSWERS} has no rows of {library}")).1;
        let matching: Vec<usize> = patterns(&item)
            .iter()
            .filter_map(|pattern| answers.iter().position(|answer| answer.pattern == *pattern))
            .collect();
        let [answer, less_exact @ ..] = &matching[..] else {
            wrong.push(format!("{library}, {item}: no answer"));
            continue;
        };
        for here in answers[*answer].counterparts(&item) {
            if !PUBLIC.contains(&here) {
                wrong.push(format!("{library}, {item}: there is no {here}"));
            }
        }
        let less_exact = less_exact.iter().map(|&i| &answers[i]).filter(|answer| answer.here.ends_with('*'));
        for here in less_exact.flat_map(|answer| answer.counterparts(&item)) {
            if answers[*answer].here.is_empty() && PUBLIC.contains(&here) {
                wrong.push(format!("{library}, {item}: there is {here}"));
            }
        }
        answers[*answer].items.push(item);
    }
    for (library, answers) in &libraries {
        for answer in answers.iter().filter(|answer| answer.items.is_empty()) {
            wrong.push(format!("{library}, {}: it answers no item", answer.pattern));
        }
    }
    (libraries, wrong)
}

#[test]
fn each_item_of_others_has_an_answer() {
    let (_, wrong) = answers();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_on_others_has_the_answers() {
    let (libraries, _) = answers();
    let page = page(&libraries);
    if env::var("GOSCHED_MIRROR").as_deref() == Ok("update") {
        fs::write(absolute(PAGE), page).unwrap();
        return;
    }
    assert!(read(PAGE) == page, "GOSCHED_MIRROR=update cargo test -p gosched-mirror others writes {PAGE}");
}

/// Why there is no counterpart yet, where nothing speaks against one.
const NOT_YET: &str = "not yet";

/// Returns the page: what stands before its first part, and the parts.
fn page(libraries: &[(String, Vec<Answer>)]) -> String {
    let text = read(PAGE);
    let mut page = text.split("\n## ").next().expect("a split has a part").to_owned();
    page += "\n## Numbers\n\n| library | items | the same name | another name | not yet | none |\n";
    page += "| --- | --- | --- | --- | --- | --- |\n";
    for (library, answers) in libraries {
        let count = |of: &dyn Fn(&Answer) -> bool| -> usize {
            answers.iter().filter(|answer| of(answer)).map(|answer| answer.items.len()).sum()
        };
        let [all, same, here, not_yet] = [
            count(&|_| true),
            count(&|answer| answer.here.ends_with('*')),
            count(&|answer| !answer.here.is_empty()),
            count(&|answer| answer.words.starts_with(NOT_YET)),
        ];
        let (other, none) = (here - same, all - here - not_yet);
        writeln!(page, "| {library} | {all} | {same} | {other} | {not_yet} | {none} |").unwrap();
    }
    for (library, answers) in libraries {
        write!(page, "\n## {library}\n\n| there | here |\n| --- | --- |\n").unwrap();
        for (text, names) in texts(answers) {
            for names in short(&names) {
                writeln!(page, "| {} | {text} |", names.join(", ")).unwrap();
            }
        }
    }
    page
}

/// Returns the texts of answers, and the names of the items of each.
fn texts(answers: &[Answer]) -> Vec<(String, Vec<String>)> {
    let mut texts: Vec<(String, Vec<String>)> = Vec::new();
    for answer in answers {
        let here: Vec<String> = answer.here.split(", ").filter(|here| !here.is_empty()).map(shown).collect();
        let parts = [here.join(", "), answer.words.clone()];
        let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
        match texts.iter_mut().find(|(other, _)| *other == text) {
            Some((_, all)) => all.extend(names(answer)),
            None => texts.push((text, names(answer))),
        }
    }
    texts
}

/// Splits names into rows that can be read.
fn short(names: &[String]) -> Vec<Vec<&str>> {
    const WORDS: usize = 30;
    let mut rows = vec![Vec::new()];
    let mut words = 0;
    for name in names {
        let more = name.split_whitespace().count();
        if words + more > WORDS && words > 0 {
            rows.push(Vec::new());
            words = 0;
        }
        words += more;
        rows.last_mut().expect("there is one").push(name.as_str());
    }
    rows
}

/// Returns a counterpart as the page shows it.
fn shown(here: &str) -> String {
    match here.strip_suffix("::*") {
        Some(owner) => format!("the same in `{owner}`"),
        None => format!("`{here}`"),
    }
}

/// Returns the items of an answer, as the page shows them. Those that have no counterparts with
/// their names aren't listed, if they are a type's.
fn names(answer: &Answer) -> Vec<String> {
    if answer.pattern.len() > 1 && answer.pattern.ends_with('*') && !answer.here.ends_with('*') {
        return vec![format!("`{}`", answer.pattern)];
    }
    let mut owners: Vec<(&str, Vec<&str>)> = Vec::new();
    for item in &answer.items {
        let (owner, name) = item.split_once("::").or_else(|| item.split_once('.')).unwrap_or((item, ""));
        if owners.last().is_none_or(|(last, _)| *last != owner) {
            owners.push((owner, Vec::new()));
        }
        owners.last_mut().expect("one was pushed").1.extend(Some(name).filter(|name| !name.is_empty()));
    }
    let name = |(owner, names): &(&str, Vec<&str>)| match names[..] {
        [] => format!("`{owner}`"),
        _ if answer.items.len() == 1 => format!("`{}`", answer.items[0]),
        _ => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("`{owner}` ({})", names.join(", "))
        }
    };
    owners.iter().map(name).collect()
}
