//! Goroutines that wait, and raw ones.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use gosched::chan::bounded;
use gosched::runtime2::{G, GWAITING};
use gosched::{JoinHandle, go, proc, yield_now};

/// Runs `f` on a goroutine, and returns when it waits in there, or has ended, as a short wait may on a slow machine.
pub fn go_until_it_waits<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let (tx, rx) = bounded(1);
    let handle = go(move || {
        tx.send(proc::getg().expose_provenance()).unwrap();
        f()
    });
    let gp: *mut G = std::ptr::with_exposed_provenance_mut(rx.recv().unwrap());
    // SAFETY: G's are never freed.
    while unsafe { proc::readgstatus(gp) } != GWAITING && !handle.is_finished() {
        yield_now();
    }
    handle
}

/// Runs `f` on a goroutine when the caller waits. For tests that go instruction by instruction.
#[cfg(target_arch = "x86_64")]
pub fn go_when_this_waits<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let this = proc::getg().expose_provenance();
    go(move || {
        let gp: *mut G = std::ptr::with_exposed_provenance_mut(this);
        // SAFETY: G's are never freed.
        while unsafe { proc::readgstatus(gp) } != GWAITING {
            yield_now();
        }
        f()
    })
}

/// Lets others run until the goroutine that has stored its G here waits. With one P, it then doesn't run
/// before the caller lets others run again.
pub fn until_it_waits(parked: &AtomicPtr<G>) -> *mut G {
    loop {
        let gp = parked.load(Ordering::Relaxed);
        // SAFETY: G's are never freed.
        if !gp.is_null() && unsafe { proc::readgstatus(gp) } == GWAITING {
            return gp;
        }
        yield_now();
    }
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
