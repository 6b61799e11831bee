//! The cells of the runtime's structs. They are std's, except under ThreadSanitizer, which can't
//! know what orders their uses: that they belong to one P, for example, which goes from thread to
//! thread. So it doesn't see their reads and writes.

#[cfg(not(tsan))]
pub use std::cell::Cell;
#[cfg(tsan)]
pub use tsan::Cell;

#[cfg(tsan)]
mod tsan {
    use std::cell::UnsafeCell;
    use std::ffi::c_void;
    use std::fmt::{self, Debug, Formatter};
    use std::mem::{ManuallyDrop, MaybeUninit};

    unsafe extern "C" {
        /// ThreadSanitizer's own `memcpy`.
        fn __sanitizer_internal_memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void;
    }

    /// A cell with the methods of [`std::cell::Cell`] that the runtime uses.
    #[repr(transparent)]
    #[derive(Default)]
    pub struct Cell<T>(UnsafeCell<T>);

    impl<T> Cell<T> {
        /// Returns a cell with this value.
        pub const fn new(value: T) -> Self {
            Cell(UnsafeCell::new(value))
        }

        /// Replaces the value, and drops the old one.
        pub fn set(&self, value: T) {
            drop(self.replace(value));
        }

        /// Replaces the value, and returns the old one.
        pub fn replace(&self, value: T) -> T {
            let (new, mut old) = (ManuallyDrop::new(value), MaybeUninit::uninit());
            // SAFETY: there is no reference into the cell. This copies its value out, and a value
            // of the same type in; neither is used at its old place.
            unsafe {
                copy_unobserved(self.0.get(), &raw mut old);
                copy_unobserved((&raw const new).cast::<T>(), self.0.get().cast());
                old.assume_init()
            }
        }

        /// Replaces the value by the default, and returns the old one.
        pub fn take(&self) -> T
        where
            T: Default,
        {
            self.replace(T::default())
        }

        /// Returns a pointer to the value.
        pub const fn as_ptr(&self) -> *mut T {
            self.0.get()
        }
    }

    impl<T: Copy> Cell<T> {
        /// Returns the value.
        pub fn get(&self) -> T {
            let mut value = MaybeUninit::uninit();
            // SAFETY: as in `replace`; the value may be copied.
            unsafe {
                copy_unobserved(self.0.get(), &raw mut value);
                value.assume_init()
            }
        }

        /// Replaces the value by the result of `f`.
        pub fn update(&self, f: impl FnOnce(T) -> T) {
            self.set(f(self.get()));
        }
    }

    impl<T: Copy + Debug> Debug for Cell<T> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            f.debug_tuple("Cell").field(&self.get()).finish()
        }
    }

    /// Copies a value. ThreadSanitizer doesn't see that.
    ///
    /// # Safety
    /// There is a value at `from`, and room for one at `to`.
    unsafe fn copy_unobserved<T>(from: *const T, to: *mut MaybeUninit<T>) {
        // SAFETY: as the caller says; the two places don't overlap.
        unsafe { __sanitizer_internal_memcpy(to.cast(), from.cast(), size_of::<T>()) };
    }
}
