//! The atomics of the other models, and an array of them.
//!
//! As in the shipped code, a static may have an atomic here, and zeroed memory may be one. So an
//! atomic consists only of its initial value. The first thread of a run makes loom's atomics. Each
//! of our atomics gets one of them at its first use, by address.

#[allow(unused_imports, unused_macros, reason = "there are more than are modelled")]
#[path = "../../../../src/runtime/data/atomic.rs"]
mod common;

use std::cell::{Cell as StdCell, RefCell};
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;
/// Counters of events. They order nothing.
pub(crate) use std::sync::atomic::AtomicU64;
use std::thread::panicking;

pub(crate) use common::{AtomicBool, AtomicUsize, Cell, Ordering, fence, statics};

/// For atomics that aren't in a static.
pub(crate) type OwnAtomicU32 = common::AtomicU32;

/// How many atomics of a type a run may use.
const MOST: usize = 12;

/// loom's atomics, and the addresses of our atomics that have got one.
struct Places<A> {
    atomics: RefCell<Vec<Box<A>>>,
    addresses: RefCell<Vec<usize>>,
}

// SAFETY: all threads of a model run on one thread of the system's.
unsafe impl<A> Sync for Places<A> {}

impl<A> Places<A> {
    fn new(make: impl Fn() -> A) -> Self {
        let atomics = (0..MOST).map(|_| Box::new(make())).collect();
        Places { atomics: RefCell::new(atomics), addresses: RefCell::default() }
    }

    fn at(&self, address: usize) -> Option<usize> {
        self.addresses.borrow().iter().position(|&at| at == address)
    }

    /// Returns loom's atomic for an address. An address without one gets one.
    fn of(&self, address: usize) -> &A {
        let i = self.at(address).unwrap_or_else(|| {
            let mut addresses = self.addresses.borrow_mut();
            addresses.push(address);
            assert!(addresses.len() <= MOST, "a run uses more atomics");
            addresses.len() - 1
        });
        // SAFETY: it is in a box, which stays, and no reference coexists with a mutable use.
        unsafe { &*ptr::from_ref(&*self.atomics.borrow()[i]) }
    }

    /// Calls `f` for the atomic of an address, if it has one. After that the address has none.
    fn end(&self, address: usize, f: impl FnOnce(&mut A)) {
        if let Some(i) = self.at(address) {
            self.addresses.borrow_mut()[i] = 0;
            f(&mut self.atomics.borrow_mut()[i]);
        }
    }
}

loom::lazy_static! {
    static ref NUMBERS: Places<common::AtomicU32> = Places::new(|| common::AtomicU32::new(0));
    static ref POINTERS: Places<common::AtomicPtr<c_void>> =
        Places::new(|| common::AtomicPtr::new(ptr::null_mut()));
}

/// Checks a model: see `common`.
pub(crate) fn check(preemption_bound: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let model = Arc::new(model);
    common::check(preemption_bound, move || {
        // They are made here, so that their making orders no threads.
        let _ = (&*NUMBERS, &*POINTERS);
        model();
    });
}

/// A number, which starts as 0.
pub(crate) struct AtomicU32 {
    _zero: u32,
}

impl AtomicU32 {
    pub(crate) const fn new(value: u32) -> Self {
        assert!(value == 0);
        AtomicU32 { _zero: value }
    }
}

impl Deref for AtomicU32 {
    type Target = common::AtomicU32;

    fn deref(&self) -> &Self::Target {
        NUMBERS.of(ptr::from_ref(self).addr())
    }
}

/// A pointer, for example on the stack of a goroutine. A model fails if it ends while another
/// thread may still use it. In loom's atomic, null stands for its first value.
pub(crate) struct AtomicPtr<T> {
    first: *mut T,
    has_ended: StdCell<bool>,
}

// SAFETY: as above.
unsafe impl<T> Sync for AtomicPtr<T> {}

impl<T> AtomicPtr<T> {
    pub(crate) const fn new(value: *mut T) -> Self {
        AtomicPtr { first: value, has_ended: StdCell::new(false) }
    }

    fn of_loom(&self) -> &common::AtomicPtr<c_void> {
        assert!(!self.has_ended.get(), "a pointer is used that has ended");
        POINTERS.of(ptr::from_ref(self).addr())
    }

    fn in_loom(&self, value: *mut T) -> *mut c_void {
        assert!(!value.is_null() || self.first.is_null());
        if value == self.first { ptr::null_mut() } else { value.cast() }
    }

    fn value_of(&self, value: *mut c_void) -> *mut T {
        if value.is_null() { self.first } else { value.cast() }
    }

    #[track_caller]
    pub(crate) fn load(&self, order: Ordering) -> *mut T {
        self.value_of(self.of_loom().load(order))
    }

    #[track_caller]
    pub(crate) fn store(&self, value: *mut T, order: Ordering) {
        self.of_loom().store(self.in_loom(value), order);
    }

    #[track_caller]
    pub(crate) fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.of_loom()
            .compare_exchange(self.in_loom(current), self.in_loom(new), success, failure)
            .map(|old| self.value_of(old))
            .map_err(|now| self.value_of(now))
    }

    #[track_caller]
    pub(crate) fn fetch_update(
        &self,
        success: Ordering,
        failure: Ordering,
        mut f: impl FnMut(*mut T) -> Option<*mut T>,
    ) -> Result<*mut T, *mut T> {
        self.of_loom()
            .fetch_update(success, failure, |old| f(self.value_of(old)).map(|new| self.in_loom(new)))
            .map(|old| self.value_of(old))
            .map_err(|now| self.value_of(now))
    }
}

impl<T> Drop for AtomicPtr<T> {
    fn drop(&mut self) {
        self.has_ended.set(true);
        if !panicking() {
            POINTERS.end(ptr::from_ref(self).addr(), common::AtomicPtr::end_of_life);
        }
    }
}

/// An array whose values are made one by one.
macro_rules! array_of {
    [$value:expr; $n:expr] => { std::array::from_fn::<_, { $n }, _>(|_| $value) };
}

pub(crate) use array_of;
