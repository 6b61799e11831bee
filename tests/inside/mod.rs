//! What the tests that run inside this process share.
#![allow(dead_code, reason = "no test file uses all of it")]

pub mod counting;

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use gosched::chan::bounded;
use gosched::runtime2::{G, GWAITING};
use gosched::{JoinHandle, go, proc, yield_now};

/// [`gosched::run`], with the promise that it asks for.
pub fn run<T: Send>(main: impl FnOnce() -> T + Send) -> T {
    // SAFETY: nothing in these tests keeps a thread-local across a point that can park.
    unsafe { gosched::run(main) }
}

/// Runs `f` on a goroutine, and returns when it waits in there.
pub fn go_until_it_waits<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let (tx, rx) = bounded(1);
    let handle = go(move || {
        tx.send(proc::getg().expose_provenance()).unwrap();
        f()
    });
    let gp: *mut G = std::ptr::with_exposed_provenance_mut(rx.recv().unwrap());
    // SAFETY: G's are never freed.
    while unsafe { proc::readgstatus(gp) } != GWAITING {
        yield_now();
    }
    handle
}

/// Panics without a message on stderr.
pub fn unwind<T>(f: impl FnOnce() -> T) {
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _kept = f();
        resume_unwind(Box::new(()))
    }));
    assert!(unwound.is_err());
}

pub fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        yield_now();
    }
}

/// What a raw goroutine gets, as it gets it.
pub fn arg<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}
