//! Receiving signals, ignoring them, and restoring their former actions. Go's package `os/signal`.
//!
//! ```no_run
//! use gosched::select;
//! use gosched::signal::{self, Signal};
//!
//! gosched::run(|| {
//!     let signals = signal::notify([Signal::INT, Signal::TERM])?;
//!     select! {
//!         recv(signals.c()) -> signal => println!("{} has come: the end", signal.unwrap()),
//!     }
//!     Ok::<(), std::io::Error>(())
//! })
//! .unwrap();
//! ```
//!
//! A signal that the program hasn't asked for keeps its action: a handler of the program's own, or
//! the system's default. So `SIGPIPE` is ignored, as Rust's start has set it, and a write to a
//! closed pipe is an error.
//!
//! A signal that comes several times before it is received is received once. A signal that comes
//! after it was received is received again. So a burst coalesces, and no signal goes unnoticed. The
//! kernel does the same, but keeps each of the real-time signals. Here these coalesce as well, as
//! in Go.
//!
//! # What can't be asked for
//!
//! A program can't ask for `SIGKILL` and `SIGSTOP`, which the kernel lets no program catch. Nor can
//! it ask for the signals of an instruction that has failed (`SIGILL`, `SIGTRAP`, `SIGBUS`,
//! `SIGFPE`, `SIGSEGV`, `SIGSYS`), because the instruction would fail again, or for the signals
//! that the C library needs for itself.
//!
//! `SIGURG` may come although no process has sent it to the program: the runtime sends it to its
//! own threads, to stop [preemptible](crate::proc::preemption) code, and to take the P's of
//! goroutines that keep them.
//!
//! An [exploration](crate::explore) has no real signals: the functions here panic in one.
//!
//! # What it costs
//!
//! From the first [`notify`] on, there is a thread that sleeps until a signal comes. There are two
//! more threads if the program asks for a signal that was blocked in the thread that started the
//! runtime, and so in all of its threads. (Go has these threads from the start.) Because a signal
//! can come at any time, deadlocks are no longer found.

// | file | what it holds |
// | --- | --- |
// | `kind.rs` | `Signal` |
// | `handlers.rs` | which channels receive which signals, as in Go's `os/signal`; the thread whose signal mask is the program's |

mod handlers;
mod kind;

pub use kind::Signal;

use std::fmt;
use std::io;
use std::thread;

use crate::chan::Receiver;
use crate::goroutine::Builder;
use crate::runtime::{
    Guest, explored_number, must_run, outside_of_run, signal_wait_until_idle, started, where_nothing_parks,
    with_system_threads,
};
use crate::signal::handlers::{HANDLERS, Handlers};
use crate::sync::MutexGuard;

/// Signals that the program receives, until this is dropped. [`notify`] makes it.
///
/// ```
/// use gosched::process::Command;
/// use gosched::signal::{Signal, Signals, notify};
///
/// gosched::run(|| {
///     let hangups: Signals = notify([Signal::HUP])?;
///     Command::new("sh").args(["-c", "kill -HUP $PPID"]).status()?;
///     assert_eq!(hangups.c().recv(), Ok(Signal::HUP)); // and read the settings again
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
#[must_use = "dropping it ends the notification"]
pub struct Signals {
    id: u64,
    c: Receiver<Signal>,
}

/// Asks for these signals: they are received on a channel, and their former actions aren't taken.
/// If several callers ask for the same signal, each of them receives it. Go's `signal.Notify`.
///
/// The channel has room for each of the signals once, so that none is lost.
///
/// ```
/// use std::io::ErrorKind;
/// use gosched::signal::{Signal, notify};
///
/// gosched::run(|| {
///     let signals = notify([Signal::INT, Signal::TERM])?;
///     assert!(signals.c().try_recv().is_err(), "none has come");
///     assert_eq!(notify([Signal::KILL]).unwrap_err().kind(), ErrorKind::InvalidInput);
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// # Errors
/// - One of the signals [can't be asked for](self#what-cant-be-asked-for). Then none is asked for.
/// - The runtime doesn't run, or no goroutine can be made.
/// - The program receives signals itself, by [`sigqueue`](crate::sigqueue).
///
/// # Panics
/// Inside [`blocking`](crate::blocking), in an [exploration](crate::explore), or if there is no
/// memory for a channel.
#[track_caller]
pub fn notify(signals: impl IntoIterator<Item = Signal>) -> io::Result<Signals> {
    let signals = kind::checked(signals)?;
    let (id, c) = handlers("signal::notify").0.add(&signals)?;
    Ok(Signals { id, c })
}

/// Ignores these signals, until they are [`reset`] or asked for. Channels that have received them
/// don't receive them any more. Go's `signal.Ignore`.
///
/// ```
/// use gosched::process::Command;
/// use gosched::signal::{Signal, ignore};
///
/// gosched::run(|| {
///     ignore([Signal::HUP])?; // who has started it may log out
///     Command::new("sh").args(["-c", "kill -HUP $PPID"]).status()?;
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// # Errors
/// One of the signals [can't be asked for](self#what-cant-be-asked-for).
///
/// # Panics
/// Inside [`blocking`](crate::blocking), and in an [exploration](crate::explore).
#[track_caller]
pub fn ignore(signals: impl IntoIterator<Item = Signal>) -> io::Result<()> {
    let signals = kind::checked(signals)?;
    let (gone, result) = handlers("signal::ignore").0.ignore(&signals);
    drop(gone);
    result
}

/// Restores the actions that these signals had before the program asked for them, or ignored them,
/// by the functions here; a handler of the program's own is restored, too. Channels that have
/// received them don't receive them any more. Go's `signal.Reset`.
///
/// ```
/// use gosched::signal::{Signal, notify, reset};
///
/// gosched::run(|| {
///     let signals = notify([Signal::INT])?;
///     reset([Signal::INT])?; // from now on Ctrl-C ends the program
///     assert!(signals.c().recv().is_err(), "nothing comes any more");
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// # Errors
/// One of the signals [can't be asked for](self#what-cant-be-asked-for).
///
/// # Panics
/// Inside [`blocking`](crate::blocking), and in an [exploration](crate::explore).
#[track_caller]
pub fn reset(signals: impl IntoIterator<Item = Signal>) -> io::Result<()> {
    let signals = kind::checked(signals)?;
    let gone = handlers("signal::reset").0.reset(&signals);
    drop(gone);
    Ok(())
}

/// Panics in an exploration. A schedule loses nothing without real signals. But a schedule that
/// ended with the lock of the handlers held would leave it locked forever, and the process would
/// receive no signals any more.
#[track_caller]
fn not_explored(what: &str) {
    assert!(
        explored_number().is_none(),
        "gosched: {what} in an exploration, whose order no real signal keeps: send on a channel instead"
    );
}

/// Locks the handlers. Before anything is changed, it makes the caller a goroutine that can wait.
/// Before the first [`run`](crate::run) no caller can wait, but then the lock is never held for
/// long.
#[track_caller]
fn handlers(what: &str) -> (MutexGuard<'static, Handlers>, Option<Guest>) {
    not_explored(what);
    while !started() {
        match HANDLERS.try_lock() {
            Some(handlers) => return (handlers, None),
            None => thread::yield_now(),
        }
    }
    let guest = must_run(what);
    (HANDLERS.lock(), guest)
}

impl Signals {
    /// The channel. It is closed when no signal can come any more: after [`stop`](Self::stop), or
    /// when all of the signals were [`ignore`]d or [`reset`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::select;
    /// use gosched::signal::{Signal, notify};
    ///
    /// gosched::run(|| {
    ///     let signals = notify([Signal::TERM])?;
    ///     select! {
    ///         recv(signals.c()) -> signal => println!("{} has come", signal.unwrap()),
    ///         default(Duration::from_millis(1)) => println!("there is work to do"),
    ///     }
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    pub fn c(&self) -> &Receiver<Signal> {
        &self.c
    }

    /// Stops asking for the signals. Those that no other `Signals` has asked for have their former
    /// actions again. All signals that have come are in the channel when this returns, and none
    /// comes later. Go's `signal.Stop`.
    ///
    /// A signal that was sent, but that no thread has handled yet, doesn't count as come: its
    /// former action is taken. If that would end the process, [`ignore`] the signal first.
    ///
    /// ```
    /// use gosched::signal::{Signal, notify};
    ///
    /// gosched::run(|| {
    ///     let signals = notify([Signal::INT])?;
    ///     signals.stop();
    ///     assert_eq!(signals.c().iter().count(), 0); // it is closed
    ///     Ok::<(), std::io::Error>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking), and in an [exploration](crate::explore).
    #[track_caller]
    pub fn stop(&self) {
        not_explored("signal::Signals::stop");
        let _guest = must_run("signal::Signals::stop");
        let lock = || outside_of_run(|| HANDLERS.lock());
        if lock().stop(self.id) {
            // SAFETY: on a goroutine, because must_run was called. It isn't the receiver, which
            // has run since `notify`, and which runs only code of this crate. The creator of the
            // goroutine has promised that it keeps nothing of a thread-local where it parks.
            unsafe { signal_wait_until_idle() };
            let gone = lock().remove(self.id);
            drop(gone);
        }
    }
}

/// Signals that have come and weren't received are lost.
impl Drop for Signals {
    fn drop(&mut self) {
        let id = self.id;
        if explored_number().is_some() {
            // A goroutine made here would be the exploration's, and its run may end while it has
            // the lock. If no thread can be made, the handler stays, as below.
            let remove = move || {
                let _guest = must_run("dropping signal::Signals");
                let gone = HANDLERS.lock().remove(id);
                drop(gone);
            };
            let _ = with_system_threads(|| thread::Builder::new().spawn(remove));
        } else if where_nothing_parks().is_some() {
            // Nothing can wait here, so a new goroutine does. If none can be made, the handler
            // stays, and nothing receives its signals.
            let _ = Builder::new().name("signals").go_alone(move || {
                let gone = HANDLERS.lock().remove(id);
                drop(gone);
            });
        } else {
            let _guest = must_run("dropping signal::Signals");
            let gone = outside_of_run(|| HANDLERS.lock()).remove(id);
            drop(gone);
        }
    }
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Signals { .. }")
    }
}
