//! Small programs with the bugs that the studies of Go's concurrency bugs have found again and
//! again; each is there twice, wrong and mended.
//!
//! Most of the wrong ones do what they should on nearly every run: what is wrong takes an order of
//! events that is rare. `tests/schedules` runs them, too, and counts how many runs it takes.

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

/// A program with a bug, and the same without.
#[derive(Clone, Copy)]
pub struct Program {
    pub name: &'static str,
    pub wrong: fn(),
    pub right: fn(),
}

/// All of them.
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
