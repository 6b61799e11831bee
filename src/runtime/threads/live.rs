//! Whether threads are goroutines: in this process, on and off.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, fence};
#[cfg(pthreads)]
use std::sync::{Mutex, PoisonError};

use crate::runtime::base::debug::threads_off;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::started;
#[cfg(pthreads)]
use crate::runtime::stdpark::gate::set_threads_live;
use crate::runtime::stdpark::gate::{live as waits_park, park_std_waits};
#[cfg(pthreads)]
use crate::runtime::threads::locks::check::prepare;
use crate::runtime::tls;

#[cfg(pthreads)]
pub(super) use crate::runtime::stdpark::gate::threads_live as live;

/// Whether the program has called [`make_threads_goroutines`](crate::make_threads_goroutines).
static WANTED: AtomicBool = AtomicBool::new(false);

/// Starts the runtime: a function of a higher floor. Set before [`WANTED`].
static START: OnceLock<fn() -> io::Result<()>> = OnceLock::new();

/// Whether a thread starts the runtime by [`START`], or has failed to.
#[cfg(pthreads)]
static STARTING: AtomicBool = AtomicBool::new(false);

/// Makes threads goroutines, from the first one on that this process makes. Its maker starts the
/// runtime by `start`, unless the runtime has started. Fails where threads can't be goroutines.
pub(in crate::runtime) fn want(start: fn() -> io::Result<()>) -> io::Result<()> {
    if !cfg!(pthreads) {
        let why =
            "threads can't be goroutines here: this takes glibc, no sanitizer, and not a static program";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    park_std_waits()?;
    START.get_or_init(|| start);
    WANTED.store(true, Ordering::Relaxed);
    // Pairs with go_live_if_wanted: if the runtime starts at this moment, either the start sees
    // this, or this sees the start.
    fence(Ordering::SeqCst);
    if started() { go_live_if_wanted() } else { Ok(()) }
}

/// Whether threads are goroutines, after the start of the runtime if this process makes its first
/// thread. Called where a thread is made and threads aren't goroutines yet.
#[cfg(pthreads)]
#[cold]
#[inline(never)]
pub(super) fn live_with_first_thread() -> bool {
    let Some(start) = START.get() else { return false };
    // In a child of `fork` the runtime has started and doesn't run. The start itself makes threads,
    // too. Acquire and release: the start is over when another thread looks.
    if started() || STARTING.swap(true, Ordering::Acquire) {
        return live();
    }
    let result = if started() { Ok(()) } else { start() };
    if let Err(error) = &result {
        eprintln!("gosched: threads aren't goroutines: {error}");
    }
    // After an error the flag stays, so that the next thread doesn't try again.
    STARTING.store(result.is_err(), Ordering::Release);
    live()
}

/// Makes threads goroutines, if the program or the environment has asked for it. Called when the
/// runtime has started.
pub(in crate::runtime) fn go_live_if_asked(start: fn() -> io::Result<()>) {
    let by_environment = std::env::var_os("GOSCHED_THREADS").is_some_and(|value| value == "1");
    let made = if by_environment { want(start) } else { go_live_if_wanted() };
    if let Err(error) = made {
        eprintln!("gosched: threads aren't goroutines: {error}");
    }
}

fn go_live_if_wanted() -> io::Result<()> {
    /// Held by the thread that goes live, so that only one does.
    #[cfg(pthreads)]
    static GOES_LIVE: Mutex<()> = Mutex::new(());

    fence(Ordering::SeqCst);
    // In a child of `fork` no wait parks, and the lock may be one of the parent's threads'.
    if !WANTED.load(Ordering::Relaxed) || threads_off() || !waits_park() {
        return Ok(());
    }
    tls::works()?;
    #[cfg(pthreads)]
    {
        let _one = GOES_LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        if !live() {
            prepare()?;
            set_threads_live();
        }
    }
    Ok(())
}
