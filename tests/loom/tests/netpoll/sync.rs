//! Stand-in for the face `sync`: a mutex that is never contended in a model.

use std::sync::{Mutex as StdMutex, MutexGuard};

#[derive(Default)]
pub(crate) struct Mutex<T>(StdMutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(StdMutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.try_lock().unwrap()
    }
}
