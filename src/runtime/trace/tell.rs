//! From records to events: the events that Go's reader gets for a record.
//!
//! Annotations of the program, and stops of the world, change no state. Go's reader accepts their
//! events only from a goroutine that runs with a P.

use crate::runtime::data::runtime2::TraceBlockReason;
use crate::runtime::data::trace::{Kind, Record, SWITCH};
use crate::runtime::trace::encoder::Ev;
use crate::runtime::trace::order::{Go, Goroutine, NO_P, Order, Proc, Processor, Switch, Told, tell_status};
use crate::runtime::trace::recorder::Note;

impl Order {
    /// Makes events of a record that may come next.
    pub(super) fn apply(&mut self, m: usize, record: &Record) {
        let now = record.ticks;
        let goid = record.arg;
        if self.threads[m].switch.is_some() && !matches!(record.kind, Kind::GoUnpark | Kind::GoStart) {
            self.flush_switch(m);
        }
        match record.kind {
            Kind::GoCreate => self.made(m, record, Go::Runnable),
            Kind::GoCreateBlocked => self.made(m, record, Go::Waiting),
            Kind::GoCreateSyscall => {
                self.has_g(goid, Go::Syscall, m, 0, true);
                self.encoder.event(m, now, Ev::GoCreateSyscall, &[goid]);
                self.goroutine(goid).detached = false;
            }
            Kind::GoStart => self.start(m, record),
            Kind::GoUnpark => self.unpark(m, record),
            Kind::GoPark | Kind::GoSched | Kind::GoPreempt | Kind::GoSysExit if self.has_left(m, goid) => {}
            Kind::GoPark => self.park(m, record),
            Kind::GoSched | Kind::GoPreempt => {
                let why = if record.kind == Kind::GoSched { "runtime.Gosched" } else { "preempted" };
                if self.runs(m, now, goid) {
                    let args = [self.encoder.string(why), self.encoder.stack(record.stack)];
                    self.encoder.event(m, now, Ev::GoStop, &args);
                } else {
                    self.encoder.event(m, now, Ev::GoSyscallEndBlocked, &[]);
                }
                self.leaves(m, goid, Go::Runnable);
            }
            Kind::GoEnd => self.ended(m, record),
            Kind::GoDestroySyscall => {
                self.in_syscall(m, now, goid);
                self.encoder.event(m, now, Ev::GoDestroySyscall, &[]);
                self.gone(m, goid);
            }
            Kind::GoSysCall => self.syscall(m, record),
            Kind::GoSysExit => self.sysexit(m, record),
            Kind::ProcStart => self.gets_p(m, record),
            Kind::ProcTurn => self.gets_p(record.arg as usize, record),
            Kind::ProcStop => self.stops_p(m, now, record.p.id().unwrap_or(NO_P)),
            Kind::ProcSteal | Kind::ProcDetach => self.taken_p(m, record),
            Kind::StwStart | Kind::StwDone | Kind::Gomaxprocs | Kind::Note => self.says(m, record),
        }
    }

    /// Whether the goroutine had left thread `m`, without a P, when the trace began, and other
    /// threads' records have already shown what it has done since.
    fn has_left(&self, m: usize, goid: u64) -> bool {
        let told = self.gs.get(&goid).is_some_and(|g| g.told == Told::Yes);
        told && self.threads[m].p.is_none() && self.threads[m].g != Some(goid)
    }

    /// Whether Go's reader lets thread `m` make a goroutine.
    fn may_make(&self, m: usize) -> bool {
        m != 0 && self.threads[m].p.is_some() && (self.threads[m].g.is_none() || self.running(m).is_some())
    }

    fn made(&mut self, m: usize, record: &Record, status: Go) {
        let (goid, start) = (record.arg, record.seq);
        let told = if self.may_make(m) { Told::Yes } else { Told::Made };
        self.gs.insert(goid, Goroutine::new(status, 0, told, start));
        if told == Told::Yes {
            self.tell_made(m, record.ticks, goid, record.stack);
        }
    }

    fn tell_made(&mut self, m: usize, now: u64, goid: u64, stack: u32) {
        let g = self.gs.get_mut(&goid).expect("it was just made, or is there");
        g.told = Told::Yes;
        let ev = if g.status == Go::Waiting { Ev::GoCreateBlocked } else { Ev::GoCreate };
        let args = [goid, self.encoder.stack(g.start), self.encoder.stack(stack)];
        self.encoder.event(m, now, ev, &args);
    }

    /// Announces the goroutine if the trace hasn't. A record of thread `m` shows that its state was
    /// `before`.
    fn tell(&mut self, m: usize, now: u64, goid: u64, before: Go) {
        let told = self.goroutine(goid).told;
        if told == Told::Made && self.may_make(m) {
            self.tell_made(m, now, goid, 0);
        } else if told == Told::Seen {
            let was_on = self.goroutine(goid).m;
            if matches!(before, Go::Running | Go::Syscall) {
                self.threads[m].g = Some(goid);
            } else if self.thread(was_on).g == Some(goid) {
                self.threads[was_on].g = None;
            }
            let g = self.gs.get_mut(&goid).expect("it is there");
            (g.told, g.status, g.m) = (Told::Yes, before, m);
            tell_status(&mut self.encoder, now, goid, g);
        }
    }

    fn start(&mut self, m: usize, record: &Record) {
        let (now, goid) = (record.ticks, record.arg);
        if let Some(here) = self.threads[m].g.filter(|here| *here != goid) {
            // The other goroutine was there when the trace began, and has ended at that moment.
            self.gs.remove(&here);
            self.threads[m].g = None;
        }
        // If the goroutine is locked to an M, another M may have switched to it. That switch comes
        // first.
        let from = std::mem::take(&mut self.goroutine(goid).switched_from);
        if from != m && self.threads[from].switch.is_some_and(|switch| switch.next == goid) {
            self.flush_switch(from);
        }
        let g = self.goroutine(goid);
        g.seq = record.seq;
        if g.status == Go::Running && g.told == Told::Yes {
            // The end of its system call has shown this already.
            return;
        }
        match self.threads[m].switch.take() {
            Some(switch) if switch.next == goid => self.switch_to(m, &switch, goid),
            switch => {
                self.threads[m].switch = switch;
                self.flush_switch(m);
                self.tell_start(m, now, goid);
            }
        }
    }

    fn tell_start(&mut self, m: usize, now: u64, goid: u64) {
        let has_p = self.threads[m].p.is_some();
        if !has_p {
            // The other goroutine of its coroutine had no P.
            self.borrow_p(m, now);
            self.threads[m].p = Some(NO_P);
        }
        self.tell(m, now, goid, Go::Runnable);
        let seq = self.runs_on(m, goid);
        self.encoder.event(m, now, Ev::GoStart, &[goid, seq]);
        if has_p {
            return;
        }
        self.threads[m].p = None;
        let seq = self.processor(NO_P, now);
        self.encoder.event(m, now, Ev::GoSyscallBegin, &[seq, 0]);
        self.encoder.event(m, now, Ev::ProcStop, &[]);
        let g = self.goroutine(goid);
        (g.status, g.detached) = (Go::Syscall, true);
    }

    /// Gives thread `m`, for a moment, the P that doesn't exist.
    fn borrow_p(&mut self, m: usize, now: u64) {
        let seq = self.processor(NO_P, now);
        self.encoder.event(m, now, Ev::ProcStart, &[NO_P.into(), seq]);
    }

    /// Notes that the goroutine runs on thread `m` from now on. Returns the goroutine's next
    /// number.
    fn runs_on(&mut self, m: usize, goid: u64) -> u64 {
        self.threads[m].g = Some(goid);
        let g = self.goroutine(goid);
        (g.status, g.m, g.detached) = (Go::Running, m, false);
        g.out_seq += 1;
        g.out_seq
    }

    fn unpark(&mut self, m: usize, record: &Record) {
        let (now, goid) = (record.ticks, record.arg);
        self.tell(m, now, goid, Go::Waiting);
        let g = self.goroutine(goid);
        g.seq = record.seq;
        g.status = Go::Runnable;
        if g.told == Told::Made {
            return;
        }
        if let Some(switch) = self.threads[m].switch.as_mut().filter(|switch| switch.next == 0) {
            (switch.next, switch.unparked_at) = (goid, now);
            self.goroutine(goid).switched_from = m;
            return;
        }
        self.flush_switch(m);
        self.tell_unpark(m, now, goid, record.stack);
    }

    fn tell_unpark(&mut self, m: usize, now: u64, goid: u64, stack: u32) {
        let g = self.goroutine(goid);
        g.out_seq += 1;
        let args = [goid, g.out_seq, self.encoder.stack(stack)];
        self.encoder.event(m, now, Ev::GoUnblock, &args);
    }

    /// Makes sure that, for Go's reader, the goroutine of thread `m` runs there with a P. Returns
    /// false if the thread has no P.
    fn runs(&mut self, m: usize, now: u64, goid: u64) -> bool {
        self.tell(m, now, goid, if self.threads[m].p.is_some() { Go::Running } else { Go::Syscall });
        if self.goroutine(goid).status == Go::Running {
            return true;
        }
        let attached = self.threads[m].p.is_some();
        if attached {
            self.go_on(m, now, goid);
        }
        attached
    }

    /// Ends the system call of the goroutine of thread `m`, which has a P again.
    fn go_on(&mut self, m: usize, now: u64, goid: u64) {
        self.encoder.event(m, now, Ev::GoSyscallEndBlocked, &[]);
        self.tell_start(m, now, goid);
    }

    /// Notes that the goroutine leaves thread `m`.
    fn leaves(&mut self, m: usize, goid: u64, to: Go) {
        self.threads[m].g = None;
        let g = self.goroutine(goid);
        (g.status, g.detached) = (to, false);
    }

    fn gone(&mut self, m: usize, goid: u64) {
        self.threads[m].g = None;
        self.gs.remove(&goid);
    }

    fn park(&mut self, m: usize, record: &Record) {
        let (now, goid) = (record.ticks, record.arg);
        let has_p = self.runs(m, now, goid);
        if has_p && record.detail & SWITCH != 0 {
            self.threads[m].switch = Some(Switch { record: *record, next: 0, unparked_at: 0 });
            self.leaves(m, goid, Go::Waiting);
            return;
        }
        if !has_p {
            self.borrow_p(m, now);
            self.encoder.event(m, now, Ev::GoSyscallEndBlocked, &[]);
            let seq = self.runs_on(m, goid);
            self.encoder.event(m, now, Ev::GoStart, &[goid, seq]);
        }
        self.tell_park(m, record);
        if !has_p {
            self.encoder.event(m, now, Ev::ProcStop, &[]);
        }
        self.leaves(m, goid, Go::Waiting);
    }

    fn tell_park(&mut self, m: usize, record: &Record) {
        let args = [self.encoder.string(block_reason(record.detail)), self.encoder.stack(record.stack)];
        self.encoder.event(m, record.ticks, Ev::GoBlock, &args);
    }

    /// Returns the next number of a P that a thread gets or takes. The P may be new.
    fn processor(&mut self, id: u32, now: u64) -> u64 {
        let Order { ps, encoder, .. } = self;
        let p = ps.entry(id).or_insert_with(|| {
            encoder.event(0, now, Ev::ProcStatus, &[id.into(), Proc::Idle as u64]);
            Processor { status: Proc::Idle, m: 0, seq: 0, out_seq: 0 }
        });
        p.out_seq += 1;
        p.out_seq
    }

    fn ended(&mut self, m: usize, record: &Record) {
        let (now, goid) = (record.ticks, record.arg);
        if !self.runs(m, now, goid) {
            self.encoder.event(m, now, Ev::GoDestroySyscall, &[]);
        } else if record.detail & SWITCH != 0 {
            self.threads[m].switch = Some(Switch { record: *record, next: 0, unparked_at: 0 });
        } else {
            self.encoder.event(m, now, Ev::GoDestroy, &[]);
        }
        self.gone(m, goid);
    }

    /// Adds one event for both halves of a switch of thread `m` to a coroutine's other goroutine.
    fn switch_to(&mut self, m: usize, switch: &Switch, goid: u64) {
        let ev = if switch.record.kind == Kind::GoEnd { Ev::GoSwitchDestroy } else { Ev::GoSwitch };
        let seq = self.runs_on(m, goid);
        self.encoder.event(m, switch.record.ticks, ev, &[goid, seq]);
    }

    /// Adds an event for each half of a switch, as something came between them.
    pub(super) fn flush_switch(&mut self, m: usize) {
        let Some(Switch { record, next, unparked_at }) = self.threads[m].switch.take() else { return };
        if record.kind == Kind::GoEnd {
            self.encoder.event(m, record.ticks, Ev::GoDestroy, &[]);
        } else {
            self.tell_park(m, &record);
        }
        if next != 0 {
            self.tell_unpark(m, unparked_at, next, 0);
        }
    }

    fn syscall(&mut self, m: usize, record: &Record) {
        let (now, goid) = (record.ticks, record.arg);
        if self.runs(m, now, goid) {
            self.in_syscall_from(m, now, goid, record.stack);
        }
        self.goroutine(goid).detached = false;
    }

    /// Begins a system call: the goroutine of thread `m`, which has a P, enters one, or loses the
    /// P.
    fn in_syscall_from(&mut self, m: usize, now: u64, goid: u64, stack: u32) {
        let Some(p) = self.threads[m].p else { return };
        let seq = self.processor(p, now);
        if let Some(p) = self.ps.get_mut(&p) {
            p.status = Proc::Syscall;
        }
        let args = [seq, self.encoder.stack(stack)];
        self.encoder.event(m, now, Ev::GoSyscallBegin, &args);
        self.goroutine(goid).status = Go::Syscall;
    }

    /// Makes sure that the goroutine of thread `m` is in a system call, without a P.
    fn in_syscall(&mut self, m: usize, now: u64, goid: u64) {
        self.tell(m, now, goid, Go::Syscall);
        if self.goroutine(goid).status == Go::Running {
            self.in_syscall_from(m, now, goid, 0);
        }
        if let Some(p) = self.threads[m].p {
            self.stops_p(m, now, p);
        }
    }

    fn sysexit(&mut self, m: usize, record: &Record) {
        let (now, goid) = (record.ticks, record.arg);
        self.tell(m, now, goid, Go::Syscall);
        if self.goroutine(goid).status != Go::Syscall {
            // The goroutine had lost its P before, and has gone on with a P since.
            return;
        }
        match self.threads[m].p.and_then(|p| self.ps.get_mut(&p)) {
            Some(p) if p.status == Proc::Syscall => {
                p.status = Proc::Running;
                self.encoder.event(m, now, Ev::GoSyscallEnd, &[]);
                self.goroutine(goid).status = Go::Running;
            }
            Some(_) => self.go_on(m, now, goid),
            None => {
                self.encoder.event(m, now, Ev::GoSyscallEndBlocked, &[]);
                self.leaves(m, goid, Go::Runnable);
            }
        }
    }

    fn gets_p(&mut self, m: usize, record: &Record) {
        let (now, p) = (record.ticks, record.p.id().unwrap_or(NO_P));
        let out_seq = self.processor(p, now);
        if let Some(p) = self.ps.get_mut(&p) {
            (p.status, p.m, p.seq) = (Proc::Running, m, record.seq);
        }
        self.thread(m).p = Some(p);
        self.flush_switch(m);
        self.encoder.event(m, now, Ev::ProcStart, &[p.into(), out_seq]);
        if let Some(goid) = self.threads[m].g
            && self.gs.get(&goid).is_some_and(|g| g.detached && g.told == Told::Yes)
        {
            self.go_on(m, now, goid);
        }
    }

    fn stops_p(&mut self, m: usize, now: u64, p: u32) {
        if let Some(goid) = self.running(m) {
            self.in_syscall_from(m, now, goid, 0);
            self.goroutine(goid).detached = true;
        }
        self.flush_switch(m);
        self.encoder.event(m, now, Ev::ProcStop, &[]);
        self.threads[m].p = None;
        if let Some(p) = self.ps.get_mut(&p) {
            p.status = Proc::Idle;
        }
    }

    /// Handles a record that thread `m` has taken a P from another thread.
    fn taken_p(&mut self, m: usize, record: &Record) {
        let (now, p) = (record.ticks, record.p.id().unwrap_or(NO_P));
        let Some(at) = self.ps.get_mut(&p) else { return };
        at.seq = record.seq;
        let (from, in_call) = (at.m, at.status == Proc::Syscall);
        if !in_call || m == 0 {
            self.stops_p(from, now, p);
            return;
        }
        at.status = Proc::Idle;
        let seq = self.processor(p, now);
        self.threads[from].p = None;
        self.encoder.event(m, now, Ev::ProcSteal, &[p.into(), seq, from as u64 - 1]);
    }

    fn says(&mut self, m: usize, record: &Record) {
        let now = record.ticks;
        let note = (record.kind == Kind::Note).then(|| Note::of(record));
        let Some(goid) = self.running(m) else { return };
        let encoder = &mut self.encoder;
        let stack = encoder.stack(record.stack);
        match (record.kind, note.map(|note| *note)) {
            (Kind::Gomaxprocs, _) => encoder.event(m, now, Ev::ProcsChange, &[record.arg, stack]),
            (Kind::StwStart, _) => {
                let args = [encoder.string(stw_reason(record)), stack];
                encoder.event(m, now, Ev::StwBegin, &args);
                self.goroutine(goid).stw = Some(stw_reason(record));
            }
            (Kind::StwDone, _) => self.stw_done(m, now, goid),
            (_, Some(Note::TaskBegin { id, parent, name })) => {
                let args = [id, parent, encoder.string(&name), stack];
                encoder.event(m, now, Ev::UserTaskBegin, &args);
            }
            (_, Some(Note::TaskEnd { id })) => encoder.event(m, now, Ev::UserTaskEnd, &[id, stack]),
            (_, Some(Note::RegionBegin { task, name })) => {
                let args = [task, encoder.string(&name), stack];
                encoder.event(m, now, Ev::UserRegionBegin, &args);
                self.goroutine(goid).regions.push((task, name));
            }
            (_, Some(Note::RegionEnd { task, name })) => self.end_region(m, record, goid, (task, name)),
            (_, Some(Note::Log { task, category, message })) => {
                let args = [task, encoder.string(&category), encoder.string(&message), stack];
                encoder.event(m, now, Ev::UserLog, &args);
            }
            (_, Some(Note::Label(label))) => {
                let label = encoder.string(&label);
                encoder.event(m, now, Ev::GoLabel, &[label]);
            }
            _ => {}
        }
    }

    fn stw_done(&mut self, m: usize, now: u64, goid: u64) {
        if self.goroutine(goid).stw.take().is_some() {
            self.encoder.event(m, now, Ev::StwEnd, &[]);
        }
    }

    /// Ends a region, and the regions within it that haven't ended.
    fn end_region(&mut self, m: usize, record: &Record, goid: u64, region: (u64, Box<str>)) {
        let regions = &mut self.goroutine(goid).regions;
        let Some(at) = regions.iter().rposition(|open| *open == region) else { return };
        for (task, name) in regions.split_off(at).into_iter().rev() {
            let args = [task, self.encoder.string(&name), self.encoder.stack(record.stack)];
            self.encoder.event(m, record.ticks, Ev::UserRegionEnd, &args);
        }
    }
}

/// Returns Go's name of the reason why a goroutine parks. Go's tools know these names.
fn block_reason(detail: u16) -> &'static str {
    const REASONS: [(TraceBlockReason, &str); 13] = [
        (TraceBlockReason::Forever, "forever"),
        (TraceBlockReason::Net, "network"),
        (TraceBlockReason::Select, "select"),
        (TraceBlockReason::CondWait, "sync.(*Cond).Wait"),
        (TraceBlockReason::Sync, "sync"),
        (TraceBlockReason::ChanSend, "chan send"),
        (TraceBlockReason::ChanRecv, "chan receive"),
        (TraceBlockReason::GcMarkAssist, "GC mark assist wait for work"),
        (TraceBlockReason::GcSweep, "GC background sweeper wait"),
        (TraceBlockReason::SystemGoroutine, "system goroutine wait"),
        (TraceBlockReason::Preempted, "preempted"),
        (TraceBlockReason::UntilGcEnds, "wait until GC ends"),
        (TraceBlockReason::Sleep, "sleep"),
    ];
    let named = REASONS.iter().find(|(reason, _)| *reason as u16 == detail & !SWITCH);
    named.map_or("unspecified", |(_, name)| name)
}

/// Returns why the world was stopped.
fn stw_reason(record: &Record) -> &'static str {
    let begin = std::ptr::with_exposed_provenance(record.arg as usize);
    // SAFETY: the recorder has taken a `&'static str` apart.
    unsafe { str::from_utf8_unchecked(std::slice::from_raw_parts(begin, record.detail.into())) }
}
