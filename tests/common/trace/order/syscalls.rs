//! Goroutines in system calls.

use super::super::event::{Context, Go, Proc, What};
use super::goroutines::turns;
use super::{Goroutine, Next, Order, Step, expect};

impl Order {
    pub(super) fn syscall_begin(&mut self, step: &Step<'_>) -> Next {
        let (p, g) = step.p_and_g()?;
        let [number, stack, ..] = step.raw.args;
        let goroutine = self.goroutine(g)?;
        expect("goroutine", g, goroutine.state, Go::Running)?;
        goroutine.state = Go::Syscall;
        let proc = self.proc(p)?;
        // The P is this thread's: no other event can come first.
        if !step.sequence(number).succeeds(proc.sequence) {
            return Err(format!("the P's last event was {:?}", proc.sequence));
        }
        (proc.state, proc.sequence) = (Proc::Syscall, step.sequence(number));
        self.tell(step, step.at, turns(g, Go::Running, Go::Syscall), stack)?;
        Ok(Some(step.at))
    }

    pub(super) fn syscall_end(&mut self, step: &Step<'_>) -> Next {
        let (p, g) = step.p_and_g()?;
        let goroutine = self.goroutine(g)?;
        expect("goroutine", g, goroutine.state, Go::Syscall)?;
        goroutine.state = Go::Running;
        let proc = self.proc(p)?;
        expect("P", p, proc.state, Proc::Syscall)?;
        proc.state = Proc::Running;
        self.tell(step, step.at, turns(g, Go::Syscall, Go::Running), 0)?;
        Ok(Some(step.at))
    }

    /// The event comes when the thread has lost its P, and may have another one.
    pub(super) fn syscall_end_blocked(&mut self, step: &Step<'_>) -> Next {
        if let Some(p) = step.at.p
            && self.proc(p)?.state == Proc::Syscall
        {
            return Ok(None);
        }
        let g = step.g()?;
        let goroutine = self.goroutine(g)?;
        expect("goroutine", g, goroutine.state, Go::Syscall)?;
        goroutine.state = Go::Runnable;
        self.tell(step, step.at, turns(g, Go::Syscall, Go::Runnable), 0)?;
        Ok(Some(Context { g: None, ..step.at }))
    }

    /// A foreign thread's goroutine: it begins as if it came back from a system call.
    pub(super) fn create_in_syscall(&mut self, step: &Step<'_>) -> Next {
        step.m()?;
        step.no_g()?;
        let [g, ..] = step.raw.args;
        if self.goroutines.contains_key(&g) {
            return Err(format!("goroutine {g} is there already"));
        }
        self.goroutines.insert(g, Goroutine::new(Go::Syscall, step.sequence(0)));
        self.tell(step, step.at, turns(g, Go::Absent, Go::Syscall), 0)?;
        Ok(Some(Context { g: Some(g), ..step.at }))
    }

    pub(super) fn destroy_in_syscall(&mut self, step: &Step<'_>) -> Next {
        let g = step.g()?;
        expect("goroutine", g, self.goroutine(g)?.state, Go::Syscall)?;
        self.goroutines.remove(&g);
        if let Some(p) = step.at.p {
            // The thread is gone, and another thread may have its number soon. So the thread that
            // takes the P can't name it.
            let proc = self.proc(p)?;
            expect("P", p, proc.state, Proc::Syscall)?;
            proc.state = Proc::Abandoned;
            self.tell(step, step.at, What::Proc { p, from: Some(Proc::Running), to: Proc::Idle }, 0)?;
        }
        self.tell(step, step.at, turns(g, Go::Syscall, Go::Absent), 0)?;
        Ok(Some(Context { p: None, g: None, ..step.at }))
    }
}
