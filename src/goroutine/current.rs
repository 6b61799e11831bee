//! Functions that a goroutine calls to act on itself or to ask about itself.

use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;

use crate::runtime::runtime2::G;
use crate::runtime::{self, MAX_GOMAXPROCS, getg, must_run, on_goroutine, where_nothing_parks};

/// The payload that [`goexit`] unwinds with.
pub(crate) struct Goexit;

/// The running goroutine, also inside [`blocking`](crate::blocking). None on g0, whose goid is 0.
pub(super) fn running() -> Option<&'static G> {
    getg().filter(|gp| gp.goid.get() != 0)
}

/// Panics if the caller isn't on a goroutine that could park.
#[inline(always)]
#[track_caller]
pub(super) fn need_goroutine(what: &str) {
    if !on_goroutine() {
        not_a_goroutine(what);
    }
}

/// Panics: `what` needs a goroutine, and the caller is on none, or can't park.
#[cold]
#[track_caller]
pub(crate) fn not_a_goroutine(what: &str) -> ! {
    match where_nothing_parks() {
        Some(place) => panic!("gosched::{what} can't be called inside {place}: call it outside"),
        None => {
            panic!("gosched::{what} called on a thread that isn't a goroutine's: use it inside gosched::run")
        }
    }
}

/// Lets other goroutines run: this one goes to the end of the global queue. Go's `runtime.Gosched`.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static READY: AtomicBool = AtomicBool::new(false);
///
/// gosched::run(|| {
///     gosched::go(|| READY.store(true, Ordering::Relaxed));
///     while !READY.load(Ordering::Relaxed) {
///         gosched::yield_now();
///     }
/// });
/// ```
///
/// # Panics
/// If it isn't called on a goroutine, or is inside [`blocking`](crate::blocking).
#[track_caller]
pub fn yield_now() {
    need_goroutine("yield_now");
    // SAFETY: need_goroutine has returned, so this is one.
    unsafe { runtime::gosched() }
}

/// Lets others run if the goroutine was asked to stop, for instance because its time slice is over:
/// for loops that compute for long. It takes a few instructions.
///
/// A loop without checks doesn't hold up others for long, either. After 10 ms a signal
/// [detaches](crate::proc::preemption) it, and it waits for its turn on a thread of its own. With
/// checks it needs no such thread and no signal, and others wait less.
///
/// It does nothing on a thread that isn't a goroutine's, and inside of
/// [`blocking`](crate::blocking). The goroutine may go on on another thread, as at each point where
/// it waits.
///
/// ```
/// let numbers = vec![1_u64; 1000];
/// let mut sum = 0;
/// for number in numbers {
///     gosched::check();
///     sum += number * number;
/// }
/// assert_eq!(sum, 1000);
/// ```
#[inline(always)]
pub fn check() {
    runtime::stop_if_asked();
}

/// Sets how many goroutines that compute may wait for their turn at once, and returns the limit
/// until now: 2,000 at first.
///
/// A goroutine that computes for 10 ms in code where it can't be stopped is
/// [detached](crate::proc::preemption), and waits for its turn on a thread of its own. While `max`
/// goroutines wait so, any other keeps its P for a second at a time instead; a line on stderr says
/// so, once. A goroutine whose thread sleeps is detached in any case: it may wait for another
/// goroutine. [`set_max_threads`](crate::proc::set_max_threads) bounds the threads for all
/// purposes, and ends the process.
///
/// ```
/// let before = gosched::set_max_detached(100);
/// assert_eq!(before, 2000);
/// ```
pub fn set_max_detached(max: usize) -> usize {
    runtime::set_max_detached(max)
}

/// Ends the running goroutine; destructors on its stack run. Go's `runtime.Goexit`.
///
/// It unwinds as a panic does, without a message, also out of [`blocking`](crate::blocking): a
/// `catch_unwind` stops it. With `panic = "abort"` there is no unwinding, and the process ends.
///
/// ```
/// fn read_all(lines: &[&str]) {
///     for line in lines {
///         if line.is_empty() {
///             gosched::goexit(); // from any depth
///         }
///     }
/// }
///
/// gosched::run(|| {
///     let reader = gosched::go(|| read_all(&["one", "", "two"]));
///     assert!(reader.join().unwrap_err().is_goexit());
/// });
/// ```
///
/// # Panics
/// If it isn't called on a goroutine. If it ends the main goroutine, [`run`](crate::run)
/// panics, as it has no value to return.
#[track_caller]
pub fn goexit() -> ! {
    if running().is_none() {
        not_a_goroutine("goexit");
    }
    resume_unwind(Box::new(Goexit))
}

/// The number of the running goroutine, also inside [`blocking`](crate::blocking): unique in the
/// process, never 0. Go's `goid`, which reports show.
///
/// ```
/// gosched::run(|| {
///     let child = gosched::go(gosched::goid);
///     assert_ne!(child.join().unwrap(), gosched::goid());
/// });
/// ```
///
/// # Panics
/// If it isn't called on a goroutine.
#[track_caller]
pub fn goid() -> u64 {
    match try_goid() {
        Some(goid) => goid,
        None => not_a_goroutine("goid"),
    }
}

/// [`goid`], or `None` on a thread that isn't a goroutine's. For functions that any code may call,
/// such as a logger's.
///
/// ```
/// fn line(text: &str) -> String {
///     gosched::try_goid().map_or(text.to_owned(), |goid| format!("goroutine {goid}: {text}"))
/// }
///
/// assert_eq!(line("begins"), "begins");
/// gosched::run(|| assert!(line("works").starts_with("goroutine ")));
/// ```
pub fn try_goid() -> Option<u64> {
    running().map(|gp| gp.goid.get())
}

/// The number of goroutines that have not ended: an estimate while others are made, or end. Go's
/// `runtime.NumGoroutine`.
///
/// ```
/// use gosched::chan::bounded;
///
/// gosched::run(|| {
///     let (tx, rx) = bounded::<()>(0);
///     let waits = gosched::go(move || rx.recv());
///     assert_eq!(gosched::num_goroutine(), 2);
///     drop(tx);
///     waits.join().unwrap().unwrap_err();
/// });
/// ```
pub fn num_goroutine() -> usize {
    if runtime::started() { runtime::gcount() as usize } else { 0 }
}

/// How many goroutines can run at once: the number of P's. It is 0 before the runtime has started.
///
/// When the runtime starts, the environment variable `GOMAXPROCS` decides, if it is a positive
/// number. Otherwise it is the number of processors that the process may use, or the limit of its
/// control group (as a rule a container's) if that is lower. The limit is the quota divided by the
/// period, rounded up, and at least two. Of nested groups the lowest limit counts.
/// `GODEBUG=containermaxprocs=0` ignores control groups. Go's `runtime.GOMAXPROCS(0)`, as it is
/// since 1.25.
///
/// If the processors or the limit change while the program runs, the number follows within about a
/// second. While no goroutine runs it follows later, because no thread is woken for that. It
/// doesn't follow if it was set by the variable or by [`set_gomaxprocs`], until
/// [`set_default_gomaxprocs`] is called, nor with `GODEBUG=updatemaxprocs=0`.
///
/// The processors of the process are those that a thread of the runtime's may use that runs no
/// goroutine. They change if a container gets other processors, or by `taskset --all-tasks --pid`.
/// They don't change if a single thread is bound: the main thread, as by `taskset --pid`, or a
/// [locked](lock_os_thread) one. A process that is moved to another control group keeps the limit
/// of the first group. It also does if its descriptors are closed behind the runtime's back.
///
/// ```
/// gosched::run(|| {
///     let parts = gosched::gomaxprocs(); // more would only wait for each other
///     assert!(parts >= 1);
/// });
/// ```
pub fn gomaxprocs() -> usize {
    runtime::wanted_procs() as usize
}

/// Sets how many goroutines can run at once, the number of P's; returns the former number. It waits
/// until every running goroutine has come to a point at which it can be stopped. After that the
/// number no longer follows the processors of the process. Go's `runtime.GOMAXPROCS`.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// gosched::run(|| {
///     let before = gosched::set_gomaxprocs(NonZeroUsize::MIN);
///     // What is made here runs one after the other.
///     assert_eq!(gosched::gomaxprocs(), 1);
///     gosched::set_gomaxprocs(NonZeroUsize::new(before).unwrap());
/// });
/// ```
///
/// While there is an [exploration](crate::explore), which has one P for itself, the number is noted
/// for later. In the exploration it is 1, and setting it does nothing.
///
/// # Panics
/// If `n` is more than 16,384, the most P's that there can be; inside
/// [`blocking`](crate::blocking); and before the first call of [`run`](crate::run), where the
/// environment variable is the way to set it.
#[track_caller]
pub fn set_gomaxprocs(n: NonZeroUsize) -> usize {
    assert!(
        n.get() <= MAX_GOMAXPROCS as usize,
        "gosched::set_gomaxprocs: {n} is more than {MAX_GOMAXPROCS}, the most P's that there can be"
    );
    let _guest = must_run("set_gomaxprocs");
    runtime::set_gomaxprocs(n.get() as i32) as usize
}

/// Sets the number of P's to its default, whatever the environment variable says. It undoes
/// [`set_gomaxprocs`]: from now on the number follows the processors of the process, as
/// [`gomaxprocs`] says. If it does already, this brings it up to date at once. Go's
/// `runtime.SetDefaultGOMAXPROCS`.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// gosched::run(|| {
///     let before = gosched::gomaxprocs();
///     gosched::set_gomaxprocs(NonZeroUsize::MIN);
///     // What is made here runs one after the other.
///     gosched::set_default_gomaxprocs();
///     assert_eq!(gosched::gomaxprocs(), before);
/// });
/// ```
///
/// While there is an [exploration](crate::explore), the number is noted for later, as with
/// [`set_gomaxprocs`].
///
/// # Panics
/// Inside [`blocking`](crate::blocking); and before the first call of [`run`](crate::run).
#[track_caller]
pub fn set_default_gomaxprocs() {
    let _guest = must_run("set_default_gomaxprocs");
    runtime::set_default_gomaxprocs();
}

/// While it lives, its goroutine is locked to its thread: see [`lock_os_thread`]. Dropping it is
/// Go's `runtime.UnlockOSThread`.
///
/// ```
/// gosched::run(|| {
///     let outer = gosched::lock_os_thread();
///     drop(gosched::lock_os_thread()); // one of two: it is still locked
///     drop(outer);
/// });
/// ```
#[must_use = "dropping this unlocks the thread"]
#[derive(Debug)]
pub struct OsThreadLock {
    /// Not `Send`: the goroutine that has locked has to unlock.
    not_send: PhantomData<*const ()>,
}

/// Locks the running goroutine to the thread that it is on: the goroutine runs on no other thread,
/// and the thread runs no other goroutine. For libraries that keep state in the thread. Locks nest.
/// Go's `runtime.LockOSThread`.
///
/// If the goroutine ends without having unlocked (the guard was leaked), its thread ends, too,
/// because the thread's state may have been changed. For the same reason a locked thread never
/// makes a new thread.
///
/// The thread sleeps while its goroutine is parked. So each locked goroutine costs a thread, and
/// the kernel switches threads for each switch to it.
///
/// ```
/// use std::fs::read_link;
///
/// gosched::run(|| {
///     let _locked = gosched::lock_os_thread();
///     let thread = read_link("/proc/thread-self").unwrap();
///     gosched::yield_now();
///     assert_eq!(read_link("/proc/thread-self").unwrap(), thread);
/// });
/// ```
///
/// # Panics
/// If it isn't called on a goroutine, or is inside [`blocking`](crate::blocking).
#[track_caller]
pub fn lock_os_thread() -> OsThreadLock {
    need_goroutine("lock_os_thread");
    runtime::lock_os_thread();
    OsThreadLock { not_send: PhantomData }
}

impl Drop for OsThreadLock {
    fn drop(&mut self) {
        // None if the thread ends with its goroutine, and this is the destructor of a thread-local.
        if getg().is_some() {
            runtime::unlock_os_thread();
        }
    }
}
