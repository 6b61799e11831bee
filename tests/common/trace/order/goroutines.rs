//! Goroutines that begin, run, wait, end, and switch to one another.

use std::rc::Rc;

use super::super::event::{Context, Go, What};
use super::{Goroutine, Held, Next, Order, Step, expect};

/// A goroutine's change of state, without a reason.
pub(super) fn turns(g: u64, from: Go, to: Go) -> What {
    What::Goroutine { g, from, to, reason: "".into(), entry: Rc::new([]) }
}

impl Order {
    pub(super) fn go_status(&mut self, step: &Step<'_>) -> Next {
        let [g, thread, number, stack] = step.raw.args;
        let status =
            Go::of(number).ok_or_else(|| format!("goroutine {g} has the unknown status {number}"))?;
        let sequence = step.sequence(0);
        let from = match self.goroutines.get_mut(&g) {
            Some(known) if known.state == status => {
                known.sequence = sequence;
                status
            }
            Some(known) => return Err(format!("goroutine {g} was {:?}, and is {status:?}", known.state)),
            None if step.is_first => {
                self.goroutines.insert(g, Goroutine::new(status, sequence));
                Go::Unknown
            }
            None => return Err(format!("goroutine {g} is there, and nobody has made it")),
        };
        let (mut at, mut next) = (step.at, step.at);
        match status {
            Go::Running => next.g = Some(g),
            Go::Syscall if Some(thread) == step.at.m => {
                if !step.is_first && step.at.g != Some(g) {
                    return Err(format!("it is in a system call of its thread, which has {:?}", step.at.g));
                }
                next.g = Some(g);
            }
            Go::Syscall => {
                // The goroutine of another thread, which is in a system call for the whole
                // generation and has no P.
                if thread == u64::MAX {
                    return Err("it is in a system call of no thread".into());
                }
                match self.threads.get(&thread) {
                    Some(held) if held.g == Some(g) => at.g = held.g,
                    Some(held) => return Err(format!("thread {thread}, where it is, has {:?}", held.g)),
                    None => drop(self.threads.insert(thread, Held { p: None, g: Some(g) })),
                }
                at.m = Some(thread);
            }
            _ => {}
        }
        self.tell(step, at, turns(g, from, status), stack)?;
        Ok(Some(next))
    }

    pub(super) fn go_create(&mut self, step: &Step<'_>, state: Go) -> Next {
        let [g, entry, stack, _] = step.raw.args;
        step.p()?;
        if let Some(maker) = step.at.g {
            let known = self.goroutines.get(&maker).map_or(Go::Running, |known| known.state);
            expect("goroutine", maker, known, Go::Running)?;
        }
        if self.goroutines.contains_key(&g) {
            return Err(format!("goroutine {g} is there already"));
        }
        self.goroutines.insert(g, Goroutine::new(state, step.sequence(0)));
        let entry = step.generation.stack(entry)?;
        let what = What::Goroutine { g, from: Go::Absent, to: state, reason: "".into(), entry };
        self.tell(step, step.at, what, stack)?;
        Ok(Some(step.at))
    }

    /// A running goroutine stops running.
    pub(super) fn go_stop(&mut self, step: &Step<'_>, to: Go) -> Next {
        let (_, g) = step.p_and_g()?;
        let [reason, stack, ..] = step.raw.args;
        let goroutine = self.goroutine(g)?;
        expect("goroutine", g, goroutine.state, Go::Running)?;
        goroutine.state = to;
        if to == Go::Absent {
            self.goroutines.remove(&g);
        }
        let reason = step.generation.string(reason)?;
        let what = What::Goroutine { g, from: Go::Running, to, reason, entry: Rc::new([]) };
        self.tell(step, step.at, what, stack)?;
        Ok(Some(Context { g: None, ..step.at }))
    }

    pub(super) fn go_start(&mut self, step: &Step<'_>) -> Next {
        let [g, number, ..] = step.raw.args;
        if !self.comes_next(step, g, number, Go::Runnable) {
            return Ok(None);
        }
        step.p()?;
        step.no_g()?;
        self.moves_on(step, g, number, Go::Running);
        self.tell(step, step.at, turns(g, Go::Runnable, Go::Running), 0)?;
        Ok(Some(Context { g: Some(g), ..step.at }))
    }

    /// Any thread can wake it, also one that has neither a P nor a goroutine.
    pub(super) fn go_unblock(&mut self, step: &Step<'_>) -> Next {
        let [g, number, stack, _] = step.raw.args;
        if !self.comes_next(step, g, number, Go::Waiting) {
            return Ok(None);
        }
        self.moves_on(step, g, number, Go::Runnable);
        self.tell(step, step.at, turns(g, Go::Waiting, Go::Runnable), stack)?;
        Ok(Some(step.at))
    }

    /// Three events in one: the goroutine that is switched to is woken, the running one waits or
    /// ends, and then the other one runs.
    pub(super) fn go_switch(&mut self, step: &Step<'_>, to: Go) -> Next {
        let (_, g) = step.p_and_g()?;
        let [other, number, ..] = step.raw.args;
        expect("goroutine", g, self.goroutine(g)?.state, Go::Running)?;
        if !self.comes_next(step, other, number, Go::Waiting) {
            return Ok(None);
        }
        self.goroutine(g)?.state = to;
        if to == Go::Absent {
            self.goroutines.remove(&g);
        }
        self.moves_on(step, other, number, Go::Running);
        self.tell(step, step.at, turns(other, Go::Waiting, Go::Runnable), 0)?;
        self.tell(step, step.at, turns(g, Go::Running, to), 0)?;
        let without = Context { g: None, ..step.at };
        self.tell(step, without, turns(other, Go::Runnable, Go::Running), 0)?;
        Ok(Some(Context { g: Some(other), ..step.at }))
    }

    /// Whether a goroutine is in this state, and its next event is the one with this number.
    fn comes_next(&self, step: &Step<'_>, g: u64, number: u64, state: Go) -> bool {
        self.goroutines
            .get(&g)
            .is_some_and(|known| known.state == state && step.sequence(number).succeeds(known.sequence))
    }

    fn moves_on(&mut self, step: &Step<'_>, g: u64, number: u64, state: Go) {
        let goroutine = self.goroutines.get_mut(&g).expect("it was looked at");
        (goroutine.state, goroutine.sequence) = (state, step.sequence(number));
    }
}
