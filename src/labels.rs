//! Labels of goroutines: what a profile or a trace tells them apart by. Go's `runtime/pprof`, `label.go`.
//!
//! A goroutine has those of the one that made it, as they were then.
//!
//! ```
//! use gosched::labels::{labels, with_labels};
//!
//! # // SAFETY: no thread-local is kept across a point that can park.
//! # unsafe {
//! gosched::run(|| {
//!     let handle = with_labels([("request", "17"), ("user", "ann")], || gosched::go(labels));
//!     assert_eq!(handle.join().unwrap().get("request"), Some("17"));
//!     assert!(labels().is_empty());
//! })
//! # };
//! ```

use std::fmt;
use std::sync::Arc;

use crate::arch::getg;
use crate::current::not_a_goroutine;
use crate::proflabel::{LabelMap, get_prof_label, set_prof_label};
use crate::runtime2::G;

/// A set of labels, each with a key and a value. It never changes, and a copy costs nothing. Go's
/// `LabelSet`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Labels(Option<Arc<LabelMap>>);

impl Labels {
    /// No labels.
    pub const fn new() -> Self {
        Labels(None)
    }

    /// These labels and more; one with the same key is replaced. Go's `WithLabels`.
    pub fn with<K: Into<String>, V: Into<String>>(&self, more: impl IntoIterator<Item = (K, V)>) -> Self {
        let mut map = self.0.as_deref().cloned().unwrap_or_default();
        map.extend(more.into_iter().map(|(key, value)| (key.into(), value.into())));
        Labels((!map.is_empty()).then(|| Arc::new(map)))
    }

    /// The value of a label. Go's `Label`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.as_ref()?.get(key).map(String::as_str)
    }

    /// The keys and values, in the order of the keys. Go's `ForLabels`.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|map| map.iter()).map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// The running goroutine, inside [`blocking`](crate::blocking) too. g0 has no number.
fn running() -> Option<&'static G> {
    getg().filter(|gp| gp.goid.get() != 0)
}

/// The labels of the running goroutine; none where there is no goroutine.
pub fn labels() -> Labels {
    Labels(running().and_then(get_prof_label))
}

/// The labels of the goroutine that an [event](crate::proc::Event) is of: for a [tracer](crate::proc::set_tracer), which
/// may call it.
///
/// # Safety
/// `gp` has begun, and neither runs elsewhere nor ends meanwhile. While a tracer gets an event of a goroutine,
/// that is so.
pub unsafe fn labels_of(gp: &G) -> Labels {
    Labels(get_prof_label(gp))
}

/// Gives the running goroutine other labels; returns those that it had. [`with_labels`] is the better way, as a
/// rule. Go's `SetGoroutineLabels`.
///
/// # Panics
/// If it is called on no goroutine.
#[track_caller]
pub fn set_labels(labels: Labels) -> Labels {
    let Some(gp) = running() else { not_a_goroutine("labels::set_labels") };
    Labels(set_prof_label(gp, labels.0))
}

/// Calls `f` with labels added to those that the running goroutine has; goroutines that `f` makes have them
/// too. Afterwards it has what it had before, if `f` panics as well. Go's `Do`.
///
/// # Panics
/// If it is called on no goroutine; and as `f` does.
#[track_caller]
pub fn with_labels<K: Into<String>, V: Into<String>, R>(
    more: impl IntoIterator<Item = (K, V)>,
    f: impl FnOnce() -> R,
) -> R {
    /// Gives the goroutine what it had.
    struct Restore(Labels);
    impl Drop for Restore {
        fn drop(&mut self) {
            set_labels(std::mem::take(&mut self.0));
        }
    }

    let _restore = Restore(set_labels(labels().with(more)));
    f()
}
