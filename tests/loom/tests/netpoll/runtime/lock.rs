//! Stand-in for the runtime's locks.

use loom::sync::{Condvar, Mutex as LoomMutex};

use crate::runtime::data::runtime2::Mutex;

impl Mutex {
    pub(crate) fn new() -> Self {
        Mutex { held: LoomMutex::new(false), free: Condvar::new() }
    }
}

pub(crate) fn lock(l: &Mutex) {
    let mut held = l.held.lock().unwrap();
    while *held {
        held = l.free.wait(held).unwrap();
    }
    *held = true;
}

pub(crate) fn unlock(l: &Mutex) {
    *l.held.lock().unwrap() = false;
    l.free.notify_one();
}
