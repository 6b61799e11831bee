//! Goroutines that wait, and raw ones.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use gosched::chan::bounded;
use gosched::runtime2::{G, GWAITING, WaitReason};
use gosched::{JoinHandle, dump_goroutines, go, num_goroutine, proc, yield_now};

/// Returns whether the G exists and waits in its call. A goroutine on its way there that waits for
/// its lost P doesn't count.
pub fn waits(gp: *mut G) -> bool {
    // SAFETY: G's are never freed.
    let Some(g) = (unsafe { gp.as_ref() }) else { return false };
    // SAFETY: the same.
    let is_waiting = || unsafe { proc::readgstatus(gp) } == GWAITING;
    // The reason is set before the status. The goroutine may have continued between the two looks
    // at the status.
    is_waiting() && g.waitreason.get() != WaitReason::Preempted && is_waiting()
}

/// Runs `f` on a goroutine. Returns when the goroutine waits in `f`, or has ended, as a short wait
/// may on a slow machine.
pub fn go_until_it_waits<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let (tx, rx) = bounded(1);
    let handle = go(move || {
        tx.send(proc::getg().expose_provenance()).unwrap();
        f()
    });
    let gp: *mut G = std::ptr::with_exposed_provenance_mut(rx.recv().unwrap());
    while !waits(gp) && !handle.is_finished() {
        yield_now();
    }
    handle
}

/// Runs `f` on a goroutine once the caller waits. For tests that step through instructions.
pub fn go_when_this_waits<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let this = proc::getg().expose_provenance();
    go(move || {
        let gp: *mut G = std::ptr::with_exposed_provenance_mut(this);
        while !waits(gp) {
            yield_now();
        }
        f()
    })
}

/// Lets others run until the goroutine that has stored its G in `parked` waits. With one P, that
/// goroutine then doesn't run before the caller lets others run again.
pub fn until_it_waits(parked: &AtomicPtr<G>) -> *mut G {
    loop {
        let gp = parked.load(Ordering::Relaxed);
        if waits(gp) {
            return gp;
        }
        yield_now();
    }
}

/// Waits until all goroutines but this one have left their stacks. A join returns before that. The
/// count may be wrong for a moment while dead G's are handed back.
pub fn others_ended() {
    wait_until(|| num_goroutine() == 1);
}

pub fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        yield_now();
    }
}

/// Blocks the thread for a while, even where std's sleeps park: they don't for this clock.
pub fn sleep_with_thread(time: Duration) {
    let mut time = libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: the kernel reads the time, and writes what is left if a signal ends the sleep.
    while unsafe { libc::clock_nanosleep(libc::CLOCK_TAI, 0, &time, &mut time) } == libc::EINTR {}
}

/// Returns a dump, which marks the goroutines that have lost their P.
pub fn dump_with_detached() -> String {
    let mut text = Vec::new();
    dump_goroutines(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Converts a reference to the argument of a raw goroutine.
pub fn arg<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}
