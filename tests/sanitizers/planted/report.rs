//! The required contents of a report.

use std::fmt::{self, Display, Formatter};

pub struct Report {
    /// The tool's name for the bug.
    pub kind: &'static str,
    /// Functions of the program that the report's stacks must have.
    pub frames: &'static [&'static str],
    /// The place where one of the goroutines was made, if the report has it: in this function of
    /// the program, or in this file.
    pub maker: Option<&'static str>,
}

impl Report {
    pub const fn new(kind: &'static str, frames: &'static [&'static str]) -> Self {
        Report { kind, frames, maker: None }
    }

    /// Of a data race, of goroutines of which `bug` has made one.
    pub const fn race(frames: &'static [&'static str]) -> Self {
        Report::new("ThreadSanitizer: data race", frames).made_in("bug")
    }

    pub const fn made_in(self, maker: &'static str) -> Self {
        Report { maker: Some(maker), ..self }
    }

    /// Of a goroutine that the runtime has made, or the first one.
    pub const fn made_elsewhere(self) -> Self {
        Report { maker: None, ..self }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}\t{}\t{}", self.kind, self.frames.join(" "), self.maker.unwrap_or_default())
    }
}
