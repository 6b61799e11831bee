//! Whether waits of std's park, in this process.

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering, fence};

use crate::runtime::arch::sanitizer::SANITIZED;
use crate::runtime::base::debug::std_park_off;
use crate::runtime::base::this::started;
use crate::runtime::signal::handler::move_handlers;
use crate::runtime::stdpark::descriptors::make_table;
use crate::runtime::stdpark::handlers::note_handlers;

/// A byte in pages of its own, as large as pages are on any of the architectures.
#[repr(C, align(65536))]
struct Pages {
    live: AtomicU8,
    rest: [u8; (64 << 10) - 1],
}

/// 1 in the process that has turned it on, and 0 in its children: the kernel clears the page there,
/// however they are made. (A child of `vfork` has the same memory; so `vfork` is `fork`.)
static PAGES: Pages = Pages { live: AtomicU8::new(0), rest: [0; (64 << 10) - 1] };

/// Whether the program has asked for it before the runtime has started.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Whether waits park in this process.
#[inline(always)]
pub(in crate::runtime) fn live() -> bool {
    PAGES.live.load(Ordering::Relaxed) != 0
}

/// Has waits of std's own code, and of C code, park the goroutine instead of its thread. From then
/// on such a wait holds no thread. With the feature `std`.
///
/// - `std::sync`'s locks, conditions, barriers and channels, `thread::park`, `thread::sleep`,
///   `thread::yield_now`;
/// - sockets of `std::net` and `std::os::unix::net`, pipes, terminals, standard streams;
/// - `Child::wait`, and the output of a `Command`;
/// - what crates and C libraries build on the same calls of the C library: `syscall(SYS_futex)`,
///   `recv`, `send`, `read`, `write`, `accept`, `connect`, `poll`, `select`, `epoll_wait`,
///   `waitpid`, `nanosleep` and the like.
///
/// A descriptor that is closed while a goroutine waits for it ends the wait with `EBADF`, where a
/// thread would wait on. No signal ends a wait with `EINTR`. In an
/// [exploration](crate::explore#std) std's clocks and random numbers are the run's. A wait for a
/// socket ends the process there, as the exploration knows nothing of it.
///
/// Call it once, as a rule at the beginning of `main`. Libraries don't: it changes how the whole
/// program waits. Where the environment variable `GOSCHED_STD` is 1, a program with the feature
/// does it without this call. `GODEBUG=stdpark=0` has the call do nothing.
///
/// A wait parks on a goroutine with [thread-locals of its own](crate#thread-locals), as they are by
/// default, but not inside [`blocking`](crate::blocking), in a signal handler, or in a child of
/// `fork`: there it blocks the thread, as without this call. `docs/any-crate.md` has the table of
/// what parks and what doesn't.
///
/// Handlers of signals that the program installs from then on by `sigaction` or `signal` run on the
/// thread's signal stack (`SA_ONSTACK`), as those that are there when the runtime starts do.
///
/// ```
/// use std::sync::mpsc;
///
/// gosched::park_std_waits().unwrap();
/// gosched::run(|| {
///     let (tx, rx) = mpsc::channel();
///     let sums = gosched::go(move || rx.iter().sum::<u32>());
///     (1..=10).for_each(|i| tx.send(i).unwrap());
///     drop(tx);
///     assert_eq!(sums.join().unwrap(), 55);
/// });
/// ```
///
/// # Errors
/// - Under a sanitizer, which has these functions itself
///   ([`Unsupported`](io::ErrorKind::Unsupported)).
/// - That of `madvise(MADV_WIPEONFORK)`, which Linux has since 4.14. Without it a child of `fork`
///   would wait for goroutines that it doesn't have.
/// - That of `mmap`, if there is no room for the table of descriptors.
pub fn park_std_waits() -> io::Result<()> {
    if SANITIZED {
        let why =
            "under a sanitizer, which replaces the same functions of the C library, std's waits can't park";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    make_table()?;
    let pages: *mut c_void = ptr::from_ref(&PAGES).cast_mut().cast();
    // SAFETY: the pages have nothing but the byte, for which 0 is right in a child.
    if unsafe { libc::madvise(pages, size_of::<Pages>(), libc::MADV_WIPEONFORK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if !WANTED.swap(true, Ordering::Relaxed) {
        // SAFETY: the handler stores to an atomic.
        unsafe { libc::pthread_atfork(None, None, Some(leave_child_of_fork)) };
    }
    // Pairs with go_live_if_wanted: a start of the runtime at this moment sees this, or is seen
    // here.
    fence(Ordering::SeqCst);
    if started() {
        go_live_if_wanted();
    }
    Ok(())
}

/// Clears the mark in a child of `fork`, as the kernel does. An emulator may take the advice and
/// not follow it.
unsafe extern "C" fn leave_child_of_fork() {
    PAGES.live.store(0, Ordering::Relaxed);
}

/// Goes live, if the program or the environment has asked for it. Once the runtime has started.
pub(in crate::runtime) fn go_live_if_wanted() {
    fence(Ordering::SeqCst);
    if WANTED.load(Ordering::Relaxed) && !std_park_off() {
        note_handlers(move_handlers());
        PAGES.live.store(1, Ordering::Release);
    }
}
