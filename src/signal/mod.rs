//! Signals: being told of them, ignoring them, and leaving them as they were. Go's package `os/signal`.
//!
//! ```
//! use gosched::select;
//! use gosched::signal::{self, Signal};
//!
//! # // SAFETY: no thread-local is kept across a point that can park.
//! # unsafe {
//! gosched::run(|| {
//!     let signals = signal::notify([Signal::INT, Signal::TERM])?;
//! # libc::kill(libc::getpid(), libc::SIGTERM);
//!     select! {
//!         recv(signals.c()) -> signal => println!("{} has come: the end", signal.unwrap()),
//!     }
//!     Ok::<(), std::io::Error>(())
//! })
//! # .unwrap();
//! # };
//! ```
//!
//! What nobody has asked for keeps doing what it did: a handler of the program's own, or the system's default.
//! So `SIGPIPE` is what Rust's start has made it, ignored, and a write to a closed pipe an error.
//!
//! A signal that comes again before it was received is received once, and one that comes after it was
//! received is received again: so a burst coalesces, and nothing is lost. (That is what the kernel does, too.
//! It keeps each of the real-time signals; here they coalesce as the others do, and as in Go.)
//!
//! # What can't be asked for
//!
//! `SIGKILL` and `SIGSTOP`, which the kernel lets nobody catch; those that say that an instruction has failed
//! (`SIGILL`, `SIGTRAP`, `SIGBUS`, `SIGFPE`, `SIGSEGV`, `SIGSYS`), as it would fail again; and those that the C
//! library needs for itself.
//!
//! `SIGURG` comes more often than it was sent: the runtime sends it to stop
//! [preemptible](crate::proc::preemption) code.
//!
//! # What it costs
//!
//! A thread, from the first [`notify`] on, which sleeps until a signal comes; and two more if one is
//! asked for that was blocked in the thread that started the runtime, and so in all of its threads.
//! (Go has both from the start.) Since a signal can come at any time, no deadlock is found any more.

mod handlers;
mod kind;
mod mask;

use std::fmt;
use std::io;

use crate::chan::Receiver;
use crate::go::Builder;
use crate::proc::boot::started;
use crate::proc::extram::Guest;
use crate::sigqueue::signal_wait_until_idle;
use crate::wait::{in_blocking, must_wait};
use handlers::HANDLERS;
pub use kind::Signal;

/// Signals that a program is told of, until this is dropped. [`notify`] makes it.
pub struct Signals {
    id: u64,
    c: Receiver<Signal>,
}

/// Asks to be told of these signals: instead of what they do, they are received. Others may ask for them as
/// well; each is told. Go's `signal.Notify`.
///
/// The channel has room for each of the signals once, so that none is lost.
///
/// # Errors
/// - There is a signal that [can't be asked for](self#what-cant-be-asked-for); then none is.
/// - The runtime doesn't run, or no goroutine can be made.
///
/// # Panics
/// Inside [`blocking`](crate::blocking), or if there is no memory for a channel.
#[track_caller]
pub fn notify(signals: impl IntoIterator<Item = Signal>) -> io::Result<Signals> {
    let signals = kind::checked(signals)?;
    let _guest = may_wait("signal::notify");
    let (id, c) = HANDLERS.lock().add(&signals)?;
    Ok(Signals { id, c })
}

/// Ignores these signals, until they are [`reset`] or asked for. Who had asked for them is told no more. Go's
/// `signal.Ignore`.
///
/// # Errors
/// There is a signal that [can't be asked for](self#what-cant-be-asked-for).
///
/// # Panics
/// Inside [`blocking`](crate::blocking).
#[track_caller]
pub fn ignore(signals: impl IntoIterator<Item = Signal>) -> io::Result<()> {
    let signals = kind::checked(signals)?;
    let _guest = may_wait("signal::ignore");
    HANDLERS.lock().ignore(&signals)
}

/// Lets these signals do what they did before the program asked for them, or ignored them, by the functions
/// here: a handler of the program's own is back as it was. Who had asked for them is told no more. Go's
/// `signal.Reset`.
///
/// # Errors
/// There is a signal that [can't be asked for](self#what-cant-be-asked-for).
///
/// # Panics
/// Inside [`blocking`](crate::blocking).
#[track_caller]
pub fn reset(signals: impl IntoIterator<Item = Signal>) -> io::Result<()> {
    let signals = kind::checked(signals)?;
    let _guest = may_wait("signal::reset");
    HANDLERS.lock().reset(&signals);
    Ok(())
}

/// Sees to it that the caller can wait, so that nothing is left half done; before the first
/// [`run`](crate::run) there is nobody to wait for.
#[track_caller]
fn may_wait(what: &str) -> Option<Guest> {
    if started() { must_wait(what) } else { None }
}

impl Signals {
    /// The channel. It is closed when nothing comes any more: after [`stop`](Self::stop), or when all of the
    /// signals were [`ignore`]d or [`reset`].
    pub fn c(&self) -> &Receiver<Signal> {
        &self.c
    }

    /// Asks for the signals no more. Those that nobody else has asked for do what they did before. What has
    /// come by then is in the channel when this returns, and nothing comes later. Go's `signal.Stop`.
    ///
    /// A signal that was sent, and that no thread has handled yet, hasn't come: that too does what it did
    /// before. If it would end the process, [`ignore`] it first.
    ///
    /// # Panics
    /// Inside [`blocking`](crate::blocking).
    #[track_caller]
    pub fn stop(&self) {
        let _guest = must_wait("signal::Signals::stop");
        if HANDLERS.lock().stop(self.id) {
            // SAFETY: on a goroutine, and the receiver runs code of this crate only; the caller keeps nothing
            // of a thread-local, as everywhere.
            unsafe { signal_wait_until_idle() };
            HANDLERS.lock().remove(self.id);
        }
    }
}

/// What has come and wasn't received is forgotten.
impl Drop for Signals {
    fn drop(&mut self) {
        let id = self.id;
        if in_blocking() {
            // Nothing can wait there. If no goroutine can be made, the signals come to nobody.
            let _ = Builder::new().name("signals").go(move || HANDLERS.lock().remove(id));
        } else {
            let _guest = must_wait("dropping signal::Signals");
            HANDLERS.lock().remove(id);
        }
    }
}

impl fmt::Debug for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Signals { .. }")
    }
}
