//! A pointer that goes where Rust wouldn't let it.

/// The pointer is copied, sent and shared. Nothing keeps its target alive, nor other code from
/// using that.
pub struct Alias<T>(*mut T);

impl<T> Clone for Alias<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Alias<T> {}

// SAFETY: it is only an address. Each use of it says why the use is allowed, or that it isn't.
unsafe impl<T> Send for Alias<T> {}

// SAFETY: the same.
unsafe impl<T> Sync for Alias<T> {}

impl<T> Alias<T> {
    pub fn new(pointer: *mut T) -> Self {
        Alias(pointer)
    }

    /// Points to memory that some code has to free.
    pub fn boxed(value: T) -> Self {
        Alias(Box::into_raw(Box::new(value)))
    }

    pub fn get(self) -> *mut T {
        self.0
    }
}
