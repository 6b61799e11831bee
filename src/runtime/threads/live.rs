//! Whether threads are goroutines: in this process, on and off.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use crate::runtime::base::debug::threads_off;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::started;
use crate::runtime::stdpark::gate::{park_std_waits, set_threads_live};
#[cfg(pthreads)]
use crate::runtime::threads::locks::check::prepare;
use crate::runtime::tls;

#[cfg(pthreads)]
pub(super) use crate::runtime::stdpark::gate::threads_live as live;

/// Whether the program has called [`make_threads_goroutines`] before the runtime has started.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Makes threads goroutines: those of `std::thread`, and those that C code makes by
/// `pthread_create`. Available with the feature `threads`. Implies
/// [`park_std_waits`](crate::park_std_waits).
///
/// ```
/// use std::sync::mpsc;
/// use std::thread;
///
/// gosched::make_threads_goroutines().unwrap();
/// gosched::run(|| {
///     let (tx, rx) = mpsc::channel();
///     let sums = thread::spawn(move || rx.iter().sum::<u32>());
///     (1..=10).for_each(|i| tx.send(i).unwrap());
///     drop(tx);
///     assert_eq!(sums.join().unwrap(), 55);
/// });
/// ```
///
/// # Errors
/// - Where threads can't be goroutines: under a sanitizer, in a static program, and with a C
///   library other than glibc ([`Unsupported`](io::ErrorKind::Unsupported)).
/// - Those of [`park_std_waits`](crate::park_std_waits).
pub fn make_threads_goroutines() -> io::Result<()> {
    if !cfg!(pthreads) {
        let why =
            "threads can't be goroutines here: this takes glibc, no sanitizer, and not a static program";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    park_std_waits()?;
    WANTED.store(true, Ordering::Relaxed);
    // Pairs with go_live_if_wanted: if the runtime starts at this moment, either the start sees
    // this, or this sees the start.
    fence(Ordering::SeqCst);
    if started() { go_live_if_wanted() } else { Ok(()) }
}

/// Makes threads goroutines, if the program or the environment has asked for it. Called when the
/// runtime has started.
pub(in crate::runtime) fn make_threads_goroutines_if_wanted() {
    let by_environment = std::env::var_os("GOSCHED_THREADS").is_some_and(|value| value == "1");
    let made = if by_environment { make_threads_goroutines() } else { go_live_if_wanted() };
    if let Err(error) = made {
        eprintln!("gosched: threads aren't goroutines: {error}");
    }
}

fn go_live_if_wanted() -> io::Result<()> {
    fence(Ordering::SeqCst);
    if WANTED.load(Ordering::Relaxed) && !threads_off() {
        tls::works()?;
        #[cfg(pthreads)]
        prepare()?;
        set_threads_live();
    }
    Ok(())
}
