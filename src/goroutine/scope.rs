//! Goroutines that borrow from the one that makes them.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit, forget, take};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use crate::context::{Canceler, Context};
use crate::goroutine::current::{need_goroutine, yield_now};
use crate::goroutine::join_handle::{catch_into, discard_in};
use crate::goroutine::{AbortHandle, Builder, JoinError, JoinHandle, cannot};
use crate::runtime::runtime2::G;
use crate::runtime::{
    Ended, Extent, Inherited, Run, abort, abort_scopes_of, current_run, end_with_run, getg, is_aborted_here,
    outside_of_run, unwind_to_run,
};
use crate::sync::WaitGroup;
use crate::sync::short_mutex::ShortMutex;

/// Makes goroutines that borrow: see [`scope`].
///
/// ```
/// use gosched::{Scope, ScopedJoinHandle};
///
/// fn add<'scope>(s: &'scope Scope<'scope, '_>, numbers: &'scope [u32]) -> ScopedJoinHandle<'scope, u32> {
///     s.go(move || numbers.iter().sum())
/// }
///
/// gosched::run(|| {
///     let numbers = [1, 2, 3, 4];
///     let (low, high) = numbers.split_at(2);
///     let sums = gosched::scope(|s| [add(s, low), add(s, high)].map(|sum| sum.join().unwrap()));
///     assert_eq!(sums, [3, 7]);
/// });
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    running: WaitGroup,
    /// Whether a goroutine has panicked that wasn't joined.
    panicked: AtomicBool,
    /// The run that the scope is in. Its goroutines are in it, too, wherever they are made: the end
    /// of another run, which may be over before the scope is, must not be the scope's.
    run: Option<Run>,
    /// Whether a goroutine ended with that run.
    aborted: AtomicBool,
    /// The goid of the goroutine that waits for those of the scope, and whether it was aborted.
    owner: u64,
    owner_aborted: AtomicBool,
    // `&mut` makes both lifetimes invariant, as in std: neither may be shortened.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The goids of goroutines that were aborted, and whose scopes are to be.
static OWNERS: ShortMutex<Vec<u64>> = ShortMutex::new(Vec::new());

/// Runs `f`, which may make goroutines that borrow values that outlive this call, and waits for all
/// of them. Like `std::thread::scope`.
///
/// ```
/// gosched::run(|| {
///     let words = ["a", "bc", "def"];
///     let lengths = gosched::scope(|s| {
///         let handles = words.map(|word| s.go(move || word.len()));
///         handles.map(|handle| handle.join().unwrap())
///     });
///     assert_eq!(lengths, [1, 2, 3]);
/// });
/// ```
///
/// # Panics
/// If a goroutine of the scope has panicked and wasn't joined; as `f` does; and if it isn't called
/// on a goroutine, or is inside [`blocking`](crate::blocking).
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    need_goroutine("scope");
    let owner = getg().map_or(0, |gp| gp.goid.get());
    let scope = Scope {
        running: WaitGroup::new(),
        panicked: AtomicBool::new(false),
        run: current_run(),
        aborted: AtomicBool::new(false),
        owner,
        owner_aborted: AtomicBool::new(false),
        scope: PhantomData,
        env: PhantomData,
    };
    let (f, mut value) = (ManuallyDrop::new(f), MaybeUninit::uninit());
    // A panic is caught, because the goroutines that `f` has made borrow from the caller: the scope
    // waits for them first. SAFETY: `f` is moved out here, and isn't used again.
    let payload = catch_into(&mut value, || unsafe { ptr::read(&*f) }(&scope));
    let all_ended = scope.running.wait_until_end();
    if !all_ended {
        // The goroutines are in the caller's run, and end with it.
        if is_aborted_here() {
            scope.abort();
        }
        outside_of_run(|| scope.running.wait());
    }
    if let Some(payload) = payload {
        resume_unwind(payload);
    }
    // SAFETY: `f` has ended, without a panic.
    let value = unsafe { value.assume_init() };
    assert!(!scope.panicked.load(Ordering::Relaxed), "a scoped goroutine panicked");
    if !all_ended || scope.aborted.load(Ordering::Relaxed) {
        end_with_run();
    }
    value
}

/// [`scope`] for an `f` that may fail. If it does, or panics, the other goroutines of the scope are
/// aborted: they are in a [run](Context::run), which ends then. For goroutines that may fail
/// themselves there is [`err_group`](crate::sync::err_group).
///
/// ```
/// use std::num::ParseIntError;
/// use gosched::chan::never;
///
/// gosched::run(|| {
///     let result: Result<u32, ParseIntError> = gosched::try_scope(|s| {
///         s.go(|| never::<()>().recv()); // would wait forever
///         "four".parse()
///     });
///     assert!(result.is_err());
/// });
/// ```
///
/// # Errors
/// As `f` does.
///
/// # Panics
/// As [`scope`].
#[track_caller]
pub fn try_scope<'env, F, T, E>(f: F) -> Result<T, E>
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<T, E>,
{
    /// Ends the run when it is dropped.
    struct Fails<'a>(&'a mut Option<Canceler>);
    impl Drop for Fails<'_> {
        fn drop(&mut self) {
            drop(self.0.take());
        }
    }

    let (ctx, cancel) = Context::background().with_cancel();
    let (mut cancel, mut result) = (Some(cancel), None);
    // The scope unwinds to the run if a goroutine of it was aborted.
    let _ = ctx.run(|| {
        scope(|s| {
            let fails = Fails(&mut cancel);
            let value = f(s);
            if value.is_ok() {
                forget(fails);
            }
            result = Some(value);
        });
    });
    match result {
        Some(result) => result,
        // The run that the caller is in has ended `f`, which has ended this one.
        None => unwind_to_run(),
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Runs `f` on a new goroutine, which may borrow whatever outlives the scope.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// gosched::run(|| {
    ///     let done = AtomicU32::new(0);
    ///     gosched::scope(|s| {
    ///         s.go(|| {
    ///             s.go(|| done.fetch_add(1, Ordering::Relaxed)); // from inside of one, too
    ///             done.fetch_add(1, Ordering::Relaxed);
    ///         });
    ///     });
    ///     assert_eq!(done.into_inner(), 2);
    /// });
    /// ```
    ///
    /// # Panics
    /// If there is no memory for a goroutine; [`Builder::go_scoped`] returns that as an error.
    #[doc(alias = "spawn")]
    #[track_caller]
    pub fn go<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        match self.make_goroutine(Builder::new(), Location::caller(), &mut Some(f)) {
            Ok(handle) => handle,
            Err(error) => cannot("go", &error),
        }
    }

    pub(crate) fn make_goroutine<F, T>(
        &'scope self,
        builder: Builder,
        created_at: &'static Location<'static>,
        f: &mut Option<F>,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let ended = |_: &'static G, panicked| {
            if panicked {
                self.panicked.store(true, Ordering::Relaxed);
            }
            // Last: the scope may be gone after this.
            self.running.done();
        };
        let mut f = f.take().map(|f| self.in_extent_of_scope(f));
        // Counted off again if no goroutine is made, also if the clone of a value that it would
        // inherit panics.
        let counted = self.running.guard();
        // SAFETY: the values that F and T borrow live for 'scope, which isn't over before `scope`
        // returns. `scope` waits for the `done` of `ended`, the last access to the scope. The
        // handle can't outlive 'scope, either.
        let gp = unsafe { builder.make_goroutine(created_at, &mut f, ended, Inherited::new()) }?;
        forget(counted);
        // SAFETY: spawn made the G with a T for a result; this is its only handle.
        let handle = unsafe { JoinHandle::new(gp) };
        Ok(ScopedJoinHandle { handle: Some(handle), scope: &self.panicked })
    }

    /// Lets the running goroutine be found when the scope's owner is aborted.
    fn enter(&self) {
        let Some(gp) = getg() else { return };
        gp.ext.scope_of.store(self.owner, Ordering::Relaxed);
        // Pairs with the fence in `abort`, which may have missed this goroutine.
        fence(Ordering::SeqCst);
        if self.owner_aborted.load(Ordering::Relaxed) {
            abort(gp, gp.goid.get());
        }
    }

    /// Aborts the goroutines of the scope, whose owner was aborted.
    #[cold]
    fn abort(&self) {
        self.owner_aborted.store(true, Ordering::Relaxed);
        OWNERS.lock().push(self.owner);
        // Others that were aborted at the same time come to this place now. So one look at all
        // goroutines does for all.
        yield_now();
        let mut owners = take(&mut *OWNERS.lock());
        owners.sort_unstable();
        if !owners.is_empty() {
            fence(Ordering::SeqCst);
            abort_scopes_of(|goid| owners.binary_search(&goid).is_ok());
        }
    }

    /// Returns a function that calls `f` in the scope's run, with the values that the caller sees.
    fn in_extent_of_scope<F, T>(&'scope self, f: F) -> impl FnOnce() -> T + Send + 'scope
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let extent = Extent { run: self.run.clone(), ..Extent::current() };
        move || {
            self.enter();
            if extent.is_nothing() {
                return f();
            }
            let _entered = extent.enter();
            catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| {
                if payload.is::<Ended>() {
                    self.aborted.store(true, Ordering::Relaxed);
                }
                resume_unwind(payload)
            })
        }
    }
}

/// The handle of a goroutine of a scope.
///
/// ```
/// gosched::run(|| {
///     let text = String::from("a b c");
///     let words = gosched::scope(|s| {
///         let handle = s.go(|| text.split(' ').count());
///         handle.join().unwrap()
///     });
///     assert_eq!(words, 3);
/// });
/// ```
pub struct ScopedJoinHandle<'scope, T> {
    /// None once the goroutine was joined.
    handle: Option<JoinHandle<T>>,
    /// [`Scope::panicked`].
    scope: &'scope AtomicBool,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits until the goroutine has ended, and returns its result.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let text = String::from("forty-two");
    ///     // Joined, its panic isn't the scope's.
    ///     let number = gosched::scope(|s| s.go(|| text.parse::<u32>().unwrap()).join());
    ///     assert!(number.is_err());
    /// });
    /// ```
    ///
    /// # Errors
    /// If it panicked, or ended by [`goexit`](crate::goexit).
    #[track_caller]
    pub fn join(mut self) -> Result<T, JoinError> {
        match self.handle.take() {
            // The goroutine has ended with the run that the caller is in.
            Some(handle) => handle.join().inspect_err(|error| {
                if error.is_aborted() {
                    end_with_run();
                }
            }),
            None => unreachable!("a handle is joined once"),
        }
    }

    /// Aborts the goroutine, as [`JoinHandle::abort`] does. The scope, which waits for it, goes on.
    ///
    /// ```
    /// use gosched::chan::never;
    ///
    /// gosched::run(|| {
    ///     gosched::scope(|s| {
    ///         let hangs = s.go(|| never::<()>().recv());
    ///         hangs.abort();
    ///         assert!(hangs.join().unwrap_err().is_aborted());
    ///     });
    /// });
    /// ```
    pub fn abort(&self) {
        self.abort_handle().abort();
    }

    /// A handle that only aborts the goroutine, and may outlive the scope.
    ///
    /// ```
    /// use gosched::chan::never;
    ///
    /// gosched::run(|| {
    ///     let abort = gosched::scope(|s| {
    ///         let abort = s.go(|| never::<()>().recv()).abort_handle();
    ///         abort.abort();
    ///         abort
    ///     });
    ///     assert!(abort.is_finished());
    /// });
    /// ```
    pub fn abort_handle(&self) -> AbortHandle {
        match &self.handle {
            Some(handle) => handle.abort_handle(),
            None => unreachable!("a handle is joined once"),
        }
    }

    /// Whether the goroutine has ended.
    ///
    /// ```
    /// gosched::run(|| {
    ///     gosched::scope(|s| {
    ///         let handle = s.go(|| 42);
    ///         while !handle.is_finished() {
    ///             gosched::yield_now();
    ///         }
    ///         assert_eq!(handle.join().unwrap(), 42); // doesn't wait
    ///     });
    /// });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl<T> Drop for ScopedJoinHandle<'_, T> {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        handle.consume(|slot| {
            // SAFETY: the outcome is there, and the handle's.
            if unsafe { discard_in(slot) } {
                self.scope.store(true, Ordering::Relaxed);
            }
        });
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("running", &self.running).finish_non_exhaustive()
    }
}
