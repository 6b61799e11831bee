//! Turns an event into a record, on the thread on which it happens, at that moment.

use crate::runtime::arch::cputicks;
use crate::runtime::base::this::this_m;
use crate::runtime::data::runtime2::{G, M, P, WaitReason};
use crate::runtime::data::trace::{Kind, ProcMark, Record, SWITCH};
use crate::runtime::embed::trace::Event;
use crate::runtime::trace::buffer::{buffer_of, push, without_p};
use crate::runtime::trace::note::Note;
use crate::runtime::trace::stack::{stack_of, start_of};

/// Records an event; passed to `set_recorder`. It writes with a P or under a lock: see `buffer.rs`.
/// A signal handler calls it only for a P that the handler gets.
pub(super) fn record(event: Event<'_>) {
    let m = this_m();
    let _lock = m.is_none_or(|mp| mp.p.is_null()).then(without_p);
    let Some(record) = make(m, event) else { return };
    push(buffer_of(m), record);
}

/// Records an annotation of the program. On g0, with a P.
pub(super) fn record_note(mp: &'static M, note: Note) {
    let mut record = blank(Some(mp), Kind::Note);
    record.stack = current_stack(mp);
    record.arg = note.into_arg();
    if !push(buffer_of(Some(mp)), record) {
        drop(Note::of(&record));
    }
}

/// [`SWITCH`] if `gp` leaves for a coroutine's other goroutine, else 0: for a `detail`.
fn switch(gp: &G) -> u16 {
    if gp.waitreason.get() == WaitReason::Coroutine { SWITCH } else { 0 }
}

/// A record without the fields that are particular to its kind.
fn blank(m: Option<&M>, kind: Kind) -> Record {
    let p = m.and_then(|mp| mp.p.peek()).map_or(ProcMark::NONE, mark);
    Record { ticks: cputicks(), arg: 0, seq: 0, p, stack: 0, detail: 0, kind }
}

fn mark(pp: &P) -> ProcMark {
    ProcMark::new(pp.id.get(), pp.ext.trace_marks.seq.get())
}

/// The stack of the goroutine that has switched to g0 on this thread; 0 if there is none.
fn current_stack(mp: &M) -> u32 {
    mp.curg.get().map_or(0, |gp| stack_of(mp, gp))
}

fn make(m: Option<&'static M>, event: Event<'_>) -> Option<Record> {
    let blank = |kind| blank(m, kind);
    let about = |kind, gp: &G| Record { arg: gp.goid.get(), ..blank(kind) };
    // The changes of a goroutine are one after the other: the thread that makes it runnable and the
    // thread that runs it each own it.
    let next = |kind, gp: &G| {
        gp.ext.trace_seq.set(gp.ext.trace_seq.get().wrapping_add(1));
        Record { seq: gp.ext.trace_seq.get(), ..about(kind, gp) }
    };
    // The same holds for a thread that takes a P, or gives it.
    let proc = |kind, pp: &P| {
        pp.ext.trace_marks.seq.set(pp.ext.trace_marks.seq.get().wrapping_add(1));
        Record { seq: pp.ext.trace_marks.seq.get(), p: mark(pp), ..blank(kind) }
    };
    let new = |kind, gp: &G| {
        gp.ext.trace_seq.set(0);
        Record { seq: start_of(m, gp), stack: m.map_or(0, current_stack), ..about(kind, gp) }
    };
    // `gp` has switched to g0. It may or may not be the M's `curg` still.
    let leaves = |kind, gp: &G| Record { stack: m.map_or(0, |mp| stack_of(mp, gp)), ..about(kind, gp) };
    Some(match event {
        Event::GoCreate(gp) => new(Kind::GoCreate, gp),
        Event::GoCreateBlocked(gp) => new(Kind::GoCreateBlocked, gp),
        Event::GoCreateSyscall(gp) => {
            gp.ext.trace_seq.set(0);
            about(Kind::GoCreateSyscall, gp)
        }
        Event::GoStart(gp) => next(Kind::GoStart, gp),
        Event::GoEnd(gp) => Record { detail: switch(gp), ..about(Kind::GoEnd, gp) },
        Event::GoDestroySyscall(gp) => about(Kind::GoDestroySyscall, gp),
        Event::GoSched(gp) => leaves(Kind::GoSched, gp),
        Event::GoPreempt(gp) => leaves(Kind::GoPreempt, gp),
        Event::GoPark(gp, reason) => {
            Record { detail: switch(gp) | reason as u16, ..leaves(Kind::GoPark, gp) }
        }
        Event::GoUnpark(gp) => Record { stack: m.map_or(0, current_stack), ..next(Kind::GoUnpark, gp) },
        Event::GoSysCall(gp) => {
            let (record, mp) = (leaves(Kind::GoSysCall, gp), m?);
            if let Some(pp) = mp.p.peek() {
                // The count includes this record.
                pp.ext.trace_marks.left_at.set(mp.ext.trace_buffer.writer.written.get() + 1);
            }
            record
        }
        Event::GoSysExit(gp, lost_p) => Record { detail: lost_p.into(), ..about(Kind::GoSysExit, gp) },
        Event::ProcStart(pp) => proc(Kind::ProcStart, pp),
        Event::ProcStop(pp) => Record { p: mark(pp), ..blank(Kind::ProcStop) },
        Event::ProcSteal(pp) => Record { arg: pp.ext.trace_marks.left_at.get(), ..proc(Kind::ProcSteal, pp) },
        Event::ProcDetach(pp) => {
            Record { arg: pp.ext.trace_marks.left_at.get(), ..proc(Kind::ProcDetach, pp) }
        }
        Event::ProcTurn(pp, mp) => {
            // Its thread sleeps until it has been given the P.
            Record { arg: buffer_of(Some(mp)).writer.number.get() as u64, ..proc(Kind::ProcTurn, pp) }
        }
        Event::ThreadStart(_) | Event::ThreadDestroy(_) => return None,
        Event::GoLabel(gp) => Record { arg: Note::labels(gp).into_arg(), ..blank(Kind::Note) },
        Event::StwStart(reason) => Record {
            arg: reason.as_ptr().expose_provenance() as u64,
            detail: reason.len() as u16,
            stack: m.map_or(0, current_stack),
            ..blank(Kind::StwStart)
        },
        Event::StwDone => blank(Kind::StwDone),
        Event::Gomaxprocs(n) => Record { arg: n as u64, ..blank(Kind::Gomaxprocs) },
    })
}
