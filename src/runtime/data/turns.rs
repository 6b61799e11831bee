//! The list of M's that wait for their turn, and the kinds of turns.

use crate::runtime::data::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use crate::runtime::data::cell::Cell;
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::M;

/// Why an M waits for a P with the goroutine that it has: `m/turn.rs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Turn {
    /// It doesn't wait.
    #[default]
    None,
    /// The goroutine has computed for long, and is kept from going on until others have had their
    /// turn.
    Kept,
    /// The goroutine needs a P.
    Needed,
    /// It was kept, and may go on as long as the world is stopped.
    Again,
}

impl Turn {
    /// Returns the kind in words.
    pub(in crate::runtime) fn as_str(self) -> &'static str {
        match self {
            Turn::None => "no",
            Turn::Kept => "kept",
            Turn::Needed => "needed",
            Turn::Again => "again",
        }
    }
}

/// M's that wait, linked through their `schedlink`, as none of them is idle. M's that need a P come
/// first, then M's whose goroutine is kept, each kind in the order in which they came. Protected by
/// [`Schedt::lock`](crate::runtime2::Schedt::lock).
#[derive(Debug, Default)]
pub struct Turns {
    head: Link<M>,
    tail: Link<M>,
    /// How many M's there are. Without the lock it is a hint.
    pub len: AtomicI32,
    /// How many of them need a P. Without the lock it is a hint.
    pub needed: AtomicI32,
    /// Whether the last M that was taken needed a P.
    was_needed: Cell<bool>,
    /// 1 if the last turn was that of an M of this list, so that the global queue has the next.
    pub was_last: AtomicU32,
    /// How many threads were made that haven't begun. For a moment, a thread that has begun may not
    /// have been counted yet.
    pub starting: AtomicI32,
    /// The id of sysmon's thread.
    pub sysmon: AtomicU64,
    /// How many rounds sysmon has made.
    pub rounds: AtomicU32,
}

impl Turns {
    /// Adds `mp` to the list.
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

    /// Returns the last M that needs a P.
    fn last_needed(&self) -> Option<&'static M> {
        let each = std::iter::successors(self.head.get(), |mp| mp.schedlink.get());
        each.take_while(|mp| mp.ext.turn.get() == Turn::Needed).last()
    }

    /// Takes the first M. If there are both kinds, they alternate.
    pub(in crate::runtime) fn pop(&self) -> Option<&'static M> {
        let last_needed = if self.was_needed.get() { self.last_needed() } else { None };
        let before = last_needed.filter(|mp| !mp.schedlink.is_null());
        let first = before.map_or(&self.head, |before| &before.schedlink).get()?;
        self.was_needed.set(first.ext.turn.get() == Turn::Needed);
        self.unlink(before, first);
        Some(first)
    }

    /// Takes the M's whose goroutine is kept and for which `wanted` returns true, and passes them
    /// to `f`. `wanted` also gets the number of kept M's that came earlier.
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

    /// Takes `mp` out, which is behind `before`, or first.
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
