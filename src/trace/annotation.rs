//! A program's own annotations in its trace.

use std::fmt;
use std::marker::PhantomData;

use crate::runtime::{Note, is_recording, new_task, record_annotation, truncate_text};

/// A piece of work that several goroutines may have a part in, such as a request. It lasts until it
/// is dropped. Go's `trace.Task`, which is in a context. Here the goroutines that work on it get a
/// reference, or find it in a context as a [value](crate::context::Context::with_value).
///
/// `go tool trace` lists tasks by their names, with their durations, regions and messages. Outside
/// of a trace a task costs next to nothing. On a thread that isn't a goroutine's it isn't recorded.
///
/// ```
/// use gosched::trace::Task;
///
/// gosched::run(|| {
///     let order = Task::new("order");
///     gosched::scope(|s| {
///         s.go(|| {
///             let _region = order.region("charge");
///             order.log("card", "accepted");
///         });
///     });
/// });
/// ```
#[must_use = "it ends when it is dropped"]
pub struct Task {
    id: u64,
}

impl Task {
    /// Begins a task. Go's `trace.NewTask`.
    ///
    /// ```
    /// let task = gosched::trace::Task::new("backup");
    /// task.log("from", "/srv");
    /// drop(task); // it ends
    /// ```
    pub fn new(name: &str) -> Task {
        Task::under(0, name)
    }

    /// Begins a task that is part of this one.
    ///
    /// ```
    /// let backup = gosched::trace::Task::new("backup");
    /// let file = backup.child("file");
    /// assert_ne!(file.id(), backup.id());
    /// ```
    pub fn child(&self, name: &str) -> Task {
        Task::under(self.id, name)
    }

    fn under(parent: u64, name: &str) -> Task {
        let id = new_task();
        if is_recording() {
            record_annotation(Note::TaskBegin { id, parent, name: truncate_text(name).into() });
        }
        Task { id }
    }

    /// Its number, which no other task of the process has.
    ///
    /// ```
    /// assert!(gosched::trace::Task::new("backup").id() > 0);
    /// ```
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Begins a region of the running goroutine in which it works on this task. Go's
    /// `trace.StartRegion`.
    ///
    /// ```
    /// let task = gosched::trace::Task::new("backup");
    /// let region = task.region("compress");
    /// drop(region);
    /// ```
    pub fn region(&self, name: &str) -> Region {
        Region::begin(self.id, name)
    }

    /// Records a message about this task, in a category by which messages can be told apart. Go's
    /// `trace.Log`.
    ///
    /// ```
    /// let task = gosched::trace::Task::new("backup");
    /// task.log("file", "notes.txt");
    /// ```
    pub fn log(&self, category: &str, message: &str) {
        log_for(self.id, category, message);
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("id", &self.id).finish()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if is_recording() {
            record_annotation(Note::TaskEnd { id: self.id });
        }
    }
}

/// The time in which a goroutine does one thing. It lasts until it is dropped, on the same
/// goroutine. Go's `trace.Region`.
///
/// Regions nest. When a region is dropped, regions that began after it end, too. A forgotten region
/// ends with the goroutine.
#[must_use = "it ends when it is dropped"]
pub struct Region {
    task: u64,
    /// None if there was no trace when it began.
    name: Option<Box<str>>,
    /// Not `Send`: it belongs to its goroutine.
    not_send: PhantomData<*const ()>,
}

impl Region {
    fn begin(task: u64, name: &str) -> Region {
        let name: Option<Box<str>> = is_recording().then(|| truncate_text(name).into());
        if let Some(name) = &name {
            record_annotation(Note::RegionBegin { task, name: name.clone() });
        }
        Region { task, name, not_send: PhantomData }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("name", &self.name).finish()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some(name) = self.name.take()
            && is_recording()
        {
            record_annotation(Note::RegionEnd { task: self.task, name });
        }
    }
}

/// Begins a region of the running goroutine that belongs to no task. Go's `trace.StartRegion`.
///
/// ```
/// gosched::run(|| {
///     let _region = gosched::trace::region("parse");
/// });
/// ```
pub fn region(name: &str) -> Region {
    Region::begin(0, name)
}

/// Records a message, in a category by which messages can be told apart. Go's `trace.Log`. The
/// trace keeps the first KiB of the message, as of all names.
///
/// ```
/// gosched::run(|| gosched::trace::log("cache", "miss"));
/// ```
pub fn log(category: &str, message: &str) {
    log_for(0, category, message);
}

fn log_for(task: u64, category: &str, message: &str) {
    if is_recording() {
        record_annotation(Note::Log {
            task,
            category: truncate_text(category).into(),
            message: truncate_text(message).into(),
        });
    }
}
