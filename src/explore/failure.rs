//! [`Failure`]: a schedule that fails, and how.
//!
//! The messages of panics in explorations are kept for the report, and only the report prints them.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::panic::{set_hook, take_hook};
use std::sync::Once;
use std::thread;

use crate::goroutine::message as message_of;
use crate::runtime::explored_number;
use crate::sync::short_mutex::ShortMutex;

/// How a schedule has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// A goroutine has panicked, and hasn't caught the panic.
    Panic,
    /// All goroutines wait, and the closure hasn't returned.
    Deadlock,
    /// The closure has returned, and goroutines are left that nothing will wake.
    Leak,
    /// There were more choices than [`max_choices`](super::Explorer::max_choices), perhaps because
    /// of a livelock.
    TooLong,
    /// A thread, or a goroutine that isn't the closure's, has woken a goroutine of the closure. No
    /// schedule could repeat that.
    Foreign,
    /// For ten seconds of real time a goroutine hasn't come to a point where others might go on: it
    /// computes, or blocks its thread. It can't be ended, so its thread goes on.
    Stuck,
}

/// A schedule that fails, returned by [`Explorer::check`](super::Explorer::check). Its text is the
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

    /// The value of `GOSCHED_REPLAY` with which this schedule runs again, such as
    /// `s1BADA@tests/sum.rs:30`. Behind the `@` is the place of the exploration, which must be the
    /// same then.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The steps of the schedule: a line for each, with the goroutine's number, its operation, and
    /// the place.
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

/// Quotes a word for a shell, because a path may have spaces and other special characters.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:@".contains(c);
    if word.chars().all(is_plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")).into() }
}

impl Error for Failure {}

/// The last panic of a goroutine of an exploration.
static LAST: ShortMutex<Option<Panicked>> = ShortMutex::new(None);

struct Panicked {
    number: u32,
    text: Option<String>,
    place: String,
}

/// Keeps the messages of panics in explorations, by a hook in front of the current one.
pub(super) fn keep_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let Some(number) = explored_number() else { return before(info) };
            let text = message_of(info.payload()).map(str::to_owned);
            let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
            let panicked = Panicked { number, text, place: place.unwrap_or_default() };
            *LAST.lock() = Some(panicked);
        }));
    });
}

/// The report's text for a panic that has left goroutine `number`. The place of the panic isn't
/// known if no hook was called for it: `resume_unwind` calls none, and the program may have set its
/// own. Then the last panic that was kept is another one.
pub(super) fn message_of_panic(number: u32, text: Option<String>) -> String {
    let last = LAST.lock().take();
    let last = last.filter(|last| (last.number, &last.text) == (number, &text));
    let place = last.map(|last| last.place).unwrap_or_default();
    format!("goroutine {number} panics{place}: {}", text.as_deref().unwrap_or("(a value that is no text)"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_token_is_one_word() {
        assert_eq!(quoted("s1BA-_@tests/sum.rs:30"), "s1BA-_@tests/sum.rs:30");
        assert_eq!(quoted("s1@it's/a b.rs:1"), r"'s1@it'\''s/a b.rs:1'");
    }
}
