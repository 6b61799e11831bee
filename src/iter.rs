//! Iterators over values that a function yields: Go's package `iter`.
//!
//! ```
//! use gosched::iter::{Yielder, pull};
//!
//! enum Tree {
//!     Leaf,
//!     Node(Box<(Tree, u32, Tree)>),
//! }
//!
//! /// Yields what is in the tree, in order.
//! fn walk(tree: &Tree, out: &Yielder<u32>) {
//!     if let Tree::Node(node) = tree {
//!         walk(&node.0, out);
//!         out.yield_(node.1);
//!         walk(&node.2, out);
//!     }
//! }
//!
//! let leaf = |n| Tree::Node(Box::new((Tree::Leaf, n, Tree::Leaf)));
//! let tree = Tree::Node(Box::new((leaf(1), 2, leaf(3))));
//! gosched::run(|| {
//!     let values = pull(move |out| walk(&tree, out));
//!     assert_eq!(values.collect::<Vec<_>>(), [1, 2, 3]);
//! });
//! ```

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::io;
use std::iter::FusedIterator;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::thread::panicking;

use crate::goroutine::{Builder, cannot, move_out, not_a_goroutine};
use crate::runtime::{
    Coro, Inherited, call_on_begin, coroswitch, coroswitch_of_two, goroutine, newcoro, on_goroutine, tsan,
    unwire, whoami,
};

/// Makes an iterator of the values that `f` yields. Go's `iter.Pull`.
///
/// `f` runs on a goroutine of its own, a *generator*, but never at the same time as the code that
/// iterates: each [`next`](Iterator::next) resumes it until it yields a value; the first one starts
/// it. `f` may recurse, park, and use other such iterators. Its
/// [thread-locals](crate#thread-locals) are its own.
///
/// A value costs two switches, directly from one goroutine to the other, and no memory. The
/// iterator costs one goroutine, as [`go`](crate::go()) makes it, and one allocation.
/// [`Builder::pull`] gives the generator a name or a larger stack.
///
/// It can be called on any thread once the runtime has started.
///
/// ```
/// gosched::run(|| {
///     let fibonacci = gosched::iter::pull(|out| {
///         let (mut a, mut b) = (0, 1);
///         loop {
///             out.yield_(a);
///             (a, b) = (b, a + b);
///         }
///     });
///     assert_eq!(fibonacci.skip(10).step_by(10).take(3).collect::<Vec<u64>>(), [55, 6765, 832_040]);
/// });
/// ```
///
/// # Panics
/// If the runtime hasn't started, or there is no memory for a goroutine; [`Builder::pull`] returns
/// that as an error.
#[track_caller]
pub fn pull<F, T>(f: F) -> Pull<T>
where
    F: FnOnce(&Yielder<T>) + Send + 'static,
    T: Send + 'static,
{
    match Builder::new().pull(f) {
        Ok(pull) => pull,
        Err(error) => cannot("iter::pull", &error),
    }
}

impl Builder {
    /// Makes an iterator of the values that `f` yields: see [`iter::pull`](pull).
    ///
    /// ```
    /// gosched::run(|| {
    ///     let walker = gosched::Builder::new().name("walker").stack_size(8 << 20);
    ///     let values = walker.pull(|out| (1..=3).for_each(|n| out.yield_(n * n)));
    ///     assert_eq!(values.unwrap().collect::<Vec<_>>(), [1, 4, 9]);
    /// });
    /// ```
    ///
    /// # Errors
    /// As [`go`](Self::go).
    #[track_caller]
    pub fn pull<F, T>(self, f: F) -> io::Result<Pull<T>>
    where
        F: FnOnce(&Yielder<T>) + Send + 'static,
        T: Send + 'static,
    {
        let mut f = Some(f);
        let kind = self.kind()?;
        let shared = Box::new(Shared {
            coro: Coro::new(),
            value: Cell::new(None),
            payload: Cell::new(None),
            stopped: Cell::new(false),
            done: Cell::new(false),
        });
        let arg = NonNull::from(&*shared).as_ptr().cast();
        let inherited = Inherited::new();
        let gp = newcoro(&shared.coro, body::<F, T>, arg, kind, &self.maker(Location::caller()))?;
        inherited.give(gp);
        // SAFETY: the G is new: nobody has switched to it, so its slot is empty, and this
        // function's alone.
        unsafe { tsan::ignore_accesses(|| move_out(&mut f, gp.ext.slot.place())) };
        Ok(Pull { shared: NonNull::from(Box::leak(shared)) })
    }
}

/// The state that the iterator and its generator share. One of the two waits while the other uses
/// it.
struct Shared<T> {
    coro: Coro,
    /// The value that was yielded, until `next` takes it.
    value: Cell<Option<T>>,
    /// The payload, if the generator has panicked.
    payload: Cell<Option<Box<dyn Any + Send>>>,
    /// Set when the iterator is dropped: the generator has to end.
    stopped: Cell<bool>,
    /// Set when the generator has ended, or is about to.
    done: Cell<bool>,
}

/// The payload that a generator unwinds with when it has to end.
struct Stopped;

/// The function of a generator's goroutine.
unsafe extern "C" fn body<F, T>(_: *mut Coro, shared: *mut c_void)
where
    F: FnOnce(&Yielder<T>),
{
    // SAFETY: Builder::pull passes the Shared, and the Pull frees it only after this has ended.
    let shared = unsafe { &*shared.cast::<Shared<T>>() };
    let (gp, _) = goroutine();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: Builder::pull put an F there before anybody could switch to this goroutine.
        let f = unsafe { gp.ext.slot.take::<F>() };
        if !shared.stopped.get() {
            call_on_begin(gp);
            f(&Yielder { shared });
        }
    }));
    unwire(gp);
    shared.payload.set(outcome.err().filter(|payload| !payload.is::<Stopped>()));
    shared.done.set(true);
}

/// Yields the values of a generator: the argument of [`pull`]'s function.
///
/// It can't be passed to another goroutine:
///
/// ```compile_fail
/// gosched::iter::pull(|out| {
///     gosched::scope(|s| {
///         s.go(|| out.yield_(1));
///     });
/// });
/// ```
pub struct Yielder<'a, T> {
    /// Invariant in `T`, by the cell that values are put into; neither `Send` nor `Sync`.
    shared: &'a Shared<T>,
}

impl<T> Yielder<'_, T> {
    /// Passes `value` to the iterator, and waits until `next` is called again.
    ///
    /// If the iterator is dropped instead, this doesn't return: the generator unwinds as by
    /// [`goexit`](crate::goexit), so that destructors run. A `catch_unwind` stops that until the
    /// next `yield_`. In a destructor that runs while the generator unwinds, `yield_` drops the
    /// value and returns.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let mut lines = gosched::iter::pull(|out| {
    ///         out.yield_("first");
    ///         unreachable!("nobody asks for a second one");
    ///     });
    ///     assert_eq!(lines.next(), Some("first"));
    /// });
    /// ```
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking), where nothing can wait.
    #[track_caller]
    pub fn yield_(&self, value: T) {
        if !self.shared.stopped.get() {
            let (Some(gp), Some(mp)) = whoami() else { not_a_goroutine("iter::Yielder::yield_") };
            self.shared.value.set(Some(value));
            // SAFETY: this runs in the coroutine, so the coroutine hasn't ended, and exists until
            // it has. Only the iterator's owner switches in it, too.
            unsafe { coroswitch_of_two(gp, mp, &self.shared.coro) };
        }
        if self.shared.stopped.get() {
            unwind();
        }
    }
}

#[cold]
fn unwind() {
    if !panicking() {
        resume_unwind(Box::new(Stopped));
    }
}

impl<T> fmt::Debug for Yielder<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Yielder").finish_non_exhaustive()
    }
}

/// An iterator of the values that a generator yields. Made by [`pull`].
///
/// It can be sent to another goroutine, or thread. After the last value, `next` returns `None`,
/// however often it is called.
///
/// ```
/// use gosched::iter::{Pull, pull};
///
/// fn countdown(from: u32) -> Pull<u32> {
///     pull(move |out| (0..from).rev().for_each(|n| out.yield_(n)))
/// }
///
/// gosched::run(|| {
///     let (even, odd): (Vec<_>, Vec<_>) = countdown(5).partition(|n| n % 2 == 0);
///     assert_eq!((even, odd), (vec![4, 2, 0], vec![3, 1]));
/// });
/// ```
///
/// # Panics
/// `next` panics on a thread that isn't a goroutine's, and inside [`blocking`](crate::blocking). A
/// panic in the generator goes on in the `next` that was waiting for it. So does a
/// [`goexit`](crate::goexit), which ends the caller, too. The iterator is at its end then.
///
/// # Dropping it
/// If the generator hasn't ended, it is unwound, and the destructors on its stack have run when the
/// drop returns. A panic in one of them aborts the process, as in any destructor that unwinding
/// calls. There may be another panic: the generator stops the unwinding by a `catch_unwind`, and
/// then panics; or it hadn't begun, and the drop of its function panics. Such a panic goes on in
/// the caller, unless the caller is panicking already. (A goroutine that drops an iterator while it
/// panics keeps its thread meanwhile, like any that parks then.) If it is dropped on a thread that
/// isn't a goroutine's, or inside [`blocking`](crate::blocking), the generator is unwound later.
///
/// If it is leaked, the generator waits forever.
///
/// With `panic = "abort"` there is no unwinding: dropping it before its end aborts the process,
/// unless the generator hasn't begun.
#[must_use = "an iterator does nothing until it is asked for a value"]
pub struct Pull<T: Send + 'static> {
    shared: NonNull<Shared<T>>,
}

// SAFETY: the Pull's owner uses the shared data only while the generator waits. F and T, which go
// from one goroutine to the other, are Send (`pull` requires that).
unsafe impl<T: Send> Send for Pull<T> {}
// SAFETY: a `&Pull` gives access to nothing.
unsafe impl<T: Send> Sync for Pull<T> {}

impl<T: Send> Iterator for Pull<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        // SAFETY: it is freed when self is dropped.
        let shared = unsafe { self.shared.as_ref() };
        if shared.done.get() {
            return None;
        }
        let (Some(gp), Some(mp)) = whoami() else { not_a_goroutine("iter::Pull::next") };
        // SAFETY: the generator hasn't ended, as `done` isn't set; self, which is this goroutine's
        // alone, keeps the coroutine.
        unsafe { coroswitch_of_two(gp, mp, &shared.coro) };
        let value = shared.value.take();
        if value.is_none()
            && let Some(payload) = shared.payload.take()
        {
            resume_unwind(payload);
        }
        value
    }
}

impl<T: Send> FusedIterator for Pull<T> {}

impl<T: Send> Drop for Pull<T> {
    fn drop(&mut self) {
        // SAFETY: it is freed below, and not used after that.
        let shared = unsafe { self.shared.as_ref() };
        if !shared.done.get() {
            if !on_goroutine() {
                return drop_on_a_goroutine(Pull { shared: self.shared });
            }
            shared.stopped.set(true);
            // SAFETY: the generator hasn't ended, as `done` isn't set; it is freed below, when it
            // has.
            unsafe { coroswitch(&shared.coro) };
        }
        let payload = shared.payload.take();
        // SAFETY: Builder::pull leaked the box, and the generator has ended, so nobody else has it.
        drop(unsafe { Box::from_raw(self.shared.as_ptr()) });
        if let Some(payload) = payload
            && !panicking()
        {
            resume_unwind(payload);
        }
    }
}

/// Drops a `Pull` on a new goroutine, which can wait for the generator.
#[cold]
fn drop_on_a_goroutine<T: Send>(pull: Pull<T>) {
    let pull = ManuallyDrop::new(pull);
    // If there is no memory for a goroutine, the Pull is leaked.
    let _ = Builder::new().go_alone(move || drop(ManuallyDrop::into_inner(pull)));
}

impl<T: Send> fmt::Debug for Pull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pull").finish_non_exhaustive()
    }
}
