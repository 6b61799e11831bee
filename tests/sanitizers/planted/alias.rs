//! A pointer that goes where Rust would not let it.

/// It is copied, sent and shared, and nothing keeps what it points to, nor others from using it.
pub struct Alias<T>(*mut T);

impl<T> Clone for Alias<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Alias<T> {}

// SAFETY: it does nothing but to be an address. Who uses that says why it may, or that it may not.
unsafe impl<T> Send for Alias<T> {}

// SAFETY: the same.
unsafe impl<T> Sync for Alias<T> {}

impl<T> Alias<T> {
    pub fn new(pointer: *mut T) -> Self {
        Alias(pointer)
    }

    /// Of memory that is somebody's to free.
    pub fn boxed(value: T) -> Self {
        Alias(Box::into_raw(Box::new(value)))
    }

    pub fn get(self) -> *mut T {
        self.0
    }
}
