//! Turns an event into a record, when it happens, on its thread. Likewise a [`Note`], which is an
//! annotation of the program: a task, a region, a message, or labels.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::runtime::arch::{cputicks, systemstack};
use crate::runtime::base::this::{on_goroutine, this_m};
use crate::runtime::data::ext::prefix;
use crate::runtime::data::runtime2::{G, M, P, WaitReason};
use crate::runtime::data::trace::{Kind, ProcMark, Record, SWITCH};
use crate::runtime::embed::trace::Event;
use crate::runtime::g::proflabel::get_prof_label;
use crate::runtime::sched::detach::hold_with_p;
use crate::runtime::trace::buffer::{buffer_of, push, wait_while, without_p};
use crate::runtime::trace::stack::{stack_of, start_of};

/// Records an event. Passed to `set_recorder`. Writes with a P or under a lock: see `buffer.rs`. A
/// signal handler calls this only for a P that the handler gets.
pub(super) fn record(event: Event<'_>) {
    let m = this_m();
    let _lock = m.is_none_or(|mp| mp.p.is_null()).then(without_p);
    let Some(record) = make(m, event) else { return };
    push(buffer_of(m), record);
}

fn make(m: Option<&'static M>, event: Event<'_>) -> Option<Record> {
    let blank = |kind| blank(m, kind);
    let about = |kind, gp: &G| Record { arg: gp.goid.get(), ..blank(kind) };
    // The changes of a goroutine come one after the other, because the thread that makes it
    // runnable and the thread that runs it each own it.
    let next = |kind, gp: &G| {
        gp.ext.trace_seq.set(gp.ext.trace_seq.get().wrapping_add(1));
        Record { seq: gp.ext.trace_seq.get(), ..about(kind, gp) }
    };
    // Likewise, a thread that takes or gives a P owns it.
    let proc = |kind, pp: &P| {
        pp.ext.trace_marks.seq.set(pp.ext.trace_marks.seq.get().wrapping_add(1));
        Record { seq: pp.ext.trace_marks.seq.get(), p: mark(pp), ..blank(kind) }
    };
    let new = |kind, gp: &G| {
        gp.ext.trace_seq.set(0);
        Record { seq: start_of(m, gp), stack: m.map_or(0, current_stack), ..about(kind, gp) }
    };
    // `gp` has switched to g0. It may or may not still be the M's `curg`.
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
            // The thread of `mp` sleeps until it is given the P.
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

/// Returns a record without the fields that only its kind has.
fn blank(m: Option<&M>, kind: Kind) -> Record {
    let p = m.and_then(|mp| mp.p.peek()).map_or(ProcMark::NONE, mark);
    Record { ticks: cputicks(), arg: 0, seq: 0, p, stack: 0, detail: 0, kind }
}

fn mark(pp: &P) -> ProcMark {
    ProcMark::new(pp.id.get(), pp.ext.trace_marks.seq.get())
}

/// Returns the stack of the goroutine that has switched to g0 on this thread; 0 if there is none.
fn current_stack(mp: &M) -> u32 {
    mp.curg.get().map_or(0, |gp| stack_of(mp, gp))
}

/// Returns a `detail`: [`SWITCH`] if `gp` leaves for a coroutine's other goroutine, else 0.
fn switch(gp: &G) -> u16 {
    if gp.waitreason.get() == WaitReason::Coroutine { SWITCH } else { 0 }
}

/// An annotation of the program. Tasks have numbers; 0 stands for no task.
pub(crate) enum Note {
    TaskBegin { id: u64, parent: u64, name: Box<str> },
    TaskEnd { id: u64 },
    RegionBegin { task: u64, name: Box<str> },
    RegionEnd { task: u64, name: Box<str> },
    Log { task: u64, category: Box<str>, message: Box<str> },
    Label(Box<str>),
}

impl Note {
    /// The labels of `gp`, which runs.
    fn labels(gp: &G) -> Note {
        let labels = get_prof_label(gp).unwrap_or_default();
        let pairs: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        Note::Label(truncate_text(&pairs.join(", ")).into())
    }

    /// Returns the size of its texts in bytes.
    fn size(&self) -> usize {
        match self {
            Note::TaskBegin { name, .. } | Note::RegionBegin { name, .. } | Note::RegionEnd { name, .. } => {
                name.len()
            }
            Note::Log { category, message, .. } => category.len() + message.len(),
            Note::Label(label) => label.len(),
            Note::TaskEnd { .. } => 0,
        }
    }

    /// Returns the `arg` for its record.
    fn into_arg(self) -> u64 {
        WAITING.fetch_add(self.size(), Ordering::Relaxed);
        Box::into_raw(Box::new(self)).expose_provenance() as u64
    }

    /// Takes the note of a record, which hasn't been read before.
    pub(super) fn of(record: &Record) -> Box<Note> {
        // SAFETY: into_arg has made this number of a box, and the record is read once.
        let note: Box<Note> =
            unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut(record.arg as usize)) };
        WAITING.fetch_sub(note.size(), Ordering::Relaxed);
        note
    }
}

/// Records an annotation of the running goroutine. Its texts went through [`truncate_text`].
/// Records nothing if no goroutine runs here.
pub(crate) fn record_annotation(note: Note) {
    if on_goroutine() {
        wait_while(|| WAITING.load(Ordering::Relaxed) > MOST);
        let (_, mp, held) = hold_with_p();
        systemstack(|| record_note(mp, note));
        drop(held);
    }
}

/// Records an annotation of the program. Called on g0, with a P.
fn record_note(mp: &'static M, note: Note) {
    let mut record = blank(Some(mp), Kind::Note);
    record.stack = current_stack(mp);
    record.arg = note.into_arg();
    if !push(buffer_of(Some(mp)), record) {
        drop(Note::of(&record));
    }
}

/// Returns the number for a new task.
pub(crate) fn new_task() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Returns the part of a text that is written. Go's `tracev2.MaxEventTrailerDataSize`.
pub(crate) fn truncate_text(text: &str) -> &str {
    const MAX: usize = 1 << 10;
    prefix(text, MAX)
}

/// The number of bytes of texts that haven't been written yet.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// The number of such bytes above which a goroutine that adds an annotation waits.
const MOST: usize = 16 << 20;
