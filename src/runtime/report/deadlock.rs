//! Goroutines that seem to wait for each other, in a process that has threads of its own besides: one of
//! those might wake one, for all we know, so this isn't fatal as in
//! [`checkdead`](crate::runtime::m::checkdead). A test in a harness has such threads always, and would hang
//! without a word.

use std::io;
#[cfg(feature = "tokio")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

use crate::runtime::base::debug::deadlock;
use crate::runtime::base::fatal::{fatal, say_last_words};
use crate::runtime::base::print::eprintln;
use crate::runtime::report::dump::dump_goroutines;

/// What happens when every goroutine waits for another one, and only a thread that isn't the runtime's could
/// still wake one. The values of `GODEBUG=deadlock=`, in small letters.
///
/// It takes two seconds in which nothing happens: no goroutine runs or is in a system call
/// ([`blocking`](crate::blocking) is one), none waits for the network, the time or a signal, and no other
/// thread is inside of a call of this crate's but to wait there. And a [`run`](crate::run) waits for its main
/// goroutine.
///
/// Where there is no other thread that could do anything, a deadlock is certain, and fatal in each mode.
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
    /// Nothing: for a program whose own threads wake its goroutines, and may take their time.
    Off,
    /// It is said on stderr, once in the life of the process, with every goroutine's stack.
    #[default]
    Report,
    /// The process ends, as in a deadlock that is certain: with Go's message, and status 2.
    Fatal,
}

/// What the program has set.
static MODE: AtomicI32 = AtomicI32::new(DeadlockMode::Report as i32);

/// Whether it was said.
static SAID: AtomicBool = AtomicBool::new(false);

/// Sets what happens when goroutines seem to wait for each other. What `GODEBUG=deadlock=` says goes before.
///
/// ```
/// use gosched::DeadlockMode;
///
/// // A service that is started anew when it ends: better than one that hangs.
/// gosched::set_deadlock_mode(DeadlockMode::Fatal);
/// gosched::run(|| assert_eq!(gosched::go(|| 42).join().unwrap(), 42));
/// ```
pub fn set_deadlock_mode(mode: DeadlockMode) {
    MODE.store(mode as i32, Ordering::Relaxed);
}

/// Says whether something is at work beside goroutines that may wake one.
#[cfg(feature = "tokio")]
static AT_WORK: OnceLock<fn() -> bool> = OnceLock::new();

/// Has no deadlock told of while `at_work` says so. It is called on sysmon's thread, seldom. The first one counts.
#[cfg(feature = "tokio")]
pub(crate) fn no_deadlock_while(at_work: fn() -> bool) {
    AT_WORK.get_or_init(|| at_work);
}

/// Whether there is anything left to [`tell`].
pub(in crate::runtime) fn may_tell() -> bool {
    #[cfg(feature = "tokio")]
    if AT_WORK.get().is_some_and(|at_work| at_work()) {
        return false;
    }
    mode() != DeadlockMode::Off as i32 && !SAID.load(Ordering::Relaxed)
}

fn mode() -> i32 {
    deadlock().unwrap_or_else(|| MODE.load(Ordering::Relaxed))
}

/// Says that nothing happens any more, or ends the process for it; `why` is Go's words. On sysmon's thread.
#[cold]
pub(in crate::runtime) fn tell(why: &str) {
    if mode() >= DeadlockMode::Fatal as i32 {
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
    // Another thread, as nobody may read what it writes, and sysmon is to go on. If there can be none, the
    // line above has to do.
    let stacks = || {
        let _ = dump_goroutines(&mut io::stderr());
        say_last_words();
    };
    let _ = thread::Builder::new().name("gosched-report".to_owned()).spawn(stacks);
}
