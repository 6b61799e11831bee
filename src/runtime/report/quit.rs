//! SIGQUIT prints the stacks of all goroutines, equal stacks in groups, and ends the process with
//! status 2.
//!
//! Go prints the report in the handler. Here the report needs memory, and the interrupted thread
//! may hold the allocator's lock. So the handler only asks for the report, and sysmon prints it
//! while that thread goes on. A second SIGQUIT doesn't cut the report off, because `timeout` sends
//! two at once. If sysmon no longer runs, a third SIGQUIT ends the process by the default action.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicUsize, Ordering};

use crate::runtime::arch::{SIGQUIT_TRAMP, Sigctxt};
use crate::runtime::base::print::eprintln;
use crate::runtime::base::this::this_m;
use crate::runtime::data::ext::ThrowType;
use crate::runtime::data::runtime2::G;
use crate::runtime::m::turn::let_some_go;
use crate::runtime::p::sysmon_sleep::wake_sysmon_from_signal;
use crate::runtime::report::panic::{Shown, dopanic, startpanic};
use crate::runtime::signal::handler::{action, getsig, setsig};
use crate::runtime::signal::sigqueue::signal_ignored;

/// Whether the signal has come once.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// Whether a report was asked for. Its store publishes the statics below.
static ASKED: AtomicBool = AtomicBool::new(false);
/// The interrupted pc.
static PC: AtomicUsize = AtomicUsize::new(0);
/// The number of the interrupted M; -1 if the thread isn't ours.
static M_ID: AtomicI64 = AtomicI64::new(-1);
/// The signal's code: how it was sent.
static SIGCODE: AtomicI32 = AtomicI32::new(0);
/// The goroutine of the interrupted M, if it had one.
static GP: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());

/// Installs the handler, unless the program handles SIGQUIT, or ignores it by
/// [`ignore`](crate::signal::ignore). Installs it also if the process was started with the signal
/// ignored, as shells do in the background: as in Go, a user that sends SIGQUIT wants the report.
/// Part of Go's `initsig`.
pub(in crate::runtime) fn install_quit_handler() {
    if signal_ignored(libc::SIGQUIT) {
        return;
    }
    if getsig(libc::SIGQUIT).is_ok_and(|now| matches!(now.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)) {
        // SAFETY: our handler may run anywhere: it stores to atomics, wakes a futex and sets an
        // action. An error is impossible, as SIGQUIT can be handled.
        let _set = unsafe { setsig(libc::SIGQUIT, &action(SIGQUIT_TRAMP)) };
    }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_sigquit(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a siginfo and a ucontext, which are this handler's until it
    // returns.
    let (info, context) = unsafe { (&*info, &mut *context.cast()) };
    // The first handler may not have returned yet. Only the first writes the statics below.
    if BEGUN.swap(true, Ordering::Relaxed) {
        // SAFETY: all zero is the default action. The next signal finds it, and ends the process.
        let _set = unsafe { setsig(libc::SIGQUIT, &std::mem::zeroed()) };
        return;
    }
    PC.store(Sigctxt(context).sigpc(), Ordering::Relaxed);
    SIGCODE.store(info.si_code, Ordering::Relaxed);
    if let Some(mp) = this_m() {
        M_ID.store(mp.id.get(), Ordering::Relaxed);
        GP.store(mp.curg.get().map_or(ptr::null_mut(), G::as_ptr), Ordering::Relaxed);
    }
    // Sequentially consistent: sysmon sets sysmonwait and then looks at ASKED. Either it sees this
    // store, or we see that it sleeps and wake it. The store is also a release: sysmon finds what
    // was stored above.
    ASKED.store(true, Ordering::SeqCst);
    wake_sysmon_from_signal();
}

/// Whether a SIGQUIT has asked for a report.
pub(in crate::runtime) fn asked_to_quit() -> bool {
    // SeqCst: sysmon has set `sysmonwait` before, see `Schedt::sysmonwait`.
    ASKED.load(Ordering::SeqCst)
}

/// If a SIGQUIT has asked for the report, prints it and ends the process. Called on sysmon's
/// thread. The last part of Go's `sighandler`.
pub(in crate::runtime) fn quit_if_asked() {
    if asked_to_quit() {
        report()
    }
}

#[cold]
#[inline(never)]
fn report() -> ! {
    startpanic(ThrowType::User);
    // Goroutines that wait in a signal handler couldn't leave a copy of their stacks, so they go
    // on. From here on no goroutine is asked to wait there, because the world is about to stop.
    let_some_go(usize::MAX);
    eprintln!("SIGQUIT: quit");
    let (pc, m) = (PC.load(Ordering::Relaxed), M_ID.load(Ordering::Relaxed));
    // Go prints the code as an unsigned number.
    eprintln!("PC={pc:#x} m={m} sigcode={}", SIGCODE.load(Ordering::Relaxed) as u64);
    // SAFETY: null, or the address of a G, whose page is never unmapped.
    let first = unsafe { GP.load(Ordering::Relaxed).as_ref() };
    dopanic(ThrowType::User, Shown::Grouped { first })
}
