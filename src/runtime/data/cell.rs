//! The cells of the runtime's structs: std's, but under ThreadSanitizer. What orders their uses it
//! can't know, that they are those of one P, say, which goes from thread to thread. So it doesn't
//! see what is read and written in them.

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

    /// What [`std::cell::Cell`] is, as far as the runtime uses it.
    #[repr(transparent)]
    #[derive(Default)]
    pub struct Cell<T>(UnsafeCell<T>);

    impl<T> Cell<T> {
        /// A cell with this value.
        pub const fn new(value: T) -> Self {
            Cell(UnsafeCell::new(value))
        }

        /// Replaces the value, which it drops.
        pub fn set(&self, value: T) {
            drop(self.replace(value));
        }

        /// Replaces the value, which it returns.
        pub fn replace(&self, value: T) -> T {
            let (new, mut old) = (ManuallyDrop::new(value), MaybeUninit::uninit());
            // SAFETY: copies a value out of the cell, of which no reference exists, and one of its
            // type in; neither is used where it was.
            unsafe {
                copy_unobserved(self.0.get(), &raw mut old);
                copy_unobserved((&raw const new).cast::<T>(), self.0.get().cast());
                old.assume_init()
            }
        }

        /// Replaces the value by the default, and returns it.
        pub fn take(&self) -> T
        where
            T: Default,
        {
            self.replace(T::default())
        }

        /// A pointer to the value.
        pub const fn as_ptr(&self) -> *mut T {
            self.0.get()
        }
    }

    impl<T: Copy> Cell<T> {
        /// The value.
        pub fn get(&self) -> T {
            let mut value = MaybeUninit::uninit();
            // SAFETY: as in `replace`; the value may be copied.
            unsafe {
                copy_unobserved(self.0.get(), &raw mut value);
                value.assume_init()
            }
        }

        /// Replaces the value by what `f` makes of it.
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
        // SAFETY: as the caller says; two places that don't overlap.
        unsafe { __sanitizer_internal_memcpy(to.cast(), from.cast(), size_of::<T>()) };
    }
}
