//! What the program itself says: tasks, regions, messages, labels.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::runtime::arch::systemstack;
use crate::runtime::base::this::on_goroutine;
use crate::runtime::data::runtime2::G;
use crate::runtime::data::trace::Record;
use crate::runtime::g::proflabel::get_prof_label;
use crate::runtime::sched::detach::hold_with_p;
use crate::runtime::trace::recorder::record_note;

/// Something that the program says. Tasks have numbers; 0 is none.
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
    pub(super) fn labels(gp: &G) -> Note {
        let labels = get_prof_label(gp).unwrap_or_default();
        let pairs: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        Note::Label(pairs.join(", ").into())
    }

    /// The `arg` of its record.
    pub(super) fn into_arg(self) -> u64 {
        Box::into_raw(Box::new(self)).expose_provenance() as u64
    }

    /// The note of a record, which is looked at for the first time.
    pub(super) fn of(record: &Record) -> Box<Note> {
        // SAFETY: into_arg has made a box this number, and its record is read once.
        unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut(record.arg as usize)) }
    }
}

/// The number of a new task.
pub(crate) fn new_task() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Records what the running goroutine says; nothing where no goroutine runs.
pub(crate) fn say(note: Note) {
    if on_goroutine() {
        let (_, mp, held) = hold_with_p();
        systemstack(|| record_note(mp, note));
        drop(held);
    }
}
