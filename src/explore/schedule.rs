//! A schedule: the choices of a run. Its text is the first half of its [`Token`], which also names
//! the exploration. A failing schedule is made smaller, as long as it still fails.

use std::fmt::{self, Display, Formatter};
use std::panic::Location;
use std::str::FromStr;

use crate::runtime::{Choice, ExploreStrategy};

/// The choices that differ from those of a run without interference: the number of the choice, and
/// the index of the alternative that was taken, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Schedule(pub(super) Vec<(u64, usize)>);

/// A strategy, and its choices so far.
pub(super) struct Recorded<'a> {
    pub(super) strategy: &'a mut dyn ExploreStrategy,
    pub(super) schedule: Schedule,
    pub(super) choices: u64,
}

impl<'a> Recorded<'a> {
    pub(super) fn new(strategy: &'a mut dyn ExploreStrategy) -> Self {
        Recorded { strategy, schedule: Schedule::default(), choices: 0 }
    }

    fn record(&mut self, index: usize) -> usize {
        if index != 0 {
            self.schedule.0.push((self.choices, index));
        }
        self.choices += 1;
        index
    }
}

impl ExploreStrategy for Recorded<'_> {
    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        let index = self.strategy.choose(choice);
        self.record(index.min(choice.len() - 1))
    }

    fn value(&mut self, n: usize) -> usize {
        let value = self.strategy.value(n);
        self.record(value.min(n - 1))
    }
}

/// Repeats a schedule, choice by choice.
pub(super) struct Replay<'a> {
    left: std::slice::Iter<'a, (u64, usize)>,
    next: Option<(u64, usize)>,
    choices: u64,
    /// Whether all its choices were possible so far.
    could: bool,
}

impl<'a> Replay<'a> {
    pub(super) fn new(schedule: &'a Schedule) -> Self {
        let mut left = schedule.0.iter();
        let next = left.next().copied();
        Replay { left, next, choices: 0, could: true }
    }

    /// Whether a run that has ended took all choices of the schedule.
    pub(super) fn fits(&self) -> bool {
        self.could && self.next.is_none()
    }

    /// Returns the schedule's index for the next choice, of `n`.
    fn take(&mut self, n: usize) -> usize {
        let choice = self.choices;
        self.choices += 1;
        match self.next {
            Some((number, index)) if number == choice => {
                self.next = self.left.next().copied();
                self.could &= index < n;
                index
            }
            _ => 0,
        }
    }
}

impl ExploreStrategy for Replay<'_> {
    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        self.take(choice.len())
    }

    fn value(&mut self, n: usize) -> usize {
        self.take(n)
    }
}

/// The digits of the text, six bits each.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The beginning of the text: the version of the format.
const VERSION: &str = "s1";

/// Writes numbers one after the other. A digit has five bits of a number, the lowest first; its
/// sixth bit says that more digits follow.
impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(VERSION)?;
        let mut last = 0;
        for &(number, index) in &self.0 {
            for mut n in [number - last, index as u64 - 1] {
                loop {
                    let more = n >= 32;
                    let digit = n % 32 + if more { 32 } else { 0 };
                    write!(f, "{}", char::from(DIGITS[digit as usize]))?;
                    n /= 32;
                    if !more {
                        break;
                    }
                }
            }
            last = number;
        }
        Ok(())
    }
}

/// The error for a text that isn't a schedule's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoSchedule;

impl FromStr for Schedule {
    type Err = NoSchedule;

    fn from_str(text: &str) -> Result<Self, NoSchedule> {
        let bad = || NoSchedule;
        let digits = text.strip_prefix(VERSION).ok_or_else(bad)?;
        let (mut numbers, mut n, mut shift) = (Vec::new(), 0_u64, 0);
        for byte in digits.bytes() {
            let digit = DIGITS.iter().position(|&digit| digit == byte).ok_or_else(bad)? as u64;
            n |= (digit % 32).checked_shl(shift).filter(|_| shift < 60).ok_or_else(bad)?;
            shift += 5;
            if digit < 32 {
                numbers.push(n);
                (n, shift) = (0, 0);
            }
        }
        if shift != 0 || numbers.len() % 2 != 0 {
            return Err(bad());
        }
        let mut number = 0_u64;
        let pairs = numbers.chunks_exact(2).map(|pair| {
            number = number.checked_add(pair[0]).ok_or_else(bad)?;
            Ok((number, pair[1] as usize + 1))
        });
        pairs.collect::<Result<_, _>>().map(Schedule)
    }
}

/// The value of `GOSCHED_REPLAY`. Its text is that of the schedule, an `@`, and the place of the
/// exploration. Other explorations of the process have other choices, which the schedule doesn't
/// fit.
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

    /// Whether it belongs to the exploration that was begun at `place`.
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

/// How many schedules are tried. Each failing one leaves goroutines behind.
const TRIES: u32 = 500;

/// Returns a part of `schedule` that fails, too. `fails` runs a schedule, and returns the schedule
/// of the run if it fails. Takes out halves, quarters and so on, as Zeller's delta debugging does.
pub(super) fn shrink(schedule: Schedule, mut fails: impl FnMut(&Schedule) -> Option<Schedule>) -> Schedule {
    let mut tries = 0;
    let mut best = schedule;
    let mut part = best.0.len().div_ceil(2);
    while part > 0 {
        let mut begin = 0;
        let mut smaller = false;
        while begin < best.0.len() {
            if tries == TRIES {
                return best;
            }
            tries += 1;
            let end = (begin + part).min(best.0.len());
            let without = Schedule([&best.0[..begin], &best.0[end..]].concat());
            match fails(&without) {
                Some(failed) if failed.0.len() < best.0.len() => {
                    best = failed;
                    smaller = true;
                }
                _ => begin = end,
            }
        }
        if !smaller || part > 1 {
            part = if part == 1 { 0 } else { part.div_ceil(2) };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_its_schedule() {
        for schedule in
            [vec![], vec![(0, 1)], vec![(0, 1), (1, 70_000), (31, 32), (1 << 40, 33), ((1 << 40) + 32, 1)]]
        {
            let schedule = Schedule(schedule);
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "s1A", "s2AA", "s1AAf", "s1A*", "s1______________AA", "s1gggggggggggggggg"] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_has_its_schedule_and_its_place() {
        let (schedule, place) = (Schedule(vec![(3, 1)]), Location::caller());
        let token: Token = Token::text(&schedule, place).parse().unwrap();
        assert_eq!(token.schedule, schedule);
        assert!(token.is_of(place) && !token.is_of(Location::caller()), "{}", token.place);
    }

    #[test]
    fn other_texts_are_no_tokens() {
        for text in ["", "s1AA", "s1AA@", "s1AA@file.rs", "s1AA@file.rs:", "s1A@file.rs:1", "s1AA@file.rs:x"]
        {
            assert!(text.parse::<Token>().is_err(), "{text}");
        }
    }
}
