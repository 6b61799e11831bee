//! Small programs with bugs that the studies of Go's concurrency bugs have found again and again.
//! Each program is there twice, wrong and mended.
//!
//! Most wrong programs behave well on nearly every run: the bug needs a rare order of events.
//! `tests/schedules` runs them, too, and counts the runs until a bug shows.

/// Lists the programs of a file: modules with a function `wrong` and a function `right`.
macro_rules! programs {
    ($($program:ident)*) => {
        /// The programs of this file.
        pub const PROGRAMS: &[super::Program] = &[$(super::Program {
            name: stringify!($program),
            wrong: $program::wrong,
            right: $program::right,
        }),*];
    };
}

mod channels;
mod conds;
mod contexts;
mod groups;
mod locks;
mod mixed;
mod stops;

/// A program with a bug, and the same program without it.
#[derive(Clone, Copy)]
pub struct Program {
    pub name: &'static str,
    pub wrong: fn(),
    pub right: fn(),
}

/// Returns all programs.
pub fn programs() -> impl Iterator<Item = &'static Program> {
    let files = [
        locks::PROGRAMS,
        conds::PROGRAMS,
        channels::PROGRAMS,
        stops::PROGRAMS,
        groups::PROGRAMS,
        contexts::PROGRAMS,
        mixed::PROGRAMS,
    ];
    files.into_iter().flatten()
}
