//! The profiles that can be read at any time: Go's `pprof.Profile`, in `runtime/pprof/pprof.go`.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::time::SystemTime;

use crate::pprof::builder::{Builder, Inner, ValueType, labels_of};
use crate::pprof::on_a_thread;
use crate::runtime::{Contention, contention, goroutine_groups, mcount_now};

/// A profile that can be written at any time. Go's `pprof.Profile`, and its predefined ones.
///
/// ```
/// use gosched::pprof::Profile;
///
/// gosched::run(|| {
///     let mut file = Vec::new();
///     Profile::Goroutine.write_to(&mut file).unwrap();
///     assert!(file.starts_with(b"\x1f\x8b"));
/// });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// The stacks of all goroutines, and the number of goroutines with each stack. It has their
    /// labels, and a label `state` that says what they wait for.
    Goroutine,
    /// The places where goroutines have waited for each other, how often and for how long: see
    /// [`set_block_profile_rate`](crate::pprof::set_block_profile_rate).
    Block,
    /// The places where locks were unlocked that others waited for: see
    /// [`set_mutex_profile_fraction`](crate::pprof::set_mutex_profile_fraction).
    Mutex,
    /// How many threads were made for goroutines. It has no stacks, because only the runtime makes
    /// these threads.
    Threadcreate,
}

const GOROUTINE: ValueType = ("goroutine", "count");
const THREADCREATE: ValueType = ("threadcreate", "count");
const CONTENTIONS: ValueType = ("contentions", "count");
const DELAY: ValueType = ("delay", "nanoseconds");

impl Profile {
    /// All profiles. Go's `pprof.Profiles`.
    ///
    /// ```
    /// use gosched::pprof::Profile;
    ///
    /// let names = Profile::ALL.map(Profile::name);
    /// assert_eq!(names, ["goroutine", "block", "mutex", "threadcreate"]);
    /// ```
    pub const ALL: [Profile; 4] = [Profile::Goroutine, Profile::Block, Profile::Mutex, Profile::Threadcreate];

    /// Its name, the same as in Go. Go's `Profile.Name`.
    ///
    /// ```
    /// assert_eq!(gosched::pprof::Profile::Block.name(), "block");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Goroutine => "goroutine",
            Profile::Block => "block",
            Profile::Mutex => "mutex",
            Profile::Threadcreate => "threadcreate",
        }
    }

    /// The profile with this name, if there is one. Go's `pprof.Lookup`.
    ///
    /// ```
    /// use gosched::pprof::Profile;
    ///
    /// assert_eq!(Profile::named("mutex"), Some(Profile::Mutex));
    /// assert_eq!(Profile::named("heap"), None);
    /// ```
    pub fn named(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Writes the profile as a compressed `profile.proto`, which `go tool pprof` reads. Go's
    /// `Profile.WriteTo`, without its text.
    ///
    /// A thread of its own makes the profile, while the goroutine waits as in
    /// [`blocking`](crate::blocking). Then the profile is written in one piece. Other goroutines go
    /// on meanwhile; as [`dump_goroutines`](crate::dump_goroutines) says, each is suspended while
    /// it is looked at. The caller must not be on a copying stack.
    ///
    /// ```
    /// use gosched::pprof::Profile;
    ///
    /// gosched::run(|| {
    ///     let mut file = tempfile();
    ///     Profile::Threadcreate.write_to(&mut file).unwrap();
    /// });
    ///
    /// fn tempfile() -> impl std::io::Write {
    ///     std::io::sink() // a gosched::fs::File, as a rule
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of `out`; and if no thread can be made.
    ///
    /// # Panics
    /// As `out` does.
    pub fn write_to(self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        let profile = on_a_thread(move || match self {
            Profile::Goroutine => goroutines(),
            Profile::Block => contentions(Contention::Block),
            Profile::Mutex => contentions(Contention::Mutex),
            Profile::Threadcreate => threads(),
        })?;
        out.write_all(&profile?)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Go's `writeGoroutine`.
fn goroutines() -> io::Result<Vec<u8>> {
    let groups = goroutine_groups();
    let mut counts = BTreeMap::new();
    for group in groups.iter().filter(|group| !group.is_system()) {
        for member in &group.goroutines {
            *counts.entry((group.pcs(), group.what(), member.labels.as_deref())).or_insert(0) += 1;
        }
    }
    let mut builder = Builder::new(&[GOROUTINE], SystemTime::now(), (GOROUTINE, 1));
    for ((pcs, what, labels), count) in &counts {
        let labels = labels_of(*labels).chain([("state", *what)]);
        builder.sample(pcs, Inner::Caller, &[*count], labels);
    }
    builder.finish()
}

/// Go's `writeBlock` and `writeMutex`.
fn contentions(what: Contention) -> io::Result<Vec<u8>> {
    let mut builder = Builder::new(&[CONTENTIONS, DELAY], SystemTime::now(), (CONTENTIONS, 1));
    for (pcs, contended) in contention(what) {
        let values = [contended.count.round() as i64, contended.nanoseconds.round() as i64];
        builder.sample(&pcs, Inner::Caller, &values, []);
    }
    builder.finish()
}

/// Go's `writeThreadCreate`.
fn threads() -> io::Result<Vec<u8>> {
    let mut builder = Builder::new(&[THREADCREATE], SystemTime::now(), (THREADCREATE, 1));
    builder.sample(&[], Inner::Caller, &[mcount_now().into()], []);
    builder.finish()
}
