//! Turns records into events: tracks the states of goroutines, P's and M's, and decides which
//! record may come next.
//!
//! The records of one thread are in order; between threads there is no order. The record of a
//! goroutine's start may be read before another thread's record that the goroutine was made
//! runnable. So this file follows the states of each goroutine, P and M, as Go's reader will
//! (`order.go` of `internal/trace`), and a record waits until its predecessor was seen. If the
//! predecessor may be another thread's, a sequence number identifies it. A goroutine's number goes
//! up by one each time the goroutine is made runnable or runs, and a P's each time the P is taken
//! or given.
//!
//! The events come out in a possible order, thread by thread, so a generation may end at any
//! record.
//!
//! **A goroutine without a P** is a state that Go doesn't have. The trace shows it as a system
//! call. The call begins when the P is taken from a thread whose goroutine goes on (`ProcDetach`),
//! and ends when the thread has a P again. When such a goroutine blocks or lets others run, it
//! briefly has a P that doesn't exist, [`NO_P`].

use std::fmt::Write;

use crate::runtime::arch::cputicks;
use crate::runtime::data::trace::{Kind, ProcMark, Record};
use crate::runtime::trace::buffer::all_buffers;
use crate::runtime::trace::encoder::{Encoder, Ev, NO_THREAD};
use crate::runtime::trace::hash::FastMap;

/// The state of a goroutine. Go's `tracev2.GoStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Go {
    Runnable = 1,
    Running,
    Syscall,
    Waiting,
}

/// The state of a P. Go's `tracev2.ProcStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Proc {
    Running = 1,
    Idle,
    Syscall,
}

/// Whether the trace has announced a goroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Yes,
    /// It existed when the trace began. Its state at that time isn't certain until a record says
    /// more.
    Seen,
    /// A thread without a P has made it, a case that Go's reader doesn't know.
    Made,
}

#[derive(Debug)]
pub(super) struct Goroutine {
    pub(super) status: Go,
    /// The M that it runs on.
    pub(super) m: usize,
    /// The M that is, or was, in the middle of a switch to it; 0 if none.
    pub(super) switched_from: usize,
    /// The number of its last change: first as recorded, then in this generation.
    pub(super) seq: u32,
    pub(super) out_seq: u64,
    pub(super) told: Told,
    /// Whether it runs without a P, and isn't in a system call.
    pub(super) detached: bool,
    /// Why it has stopped the world, if the trace shows the stop. Also whether the next generation
    /// must show the stop again.
    pub(super) stw: Option<&'static str>,
    pub(super) stw_anew: bool,
    /// The stack that describes its start.
    pub(super) start: u32,
    /// Its regions, by tasks and names, the outermost first. The reader accepts their ends only in
    /// reverse order.
    pub(super) regions: Vec<(u64, Box<str>)>,
}

impl Goroutine {
    pub(super) fn new(status: Go, m: usize, told: Told, start: u32) -> Goroutine {
        let detached = status == Go::Syscall;
        Goroutine {
            status,
            m,
            switched_from: 0,
            seq: 0,
            out_seq: 0,
            told,
            detached,
            stw: None,
            stw_anew: false,
            start,
            regions: Vec::new(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Processor {
    pub(super) status: Proc,
    pub(super) m: usize,
    pub(super) seq: u32,
    pub(super) out_seq: u64,
}

/// A goroutine that leaves for its coroutine's other goroutine: the record, and the other goroutine
/// if it was seen.
#[derive(Clone, Copy)]
pub(super) struct Switch {
    pub(super) record: Record,
    pub(super) next: u64,
    pub(super) unparked_at: u64,
}

/// A thread, by the number of its buffer. The first stands for all threads without an M.
#[derive(Default)]
pub(super) struct Thread {
    pub(super) g: Option<u64>,
    pub(super) p: Option<u32>,
    /// The number of its records that were taken.
    pub(super) taken: u64,
    pub(super) switch: Option<Switch>,
}

/// A P that doesn't exist, for Go's reader. Its number is larger than that of any P.
pub(super) const NO_P: u32 = 1 << 20;

pub(super) struct Order {
    pub(super) gs: FastMap<u64, Goroutine>,
    pub(super) ps: FastMap<u32, Processor>,
    pub(super) threads: Vec<Thread>,
    pub(super) encoder: Encoder,
    /// The latest time of the records that were taken, in ticks.
    last: u64,
}

impl Order {
    /// Makes the state for a trace that begins now.
    pub(super) fn new() -> Order {
        let threads = vec![Thread::default()];
        Order {
            gs: FastMap::default(),
            ps: FastMap::default(),
            threads,
            encoder: Encoder::new(),
            last: cputicks(),
        }
    }

    /// Adds a P that exists when the trace begins, with the number of the buffer of the M that has
    /// it.
    pub(super) fn has_p(&mut self, p: u32, m: Option<usize>) {
        let status = if m.is_some() { Proc::Running } else { Proc::Idle };
        self.ps.insert(p, Processor { status, m: m.unwrap_or(0), seq: 0, out_seq: 0 });
        if let Some(m) = m {
            self.thread(m).p = Some(p);
        }
    }

    /// Adds a goroutine that exists when the trace begins. `sure` is set for the goroutine that
    /// begins the trace.
    pub(super) fn has_g(&mut self, goid: u64, status: Go, m: usize, start: u32, sure: bool) {
        let told = if sure { Told::Yes } else { Told::Seen };
        self.gs.insert(goid, Goroutine::new(status, m, told, start));
        if matches!(status, Go::Running | Go::Syscall) {
            self.thread(m).g = Some(goid);
        }
    }

    pub(super) fn thread(&mut self, m: usize) -> &mut Thread {
        if self.threads.len() <= m {
            self.threads.resize_with(m + 1, Thread::default);
        }
        &mut self.threads[m]
    }

    /// Begins a generation, with the state of everything.
    pub(super) fn begin(&mut self) {
        // The time isn't the present time, because older records haven't been taken yet.
        let now = self.last;
        let unsure = self.gs.values().filter(|g| g.told == Told::Seen).count();
        self.encoder.begin(unsure);
        for (&id, p) in &mut self.ps {
            p.out_seq = 0;
            let m = if p.status == Proc::Idle { 0 } else { p.m };
            self.encoder.event(m, now, Ev::ProcStatus, &[id.into(), p.status as u64]);
        }
        for (&goid, g) in &mut self.gs {
            g.out_seq = 0;
            if g.told == Told::Yes {
                tell_status(&mut self.encoder, now, goid, g);
            }
            if let Some(reason) = g.stw.filter(|_| std::mem::take(&mut g.stw_anew)) {
                let args = [self.encoder.string(reason), 0];
                self.encoder.event(g.m, now, Ev::StwBegin, &args);
            }
        }
        self.encoder.begun();
    }

    /// Whether a generation may end. If the world is stopped, the next generation must show the
    /// stop again, as it may be the first that is read. It can show the stop only for a goroutine
    /// that runs.
    pub(super) fn may_end(&self) -> bool {
        self.gs.values().all(|g| g.stw.is_none() || self.running(g.m).is_some())
    }

    /// Ends a generation.
    pub(super) fn end(&mut self) {
        for m in 0..self.threads.len() {
            self.flush_switch(m);
        }
        // Adds the goroutines that have done nothing in this generation.
        for (&goid, g) in self.gs.iter_mut().filter(|(_, g)| g.told == Told::Seen) {
            g.told = Told::Yes;
            let args = status(&mut self.encoder, goid, g);
            self.encoder.early(Ev::GoStatusStack, &args);
        }
        let stopped: Vec<u64> =
            self.gs.iter().filter(|(_, g)| g.stw.is_some()).map(|(&goid, _)| goid).collect();
        for goid in stopped {
            let m = self.goroutine(goid).m;
            if self.running(m) == Some(goid) {
                self.goroutine(goid).stw_anew = true;
                self.encoder.event(m, self.last, Ev::StwEnd, &[]);
            }
        }
        self.encoder.end();
    }

    /// Makes events of the next record of a thread, whose buffer has the number `m`. Returns false
    /// if the record has to wait.
    pub(super) fn take(&mut self, m: usize, record: &Record) -> bool {
        self.thread(m);
        let may = self.may(m, record);
        if may {
            self.last = self.last.max(record.ticks);
            self.apply(m, record);
            self.thread(m).taken += 1;
        }
        may
    }

    /// Whether the predecessor of a record was seen.
    fn may(&mut self, m: usize, record: &Record) -> bool {
        let goid = record.arg;
        let about_p = record.p.id().unwrap_or(0);
        match record.kind {
            Kind::ProcStart | Kind::ProcTurn => {
                let to = if record.kind == Kind::ProcStart { m } else { record.arg as usize };
                let is_idle = self.ps.get(&about_p).is_none_or(|p| p.status == Proc::Idle);
                return self.thread(to).p.is_none() && is_idle && self.p_is_next(about_p, record.seq);
            }
            Kind::ProcStop => return self.has(m, record.p),
            Kind::ProcSteal | Kind::ProcDetach => {
                let from = self.ps.get(&about_p).map_or(0, |p| p.m);
                // The predecessor may be this thread's own record.
                return self.p_is_next(about_p, record.seq) && self.thread(from).taken >= record.arg;
            }
            _ => {}
        }
        // Another thread's record must first give this P to the thread, or take the thread's other
        // P.
        if record.p != ProcMark::NONE && !self.has(m, record.p) {
            return false;
        }
        match record.kind {
            Kind::GoStart => {
                let here = self.thread(m).g;
                let free = here.is_none_or(|here| {
                    here == goid || self.gs.get(&here).is_none_or(|g| g.told == Told::Seen)
                });
                free && self.g_is_next(goid, record.seq, |g| match g.status {
                    _ if g.told == Told::Seen => true,
                    Go::Runnable => true,
                    Go::Running => g.m == m,
                    _ => false,
                })
            }
            Kind::GoUnpark => {
                self.g_is_next(goid, record.seq, |g| match g.status {
                    Go::Waiting => true,
                    Go::Runnable => g.told != Told::Yes,
                    // The goroutine has parked since. Its thread's record of the park is still to
                    // come.
                    Go::Running | Go::Syscall => false,
                })
            }
            Kind::GoEnd
            | Kind::GoSched
            | Kind::GoPreempt
            | Kind::GoPark
            | Kind::GoSysCall
            | Kind::GoDestroySyscall => self.gs.contains_key(&goid),
            Kind::GoSysExit => {
                let in_call =
                    self.thread(m).p.and_then(|p| self.ps.get(&p)).is_some_and(|p| p.status == Proc::Syscall);
                // The goroutine has lost the P. The record of the thread that took the P is still
                // to come.
                !(in_call && (record.p == ProcMark::NONE || record.detail != 0))
                    && self.gs.contains_key(&goid)
            }
            _ => true,
        }
    }

    /// Whether thread `m` has this P since the same acquisition as in the record.
    fn has(&self, m: usize, mark: ProcMark) -> bool {
        let has =
            self.threads[m].p.filter(|p| mark.id() == Some(*p)).and_then(|p| Some((p, self.ps.get(&p)?)));
        has.is_some_and(|(id, p)| ProcMark::new(id as i32, p.seq) == mark)
    }

    fn p_is_next(&self, p: u32, seq: u32) -> bool {
        self.ps.get(&p).map_or(0, |p| p.seq).wrapping_add(1) == seq
    }

    fn g_is_next(&self, goid: u64, seq: u32, fits: impl FnOnce(&Goroutine) -> bool) -> bool {
        self.gs.get(&goid).is_some_and(|g| g.seq.wrapping_add(1) == seq && fits(g))
    }

    /// Returns the state of a goroutine that exists.
    pub(super) fn goroutine(&mut self, goid: u64) -> &mut Goroutine {
        self.gs.get_mut(&goid).expect("a record waits for its goroutine")
    }

    /// Returns the goroutine that runs on thread `m` with a P, according to the events written so
    /// far.
    pub(super) fn running(&self, m: usize) -> Option<u64> {
        let thread = &self.threads[m];
        let goid = thread.g.filter(|_| thread.p.is_some())?;
        self.gs.get(&goid).is_some_and(|g| g.status == Go::Running && g.told == Told::Yes).then_some(goid)
    }

    /// Returns the records that wait, and the states they wait for, as text for debugging.
    pub(super) fn waiting(&self) -> String {
        let mut text = String::new();
        for buffer in all_buffers() {
            let Some(record) = buffer.reader.peek() else { continue };
            let m = buffer.writer.number.get();
            let thread = self.threads.get(m).map(|thread| (thread.g, thread.p));
            let (g, p) = (self.gs.get(&record.arg), record.p.id().and_then(|p| self.ps.get(&p)));
            let _ = writeln!(text, "m={} {record:?} thread={thread:?} g={g:?} p={p:?}", m);
        }
        text
    }
}

/// Writes an event with the status of a goroutine, on its thread if it has one, else on no thread.
pub(super) fn tell_status(encoder: &mut Encoder, now: u64, goid: u64, g: &Goroutine) {
    let m = if matches!(g.status, Go::Running | Go::Syscall) { g.m } else { 0 };
    let args = status(encoder, goid, g);
    encoder.event(m, now, Ev::GoStatusStack, &args);
}

fn status(encoder: &mut Encoder, goid: u64, g: &Goroutine) -> [u64; 4] {
    let has_thread = matches!(g.status, Go::Running | Go::Syscall) && g.m != 0;
    let thread = if has_thread { g.m as u64 - 1 } else { NO_THREAD };
    [goid, thread, g.status as u64, encoder.stack(g.start)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_may_say_late_that_a_goroutine_has_left_it() {
        let (p, without_p) = (ProcMark::new(0, 0), ProcMark::NONE);
        let record = |kind, seq, p| Record { ticks: cputicks(), arg: 7, seq, p, stack: 0, detail: 0, kind };
        let mut order = Order::new();
        order.has_p(0, Some(3));
        // The goroutine is leaving thread 1, where it was in a system call, and was made runnable.
        order.has_g(7, Go::Runnable, 0, 0, false);
        order.begin();

        assert!(order.take(3, &record(Kind::GoStart, 1, p)));
        assert!(order.take(3, &record(Kind::GoSysCall, 0, p)));
        assert!(order.take(3, &record(Kind::ProcStop, 0, p)));
        let told = order.encoder.size;
        assert!(order.take(1, &record(Kind::GoSysExit, 0, without_p)));
        let g = order.goroutine(7);
        assert!(g.status == Go::Syscall && g.m == 3, "{g:?}");
        assert_eq!(order.encoder.size, told);
    }
}
