//! Blocking a thread without blocking a P.

use std::io::{self, ErrorKind};

use crate::proc::park::on_goroutine;
use crate::proc::syscall::{entersyscall, exitsyscall};

/// Calls `f`, which may block its thread, and lets other goroutines have this one's P meanwhile. For
/// whatever waits in the kernel or in a lock that isn't this crate's: a read from a file, a query of a
/// database, [`std::thread::sleep`], [`std::process::Command::output`].
///
/// If `f` is back soon, that is all: entering and leaving costs two changes of state, and no switch. If it
/// isn't, the monitor hands the P to another thread, after 20 µs at the earliest, and at the latest when it
/// next looks, 10 ms later; then the goroutine waits for a P when `f` is done. So there are as many threads
/// as there are goroutines in here, up to the limit of 10,000 (see
/// [`set_max_threads`](crate::proc::set_max_threads)).
///
/// Inside `f` this goroutine can make goroutines, and do whatever doesn't have to wait (`try_recv`, a send to
/// a channel with room). What would wait panics, and says so. A call inside another one just calls `f`, and
/// so does one on a thread that isn't a goroutine's. What Go's compiler puts around a system call, with
/// `entersyscall` and `exitsyscall`.
///
/// ```
/// # // SAFETY: no thread-local is kept across a point that can park.
/// # unsafe {
/// gosched::run(|| {
///     let text = gosched::blocking(|| std::fs::read_to_string("/proc/self/comm"));
///     assert!(text.is_ok());
/// })
/// # };
/// ```
///
/// # Panics
/// As `f` does.
pub fn blocking<R>(f: impl FnOnce() -> R) -> R {
    /// Leaves the system call, by a panic too.
    struct Exit;
    impl Drop for Exit {
        fn drop(&mut self) {
            // SAFETY: after entersyscall, in the same function.
            unsafe { exitsyscall() }
        }
    }

    if !on_goroutine() {
        return f();
    }
    // SAFETY: on a goroutine; what would park in `f` finds that there is no P, and panics.
    unsafe { entersyscall() };
    let _exit = Exit;
    f()
}

/// Calls `f`, as [`blocking`] does, again each time that a signal has interrupted it. Go's `ignoringEINTRIO`,
/// in `internal/poll/fd_unix.go`.
pub(crate) fn ignoring_eintr<R>(mut f: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match blocking(&mut f) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
