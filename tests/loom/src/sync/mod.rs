//! The checked files of the face `sync`, and a stand-in for its mutex, which is never contended in
//! a model.

mod models_raw_mutex;
mod models_raw_rwlock;
mod models_wait_group;
#[path = "../../../../src/sync/raw_mutex.rs"]
mod raw_mutex;
#[path = "../../../../src/sync/raw_rwlock.rs"]
mod raw_rwlock;
#[path = "../../../../src/sync/wait_group.rs"]
mod wait_group;

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
