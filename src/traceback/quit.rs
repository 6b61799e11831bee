//! SIGQUIT: what every goroutine does is printed, and the process ends with status 2.
//!
//! Go prints that in the handler. Here it takes memory, and the thread that was interrupted may have the
//! allocator locked: so the handler only says that it is wanted, and sysmon prints it while that thread goes
//! on. If there is no sysmon to do so any more, a second SIGQUIT ends the process as if nobody handled it.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicUsize, Ordering};

use crate::arch::Sigctxt;
use crate::panic::{ThrowType, dopanic, startpanic};
use crate::print::eprintln;
use crate::proc::m::this_m;
use crate::proc::sysmon::wake_sysmon_from_signal;
use crate::runtime2::G;
use crate::signal_unix::{action, getsig, setsig};
use crate::sigqueue::signal_ignored;

/// Whether it has come, where it has interrupted which M, and what that was running.
static ASKED: AtomicBool = AtomicBool::new(false);
static PC: AtomicUsize = AtomicUsize::new(0);
static M_ID: AtomicI64 = AtomicI64::new(-1);
/// How it was sent.
static SIGCODE: AtomicI32 = AtomicI32::new(0);
static GP: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());

/// Handles SIGQUIT, unless the program does, or has said that it be ignored. A shell has what it starts in the
/// background ignore it, and it is handled all the same, as in Go: who sends it there wants to see. Part of Go's
/// `initsig`.
pub(crate) fn install_quit_handler() {
    if signal_ignored(libc::SIGQUIT) {
        return;
    }
    if getsig(libc::SIGQUIT).is_ok_and(|now| matches!(now.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)) {
        // The second one is not for us.
        let once = action(sigquit, libc::SA_RESETHAND);
        // SAFETY: our handler. It can be set, as the signal is one that can be handled.
        let _set = unsafe { setsig(libc::SIGQUIT, &once) };
    }
}

extern "C" fn sigquit(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: a signal handler's arguments.
    let (info, context) = unsafe { (&*info, &mut *context.cast()) };
    PC.store(Sigctxt(context).sigpc(), Ordering::Relaxed);
    SIGCODE.store(info.si_code, Ordering::Relaxed);
    if let Some(mp) = this_m() {
        M_ID.store(mp.id.get(), Ordering::Relaxed);
        GP.store(mp.curg.get().map_or(ptr::null_mut(), G::as_ptr), Ordering::Relaxed);
    }
    // Sequentially consistent, as sysmon looks once more when it has said that it sleeps: either that sees this,
    // or it is woken. And release: it finds what was noted.
    ASKED.store(true, Ordering::SeqCst);
    wake_sysmon_from_signal();
}

/// Whether a report is wanted.
pub(crate) fn asked_to_quit() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// On sysmon's thread: prints the report, if it is wanted. The last part of Go's `sighandler`.
pub(crate) fn quit_if_asked() {
    if asked_to_quit() {
        report()
    }
}

#[cold]
#[inline(never)]
fn report() -> ! {
    startpanic(ThrowType::User);
    eprintln!("SIGQUIT: quit");
    let (pc, m) = (PC.load(Ordering::Relaxed), M_ID.load(Ordering::Relaxed));
    // Go has it without a sign.
    eprintln!("PC={pc:#x} m={m} sigcode={}", SIGCODE.load(Ordering::Relaxed) as u64);
    // SAFETY: null, or a G, and those are never freed.
    dopanic(ThrowType::User, unsafe { GP.load(Ordering::Relaxed).as_ref() })
}
