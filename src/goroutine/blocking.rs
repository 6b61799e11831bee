//! Blocking a thread without blocking a P.

use std::io::{self, ErrorKind};

use crate::runtime::{
    entersyscall, exitsyscall, explored_number, on_goroutine, stop_if_asked, with_signals_blocked,
};

/// Calls `f`, which may block its thread, and lets other goroutines have this one's P meanwhile.
/// Use it for everything that waits in the kernel, or for a lock that isn't this crate's:
/// [`std::fs::read`], a query of a database, [`std::thread::sleep`]. ([`fs`](crate::fs) and
/// [`io`](crate::io) do it themselves; [`net`](crate::net) and [`process`](crate::process) need no
/// thread that waits.) Go does the same around each system call (`entersyscall` and `exitsyscall`,
/// in `proc.go`). Without `blocking` others run, too, but the thread gets a
/// [signal](crate::proc::preemption#eintr) first.
///
/// If `f` returns soon, it costs two changes of state, and no switch. If it doesn't, the monitor
/// hands the P to another thread: after 20 µs at the earliest, after 10 ms at the latest. Then the
/// goroutine has to wait for a P when `f` has returned. Each goroutine in `blocking` takes a
/// thread; the limit is 10,000 (see [`set_max_threads`](crate::proc::set_max_threads)).
///
/// So it isn't always cheaper. Without it, a call that blocks for less than a tenth of a
/// millisecond takes at most as much processor time, and fewer threads; but others wait for the P
/// meanwhile. [Some rules](crate::proc::preemption#blocking-or-not) say when it is.
///
/// Inside `f` the goroutine can make goroutines, and do everything that needs no wait (`try_recv`,
/// a send to a channel with room). An operation that has to wait panics, with a message that says
/// so. A nested call just calls `f`, and so does a call on a thread that isn't a goroutine's.
///
/// ```
/// gosched::run(|| {
///     let text = gosched::blocking(|| std::fs::read_to_string("/proc/self/comm"));
///     assert!(text.is_ok());
/// });
/// ```
///
/// # Panics
/// As `f` does.
pub fn blocking<R>(f: impl FnOnce() -> R) -> R {
    /// Leaves the system call when it is dropped, also by a panic.
    struct Exit;
    impl Drop for Exit {
        fn drop(&mut self) {
            // SAFETY: entersyscall was called by `blocking`, whose frame is still there. A
            // goroutine that shares thread-locals has promised to keep no thread-local at points
            // where it may park, and the end of `blocking` is such a point.
            unsafe { exitsyscall() }
            // As the prologue of the next function does in Go: a signal seldom finds a loop of
            // short calls where it can stop it.
            stop_if_asked();
        }
    }

    if !on_goroutine() || explored_number().is_some() {
        return f();
    }
    // SAFETY: on a goroutine, which holds no runtime lock; Exit calls exitsyscall. An operation in
    // `f` that has to wait finds that there is no P, and panics.
    unsafe { entersyscall() };
    let _exit = Exit;
    f()
}

/// Drops the owner of a descriptor, whose close may wait, in [`blocking`].
///
/// A signal ends such a close early; the close isn't repeated, and reports no error. The runtime
/// sends no signal to a thread in `blocking`, but one may be on its way. So signals are blocked.
pub(crate) fn close<T>(owner: T) {
    blocking(|| with_signals_blocked(|| drop(owner)));
}

/// Calls `f` as [`blocking`] does, again until it returns something else than `Interrupted`. Go's
/// `ignoringEINTRIO`, in `internal/poll/fd_unix.go`.
pub(crate) fn ignoring_eintr<R>(mut f: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match blocking(&mut f) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
