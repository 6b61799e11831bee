//! The pointer type that links the runtime's structs.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use crate::runtime::data::atomic::{AtomicPtr, Ordering};

/// A nullable pointer to something that lives as long as the process: Go's `*g`, `guintptr`,
/// `muintptr` and `puintptr` in one.
///
/// G's, M's, P's and sudogs are recycled and never freed, so a link is read as a plain
/// `&'static T`. (A future's sudog is freed, once it is in no queue any more.)
///
/// A link is atomic because a thread that doesn't own the struct around it may read it, as a
/// traceback or a thief does. [`get`](Self::get) and [`set`](Self::set) are relaxed: something else
/// always orders them, such as a lock, a G's status, or a queue's tail. Where a link itself
/// publishes, [`cas`](Self::cas), [`load`](Self::load) and [`store`](Self::store) are used.
///
/// Threads may share a link if they may share its target, as with a `&'static T`. A link to a
/// [`G`](crate::runtime2::G), an `M` or a `P` is neither `Send` nor `Sync`. The type of the struct
/// around it promises that threads may share the struct.
///
/// ```compile_fail,E0277
/// use gosched::runtime2::Link;
/// use std::rc::Rc;
///
/// let counted: Link<Rc<u32>> = Link::null();
/// std::thread::spawn(move || drop(counted.get().map(Rc::clone)));
/// ```
#[repr(transparent)]
pub struct Link<T: 'static>(AtomicPtr<T>, PhantomData<&'static T>);

/// A [`Link`] in a static.
#[repr(transparent)]
pub(in crate::runtime) struct SharedLink<T: 'static>(pub(in crate::runtime) Link<T>);

// SAFETY: a static's comment says what orders its uses. The link points to a struct of the
// scheduler, whose fields say which threads may touch them.
unsafe impl<T> Sync for SharedLink<T> {}

impl<T> Link<T> {
    /// Returns a null link.
    pub const fn null() -> Self {
        Link(AtomicPtr::new(ptr::null_mut()), PhantomData)
    }

    /// Returns the target of the link. Go's `ptr()`.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        as_ref(self.0.load(Ordering::Relaxed))
    }

    /// Points the link at `to`, or nowhere.
    #[inline(always)]
    pub fn set(&self, to: Option<&'static T>) {
        self.0.store(as_ptr(to), Ordering::Relaxed);
    }

    /// Whether the link points nowhere.
    #[inline(always)]
    pub fn is_null(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// Points the link at `new` if it points at `old`. Returns whether it did. Sequentially
    /// consistent: on `runnext`, this is the barrier of a thread that submits work
    /// (`sched/wake.rs`).
    #[inline(always)]
    pub fn cas(&self, old: Option<&'static T>, new: Option<&'static T>) -> bool {
        self.0.compare_exchange(as_ptr(old), as_ptr(new), Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Reads a link that publishes its target, in the given order.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> Option<&'static T> {
        as_ref(self.0.load(order))
    }

    /// Sets the link in the given order.
    #[inline(always)]
    pub fn store(&self, to: Option<&'static T>, order: Ordering) {
        self.0.store(as_ptr(to), order);
    }
}

#[inline(always)]
fn as_ptr<T>(to: Option<&'static T>) -> *mut T {
    to.map_or(ptr::null_mut(), |to| ptr::from_ref(to).cast_mut())
}

#[inline(always)]
fn as_ref<T>(from: *mut T) -> Option<&'static T> {
    // SAFETY: a link holds null or a pointer made from a `&'static T`, nothing else.
    unsafe { from.as_ref() }
}

impl<T> Default for Link<T> {
    fn default() -> Self {
        Link::null()
    }
}

impl<T> fmt::Debug for Link<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.0.load(Ordering::Relaxed), f)
    }
}
