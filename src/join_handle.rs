//! Handles of goroutines, and what comes out of them.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::current::Goexit;
use crate::panic::fatal;
use crate::proc::join::{drop_handle, ended, wait};
use crate::runtime2::G;
use crate::wait::must_wait;

/// What a goroutine ends with: its result, or what it panicked with.
pub(crate) type Outcome<T> = Result<T, Box<dyn Any + Send>>;

/// Drops what nobody asked for; says whether it was a panic.
pub(crate) fn drop_outcome<T>(outcome: Outcome<T>) -> bool {
    let panicked = matches!(&outcome, Err(payload) if !payload.is::<Goexit>());
    if catch_unwind(AssertUnwindSafe(|| drop(outcome))).is_err() {
        fatal("a goroutine's result panicked when it was dropped");
    }
    panicked
}

/// The handle of a goroutine. Dropping it lets the goroutine go on; its result will be
/// dropped.
pub struct JoinHandle<T> {
    gp: &'static G,
    result: PhantomData<Outcome<T>>,
}

// SAFETY: it is used through atomics, and passes on a T, which is Send.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle only asks whether the goroutine has ended.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// The handle of a new goroutine.
    ///
    /// # Safety
    /// Its result is a `T`, and it has no other handle.
    #[inline(always)]
    pub(crate) unsafe fn new(gp: &'static G) -> Self {
        JoinHandle { gp, result: PhantomData }
    }

    /// Waits until the goroutine has ended, and returns its result.
    ///
    /// # Errors
    /// If it panicked, or ended by [`goexit`](crate::goexit).
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[track_caller]
    pub fn join(self) -> Result<T, JoinError> {
        if !ended(self.gp) {
            let _guest = must_wait("join");
            wait(self.gp);
        }
        let mut outcome = MaybeUninit::uninit();
        // SAFETY: the goroutine has ended: its result is in the slot, and we take it once.
        self.consume(|slot_outcome| {
            outcome.write(slot_outcome);
        });
        // SAFETY: it has ended, so the closure was called.
        unsafe { outcome.assume_init() }.map_err(|payload| JoinError { payload })
    }

    /// Whether the goroutine has ended.
    pub fn is_finished(&self) -> bool {
        ended(self.gp)
    }

    /// Drops the handle; if the goroutine has ended, passes its outcome to `take`.
    #[inline(always)]
    pub(crate) fn consume(self, take: impl FnOnce(Outcome<T>)) {
        let gp = self.gp;
        std::mem::forget(self);
        release(gp, take);
    }
}

#[inline(always)]
fn release<T>(gp: &'static G, take: impl FnOnce(Outcome<T>)) {
    // SAFETY: drop_handle calls this when the goroutine has ended: the outcome is in its slot,
    // and the handle's, of which there is one.
    drop_handle(gp, || take(unsafe { gp.ext.slot.take() }));
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        release(self.gp, |outcome: Outcome<T>| {
            drop_outcome(outcome);
        });
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("goid", &self.gp.goid.get()).finish_non_exhaustive()
    }
}

/// Why a goroutine has no result.
pub struct JoinError {
    payload: Box<dyn Any + Send>,
}

impl JoinError {
    /// Whether it panicked.
    pub fn is_panic(&self) -> bool {
        !self.is_goexit()
    }

    /// Whether it ended by [`goexit`](crate::goexit).
    pub fn is_goexit(&self) -> bool {
        self.payload.is::<Goexit>()
    }

    /// What it panicked with.
    ///
    /// # Panics
    /// If it didn't panic.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        assert!(self.is_panic(), "gosched: the goroutine didn't panic, but ended by goexit");
        self.payload
    }

    /// Panics with what it panicked with.
    ///
    /// # Panics
    /// Always.
    #[track_caller]
    pub fn resume_panic(self) -> ! {
        resume_unwind(self.into_panic())
    }

    /// The message of the panic, if it is a text, as it is with `panic!`.
    fn message(&self) -> Option<&str> {
        let text = self.payload.downcast_ref::<&str>().copied();
        text.or_else(|| self.payload.downcast_ref::<String>().map(String::as_str))
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            _ if self.is_goexit() => f.write_str("goroutine ended by goexit"),
            Some(message) => write!(f, "goroutine panicked: {message}"),
            None => f.write_str("goroutine panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}
