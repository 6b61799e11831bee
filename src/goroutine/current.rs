//! What a goroutine can do and ask about itself, and how one that computes for long lets others
//! run.

use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;

use crate::runtime::runtime2::G;
use crate::runtime::{self, MAX_GOMAXPROCS, getg, must_wait, on_goroutine, where_nothing_parks};

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

/// Panics: `what` needs a goroutine, and the caller is on none, or where it can't park.
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

/// Lets others run if it is time for that: for loops that compute for long. It takes a few
/// instructions.
///
/// A loop without checks keeps nobody from running for long, either: after 10 ms it is
/// [detached](crate::proc::preemption) by a signal, and waits for its turn as another thread. With
/// checks it needs no thread of its own and no signal, and others wait for less.
///
/// On a thread that isn't a goroutine's it does nothing, and inside of
/// [`blocking`](crate::blocking) neither. It may go on on another thread, as at each point where a
/// goroutine waits.
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
/// A goroutine that computes for 10 ms in code where nobody can stop it is
/// [detached](crate::proc::preemption), and waits for its turn on a thread of its own. Where `max`
/// of them wait, any other keeps its processor for a second at a time instead; a line on stderr
/// says so, once. A goroutine whose thread sleeps is detached in any case: others may have what it
/// waits for. [`set_max_threads`](crate::proc::set_max_threads) bounds the threads for all
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

/// [`goid`] where there may be no goroutine: none on a thread that isn't a goroutine's. For what
/// any code may call, such as a logger.
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
/// control group (as a rule a container's) if that is lower: the quota divided by the period,
/// rounded up, but at least
/// 2. Of nested groups the lowest limit counts. `GODEBUG=containermaxprocs=0` ignores control
///    groups.
/// Go's `runtime.GOMAXPROCS(0)`, as it is since 1.25.
///
/// So it goes on: if either changes while the program runs, the number follows within about a
/// second; later if no goroutine runs, as nobody is woken for that. It doesn't once it was set, by
/// the variable or by [`set_gomaxprocs`], until [`set_default_gomaxprocs`]; nor with
/// `GODEBUG=updatemaxprocs=0`.
///
/// What the process may use is what a thread of the runtime's may use that runs no goroutine. A
/// container that is given other processors, or `taskset --all-tasks --pid`, changes that; what
/// binds a single thread, the main thread as `taskset --pid` does, or a [locked](lock_os_thread)
/// one, doesn't. A process that is moved to another control group keeps to the limit of the first;
/// so it does if its descriptors are closed behind the runtime's back.
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

/// Sets how many goroutines can run at once, the number of P's; returns what it was. It waits until
/// every running goroutine has come to a point at which it can be stopped. From then on the number
/// stays as it is, whatever the process may use. Go's `runtime.GOMAXPROCS`.
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
    let _guest = must_wait("set_gomaxprocs");
    runtime::set_gomaxprocs(n.get() as i32) as usize
}

/// Has as many P's as there are by default, whatever the environment variable says: it undoes
/// [`set_gomaxprocs`], and from now on the number follows what the process may use, as
/// [`gomaxprocs`] says. If it does already, it is brought up to date at once. Go's
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
/// While there is an [exploration](crate::explore), the number is noted for later, as that of
/// [`set_gomaxprocs`] is.
///
/// # Panics
/// Inside [`blocking`](crate::blocking); and before the first call of [`run`](crate::run).
#[track_caller]
pub fn set_default_gomaxprocs() {
    let _guest = must_wait("set_default_gomaxprocs");
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
/// If the goroutine ends without having unlocked (the guard was leaked), its thread ends, too, as
/// its state may have been changed. For the same reason new threads are never made by a locked one.
///
/// The thread sleeps while its goroutine is parked: so each locked goroutine costs a thread, and
/// each switch to it is one of the kernel's.
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
        // Unless the thread ends, with its goroutine, and this is the destructor of a thread-local.
        if getg().is_some() {
            runtime::unlock_os_thread();
        }
    }
}
