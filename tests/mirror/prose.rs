//! Comments and documents, against a table that counts how often they break a rule of style. A
//! count that rises fails; a count that falls doesn't.
//!
//!     cargo test -p gosched-mirror prose
//!
//! With `GOSCHED_MIRROR=update` before it, this writes the table, `tests/mirror/tables/prose.tsv`.
//! With `GOSCHED_MIRROR=list`, and `-- --nocapture` after it, this prints the places.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs, mem};

use crate::repository::{absolute, files_below, read};

const TABLE: &str = "tests/mirror/tables/prose.tsv";

const FOLDERS: [&str; 12] = [
    ".ci", ".github", "asm", "benches", "crates", "docs", "examples", "include", "macros", "src", "tests",
    "tools",
];
const FILES: [&str; 7] =
    ["CHANGELOG.md", "CONTRIBUTING.md", "Cargo.toml", "README.md", "SECURITY.md", "build.rs", "deny.toml"];

/// The table's name for the folder of [`FILES`].
const ROOT: &str = "/";

/// The most columns of a line.
const COLUMNS: usize = 100;

/// The most words of a sentence.
const WORDS: usize = 40;

/// Phrases to avoid, without punctuation.
const PHRASES: [&[&str]; 6] = [
    &["so", "many"],
    &["told", "of"],
    &["isn't", "for"],
    &["aren't", "for"],
    &["sees", "to"],
    &["as", "may", "be"],
];

/// After one of these words, a relative pronoun has no antecedent.
const BEFORE_WHO: [&str; 8] = ["by", "for", "of", "to", "from", "than", "beside", "tells"];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// A sentence or a clause whose subject is a pronoun without a noun.
    WhoFirst,
    /// The same as an object.
    WhoAfter,
    Phrase,
    Wide,
    Long,
}

impl Rule {
    fn name(self) -> &'static str {
        match self {
            Rule::WhoFirst => "who-first",
            Rule::WhoAfter => "who-after",
            Rule::Phrase => "phrase",
            Rule::Wide => "wide-line",
            Rule::Long => "long-sentence",
        }
    }
}

/// A place that breaks a rule.
struct Break {
    rule: Rule,
    path: String,
    line: usize,
    text: String,
}

/// The mark of a comment.
#[derive(Clone, Copy)]
enum Language {
    Rust,
    C,
    Script,
    Markdown,
}

impl Language {
    fn of(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.') {
            Some((_, "rs")) => Some(Language::Rust),
            Some((_, "S" | "c" | "h")) => Some(Language::C),
            Some((_, "py" | "sh" | "toml" | "yml")) => Some(Language::Script),
            Some((_, "md")) => Some(Language::Markdown),
            None if text.starts_with("#!") => Some(Language::Script),
            _ => None,
        }
    }
}

/// Words that form a unit, each with its line: a paragraph, a list's item, a table's cell.
type Block<'a> = Vec<(usize, &'a str)>;

/// Reads the lines of one file.
struct Reader<'a> {
    path: &'a str,
    block: Block<'a>,
    /// Whether the line is in an example.
    fence: bool,
    /// Whether the line is in a comment of C's, or in a docstring of Python's.
    inside: bool,
    breaks: Vec<Break>,
}

impl<'a> Reader<'a> {
    fn read(path: &'a str, text: &'a str) -> Vec<Break> {
        let mut reader = Reader { path, block: Vec::new(), fence: false, inside: false, breaks: Vec::new() };
        let Some(language) = Language::of(path, text) else { return Vec::new() };
        for (number, line) in (1..).zip(text.lines()) {
            match reader.comment(language, line.trim_start()) {
                Some(comment) => reader.prose(number, line, comment),
                None => reader.code(number, line, language),
            }
        }
        reader.end_block();
        reader.breaks
    }

    /// Returns the text of a line that is only comment.
    fn comment(&mut self, language: Language, line: &'a str) -> Option<&'a str> {
        let after_slashes = || line.strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']));
        match language {
            Language::Markdown => Some(line),
            Language::Rust => after_slashes(),
            Language::C if self.inside || line.starts_with("/*") => {
                self.inside = !line.contains("*/");
                let line = line.strip_prefix("/*").unwrap_or(line).trim_start_matches('*');
                Some(line.split("*/").next().unwrap_or(line))
            }
            Language::C => after_slashes(),
            Language::Script => {
                let quotes = line.matches("\"\"\"").count();
                if self.inside || (quotes > 0 && line.starts_with("\"\"\"")) {
                    self.inside ^= quotes % 2 == 1;
                    return Some(line.trim_matches('"'));
                }
                if line.starts_with("#!") { None } else { line.strip_prefix('#') }
            }
        }
    }

    /// Reads a line of code, perhaps with a comment at its end.
    fn code(&mut self, number: usize, line: &'a str, language: Language) {
        self.end_block();
        self.fence = false;
        let mark = if let Language::Script = language { " # " } else { " // " };
        if let Some((_, comment)) = line.split_once(mark) {
            self.words(number, comment);
            self.end_block();
        }
    }

    fn prose(&mut self, number: usize, line: &'a str, comment: &'a str) {
        let trimmed = comment.trim();
        if trimmed.starts_with("```") {
            self.end_block();
            self.fence = !self.fence;
            return;
        }
        // Indentation marks an example, too.
        if self.fence || (comment.starts_with("     ") && self.block.is_empty()) {
            return;
        }
        let row = trimmed.starts_with('|');
        if line.chars().count() > COLUMNS && !row && !trimmed.contains("://") {
            self.broken(Rule::Wide, number, trimmed);
        }
        if row {
            self.end_block();
            for cell in trimmed.split('|') {
                self.words(number, cell);
                self.end_block();
            }
            return;
        }
        if trimmed.is_empty() || trimmed.starts_with(['#', '-', '*']) {
            self.end_block();
        }
        self.words(number, trimmed);
        if trimmed.starts_with('#') {
            self.end_block();
        }
    }

    fn words(&mut self, number: usize, text: &'a str) {
        self.block.extend(text.split_whitespace().map(|word| (number, word)));
    }

    fn broken(&mut self, rule: Rule, line: usize, text: &str) {
        self.breaks.push(Break { rule, path: self.path.to_owned(), line, text: text.to_owned() });
    }

    fn end_block(&mut self) {
        let block = mem::take(&mut self.block);
        let mut rest = &block[..];
        while !rest.is_empty() {
            let end =
                (1..rest.len()).find(|&i| ends_sentence(rest[i - 1].1, rest[i].1)).unwrap_or(rest.len());
            let (sentence, after) = rest.split_at(end);
            self.sentence(sentence);
            rest = after;
        }
    }

    fn sentence(&mut self, sentence: &[(usize, &str)]) {
        let words: Vec<&str> = sentence.iter().map(|(_, word)| bare(word)).collect();
        let text = |from: usize| {
            let words: Vec<&str> = sentence[from..].iter().take(12).map(|(_, word)| *word).collect();
            words.join(" ")
        };
        let question = sentence.last().is_some_and(|(_, word)| word.ends_with('?'));
        for (i, &word) in words.iter().enumerate() {
            let line = sentence[i].0;
            let before = i.checked_sub(1).map(|before| sentence[before].1);
            let verb =
                words.get(i + 1).is_some_and(|next| next.starts_with(|c: char| c.is_ascii_lowercase()));
            if matches!(word, "Who" | "Whoever" | "who" | "whoever") && verb && !question {
                if before.is_none_or(|before| before.ends_with([':', ';'])) || word.starts_with('W') {
                    self.broken(Rule::WhoFirst, line, &text(i));
                } else if BEFORE_WHO.contains(&words[i - 1].to_ascii_lowercase().as_str()) {
                    self.broken(Rule::WhoAfter, line, &text(i - 1));
                }
            }
            if PHRASES.iter().any(|phrase| words[i..].starts_with(phrase)) {
                self.broken(Rule::Phrase, line, &text(i));
            }
        }
        let count = words.iter().filter(|word| word.contains(|c: char| c.is_alphanumeric())).count();
        if count > WORDS {
            self.broken(Rule::Long, sentence[0].0, &format!("{count} words: {}", text(0)));
        }
    }
}

/// Returns a word without punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Returns whether a sentence ends between two words.
fn ends_sentence(word: &str, next: &str) -> bool {
    let ends = word.trim_end_matches([')', '"', '*', '`', '_', ']']).ends_with(['.', '?', '!']);
    ends && !next.starts_with(|c: char| c.is_lowercase())
}

fn breaks() -> Vec<Break> {
    let below = FOLDERS.iter().flat_map(|folder| files_below(folder));
    let in_file = |path: String| {
        // Pictures and programs aren't read.
        let text = String::from_utf8(fs::read(absolute(&path)).ok()?).ok()?;
        Some(Reader::read(&path, &text))
    };
    below.chain(FILES.map(str::to_owned)).filter_map(in_file).flatten().collect()
}

/// How often each rule is broken, by folder and rule.
type Counts = BTreeMap<(String, String), usize>;

fn folder(path: &str) -> &str {
    path.split_once('/').map_or(ROOT, |(folder, _)| folder)
}

fn table() -> Counts {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [folder, rule, count] = cells[..] else { panic!("{TABLE}: not 3 columns: {line}") };
        let count = count.parse().unwrap_or_else(|error| panic!("{TABLE}: {count}: {error}"));
        ((folder.to_owned(), rule.to_owned()), count)
    };
    read(TABLE).lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

#[test]
fn no_count_of_the_prose_table_rises() {
    let breaks = breaks();
    let mut counts = Counts::new();
    for Break { rule, path, .. } in &breaks {
        *counts.entry((folder(path).to_owned(), rule.name().to_owned())).or_default() += 1;
    }
    match env::var("GOSCHED_MIRROR").as_deref() {
        Ok("list") => {
            for Break { rule, path, line, text } in &breaks {
                println!("{path}:{line}: {}: {text}", rule.name());
            }
            return;
        }
        Ok("update") => {
            let mut text =
                "# How often the prose of a folder breaks a rule; prose.rs has the rules and writes this.\n"
                    .to_owned();
            for ((folder, rule), count) in &counts {
                writeln!(text, "{folder}\t{rule}\t{count}").unwrap();
            }
            fs::write(absolute(TABLE), text).unwrap();
            return;
        }
        _ => {}
    }
    let table = table();
    let allowed = |key| table.get(key).copied().unwrap_or(0);
    for (key, &count) in table.iter() {
        if counts.get(key).copied().unwrap_or(0) < count {
            println!("{}, {}: fewer than {count}: GOSCHED_MIRROR=update lowers {TABLE}", key.0, key.1);
        }
    }
    let risen: Vec<String> = counts
        .iter()
        .filter(|&(key, &count)| count > allowed(key))
        .map(|(key, count)| format!("{}, {}: {count}, {} before", key.0, key.1, allowed(key)))
        .collect();
    assert!(
        risen.is_empty(),
        "{}\nThe places: GOSCHED_MIRROR=list cargo test -p gosched-mirror prose -- --nocapture",
        risen.join("\n")
    );
}
