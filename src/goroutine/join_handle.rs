//! [`JoinHandle`]: the handle of a goroutine, and its result.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::time::Duration;

use crate::goroutine::current::Goexit;
use crate::goroutine::outcome::{Outcome, Payload, discard_in, message};
use crate::goroutine::panic_mode::lose;
use crate::runtime::runtime2::G;
use crate::runtime::{
    Limit, drop_handle, ended, must_wait, nanos, point, wait_for_end, wait_for_end_limited, when,
};

/// The handle of a goroutine. If it is dropped, the goroutine goes on, and its result is dropped;
/// of a panic, nobody hears any more ([`set_panic_mode`](crate::set_panic_mode) can end the process
/// instead). (If the result's drop panics, it is a fatal error, as it is with a thread's: nobody is
/// there whose panic it could be.)
///
/// ```
/// gosched::run(|| {
///     let handles: Vec<_> = (1..=10).map(|i| gosched::go(move || i * i)).collect();
///     let sum: u32 = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
///     assert_eq!(sum, 385);
/// });
/// ```
pub struct JoinHandle<T> {
    gp: &'static G,
    /// Covariant in `T`, as the result only comes out.
    result: PhantomData<Outcome<T>>,
}

// SAFETY: it shares only atomics with the goroutine, until that has ended; the T that it returns is
// Send.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a `&JoinHandle` only reads an atomic: whether the goroutine has ended.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

// As std's. The result is what it is when the goroutine has ended.
impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// The handle of a new goroutine.
    ///
    /// # Safety
    /// [`Builder::spawn`](crate::Builder) made `gp` with a result of type `T`, and it has no other
    /// handle.
    #[inline(always)]
    pub(crate) unsafe fn new(gp: &'static G) -> Self {
        JoinHandle { gp, result: PhantomData }
    }

    /// Waits until the goroutine has ended, and returns its result.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let parsed = gosched::go(|| "42".parse::<u32>().unwrap());
    ///     assert_eq!(parsed.join().unwrap(), 42);
    ///
    ///     let failed = gosched::go(|| "forty-two".parse::<u32>().unwrap());
    ///     assert!(failed.join().is_err());
    /// });
    /// ```
    ///
    /// # Errors
    /// If it panicked, or ended by [`goexit`](crate::goexit).
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn join(self) -> Result<T, JoinError> {
        point("join");
        if !ended(self.gp) {
            let _guest = must_wait("join");
            wait_for_end(self.gp);
        }
        let mut outcome = MaybeUninit::uninit();
        // SAFETY: a place for the outcome, which is the handle's, and moved.
        self.consume(|slot| unsafe { ptr::copy_nonoverlapping(slot, outcome.as_mut_ptr(), 1) });
        // SAFETY: the goroutine has ended, so consume has called the closure.
        unsafe { outcome.assume_init_read() }.map_err(|payload| JoinError { payload })
    }

    /// [`join`](Self::join) with a time limit. When the time is over, the handle is in the error,
    /// and the goroutine goes on. With a context it is
    /// [`Context::join`](crate::context::Context::join).
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded::<u32>(0);
    ///     let handle = gosched::go(move || rx.recv());
    ///     let handle = handle.join_timeout(Duration::from_millis(1)).unwrap_err();
    ///     tx.send(7).unwrap();
    ///     assert_eq!(handle.join().unwrap(), Ok(7));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the goroutine hasn't ended when `timeout` is over.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn join_timeout(mut self, timeout: Duration) -> Result<Result<T, JoinError>, Self> {
        if !ended(self.gp) && !timeout.is_zero() {
            let _guest = must_wait("join_timeout");
            self.wait_limited(Limit::Time(when(nanos(timeout))));
        }
        if ended(self.gp) { Ok(self.join()) } else { Err(self) }
    }

    /// Waits until the goroutine has ended, or the limit has come. On a goroutine.
    pub(crate) fn wait_limited(&mut self, limit: Limit<'_>) {
        wait_for_end_limited(self.gp, limit);
    }

    /// The goroutine.
    pub(super) fn goroutine(&self) -> &'static G {
        self.gp
    }

    /// Whether the goroutine has ended.
    ///
    /// ```
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded::<()>(0);
    ///     let handle = gosched::go(move || rx.recv());
    ///     assert!(!handle.is_finished(), "it waits for a value");
    ///     drop(tx);
    ///     while !handle.is_finished() {
    ///         gosched::yield_now();
    ///     }
    /// });
    /// ```
    pub fn is_finished(&self) -> bool {
        point("is_finished");
        ended(self.gp)
    }

    /// Gives up the handle; if the goroutine has ended, `take` moves or drops its outcome.
    #[inline(always)]
    pub(super) fn consume(self, take: impl FnOnce(*mut Outcome<T>)) {
        let gp = self.gp;
        std::mem::forget(self);
        release(gp, take);
    }
}

/// Gives up the handle of `gp`, of which there is one, and whose result is a `T`.
#[inline(always)]
fn release<T>(gp: &'static G, take: impl FnOnce(*mut Outcome<T>)) {
    // SAFETY: drop_handle calls this once, if the goroutine has ended with the handle there: then
    // the outcome is in its slot, and the handle's alone. `take` moves or drops it.
    drop_handle(gp, || unsafe {
        take(gp.ext.slot.value());
        gp.ext.slot.clear::<Outcome<T>>();
    });
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it is there, and the handle's.
        release(self.gp, |slot: *mut Outcome<T>| lose(self.gp, unsafe { discard_in(slot) }));
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("goid", &self.gp.goid.get()).finish_non_exhaustive()
    }
}

/// Why a goroutine has no result: it panicked, or called [`goexit`](crate::goexit).
///
/// ```
/// gosched::run(|| {
///     let handle = gosched::go(|| [1, 2, 3].iter().position(|n| *n == 4).expect("there is a 4"));
///     let error = handle.join().unwrap_err();
///     assert_eq!(error.to_string(), "goroutine panicked: there is a 4");
/// });
/// ```
pub struct JoinError {
    payload: Payload,
}

// SAFETY: of a shared payload nothing is used but its type's name, and its text if it is a string,
// which may be shared.
unsafe impl Sync for JoinError {}

impl JoinError {
    /// Whether the goroutine panicked.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let error = gosched::go(|| assert_eq!(6 * 9, 42)).join().unwrap_err();
    ///     assert!(error.is_panic() && !error.is_goexit());
    /// });
    /// ```
    pub fn is_panic(&self) -> bool {
        !self.is_goexit()
    }

    /// Whether the goroutine ended by [`goexit`](crate::goexit).
    ///
    /// ```
    /// gosched::run(|| {
    ///     let handle = gosched::go(|| {
    ///         gosched::goexit();
    ///     });
    ///     assert!(handle.join().unwrap_err().is_goexit());
    /// });
    /// ```
    pub fn is_goexit(&self) -> bool {
        self.payload.is::<Goexit>()
    }

    /// The payload of the panic.
    ///
    /// ```
    /// use std::panic::panic_any;
    ///
    /// gosched::run(|| {
    ///     let handle = gosched::go(|| {
    ///         panic_any(404_u16);
    ///     });
    ///     let payload = handle.join().unwrap_err().into_panic();
    ///     assert_eq!(payload.downcast_ref::<u16>(), Some(&404));
    /// });
    /// ```
    ///
    /// # Panics
    /// If the goroutine ended by [`goexit`](crate::goexit).
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        assert!(self.is_panic(), "gosched: the goroutine didn't panic, but ended by goexit");
        self.payload
    }

    /// Panics with the payload of the goroutine's panic.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let outer = gosched::go(|| {
    ///         let inner = gosched::go(|| panic!("of the inner one"));
    ///         inner.join().unwrap_or_else(|error| error.resume_panic());
    ///     });
    ///     let error = outer.join().unwrap_err();
    ///     assert_eq!(error.to_string(), "goroutine panicked: of the inner one");
    /// });
    /// ```
    ///
    /// # Panics
    /// Always.
    #[track_caller]
    pub fn resume_panic(self) -> ! {
        resume_unwind(self.into_panic())
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match message(&*self.payload) {
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
