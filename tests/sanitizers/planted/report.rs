//! What a report has to say.

use std::fmt::{self, Display, Formatter};

pub struct Report {
    /// What the tool calls the bug.
    pub kind: &'static str,
    /// Functions of the program that are on its stacks.
    pub frames: &'static [&'static str],
    /// The one that has made one of the goroutines, where the tool tells that.
    pub maker: Option<&'static str>,
}

impl Report {
    pub const fn new(kind: &'static str, frames: &'static [&'static str]) -> Self {
        Report { kind, frames, maker: None }
    }

    /// Of a data race, of a goroutine that was made by `bug`.
    pub const fn race(frames: &'static [&'static str]) -> Self {
        Report { kind: "ThreadSanitizer: data race", frames, maker: Some("bug") }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{}\t{}", self.kind, self.frames.join(" "), self.maker.unwrap_or_default())
    }
}
