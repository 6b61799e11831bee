//! [`Signal`]: the numbers and names of signals. Go's `syscall.Signal`.

use std::ffi::c_int;
use std::fmt;
use std::io;

use crate::runtime::refused;

/// A signal, by its number. Go's `syscall.Signal`.
///
/// ```
/// use gosched::signal::Signal;
///
/// assert_eq!(Signal::TERM.to_string(), "SIGTERM");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signal(c_int);

macro_rules! signals {
    ($($name:ident $number:ident: $meaning:literal;)*) => {
        /// The signals that have names.
        impl Signal {
            $(
                #[doc = concat!("`", stringify!($number), "`: ", $meaning, ".")]
                pub const $name: Signal = Signal(libc::$number);
            )*
        }

        /// The numbers and names of these signals.
        const NAMES: &[(c_int, &str)] = &[$((libc::$number, stringify!($number))),*];
    };
}

signals! {
    HUP SIGHUP: "the terminal is gone; for daemons, read the settings again";
    INT SIGINT: "an interrupt from the keyboard, Ctrl-C";
    QUIT SIGQUIT: "quit, with a report, Ctrl-\\";
    ILL SIGILL: "an instruction that is none";
    TRAP SIGTRAP: "a breakpoint";
    ABRT SIGABRT: "abort";
    BUS SIGBUS: "memory that isn't there";
    FPE SIGFPE: "arithmetic that has no result";
    KILL SIGKILL: "kill";
    USR1 SIGUSR1: "the program's own";
    SEGV SIGSEGV: "an address that isn't mapped";
    USR2 SIGUSR2: "the program's own";
    PIPE SIGPIPE: "a write that nobody reads";
    ALRM SIGALRM: "an alarm clock";
    TERM SIGTERM: "a request to end";
    STKFLT SIGSTKFLT: "a coprocessor's stack; unused";
    CHLD SIGCHLD: "a child has ended or stopped";
    CONT SIGCONT: "continue after a stop";
    STOP SIGSTOP: "stop";
    TSTP SIGTSTP: "stop, from the keyboard, Ctrl-Z";
    TTIN SIGTTIN: "a read from the terminal in the background";
    TTOU SIGTTOU: "a write to the terminal in the background";
    URG SIGURG: "urgent data on a socket";
    XCPU SIGXCPU: "the limit of processor time";
    XFSZ SIGXFSZ: "the limit of file size";
    VTALRM SIGVTALRM: "an alarm clock of the process's own time";
    PROF SIGPROF: "the clock of a profiler";
    WINCH SIGWINCH: "the window has another size";
    IO SIGIO: "input or output is possible";
    PWR SIGPWR: "the power fails";
    SYS SIGSYS: "a system call that isn't allowed";
}

/// The name of a number, if it has one. Go's `signame`.
fn signame(number: c_int) -> Option<&'static str> {
    NAMES.iter().find(|(other, _)| *other == number).map(|(_, name)| *name)
}

impl Signal {
    /// The signal with this number; none if no signal has it.
    ///
    /// ```
    /// use gosched::signal::Signal;
    ///
    /// assert_eq!(Signal::from_raw(15), Some(Signal::TERM));
    /// assert_eq!(Signal::from_raw(0), None);
    /// ```
    pub fn from_raw(number: i32) -> Option<Signal> {
        (1..=libc::SIGRTMAX()).contains(&number).then_some(Signal(number))
    }

    /// The signal's number.
    ///
    /// ```
    /// use gosched::signal::Signal;
    ///
    /// let status = 128 + Signal::INT.as_raw(); // what a shell says of a program that it has ended
    /// assert_eq!(status, 130);
    /// ```
    pub const fn as_raw(self) -> i32 {
        self.0
    }

    /// All signals that can be asked for.
    ///
    /// ```
    /// use gosched::signal::Signal;
    ///
    /// assert!(Signal::all().any(|signal| signal == Signal::TERM));
    /// assert!(!Signal::all().any(|signal| signal == Signal::KILL));
    /// ```
    pub fn all() -> impl Iterator<Item = Signal> {
        (1..=libc::SIGRTMAX()).map(Signal).filter(|signal| signal.refused().is_none())
    }

    /// Why the program can't ask for this signal; none if it can.
    fn refused(self) -> Option<&'static str> {
        refused(self.0)
    }
}

/// These signals, each once.
///
/// # Errors
/// If the program can't ask for one of them.
pub(super) fn checked(signals: impl IntoIterator<Item = Signal>) -> io::Result<Vec<Signal>> {
    let mut signals: Vec<Signal> = signals.into_iter().collect();
    signals.sort_unstable();
    signals.dedup();
    match signals.iter().find_map(|signal| Some((signal, signal.refused()?))) {
        Some((signal, why)) => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{signal} can't be asked for: {why}")))
        }
        None => Ok(signals),
    }
}

/// The signal's name: `SIGINT`, or `SIGRTMIN+3`.
impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (signame(self.0), self.0 - libc::SIGRTMIN()) {
            (Some(name), _) => f.pad(name),
            (None, 0) => f.pad("SIGRTMIN"),
            (None, n @ 1..) => f.pad(&format!("SIGRTMIN+{n}")),
            (None, _) => f.pad(&format!("signal {}", self.0)),
        }
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
