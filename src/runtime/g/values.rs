//! A goroutine's own values, which `goroutine_local!` keeps in `g.ext.values`: null, a [`Values`],
//! or ENDED, and with a mark if the goroutine was aborted (`aborted.rs`).
//!
//! Only the goroutine itself accesses its values, and before it runs its maker. They are dropped
//! when its function has returned, before its thread-locals. If neither Rust's `go` nor a generator
//! made the goroutine, they are never dropped, as no code of the program's runs at its end.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use crate::runtime::arch::getg;
use crate::runtime::base::fatal::fatal;
use crate::runtime::data::runtime2::G;
use crate::runtime::g::aborted::{ENDED, Shield, has_no_values, set_values, without_marks};
use crate::runtime::g::extent::Extent;
use crate::runtime::tls;

/// Returns the values of `gp`, which runs here: null, or ENDED, or a pointer.
#[inline(always)]
fn values_of(gp: &G) -> *mut Values {
    // Relaxed: only this goroutine changes the pointer.
    without_marks(gp.ext.values.load(Ordering::Relaxed)).cast()
}

/// The `goroutine_local!` that a value belongs to. Its address tells it from others.
pub(crate) trait Key: Sync {
    /// Returns a clone for a new goroutine, if new goroutines get one. The clone may be sent to
    /// another thread, and nobody else has it.
    fn inherit(&self, value: &dyn Any) -> Option<Rc<dyn Any>>;
}

/// The values of a goroutine, or a thread.
pub(crate) struct Values {
    /// None when they have ended.
    entries: RefCell<Option<Vec<Entry>>>,
    /// What holds for the present call.
    pub(super) extent: RefCell<Extent>,
    /// The function that [`call_on_begin`] calls if a goroutine has inherited some of the values.
    begin: Cell<Option<fn(&Values)>>,
}

#[derive(Clone)]
struct Entry {
    key: &'static dyn Key,
    /// None once its destructor runs.
    value: Option<Rc<dyn Any>>,
}

impl Values {
    /// Returns an empty collection.
    const fn new() -> Self {
        Values {
            entries: RefCell::new(Some(Vec::new())),
            extent: RefCell::new(Extent::NOTHING),
            begin: Cell::new(None),
        }
    }

    /// Returns the value of `key`, which `init` makes if there is none yet. Returns none if the
    /// value has been dropped.
    pub(crate) fn get(
        &self,
        key: &'static dyn Key,
        init: impl FnOnce() -> Rc<dyn Any>,
    ) -> Option<Rc<dyn Any>> {
        if let Some(entry) = self.find(key)? {
            return entry.value;
        }
        let value = init();
        // `init` itself may have set the value.
        if let Some(entry) = self.find(key)? {
            return entry.value;
        }
        self.entries.borrow_mut().as_mut()?.push(Entry { key, value: Some(value.clone()) });
        Some(value)
    }

    /// Returns the entry of `key`, if there is one; the outer none if all values have ended.
    fn find(&self, key: &dyn Key) -> Option<Option<Entry>> {
        let entries = self.entries.borrow();
        Some(entries.as_ref()?.iter().find(|entry| ptr::addr_eq(entry.key, key)).cloned())
    }

    /// Returns the values that a new goroutine inherits.
    fn inherit(&self) -> Option<Box<Values>> {
        // Cloning a value may make others.
        let entries = self.entries.borrow().clone()?;
        let clone = |Entry { key, value }| Some(Entry { key, value: Some(key.inherit(&*value?)?) });
        let clones: Vec<_> = entries.into_iter().filter_map(clone).collect();
        if clones.is_empty() {
            return None;
        }
        let (entries, extent) = (RefCell::new(Some(clones)), RefCell::new(Extent::NOTHING));
        Some(Box::new(Values { entries, extent, begin: self.begin.clone() }))
    }

    /// Sets the function that is called when a goroutine begins which has inherited some of these
    /// values and has thread-locals of its own.
    #[cfg(feature = "tracing")]
    pub(crate) fn on_begin(&self, begin: fn(&Values)) {
        self.begin.set(Some(begin));
    }

    /// Drops the values, the latest first, and also values that are made meanwhile.
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

/// Ends the values of a thread when the thread ends.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        OF_THREAD.with(|values| values.end());
    }
}

thread_local! {
    /// The values of a thread that isn't a goroutine's. This has no destructor, so it is there to
    /// the last, also for the destructors of the values. [`Ends`] drops the values.
    static OF_THREAD: ManuallyDrop<Values> = const { ManuallyDrop::new(Values::new()) };
    static ENDS: Ends = const { Ends };
}

/// Returns the goroutine whose values the caller uses. Returns none on a thread that isn't a
/// goroutine's, or is a goroutine only while it waits.
#[inline]
fn whose() -> Option<&'static G> {
    getg().filter(|gp| gp.goid.get() != 0 && gp.m.get().is_none_or(|mp| !mp.isextra.get()))
}

/// Calls `f` with the values of the caller's goroutine or thread. Returns none if they have ended.
pub(crate) fn with_values<R>(f: impl FnOnce(&Values) -> R) -> Option<R> {
    let Some(gp) = whose() else {
        // Registers the destructor. If it has run, the values have ended, too.
        let _ = ENDS.try_with(|_| ());
        return Some(OF_THREAD.with(|values| f(values)));
    };
    let mut values = values_of(gp);
    if values.cast() == ENDED {
        return None;
    }
    if values.is_null() {
        values = Box::into_raw(Box::new(Values::new()));
        set_values(gp, values.cast());
    }
    // SAFETY: they are the goroutine's own, which drops them only when its function has returned.
    Some(f(unsafe { &*values }))
}

/// The values that a goroutine has from the start.
pub(crate) struct Inherited(Option<Box<Values>>);

impl Inherited {
    /// No values: for a goroutine that isn't made on behalf of the caller, or where no code of the
    /// program's may run.
    pub(crate) const NONE: Self = Inherited(None);

    /// Returns the values that a goroutine inherits from the caller's goroutine or thread.
    #[inline]
    pub(crate) fn new() -> Self {
        let none = whose().is_some_and(has_no_values);
        Inherited(if none { None } else { Inherited::clones() })
    }

    #[cold]
    #[inline(never)]
    fn clones() -> Option<Box<Values>> {
        with_values(Values::inherit).flatten()
    }

    /// Gives the values to the new `gp`.
    #[inline]
    pub(crate) fn give(self, gp: &G) {
        if let Some(values) = self.0 {
            gp.ext.values.store(Box::into_raw(values).cast(), Ordering::Relaxed);
        }
    }
}

/// Forgets the values of a dead goroutine and the scope that it was in, so that the next goroutine
/// with its G has none.
#[inline(always)]
pub(in crate::runtime) fn forget_values(gp: &G) {
    gp.ext.values.store(ptr::null_mut(), Ordering::Relaxed);
    gp.ext.scope_of.store(0, Ordering::Relaxed);
}

/// Notes that `gp` is a thread's, whose values are the thread's.
pub(in crate::runtime) fn has_values_of_thread(gp: &G) {
    gp.ext.values.store(ENDED, Ordering::Relaxed);
}

/// Whether `gp` has thread-locals or values of its own, which end with it.
pub(in crate::runtime) fn has_locals(gp: &G) -> bool {
    gp.ext.kind.get().has_own_locals() || !has_no_values(gp)
}

/// Calls the function that the inherited values of `gp` have from [`on_begin`](Values::on_begin).
/// `gp` runs here, and its function is about to be called. This may panic as the program's code
/// does.
#[inline(always)]
pub(crate) fn call_on_begin(gp: &G) {
    // Only spans of `tracing` set such a function.
    if cfg!(feature = "tracing") && !has_no_values(gp) {
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

/// Drops the values of `gp`, and runs the destructors of its own thread-locals. `gp` runs here, and
/// its function has returned.
#[inline]
pub(crate) fn drop_locals(gp: &G) {
    if has_no_values(gp) {
        // The destructors of thread-locals mustn't make values: nobody would drop these.
        gp.ext.values.store(ENDED, Ordering::Relaxed);
    } else {
        drop_values(gp);
    }
    tls::run_destructors_of(gp);
}

#[cold]
#[inline(never)]
fn drop_values(gp: &G) {
    let values = values_of(gp);
    if values.cast() == ENDED {
        return;
    }
    if !values.is_null() {
        // Their destructors may wait as long as they need.
        let _shield = Shield::new(gp);
        // SAFETY: the pointer is neither null nor ENDED. The values are the goroutine's own, and
        // code that runs while they end sees them.
        unsafe { (*values).end() };
    }
    gp.ext.values.store(ENDED, Ordering::Relaxed);
    if !values.is_null() {
        // SAFETY: with_values or `give` took the pointer from a box, and nobody finds it any more.
        drop(unsafe { Box::from_raw(values) });
    }
}
