//! What the program says of itself, and that the world is stopped: events that change nobody's
//! state. Go's reader takes them from a goroutine that runs with a P only.

use crate::runtime::data::trace::{Kind, Record};
use crate::runtime::trace::encoder::Ev;
use crate::runtime::trace::note::Note;
use crate::runtime::trace::order::Order;

impl Order {
    pub(super) fn says(&mut self, m: usize, record: &Record) {
        let now = record.ticks;
        let note = (record.kind == Kind::Note).then(|| Note::of(record));
        let Some(goid) = self.running(m) else { return };
        let encoder = &mut self.encoder;
        let stack = encoder.stack(record.stack);
        match (record.kind, note.map(|note| *note)) {
            (Kind::Gomaxprocs, _) => encoder.event(m, now, Ev::ProcsChange, &[record.arg, stack]),
            (Kind::StwStart, _) => {
                let args = [encoder.string(reason(record)), stack];
                encoder.event(m, now, Ev::StwBegin, &args);
                self.goroutine(goid).stw = Some(reason(record));
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

    /// Ends a region, and those within it that haven't ended.
    fn end_region(&mut self, m: usize, record: &Record, goid: u64, region: (u64, Box<str>)) {
        let regions = &mut self.goroutine(goid).regions;
        let Some(at) = regions.iter().rposition(|open| *open == region) else { return };
        for (task, name) in regions.split_off(at).into_iter().rev() {
            let args = [task, self.encoder.string(&name), self.encoder.stack(record.stack)];
            self.encoder.event(m, record.ticks, Ev::UserRegionEnd, &args);
        }
    }
}

/// Why the world was stopped.
fn reason(record: &Record) -> &'static str {
    let begin = std::ptr::with_exposed_provenance(record.arg as usize);
    // SAFETY: the recorder has taken a `&'static str` apart.
    unsafe { str::from_utf8_unchecked(std::slice::from_raw_parts(begin, record.detail.into())) }
}
