//! Goroutines grouped by equal stacks: Go's profile `goroutine` with `debug=1`, as data, and as
//! text with headers as in a traceback.
//!
//! Of a hundred thousand goroutines most wait at a few places. A group has the stack once, and a
//! small [`Member`] for each goroutine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use crate::runtime::base::os::nanotime;
use crate::runtime::data::ext::Name;
use crate::runtime::data::runtime2::{G, GSCAN, GSYSCALL, GWAITING};
use crate::runtime::g::callers::{INNER_FRAMES, Pcs};
use crate::runtime::g::proflabel::{LabelMap, get_prof_label};
use crate::runtime::report::symbols::{Symbol, Symbols};
use crate::runtime::report::traceback::{
    Made, print_frames, what_it_does, write_bracket, write_labels, write_name,
};

/// All goroutines in groups, and the symbols of their frames.
pub(crate) struct Stacks {
    /// The largest come first.
    pub(crate) groups: Vec<Group>,
    symbols: Symbols,
}

impl Stacks {
    /// Looks up the addresses of the groups. Called where [`Symbols::functions`] may be called.
    pub(super) fn new(groups: Vec<Group>) -> Stacks {
        let mut symbols = Symbols::new();
        for group in &groups {
            symbols.look_up_all(&group.key.pcs);
            if let Some(pc) = group.key.made.by() {
                symbols.look_up_all(&[pc]);
            }
        }
        symbols.let_libraries_go();
        Stacks { groups, symbols }
    }

    /// Returns the functions of a group that a traceback shows, the innermost first.
    pub(crate) fn frames<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Symbol> {
        self.symbols.shown(&group.key.pcs).map(|frame| frame.symbol)
    }

    /// Returns where the goroutines of a group were made.
    pub(crate) fn created(&self, group: &Group) -> Created<'_> {
        let made = &group.key.made;
        match (made.created_at, made.by()) {
            (Some(location), _) => Created::At(location),
            (None, Some(pc)) => Created::By(self.symbols.maker(pc).symbol),
            (None, None) => Created::Unknown,
        }
    }
}

/// Where a goroutine was made.
pub(crate) enum Created<'a> {
    /// At this place in the source.
    At(&'static Location<'static>),
    /// In this function.
    By(&'a Symbol),
    /// Main's goroutine, or a thread's.
    Unknown,
}

/// Goroutines that are in the same state, have equal stacks, and were made at the same place.
pub(crate) struct Group {
    key: Key,
    /// At least one. Those that have waited longest come first, then those that were made first.
    pub(crate) goroutines: Vec<Member>,
}

/// What the goroutines of a group have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    pcs: Vec<usize>,
    what: &'static str,
    locked: bool,
    system: bool,
    made: Made,
    known: Known,
    /// The goroutine, if its stack may be another than it seems, so that it has a group of its own.
    alone: u64,
}

/// How much of a stack is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Known {
    All,
    /// The maximum number of frames, and there may be more.
    Innermost,
    /// The unwinder has failed to find more.
    Failed,
    /// Nothing: the goroutine runs on another thread.
    Nothing,
}

/// A goroutine of a group.
pub(crate) struct Member {
    pub(crate) goid: u64,
    pub(crate) name: Name,
    /// How long it has waited or been in a system call. None if it does neither, or began to do so
    /// within the last second or so.
    pub(crate) waited: Option<Duration>,
    /// Its labels. None also if the goroutine runs and doesn't stop.
    pub(crate) labels: Option<Arc<LabelMap>>,
    /// The number of the goroutine that made it.
    pub(crate) parent: u64,
}

/// What a report notes of a goroutine besides its frames.
pub(super) struct Noted {
    what: &'static str,
    locked: bool,
    system: bool,
    made: Made,
    /// Since when it waits, or is in a system call.
    since: Option<i64>,
    member: Member,
}

impl Noted {
    /// Notes `gp`, which has the state `status`. `still` says that nothing of its own changes
    /// meanwhile, so that its labels may be read.
    pub(super) fn of(gp: &G, status: u32, made: Made, still: bool) -> Noted {
        let waits = matches!(status & !GSCAN, GWAITING | GSYSCALL);
        Noted {
            what: what_it_does(gp, status),
            locked: !gp.lockedm.is_null(),
            system: gp.ext.system.get(),
            made,
            since: Some(gp.waitsince.get()).filter(|since| waits && *since != 0),
            member: Member {
                goid: gp.goid.get(),
                name: gp.ext.name.get(),
                waited: None,
                labels: if still { get_prof_label(gp) } else { None },
                parent: gp.parent_goid.get(),
            },
        }
    }
}

/// Groups that are being made.
pub(super) struct Groups {
    made: BTreeMap<Key, Vec<Member>>,
    /// The time to which goroutines have waited, the same for all.
    now: i64,
}

impl Groups {
    pub(super) fn new() -> Groups {
        Groups { made: BTreeMap::new(), now: nanotime() }
    }

    /// Adds a goroutine; `pcs` are its frames, if they are known.
    pub(super) fn add(&mut self, pcs: Option<&Pcs>, noted: Noted) {
        let Noted { what, locked, system, made, since, mut member } = noted;
        member.waited = since.map(|since| Duration::from_nanos((self.now - since).max(0) as u64));
        let known = match pcs {
            None => Known::Nothing,
            Some(pcs) if pcs.failed => Known::Failed,
            Some(pcs) if pcs.as_slice().len() == INNER_FRAMES => Known::Innermost,
            Some(_) => Known::All,
        };
        let alone = if matches!(known, Known::Nothing | Known::Failed) { member.goid } else { 0 };
        let pcs = pcs.map_or(Vec::new(), |pcs| pcs.as_slice().to_vec());
        self.made.entry(Key { pcs, what, locked, system, made, known, alone }).or_default().push(member);
    }

    /// Returns the groups, the largest first.
    pub(super) fn finish(self) -> Vec<Group> {
        let mut groups: Vec<Group> =
            self.made.into_iter().map(|(key, goroutines)| Group { key, goroutines }).collect();
        for group in &mut groups {
            group.goroutines.sort_by(|a, b| b.waited.cmp(&a.waited).then(a.goid.cmp(&b.goid)));
        }
        groups.sort_by_key(|group| {
            let first = group.goroutines.iter().map(|member| member.goid).min();
            (usize::MAX - group.goroutines.len(), first)
        });
        groups
    }
}

impl Group {
    /// What its goroutines wait for or do.
    pub(crate) fn what(&self) -> &'static str {
        self.key.what
    }

    /// Whether its goroutines are locked to their threads.
    pub(crate) fn is_locked(&self) -> bool {
        self.key.locked
    }

    /// How much of the stack is known.
    pub(crate) fn known(&self) -> Known {
        self.key.known
    }

    /// Whether its goroutines are the runtime's or an embedder's own.
    pub(crate) fn is_system(&self) -> bool {
        self.key.system
    }

    /// The addresses of its frames, the innermost first.
    #[cfg(feature = "pprof")]
    pub(crate) fn pcs(&self) -> &[usize] {
        &self.key.pcs
    }

    /// The name that all its goroutines have.
    pub(crate) fn name(&self) -> Option<Name> {
        let name = self.goroutines[0].name;
        let all = self.goroutines.iter().all(|member| member.name.as_str() == name.as_str());
        (all && !name.as_str().is_empty()).then_some(name)
    }

    /// The labels that all its goroutines have, with the same values, sorted by key.
    pub(crate) fn labels(&self) -> Vec<(&str, &str)> {
        let first = self.goroutines[0].labels.as_ref();
        let mut common: Vec<(&str, &str)> =
            first.iter().flat_map(|map| map.iter()).map(|(key, value)| (&**key, &**value)).collect();
        for member in &self.goroutines {
            // Goroutines with one maker share its labels.
            if let (Some(first), Some(own)) = (first, &member.labels)
                && Arc::ptr_eq(first, own)
            {
                continue;
            }
            let own = member.labels.as_deref();
            common.retain(|(key, value)| own.and_then(|own| own.get(*key)).is_some_and(|own| own == value));
        }
        common
    }

    /// Prints the group: for a goroutine alone as in a traceback, otherwise with a header that
    /// counts the goroutines, and a line with the numbers of the first ones.
    pub(super) fn print(&self, out: &mut impl Write, symbols: &mut Symbols) -> fmt::Result {
        self.print_header(out)?;
        match self.key.known {
            Known::Nothing => print_frames(out, symbols, None)?,
            known => print_frames(out, symbols, Some((&self.key.pcs, known == Known::Failed)))?,
        }
        let parents: BTreeSet<u64> = self.goroutines.iter().map(|member| member.parent).collect();
        match (parents.len(), parents.first()) {
            (1, Some(parent)) => self.key.made.print(out, symbols, format_args!(" in goroutine {parent}")),
            (n, _) => self.key.made.print(out, symbols, format_args!(" in {n} goroutines")),
        }
    }

    fn print_header(&self, out: &mut impl Write) -> fmt::Result {
        let name = self.name();
        match self.goroutines.as_slice() {
            [only] => write!(out, "goroutine {}", only.goid)?,
            all => write!(out, "{} goroutines", all.len())?,
        }
        write_name(out, name)?;
        let minutes = |member: &Member| member.waited.map_or(0, |waited| waited.as_secs() / 60);
        let (longest, shortest) = (&self.goroutines[0], &self.goroutines[self.goroutines.len() - 1]);
        write_bracket(out, self.key.what, (minutes(shortest), minutes(longest)), self.key.locked)?;
        write_labels(out, self.labels())?;
        writeln!(out, ":")?;
        if self.goroutines.len() == 1 { Ok(()) } else { self.print_numbers(out, name.is_none()) }
    }

    /// Prints the numbers of the first goroutines, and their names, if wanted.
    fn print_numbers(&self, out: &mut impl Write, with_names: bool) -> fmt::Result {
        write!(out, "goroutines ")?;
        for (i, member) in self.goroutines.iter().take(SHOWN).enumerate() {
            write!(out, "{}{}", if i == 0 { "" } else { ", " }, member.goid)?;
            write_name(out, Some(member.name).filter(|_| with_names))?;
        }
        match self.goroutines.len().saturating_sub(SHOWN) {
            0 => writeln!(out),
            more => writeln!(out, " and {more} more"),
        }
    }
}

/// The maximum number of goroutines of a group whose numbers are printed.
const SHOWN: usize = 10;
