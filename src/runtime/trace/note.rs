//! What the program itself says: tasks, regions, messages, labels.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::runtime::arch::systemstack;
use crate::runtime::base::this::on_goroutine;
use crate::runtime::data::ext::prefix;
use crate::runtime::data::runtime2::G;
use crate::runtime::data::trace::Record;
use crate::runtime::g::proflabel::get_prof_label;
use crate::runtime::sched::detach::hold_with_p;
use crate::runtime::trace::pool;
use crate::runtime::trace::recorder::record_note;

/// How many bytes of texts haven't been written yet.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// How many there may be before who says more waits.
const MOST: usize = 16 << 20;

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
        Note::Label(cut(&pairs.join(", ")).into())
    }

    /// How many bytes its texts have.
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

    /// The `arg` of its record.
    pub(super) fn into_arg(self) -> u64 {
        WAITING.fetch_add(self.size(), Ordering::Relaxed);
        Box::into_raw(Box::new(self)).expose_provenance() as u64
    }

    /// The note of a record, which is looked at for the first time.
    pub(super) fn of(record: &Record) -> Box<Note> {
        // SAFETY: into_arg has made a box this number, and its record is read once.
        let note: Box<Note> =
            unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut(record.arg as usize)) };
        WAITING.fetch_sub(note.size(), Ordering::Relaxed);
        note
    }
}

/// The number of a new task.
pub(crate) fn new_task() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// As much of a text as is written. Go's `tracev2.MaxEventTrailerDataSize`.
pub(crate) fn cut(text: &str) -> &str {
    const MAX: usize = 1 << 10;
    prefix(text, MAX)
}

/// Records what the running goroutine says, in texts that were [`cut`]; nothing where no goroutine
/// runs.
pub(crate) fn say(note: Note) {
    if on_goroutine() {
        pool::wait_while(|| WAITING.load(Ordering::Relaxed) > MOST);
        let (_, mp, held) = hold_with_p();
        systemstack(|| record_note(mp, note));
        drop(held);
    }
}
