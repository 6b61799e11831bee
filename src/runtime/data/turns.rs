//! A list of M's that wait for their turn, and what for.

use crate::runtime::data::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::M;

/// Why an M waits for a P with the goroutine that it has: `m/turn.rs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Turn {
    /// It doesn't.
    #[default]
    None,
    /// The goroutine has computed for long, and is kept from going on until others have had their
    /// turn.
    Kept,
    /// The goroutine needs a P.
    Needed,
    /// It was kept, and is let go on for as long as the world is stopped.
    Again,
}

impl Turn {
    /// In words.
    pub(in crate::runtime) fn as_str(self) -> &'static str {
        match self {
            Turn::None => "no",
            Turn::Kept => "kept",
            Turn::Needed => "needed",
            Turn::Again => "again",
        }
    }
}

/// M's, linked through their `schedlink`, as none of them is idle: those that need a P, and then
/// those that are kept, each in the order in which they came. Protected by
/// [`Schedt::lock`](crate::runtime2::Schedt::lock).
#[derive(Debug, Default)]
pub struct Turns {
    head: Link<M>,
    tail: Link<M>,
    /// How many there are; without the lock it is a hint.
    pub len: AtomicI32,
    /// How many of them need a P; without the lock it is a hint.
    pub needed: AtomicI32,
    /// The last that was taken needed a P.
    was_needed: Cell<bool>,
    /// 1 if the last turn was one of these, and the next is that of the global queue.
    pub was_last: AtomicU32,
    /// How many threads were made that haven't begun; for a moment, one that has begun may not be
    /// counted yet.
    pub starting: AtomicI32,
    /// Sysmon's thread, and how often it has looked.
    pub sysmon: AtomicU64,
    /// See [`sysmon`](Self::sysmon).
    pub rounds: AtomicU32,
}

impl Turns {
    /// Adds `mp`.
    pub(in crate::runtime) fn push(&self, mp: &'static M, turn: Turn) {
        mp.ext.turn.set(turn);
        let before = if turn == Turn::Needed { self.last_needed() } else { self.tail.get() };
        let after = before.map_or(&self.head, |before| &before.schedlink);
        mp.schedlink.set(after.get());
        after.set(Some(mp));
        if mp.schedlink.is_null() {
            self.tail.set(Some(mp));
        }
        self.len.fetch_add(1, Ordering::Relaxed);
        self.needed.fetch_add((turn == Turn::Needed).into(), Ordering::Relaxed);
    }

    /// The last that needs a P.
    fn last_needed(&self) -> Option<&'static M> {
        let each = std::iter::successors(self.head.get(), |mp| mp.schedlink.get());
        each.take_while(|mp| mp.ext.turn.get() == Turn::Needed).last()
    }

    /// Takes the first; where there are both kinds, one of each kind in turns.
    pub(in crate::runtime) fn pop(&self) -> Option<&'static M> {
        let last_needed = if self.was_needed.get() { self.last_needed() } else { None };
        let before = last_needed.filter(|mp| !mp.schedlink.is_null());
        let first = before.map_or(&self.head, |before| &before.schedlink).get()?;
        self.was_needed.set(first.ext.turn.get() == Turn::Needed);
        self.unlink(before, first);
        Some(first)
    }

    /// Takes those that are only kept and that are `wanted`, which is also told how many kept ones
    /// came earlier, and passes them to `f`.
    pub(in crate::runtime) fn take_kept(
        &self,
        wanted: impl Fn(usize, &M) -> bool,
        mut f: impl FnMut(&'static M),
    ) {
        let mut earlier = 0;
        let mut before = None;
        let mut next = self.head.get();
        while let Some(mp) = next {
            next = mp.schedlink.get();
            let kept = mp.ext.turn.get() == Turn::Kept;
            if kept && wanted(earlier, mp) {
                self.unlink(before, mp);
                f(mp);
            } else {
                before = Some(mp);
            }
            earlier += usize::from(kept);
        }
    }

    /// Takes `mp` out, which stands behind `before`, or first.
    fn unlink(&self, before: Option<&'static M>, mp: &'static M) {
        let after = mp.schedlink.get();
        match before {
            Some(before) => before.schedlink.set(after),
            None => self.head.set(after),
        }
        if after.is_none() {
            self.tail.set(before);
        }
        mp.schedlink.set(None);
        self.needed.fetch_sub((mp.ext.turn.replace(Turn::None) == Turn::Needed).into(), Ordering::Relaxed);
        self.len.fetch_sub(1, Ordering::Relaxed);
    }
}
