//! A schedule: what was chosen in a run; and as a text, the first half of its token.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::runtime::{Choice, ExploreStrategy};

/// What was chosen otherwise than if nobody had interfered: the number of the choice, and the index
/// of what was taken, in the order of the choices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Schedule(pub(super) Vec<(u64, usize)>);

/// A strategy, and what it has chosen.
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

/// What a schedule says, choice by choice.
pub(super) struct Replay<'a> {
    left: std::slice::Iter<'a, (u64, usize)>,
    next: Option<(u64, usize)>,
    choices: u64,
    /// Whether what it says could be taken so far.
    could: bool,
}

impl<'a> Replay<'a> {
    pub(super) fn new(schedule: &'a Schedule) -> Self {
        let mut left = schedule.0.iter();
        let next = left.next().copied();
        Replay { left, next, choices: 0, could: true }
    }

    /// Whether a run that has ended had all the choices of the schedule.
    pub(super) fn fits(&self) -> bool {
        self.could && self.next.is_none()
    }

    /// The index that it says, of `n`.
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

/// How its text begins: the version of the format.
const VERSION: &str = "s1";

/// Numbers one after the other, five bits in a digit, the lowest first; the sixth says that more
/// follow.
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

/// A text that is none of a schedule's.
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
}
