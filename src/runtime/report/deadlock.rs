//! Reports of goroutines that seem to wait for each other in a process that also has threads of its
//! own. Such a thread might wake a goroutine, so the report isn't fatal, as it is in
//! [`checkdead`](crate::runtime::m::checkdead). A test in a harness always has such threads, and
//! without a report it would hang silently.

use std::io;
#[cfg(feature = "tokio")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::runtime::base::debug::{deadlock_mode, deadlock_off, set_deadlock_mode as set_mode};
use crate::runtime::base::fatal::{fatal, say_last_words};
use crate::runtime::base::print::eprintln;
use crate::runtime::report::dump::dump_goroutines;

/// The action when every goroutine waits for another one, and only a thread that isn't the
/// runtime's could still wake one. In lower case, the names are the values of `GODEBUG=deadlock=`.
///
/// The state must last two seconds. In that time no goroutine runs or is in a system call
/// ([`blocking`](crate::blocking) counts as one), and none waits for the network, the time or a
/// signal. No other thread is inside a call of this crate except to wait there, and a
/// [`run`](crate::run) waits for its main goroutine.
///
/// If no other thread could wake a goroutine, a deadlock is certain, and fatal in each mode but
/// `Off`.
///
/// ```
/// use gosched::DeadlockMode;
/// use gosched::chan::bounded;
///
/// // The thread wakes them, and may take its time.
/// gosched::set_deadlock_mode(DeadlockMode::Off);
/// gosched::run(|| {
///     let (tx, rx) = bounded(0);
///     std::thread::spawn(move || tx.send(42));
///     assert_eq!(rx.recv(), Ok(42));
/// });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeadlockMode {
    /// Nothing happens, even if the deadlock is certain. For a program whose own threads wake its
    /// goroutines, and may take their time, or that waits until another process ends it.
    Off,
    /// A message with every goroutine's stack is written to stderr, once in the life of the
    /// process.
    #[default]
    Report,
    /// The process ends with Go's message and status 2, as in a deadlock that is certain.
    Fatal,
}

/// Whether the message was written.
static SAID: AtomicBool = AtomicBool::new(false);

/// Sets the action when goroutines seem to wait for each other. `GODEBUG=deadlock=` overrides it.
///
/// ```
/// use gosched::DeadlockMode;
///
/// // A service that is started anew when it ends: better than one that hangs.
/// gosched::set_deadlock_mode(DeadlockMode::Fatal);
/// gosched::run(|| assert_eq!(gosched::go(|| 42).join().unwrap(), 42));
/// ```
pub fn set_deadlock_mode(mode: DeadlockMode) {
    set_mode(mode as i32);
}

/// Returns whether something besides goroutines is at work that may wake a goroutine.
#[cfg(feature = "tokio")]
static AT_WORK: OnceLock<fn() -> bool> = OnceLock::new();

/// Suppresses reports of deadlocks while `at_work` returns true. `at_work` is called on sysmon's
/// thread, seldom. Only the first call of this function counts.
#[cfg(feature = "tokio")]
pub(crate) fn no_deadlock_while(at_work: fn() -> bool) {
    AT_WORK.get_or_init(|| at_work);
}

/// Whether there is anything left to [`report_deadlock`].
pub(in crate::runtime) fn may_report_deadlock() -> bool {
    #[cfg(feature = "tokio")]
    if AT_WORK.get().is_some_and(|at_work| at_work()) {
        return false;
    }
    !deadlock_off() && !SAID.load(Ordering::Relaxed)
}

/// Reports the deadlock, or ends the process. `why` is Go's message. On sysmon's thread.
#[cold]
pub(in crate::runtime) fn report_deadlock(why: &str) {
    if deadlock_mode() >= DeadlockMode::Fatal as i32 {
        fatal(why);
    }
    SAID.store(true, Ordering::Relaxed);
    eprintln!(
        "gosched: {}?\n\
         (For two seconds nothing has run, and nothing will unless a thread that isn't the runtime's wakes a \
         goroutine. GODEBUG=deadlock=fatal ends the process then, and with deadlock=off nothing is said; or call \
         gosched::set_deadlock_mode.)\n",
        why.trim_end_matches('!')
    );
    // Another thread writes the stacks: if no process reads stderr, the write blocks, and sysmon
    // must go on. If no thread can be made, the line above has to suffice.
    let stacks = || {
        let _ = dump_goroutines(&mut io::stderr());
        say_last_words();
    };
    let _ = thread::Builder::new().name("gosched-report".to_owned()).spawn(stacks);
}
