//! [`Once`] and [`OnceLock`].

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sync::raw_mutex::RawMutex;

/// Runs a function once: that of the first caller; the others wait for it. Go's `sync.Once`.
///
/// If the function panics, it counts as not run, and the next caller's is run.
pub struct Once {
    done: AtomicBool,
    running: RawMutex,
}

impl Once {
    /// A `Once` of which no function has run.
    pub const fn new() -> Self {
        Once { done: AtomicBool::new(false), running: RawMutex::new() }
    }

    /// Runs `f`, unless a function has run already. When this returns, one has. To call it on the same
    /// `Once` inside `f` is a deadlock. Go's `Do`.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run); and as
    /// `f` does.
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        if !self.is_completed() {
            self.call_slow(f);
        }
    }

    #[cold]
    #[track_caller]
    fn call_slow(&self, f: impl FnOnce()) {
        struct Unlock<'a>(&'a RawMutex);
        impl Drop for Unlock<'_> {
            fn drop(&mut self) {
                self.0.unlock();
            }
        }
        self.running.lock();
        let _unlock = Unlock(&self.running);
        if !self.is_completed() {
            f();
            // Release: pairs with the acquire in is_completed, after which what `f` did is visible.
            self.done.store(true, Ordering::Release);
        }
    }

    /// Whether a function has run.
    #[inline]
    pub fn is_completed(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }
}

impl Default for Once {
    fn default() -> Self {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("completed", &self.is_completed()).finish()
    }
}

/// A value that is set once.
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the value moves with the cell: the thread that drops it needn't be the one that set it.
unsafe impl<T: Send> Send for OnceLock<T> {}
// SAFETY: threads that share the cell share the value (Sync), which another one may have set (Send).
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// A cell without a value.
    pub const fn new() -> Self {
        OnceLock { once: Once::new(), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// The value, if it is set.
    pub fn get(&self) -> Option<&T> {
        // SAFETY: completed says that the value was written; it isn't written again while `self` is shared.
        self.once.is_completed().then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// The value, if it is set.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: completed says that the value was written.
        self.once.is_completed().then(|| unsafe { self.value.get_mut().assume_init_mut() })
    }

    /// Sets the value. If somebody else is about to, this waits for that.
    ///
    /// # Errors
    /// If there is a value already: the new one is returned.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("called once"));
        value.map_or(Ok(()), Err)
    }

    /// The value; if there is none, first sets it to what `f` returns. Others that call this meanwhile wait.
    /// If `f` panics, there is no value, and the next caller's `f` is called.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run); and as
    /// `f` does.
    #[track_caller]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        self.once.call_once(|| {
            let value = f();
            // SAFETY: call_once runs one function at a time and none after it, and nobody reads before that.
            unsafe { (*self.value.get()).write(value) };
        });
        // SAFETY: call_once has returned, so the value was written.
        unsafe { (*self.value.get()).assume_init_ref() }
    }

    /// Takes the value out; the cell has none then.
    pub fn take(&mut self) -> Option<T> {
        if !self.once.is_completed() {
            return None;
        }
        self.once = Once::new();
        // SAFETY: it was completed, so the value was written; the new Once says that there is none.
        Some(unsafe { self.value.get_mut().assume_init_read() })
    }

    /// The value, if it is set; the cell is gone.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let cell = OnceLock::new();
        let _ = cell.set(value);
        cell
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => out.field(value),
            None => out.field(&format_args!("<uninit>")),
        };
        out.finish()
    }
}
