//! [`Token`]: a schedule, and the exploration that it is of.

use std::fmt::{self, Display, Formatter};
use std::panic::Location;
use std::str::FromStr;

use crate::explore::schedule::{NoSchedule, Schedule};

/// What `GOSCHED_REPLAY` says. Its text is that of the schedule, an `@`, and the place of the
/// exploration: other explorations of the process have other choices, for which the schedule says
/// nothing.
pub(super) struct Token {
    pub(super) schedule: Schedule,
    pub(super) place: Place,
}

/// A file, and a line in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    file: String,
    line: u32,
}

impl Token {
    /// The text of the token of a schedule.
    pub(super) fn text(schedule: &Schedule, place: &Location<'_>) -> String {
        format!("{schedule}@{}:{}", place.file(), place.line())
    }

    /// Whether it is of the exploration that was begun there.
    pub(super) fn is_of(&self, place: &Location<'_>) -> bool {
        (self.place.file.as_str(), self.place.line) == (place.file(), place.line())
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl FromStr for Token {
    type Err = String;

    fn from_str(token: &str) -> Result<Self, String> {
        let bad = || format!("{token:?} is no token of a schedule");
        let (schedule, place) = token.trim().split_once('@').ok_or_else(bad)?;
        let (file, line) = place.rsplit_once(':').ok_or_else(bad)?;
        let (schedule, line) =
            (schedule.parse().map_err(|NoSchedule| bad())?, line.parse().map_err(|_| bad())?);
        Ok(Token { schedule, place: Place { file: file.to_owned(), line } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_its_schedule_and_its_place() {
        let (schedule, place) = (Schedule(vec![(3, 1)]), Location::caller());
        let token: Token = Token::text(&schedule, place).parse().unwrap();
        assert_eq!(token.schedule, schedule);
        assert!(token.is_of(place) && !token.is_of(Location::caller()), "{}", token.place);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "s1AA", "s1AA@", "s1AA@file.rs", "s1AA@file.rs:", "s1A@file.rs:1", "s1AA@file.rs:x"]
        {
            assert!(text.parse::<Token>().is_err(), "{text}");
        }
    }
}
