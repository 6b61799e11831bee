//! What a goroutine can do and ask about itself.

use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;

use crate::arch::getg;
use crate::proc;
use crate::proc::park::on_goroutine;
use crate::proc::procresize::MAX_GOMAXPROCS;
use crate::wait::must_wait;

/// What [`goexit`] unwinds with.
pub(crate) struct Goexit;

/// Panics if the caller isn't on a goroutine.
#[inline(always)]
#[track_caller]
pub(crate) fn need_goroutine(what: &str) {
    if !on_goroutine() {
        not_a_goroutine(what);
    }
}

#[cold]
#[track_caller]
pub(crate) fn not_a_goroutine(what: &str) -> ! {
    panic!("gosched::{what} called on a thread that isn't a goroutine's: use it inside gosched::run")
}

/// Lets other goroutines run, and goes on later. Go's `runtime.Gosched`.
///
/// # Panics
/// If it is called on no goroutine.
#[track_caller]
pub fn yield_now() {
    need_goroutine("yield_now");
    // SAFETY: on a goroutine.
    unsafe { proc::gosched::gosched() }
}

/// Ends the running goroutine; destructors on its stack run. Go's `runtime.Goexit`.
///
/// It unwinds as a panic does, without a message: a `catch_unwind` stops it. With
/// `panic = "abort"` there is no unwinding, and the process ends.
///
/// # Panics
/// If it is called on no goroutine. If it ends the main goroutine, [`run`](crate::run)
/// panics: it has no value to return.
#[track_caller]
pub fn goexit() -> ! {
    need_goroutine("goexit");
    resume_unwind(Box::new(Goexit))
}

/// The number of the running goroutine: unique in the process, never 0.
///
/// # Panics
/// If it is called on no goroutine.
#[track_caller]
pub fn goid() -> u64 {
    need_goroutine("goid");
    getg().map_or(0, |gp| gp.goid.get())
}

/// How many goroutines there are that have not ended; when others come and go, an estimate.
/// Go's `runtime.NumGoroutine`.
pub fn num_goroutine() -> usize {
    if proc::boot::started() { proc::gfree::gcount() as usize } else { 0 }
}

/// How many goroutines can run at once: how many P's there are. Before the runtime has
/// started, 0.
///
/// It is what the environment variable `GOMAXPROCS` says when the runtime starts, if that is a
/// positive number. Otherwise it is the number of processors that the process may use, or, if that
/// is less, how many its control group (a container's, as a rule) has time for: the quota over the
/// period, rounded up, but at least 2. Of nested groups the lowest limit counts.
/// `GODEBUG=containermaxprocs=0` ignores control groups. Go's `runtime.GOMAXPROCS(0)`, as it is since
/// 1.25.
pub fn gomaxprocs() -> usize {
    proc::procs::gomaxprocs() as usize
}

/// Sets how many goroutines can run at once; returns how many could before. It takes effect when every
/// goroutine that runs has come to a point where it could park. Go's `runtime.GOMAXPROCS`.
///
/// # Panics
/// If `n` is more than 16,384, which is more than the kernel has processors; inside
/// [`blocking`](crate::blocking); and before the first call of [`run`](crate::run), when the environment
/// variable is the way to set it.
#[track_caller]
pub fn set_gomaxprocs(n: NonZeroUsize) -> usize {
    let _guest = must_wait("set_gomaxprocs");
    assert!(
        n.get() <= MAX_GOMAXPROCS as usize,
        "gosched::set_gomaxprocs: {n} is more than {MAX_GOMAXPROCS}, the most P's that there can be"
    );
    proc::stw::set_gomaxprocs(n.get() as i32) as usize
}

/// A goroutine that is locked to its thread, until this is dropped. See [`lock_os_thread`].
#[must_use = "dropping this unlocks the thread"]
#[derive(Debug)]
pub struct OsThreadLock {
    /// It belongs to the goroutine that locked.
    not_send: PhantomData<*const ()>,
}

/// Locks the running goroutine to the thread that it is on: it runs nowhere else, and nothing
/// else runs there. For libraries that keep state in the thread. Nests. Go's
/// `runtime.LockOSThread`.
///
/// A goroutine that ends without having unlocked (the guard was leaked) takes the thread with it: it may have
/// changed it in ways that others don't expect. No new thread is made by one that is locked, for the same reason.
///
/// Such a thread sleeps while its goroutine is parked, so this costs a thread for each; and
/// each switch to it is the kernel's.
///
/// # Panics
/// If it is called on no goroutine.
#[track_caller]
pub fn lock_os_thread() -> OsThreadLock {
    need_goroutine("lock_os_thread");
    proc::lockosthread::lock_os_thread();
    OsThreadLock { not_send: PhantomData }
}

impl Drop for OsThreadLock {
    fn drop(&mut self) {
        proc::lockosthread::unlock_os_thread();
    }
}
