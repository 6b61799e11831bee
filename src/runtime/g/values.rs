//! The values of a goroutine's own that `goroutine_local!` keeps, in `g.ext.values`: null, a
//! [`Values`], or ENDED.
//!
//! Only the goroutine itself touches them, and who makes it, before it runs. They end when its
//! function has returned, before its thread-locals; those of a goroutine that neither Rust's `go`
//! nor a generator made are never dropped, as nothing of the program's runs at its end.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use crate::runtime::arch::getg;
use crate::runtime::base::fatal::fatal;
use crate::runtime::data::runtime2::G;
use crate::runtime::tls;

/// The values have been dropped, and there will be no others.
const ENDED: *mut Values = ptr::without_provenance_mut(align_of::<Values>());

/// What a value belongs to. Its address tells it from others.
pub(crate) trait Key: Sync {
    /// A clone for a new goroutine, if that gets one. It may be sent to another thread, and nobody
    /// else has it.
    fn inherit(&self, value: &dyn Any) -> Option<Rc<dyn Any>>;
}

/// The values of a goroutine, or a thread.
pub(crate) struct Values {
    /// None when they have ended.
    entries: RefCell<Option<Vec<Entry>>>,
    /// What is called where a goroutine begins that has inherited some of them.
    begin: Cell<Option<fn(&Values)>>,
}

#[derive(Clone)]
struct Entry {
    key: &'static dyn Key,
    /// None from when its destructor runs.
    value: Option<Rc<dyn Any>>,
}

impl Values {
    /// None yet.
    const fn new() -> Self {
        Values { entries: RefCell::new(Some(Vec::new())), begin: Cell::new(None) }
    }

    /// The value of `key`; `init` makes it if there is none yet. None if it has been dropped.
    pub(crate) fn get(
        &self,
        key: &'static dyn Key,
        init: impl FnOnce() -> Rc<dyn Any>,
    ) -> Option<Rc<dyn Any>> {
        if let Some(entry) = self.find(key)? {
            return entry.value;
        }
        let value = init();
        // To make it may have made it.
        if let Some(entry) = self.find(key)? {
            return entry.value;
        }
        self.entries.borrow_mut().as_mut()?.push(Entry { key, value: Some(value.clone()) });
        Some(value)
    }

    /// The entry of `key`, if there is one; none if all have ended.
    fn find(&self, key: &dyn Key) -> Option<Option<Entry>> {
        let entries = self.entries.borrow();
        Some(entries.as_ref()?.iter().find(|entry| ptr::addr_eq(entry.key, key)).cloned())
    }

    /// What a new goroutine gets of them.
    fn inherit(&self) -> Option<Box<Values>> {
        // To clone a value may make others.
        let entries = self.entries.borrow().clone()?;
        let clone = |Entry { key, value }| Some(Entry { key, value: Some(key.inherit(&*value?)?) });
        let clones: Vec<_> = entries.into_iter().filter_map(clone).collect();
        if clones.is_empty() {
            return None;
        }
        Some(Box::new(Values { entries: RefCell::new(Some(clones)), begin: self.begin.clone() }))
    }

    /// Has `begin` called where a goroutine begins that has inherited some of them, and that has
    /// thread-locals of its own.
    #[cfg(feature = "tracing")]
    pub(crate) fn on_begin(&self, begin: fn(&Values)) {
        self.begin.set(Some(begin));
    }

    /// Drops them, those that were made last first, and those that are made meanwhile.
    fn end(&self) {
        let last =
            || self.entries.borrow_mut().iter_mut().flatten().rev().find_map(|entry| entry.value.take());
        while let Some(value) = last() {
            if catch_unwind(AssertUnwindSafe(|| drop(value))).is_err() {
                fatal("a goroutine-local panicked when it was dropped");
            }
        }
        self.entries.take();
    }
}

/// Ends the values of a thread when that ends.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        OF_THREAD.with(|values| values.end());
    }
}

thread_local! {
    /// The values of a thread that isn't a goroutine's. They are there to the last, also for each
    /// other's destructors.
    static OF_THREAD: ManuallyDrop<Values> = const { ManuallyDrop::new(Values::new()) };
    static ENDS: Ends = const { Ends };
}

/// The goroutine whose values are those of the caller. None on a thread that isn't a goroutine's,
/// or is one's only while it waits.
#[inline]
fn whose() -> Option<&'static G> {
    getg().filter(|gp| gp.goid.get() != 0 && gp.m.get().is_none_or(|mp| !mp.isextra.get()))
}

/// Calls `f` with the values of the caller's goroutine, or thread; None if they have ended.
pub(crate) fn with_values<R>(f: impl FnOnce(&Values) -> R) -> Option<R> {
    let Some(gp) = whose() else {
        // If that has ended they have, too.
        let _ = ENDS.try_with(|_| ());
        return Some(OF_THREAD.with(|values| f(values)));
    };
    let mut values = gp.ext.values.get().cast();
    if values == ENDED {
        return None;
    }
    if values.is_null() {
        values = Box::into_raw(Box::new(Values::new()));
        gp.ext.values.set(values.cast());
    }
    // SAFETY: the goroutine's own, which drops them when its function has returned.
    Some(f(unsafe { &*values }))
}

/// What a goroutine is to have from the start.
pub(crate) struct Inherited(Option<Box<Values>>);

impl Inherited {
    /// Nothing: for a goroutine that isn't made on behalf of the caller, where no code of the
    /// program's is to run.
    pub(crate) const NONE: Self = Inherited(None);

    /// What the caller's goroutine, or thread, leaves to one that it makes.
    #[inline]
    pub(crate) fn new() -> Self {
        let none = whose().is_some_and(|maker| maker.ext.values.get().is_null());
        Inherited(if none { None } else { Inherited::clones() })
    }

    #[cold]
    #[inline(never)]
    fn clones() -> Option<Box<Values>> {
        with_values(Values::inherit).flatten()
    }

    /// Gives it to the new `gp`.
    #[inline]
    pub(crate) fn give(self, gp: &G) {
        if let Some(values) = self.0 {
            gp.ext.values.set(Box::into_raw(values).cast());
        }
    }
}

/// The goroutine is dead: the next one that has its G has no values.
#[inline(always)]
pub(in crate::runtime) fn forget_values(gp: &G) {
    gp.ext.values.set(ptr::null_mut());
}

/// Whether something of `gp`'s own ends with it.
pub(in crate::runtime) fn has_locals(gp: &G) -> bool {
    gp.ext.kind.get().has_own_locals() || !gp.ext.values.get().is_null()
}

/// Calls what the inherited values of `gp` have [`on_begin`](Values::on_begin). The function of
/// `gp`, which runs here, is about to be called. This may panic as the program's code does.
#[inline(always)]
pub(crate) fn call_on_begin(gp: &G) {
    // Nobody but spans has something to begin.
    if cfg!(feature = "tracing") && !gp.ext.values.get().is_null() {
        call_begin_of_values(gp);
    }
}

#[cold]
#[inline(never)]
fn call_begin_of_values(gp: &G) {
    if gp.ext.kind.get().has_own_locals() {
        with_values(|values| values.begin.get().inspect(|begin| begin(values)));
    }
}

/// Drops the values of `gp`, and runs the destructors of its own thread-locals. The function of
/// `gp`, which runs here, has returned.
#[inline]
pub(crate) fn drop_locals(gp: &G) {
    if gp.ext.values.get().is_null() {
        // The destructors of thread-locals make none: nobody would drop them.
        gp.ext.values.set(ENDED.cast());
    } else {
        drop_values(gp);
    }
    tls::run_destructors_of(gp);
}

#[cold]
#[inline(never)]
fn drop_values(gp: &G) {
    let values = gp.ext.values.get().cast();
    if values == ENDED {
        return;
    }
    // SAFETY: not ENDED and not null, as the caller has seen, it is the goroutine's own; what runs
    // while they end sees them.
    unsafe { (*values).end() };
    gp.ext.values.set(ENDED.cast());
    // SAFETY: with_values has made it, or `give` has it from a box; nobody finds it any more.
    drop(unsafe { Box::from_raw(values) });
}
