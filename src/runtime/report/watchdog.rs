//! The watchdog of a fatal error's report: one that takes too long is given up.

use crate::runtime::base::fatal::exit;
use crate::runtime::base::print::eprintln;

/// Ends the process if the report takes too long: it may wait for a lock that the failing code holds
/// (malloc's, if a stack overflowed there). Then what was printed so far has to do.
pub(super) fn give_up_after_a_while() {
    extern "C" fn give_up(_: libc::c_int) {
        eprintln!("\n(the report took too long)");
        exit(2);
    }
    // SAFETY: all zero is a valid action and an empty set. The handler may interrupt anything: it writes to
    // stderr and exits.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = give_up as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
        let mut alarm: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut alarm, libc::SIGALRM);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &alarm, std::ptr::null_mut());
        libc::alarm(5);
    }
}

/// Gives the report more time, as it makes progress: there may be many goroutines to print, and the first may
/// take long, as the symbols of a large program are read then.
pub(super) fn more_time() {
    // SAFETY: takes no pointer; the handler was set before.
    unsafe { libc::alarm(30) };
}
