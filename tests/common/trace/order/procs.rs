//! P's that start, stop, and are taken.

use super::super::bytes::Result;
use super::super::event::{Context, Proc, What};
use super::{Next, Order, P, Step};

impl Order {
    pub(super) fn proc_status(&mut self, step: &Step<'_>) -> Next {
        let [p, number, ..] = step.raw.args;
        let status = Proc::of(number).ok_or_else(|| format!("P {p} has the unknown status {number}"))?;
        let sequence = step.sequence(0);
        let known = self.procs.get_mut(&p).map(|proc| {
            proc.sequence = sequence;
            proc.state
        });
        let (mut at, mut next) = (step.at, step.at);
        let (from, to) = match (known, status) {
            // The thread that takes the P writes this event, and doesn't know that the P's
            // goroutine is still in its system call. So the event is at the goroutine's place.
            (Some(Proc::Syscall), Proc::Abandoned) => {
                at = self.holder(p)?;
                (Some(Proc::Running), Proc::Syscall)
            }
            (Some(known), status) if known == status => (Some(known), status),
            (Some(known), _) => return Err(format!("P {p} was {known:?}, and is {status:?}")),
            (None, status) => {
                self.procs.insert(p, P { state: status, sequence });
                (None, status)
            }
        };
        if matches!(status, Proc::Running | Proc::Syscall) {
            next.p = Some(p);
        }
        self.tell(step, at, What::Proc { p, from, to }, 0)?;
        Ok(Some(next))
    }

    /// The thread, P and goroutine of a system call that has this P.
    fn holder(&self, p: u64) -> Result<Context> {
        let holder = self.threads.iter().find(|(_, held)| held.p == Some(p));
        let (&m, held) = holder.ok_or_else(|| format!("P {p} is in a system call of no thread"))?;
        Ok(Context { m: Some(m), p: held.p, g: held.g })
    }

    pub(super) fn proc_start(&mut self, step: &Step<'_>) -> Next {
        let [p, number, ..] = step.raw.args;
        let sequence = step.sequence(number);
        step.m()?;
        let proc = self.procs.get_mut(&p).filter(|proc| {
            // A thread that leaves a system call may still have a P that it is about to lose.
            proc.state == Proc::Idle && sequence.succeeds(proc.sequence) && step.at.p.is_none()
        });
        let Some(proc) = proc else { return Ok(None) };
        *proc = P { state: Proc::Running, sequence };
        self.tell(step, step.at, What::Proc { p, from: Some(Proc::Idle), to: Proc::Running }, 0)?;
        Ok(Some(Context { p: Some(p), ..step.at }))
    }

    pub(super) fn proc_stop(&mut self, step: &Step<'_>) -> Next {
        let p = step.p()?;
        let proc = self.proc(p)?;
        if !matches!(proc.state, Proc::Running | Proc::Syscall) {
            return Err(format!("P {p} is {:?}", proc.state));
        }
        proc.state = Proc::Idle;
        self.tell(step, step.at, What::Proc { p, from: Some(Proc::Running), to: Proc::Idle }, 0)?;
        Ok(Some(Context { p: None, ..step.at }))
    }

    pub(super) fn proc_steal(&mut self, step: &Step<'_>) -> Next {
        let [p, number, victim, _] = step.raw.args;
        let sequence = step.sequence(number);
        let m = step.m()?;
        let proc = self.procs.get_mut(&p).filter(|proc| {
            matches!(proc.state, Proc::Syscall | Proc::Abandoned) && sequence.succeeds(proc.sequence)
        });
        let Some(proc) = proc else { return Ok(None) };
        let was_abandoned = proc.state == Proc::Abandoned;
        *proc = P { state: Proc::Idle, sequence };
        let mut next = step.at;
        if !was_abandoned {
            let held = self.threads.get_mut(&victim).ok_or_else(|| format!("thread {victim} isn't known"))?;
            if held.p != Some(p) {
                return Err(format!("thread {victim}, of which P {p} is taken, has {:?}", held.p));
            }
            held.p = None;
            if victim == m {
                next.p = None;
            }
        }
        let from = if was_abandoned { Proc::Idle } else { Proc::Running };
        self.tell(step, step.at, What::Proc { p, from: Some(from), to: Proc::Idle }, 0)?;
        Ok(Some(next))
    }
}
