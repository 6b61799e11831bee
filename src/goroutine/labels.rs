//! Labels of goroutines, by which a profile or a trace tells them apart. Go's `label.go`, in
//! `runtime/pprof`.
//!
//! A new goroutine gets the labels that its maker has at that time.
//!
//! ```
//! use gosched::labels::{labels, with_labels};
//!
//! gosched::run(|| {
//!     let handle = with_labels([("request", "17"), ("user", "ann")], || gosched::go(labels));
//!     assert_eq!(handle.join().unwrap().get("request"), Some("17"));
//!     assert!(labels().is_empty());
//! });
//! ```

use std::fmt;
use std::sync::Arc;

use crate::goroutine::current::{not_a_goroutine, running};
use crate::runtime::runtime2::G;
use crate::runtime::{LabelMap, get_prof_label, set_own_label};

/// An immutable set of labels, each with a key and a value. A clone is a count in an `Arc`. Go's
/// `LabelSet`.
///
/// ```
/// use gosched::labels::{labels, with_labels};
///
/// gosched::run(|| {
///     let outer = with_labels([("request", "17")], || with_labels([("step", "read")], labels));
///     assert_eq!(format!("{outer:?}"), r#"{"request": "17", "step": "read"}"#);
/// });
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Labels(Option<Arc<LabelMap>>);

impl Labels {
    /// No labels.
    ///
    /// ```
    /// use gosched::labels::Labels;
    ///
    /// const NONE: Labels = Labels::new();
    /// assert_eq!(gosched::run(gosched::labels::labels), NONE);
    /// ```
    pub const fn new() -> Self {
        Labels(None)
    }

    /// These labels and `more`; of two with the same key, the last one counts. Go's `WithLabels`.
    ///
    /// ```
    /// use gosched::labels::Labels;
    ///
    /// let labels = Labels::new().with([("user", "ann"), ("step", "read")]);
    /// let next = labels.with([("step", "write")]);
    /// assert_eq!(next.get("step"), Some("write"));
    /// assert_eq!(labels.get("step"), Some("read"));
    /// ```
    pub fn with<K: Into<String>, V: Into<String>>(&self, more: impl IntoIterator<Item = (K, V)>) -> Self {
        let mut map = self.0.as_deref().cloned().unwrap_or_default();
        map.extend(more.into_iter().map(|(key, value)| (key.into(), value.into())));
        Labels((!map.is_empty()).then(|| Arc::new(map)))
    }

    /// The value of a label. Go's `Label`.
    ///
    /// ```
    /// let labels = gosched::labels::Labels::new().with([("user", "ann")]);
    /// assert_eq!(labels.get("user"), Some("ann"));
    /// assert_eq!(labels.get("request"), None);
    /// ```
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.as_ref()?.get(key).map(String::as_str)
    }

    /// The keys and values, in the order of the keys. Go's `ForLabels`.
    ///
    /// ```
    /// let labels = gosched::labels::Labels::new().with([("user", "ann"), ("request", "17")]);
    /// let text: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    /// assert_eq!(text.join(" "), "request=17 user=ann");
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|map| map.iter()).map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether there are no labels.
    ///
    /// ```
    /// use gosched::labels::Labels;
    ///
    /// assert!(Labels::new().is_empty());
    /// assert!(!Labels::new().with([("user", "ann")]).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// The labels of the running goroutine; an empty set if the caller isn't on one.
///
/// ```
/// use gosched::labels::{labels, with_labels};
///
/// gosched::run(|| {
///     let request = with_labels([("request", "17")], || labels().get("request").map(str::to_owned));
///     assert_eq!(request.as_deref(), Some("17"));
/// });
/// ```
pub fn labels() -> Labels {
    Labels(running().and_then(get_prof_label))
}

/// The labels of another goroutine: for a [tracer](crate::proc::set_tracer), which gets
/// [events](crate::proc::Event) of it.
///
/// # Safety
/// `gp` has begun, and until this returns it neither runs on another thread nor ends: otherwise its
/// labels could be freed while they are read. So call it for the goroutine of an event, while the
/// tracer handles that event.
pub unsafe fn labels_of(gp: &G) -> Labels {
    Labels(get_prof_label(gp))
}

/// Replaces the labels of the running goroutine; returns those that it had. As a rule
/// [`with_labels`] is the better way. Go's `SetGoroutineLabels`.
///
/// ```
/// use gosched::labels::{Labels, labels, set_labels};
///
/// gosched::run(|| {
///     let before = set_labels(Labels::new().with([("step", "read")]));
///     assert_eq!(labels().get("step"), Some("read"));
///     set_labels(before);
///     assert!(labels().is_empty());
/// });
/// ```
///
/// # Panics
/// If it isn't called on a goroutine.
#[track_caller]
pub fn set_labels(labels: Labels) -> Labels {
    let Some(gp) = running() else { not_a_goroutine("labels::set_labels") };
    Labels(set_own_label(gp, labels.0))
}

/// Adds labels to those of the running goroutine while it calls `f`; goroutines that `f` makes have
/// them, too. Afterwards, also after a panic, the goroutine has the labels that it had before. Go's
/// `Do`.
///
/// ```
/// use gosched::labels::{labels, with_labels};
///
/// gosched::run(|| {
///     let child = with_labels([("request", "17")], || gosched::go(labels));
///     assert_eq!(child.join().unwrap().get("request"), Some("17"));
///     assert!(labels().is_empty());
/// });
/// ```
///
/// # Panics
/// If it isn't called on a goroutine; and as `f` does.
#[track_caller]
pub fn with_labels<K: Into<String>, V: Into<String>, R>(
    more: impl IntoIterator<Item = (K, V)>,
    f: impl FnOnce() -> R,
) -> R {
    /// Restores the goroutine's labels when it is dropped.
    struct Restore(Labels);
    impl Drop for Restore {
        fn drop(&mut self) {
            set_labels(std::mem::take(&mut self.0));
        }
    }

    let _restore = Restore(set_labels(labels().with(more)));
    f()
}
