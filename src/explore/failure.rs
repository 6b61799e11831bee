//! [`Failure`]: a schedule that fails, and how.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::thread;

/// How a schedule has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// A goroutine has panicked, and not caught that itself.
    Panic,
    /// All goroutines wait, and the closure hasn't returned.
    Deadlock,
    /// The closure has returned, and goroutines wait that nobody will wake.
    Leak,
    /// There were more choices than [`max_choices`](super::Explorer::max_choices): a livelock,
    /// perhaps.
    TooLong,
    /// A thread, or a goroutine that isn't the closure's, has woken one that is: no schedule would
    /// have that again.
    Foreign,
    /// A goroutine has come to no point where others might go on, for ten seconds of real time: it
    /// computes, or blocks its thread. It can't be ended: its thread goes on.
    Stuck,
}

/// A schedule that fails: what [`Explorer::check`](super::Explorer::check) returns. Its text is the
/// report that [`Explorer::run`](super::Explorer::run) panics with.
#[derive(Clone, Debug)]
pub struct Failure {
    pub(super) kind: FailureKind,
    pub(super) schedules: u64,
    pub(super) token: String,
    pub(super) message: String,
    pub(super) left: String,
    pub(super) story: String,
    /// Whether the schedule failed in the same way when it was run again.
    pub(super) again: bool,
}

impl Failure {
    /// How it has failed.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// How many schedules were run until it was found, this one among them.
    pub fn schedules(&self) -> u64 {
        self.schedules
    }

    /// What to set `GOSCHED_REPLAY` to, to run this schedule again: `s1BADA@tests/sum.rs:30`.
    /// Behind the `@` is the place of the exploration, which must be the same then.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What happened: a line for each step, with the goroutine's number, what it does, and where.
    pub fn story(&self) -> &str {
        &self.story
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FailureKind::Panic => "a goroutine panics",
            FailureKind::Deadlock => "all goroutines wait: a deadlock",
            FailureKind::Leak => "goroutines are left behind, and wait for ever",
            FailureKind::TooLong => "too many choices: a livelock, or max_choices is too low",
            FailureKind::Foreign => "a goroutine was woken from outside of the exploration",
            FailureKind::Stuck => {
                "a goroutine has come to no point for ten seconds: it computes, or blocks its thread"
            }
        };
        writeln!(f, "explore: in schedule {}, {what}", self.schedules)?;
        if !self.message.is_empty() {
            writeln!(f, "\n{}", self.message)?;
        }
        if !self.story.is_empty() {
            writeln!(f, "\nwhat happens, by the goroutines' numbers:\n\n{}", self.story)?;
        }
        if !self.left.is_empty() {
            writeln!(f, "{}", self.left)?;
        }
        if !self.again {
            writeln!(
                f,
                "The same schedule didn't fail again: the program depends on more than its schedule, on the time of \
                 std, say, or on addresses.\n"
            )?;
        }
        if self.token.is_empty() {
            return Ok(());
        }
        let thread = thread::current();
        let test = thread.name().filter(|name| *name != "main").unwrap_or("NAME");
        write!(f, "to run it again: GOSCHED_REPLAY={} cargo test {test}", quoted(&self.token))
    }
}

/// A word of a shell's. A path may have spaces, and other characters that mean something there.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:@".contains(c);
    if word.chars().all(is_plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")).into() }
}

impl Error for Failure {}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_token_is_one_word() {
        assert_eq!(quoted("s1BA-_@tests/sum.rs:30"), "s1BA-_@tests/sum.rs:30");
        assert_eq!(quoted("s1@it's/a b.rs:1"), r"'s1@it'\''s/a b.rs:1'");
    }
}
