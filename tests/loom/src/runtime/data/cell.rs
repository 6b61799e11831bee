//! The cells of the runtime's structs: a model fails if two threads use a cell at once, and nothing
//! orders them, or if it ends while another thread may still use it. `data/mod.rs` takes this file
//! in place of its own.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::rc::Rc;

use loom::cell;

use crate::runtime::data::atomic::{Objects, Place, Use};

thread_local! {
    static CELLS: Objects<cell::UnsafeCell<()>> = const { Objects::new() };
}

pub(super) fn begin_run() {
    CELLS.with(|cells| cells.begin_run(cell::UnsafeCell::default));
}

/// A cell. loom knows its uses, and its value is here. In a static, it gets its first value back
/// when a run uses it that isn't the first to do so.
pub struct Cell<T> {
    value: UnsafeCell<T>,
    first: UnsafeCell<MaybeUninit<T>>,
    place: Place,
}

impl<T> Cell<T> {
    pub const fn new(value: T) -> Self {
        Cell {
            value: UnsafeCell::new(value),
            first: UnsafeCell::new(MaybeUninit::uninit()),
            place: Place::new(),
        }
    }

    #[track_caller]
    fn in_loom(&self) -> Rc<cell::UnsafeCell<()>> {
        let (value, first) = (self.value.get().cast::<MaybeUninit<T>>(), self.first.get());
        // SAFETY: both places have room for a value. No other thread of the model goes on
        // meanwhile.
        match self.place.use_of() {
            Use::First => unsafe { first.copy_from(value, 1) },
            Use::FirstOfRun => unsafe { value.copy_from(first, 1) },
            Use::Later => {}
        }
        CELLS.with(|cells| cells.of(&self.place))
    }

    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        self.in_loom().with_mut(|_| ());
        // SAFETY: loom has checked that no other use is concurrent, and this ends before another
        // thread of the model goes on.
        unsafe { self.value.get().replace(value) }
    }

    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }
}

impl<T: Copy> Cell<T> {
    #[track_caller]
    pub fn get(&self) -> T {
        self.in_loom().with(|_| ());
        // SAFETY: as above.
        unsafe { *self.value.get() }
    }

    #[track_caller]
    pub fn update(&self, f: impl FnOnce(T) -> T) {
        self.set(f(self.get()));
    }
}

impl<T> Drop for Cell<T> {
    fn drop(&mut self) {
        CELLS.with(|cells| cells.end(&self.place, |cell| cell.with_mut(|_| ())));
    }
}

impl<T: Default> Default for Cell<T> {
    fn default() -> Self {
        Cell::new(T::default())
    }
}

impl<T> From<T> for Cell<T> {
    fn from(value: T) -> Self {
        Cell::new(value)
    }
}

impl<T> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cell")
    }
}
