//! Signals: Go's `signal_unix.go`, as far as a scheduler needs it.
//!
//! - A fault in the guard page of a goroutine's stack is reported as Go reports a stack
//!   overflow, and ends the process with status 2. Every other fault goes to the handler
//!   that was there before.
//! - A goroutine that is asked to stop is stopped, if that is possible where it is: see `preempt.rs`.
//! - A signal that the program has asked for is passed on to it: see `sigqueue.rs`.
//! - Every handler in the process runs on the alternate signal stack of its thread: a
//!   goroutine's stack may be smaller than the frame that the kernel pushes.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::Ordering;

use memmap2::MmapOptions;

use crate::arch::{Sigctxt, getg, page_size, setg};
use crate::debug::async_preempt_off;
use crate::os::gettid;
use crate::panic::throw;
use crate::preempt::{is_async_safe_point, want_async_preempt};
use crate::preemptible;
use crate::print::eprintln;
use crate::proc::bad::{badmorestackg0, badmorestackgsignal};
use crate::runtime2::{G, M, Stack};
use crate::sigqueue::{signal_ignored, sigsend};
use crate::stack::STACK_GUARD;
use crate::traceback::snapshot::copy_if_asked;

/// The signals that a guard page raises.
const FAULTS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The signal that makes a thread look whether its goroutine can be stopped. Go's `sigPreempt`.
pub(crate) const SIG_PREEMPT: c_int = libc::SIGURG;

/// The signals that are handled here.
const HANDLED: [c_int; 3] = [FAULTS[0], FAULTS[1], SIG_PREEMPT];

/// The actions that [`HANDLED`] had before ours.
static PREVIOUS: Previous = Previous(std::cell::UnsafeCell::new([MaybeUninit::zeroed(); 3]));

struct Previous(std::cell::UnsafeCell<[MaybeUninit<libc::sigaction>; 3]>);

// SAFETY: an element is written once, before the handler that reads it is installed.
unsafe impl Sync for Previous {}

/// The caller's signal mask. Go's `sigsave`.
pub(crate) fn sigsave() -> MaybeUninit<libc::sigset_t> {
    let mut mask = MaybeUninit::zeroed();
    // SAFETY: changes no mask, and stores the thread's in `mask`.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), mask.as_mut_ptr()) };
    mask
}

/// Installs the handlers, once. Go's `initsig`.
pub(crate) fn initsig() {
    for sig in 1..=libc::SIGRTMAX() {
        if !HANDLED.contains(&sig) {
            setsigstack(sig);
        }
    }
    for (i, sig) in HANDLED.into_iter().enumerate() {
        // SAFETY: the element is ours alone until the handler, which may run anywhere, is installed.
        unsafe {
            let previous = &mut (*PREVIOUS.0.get())[i];
            libc::sigaction(sig, ptr::null(), previous.as_mut_ptr());
            libc::sigaction(sig, &our_action(), ptr::null_mut());
        }
    }
}

/// Whether the runtime always handles a signal, for itself.
pub(crate) fn is_handled(sig: c_int) -> bool {
    HANDLED.contains(&sig)
}

/// The type of a handler with `SA_SIGINFO`.
pub(crate) type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// The action that calls our handler.
pub(crate) fn our_action() -> libc::sigaction {
    action(sighandler, 0)
}

/// The action that calls `handler`, with `flags` besides those of all our actions.
pub(crate) fn action(handler: Handler, flags: c_int) -> libc::sigaction {
    // SAFETY: all zero is a valid action; sigfillset writes to its mask.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART | flags;
        libc::sigfillset(&mut action.sa_mask);
        action
    }
}

/// The action of a signal. Go's `getsig`.
pub(crate) fn getsig(sig: c_int) -> io::Result<libc::sigaction> {
    let mut action = MaybeUninit::zeroed();
    // SAFETY: sets no action, and stores the present one in `action`.
    match unsafe { libc::sigaction(sig, ptr::null(), action.as_mut_ptr()) } {
        // SAFETY: sigaction has filled it.
        0 => Ok(unsafe { action.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the action of a signal. Go's `setsig`.
///
/// # Safety
/// If the action is a handler, it may be called in place of whatever code runs when the signal comes.
pub(crate) unsafe fn setsig(sig: c_int, action: &libc::sigaction) -> io::Result<()> {
    // SAFETY: `action` is only read, and its handler may be called at any time, as the caller says.
    match unsafe { libc::sigaction(sig, action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Moves a handler that the program installed before us to the alternate stack. Go's
/// `setsigstack`.
fn setsigstack(sig: c_int) {
    let Ok(mut action) = getsig(sig) else { return }; // a signal of libc's own
    let handler = action.sa_sigaction;
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN || action.sa_flags & libc::SA_ONSTACK != 0 {
        return;
    }
    action.sa_flags |= libc::SA_ONSTACK;
    // SAFETY: the program's own action, with one more flag, which moves its frames to another stack only.
    let _set = unsafe { setsig(sig, &action) };
}

/// The bytes of a signal stack for handlers' own frames, beside the frame that the kernel pushes.
const SIGSTACK_USE: usize = 64 << 10;

/// The bytes that the kernel pushes for a signal: the larger the CPU's vector registers, the more.
fn min_signal_frame() -> usize {
    // SAFETY: getauxval takes no pointer.
    unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) as usize }
}

/// Allocates the signal stack of an M, with a guard below it. Go's `mpreinit`.
pub(crate) fn mpreinit(mp: &'static M) -> io::Result<()> {
    let page = page_size();
    let size = (SIGSTACK_USE + min_signal_frame()).next_multiple_of(page);
    let mut stack = MmapOptions::new().len(page + size).map_anon()?;
    let base = stack.as_mut_ptr();
    std::mem::forget(stack);
    // SAFETY: our own page, which nothing uses. If it fails, the stack has no guard, and works.
    unsafe { libc::mprotect(base.cast(), page, libc::PROT_NONE) };
    let gsignal = &mp.ext.gsignal;
    gsignal.stack.set(Stack { lo: base.addr() + page, hi: base.addr() + page + size });
    gsignal.stackguard0.store(base.addr() + page + STACK_GUARD, Ordering::Relaxed);
    gsignal.m.set(Some(mp));
    mp.gsignal.set(Some(gsignal));
    Ok(())
}

/// Gives this thread its signal stack and its signal mask. Go's `minitSignals`.
pub(crate) fn minit_signals(mp: &M) {
    let Some(gsignal) = mp.gsignal.get() else { throw("minit: no gsignal") };
    let Stack { lo, hi } = gsignal.stack.get();
    let stack = libc::stack_t { ss_sp: ptr::with_exposed_provenance_mut(lo), ss_flags: 0, ss_size: hi - lo };
    let mut mask = mp.sigmask.get();
    // SAFETY: the stack's memory is this M's and stays mapped, and no other thread has it; the mask is
    // initialised, as every mask of an M is.
    unsafe {
        if libc::sigaltstack(&stack, ptr::null_mut()) != 0 {
            let error = io::Error::last_os_error();
            eprintln!(
                "runtime: a signal stack of {} bytes is refused ({error}): the kernel asks for {} at least, \
                 with this CPU's vector registers",
                hi - lo,
                min_signal_frame(),
            );
            throw("sigaltstack failed");
        }
        // The kernel ends the process at a fault that is blocked, without a report.
        for sig in FAULTS {
            libc::sigdelset(mask.as_mut_ptr(), sig);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, mask.as_ptr(), ptr::null_mut());
    }
}

/// Blocks all signals on this thread, which is about to end. Go's `sigblock`.
pub(crate) fn sigblock() {
    let mut all = MaybeUninit::uninit();
    // SAFETY: sigfillset initialises `all` before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), ptr::null_mut());
    }
}

/// Takes this thread's signal stack away, as another thread may get the M. Go's `unminitSignals`.
pub(crate) fn unminit_signals() {
    let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: the thread is on g0's stack, and not in a handler on its signal stack.
    unsafe { libc::sigaltstack(&none, ptr::null_mut()) };
}

/// Handles a fault, a request to stop, or a signal that the program has asked for; on the signal stack. Go's
/// `sighandler`.
extern "C" fn sighandler(sig: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let gp = getg();
    let mp = gp.and_then(|gp| gp.m.get());
    // In a handler getg says gsignal, so that nothing takes this stack for a goroutine's. And errno must be
    // what the interrupted code had.
    // SAFETY: on the M's signal stack until g is set back, or on the signal stack of a thread that isn't ours
    // and has borrowed the M: either way not on a goroutine's. The kernel's arguments and errno are ours.
    unsafe {
        let errno = *libc::__errno_location();
        if let Some(mp) = mp {
            setg(mp.gsignal.get());
        }
        let ucontext = &mut *context.cast::<libc::ucontext_t>();
        let handled = match (mp, gp) {
            (Some(mp), Some(gp)) if sig == SIG_PREEMPT => {
                copy_if_asked(mp, gp, Sigctxt(ucontext).regs());
                do_sig_preempt(mp, gp, &mut Sigctxt(ucontext));
                false // one of the program's own may have come at the same time
            }
            (Some(mp), Some(gp)) if FAULTS.contains(&sig) => {
                guard_hit(mp, gp, (*info).si_addr().addr(), ucontext)
            }
            _ => false,
        };
        if !handled && !sigsend(sig) && !signal_ignored(sig) {
            sigfwd(sig, info, context);
        }
        setg(gp);
        *libc::__errno_location() = errno;
    }
}

/// Handles a preemption signal that has come while the thread of `mp` ran `gp`: stops `gp`, if that is wanted
/// and possible. Go's `doSigPreempt`.
fn do_sig_preempt(mp: &M, gp: &G, context: &mut Sigctxt) {
    if !async_preempt_off()
        && want_async_preempt(mp, gp)
        && is_async_safe_point(mp, gp, context.sigpc(), context.sigsp())
    {
        // SAFETY: is_async_safe_point says that it may park here, and that there is room.
        unsafe { context.push_call() };
    }
    mp.signal_has_come();
}

/// Sends a preemption signal to the thread of `mp`, unless one is on its way. Sends none where it would be of
/// no use: it might cut a system call of that thread short for nothing. Go's `preemptM`.
pub(crate) fn preempt_m(mp: &M) {
    // A thread that isn't ours has an M only while it waits for something, and runs no code for long. And its
    // signal stack, if it has one, may be too small for this CPU's vector registers.
    if async_preempt_off() || mp.isextra.get() || !preemptible::any() {
        return;
    }
    if let Some(thread) = mp.send_signal() {
        signal_m(thread, SIG_PREEMPT);
    }
}

/// Sends a signal to the thread of an M, if there is still one. Go's `signalM`.
pub(crate) fn signal_m(procid: u64, sig: c_int) {
    // SAFETY: no memory is passed. If the thread has ended, or `procid` is 0, the kernel refuses.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), procid, sig) };
}

/// If `addr` is in the guard page below the stack of `gp`, the G that was running, makes the thread report
/// that when the handler returns. Says whether it is.
///
/// The report is made on g0, and not here: it needs functions that a signal handler must not call.
fn guard_hit(mp: &M, gp: &'static G, addr: usize, context: &mut libc::ucontext_t) -> bool {
    let stack = gp.stack.get();
    if addr >= stack.lo || addr < stack.lo - page_size() {
        return false;
    }
    let g0 = &mp.ext.g0;
    if ptr::eq(gp, g0) {
        badmorestackg0(g0, addr);
    }
    if ptr::eq(gp, &mp.ext.gsignal) {
        badmorestackgsignal();
    }
    // SAFETY: `gp` is a goroutine, and while one runs, g0's stack is free below g0.sched.sp.
    unsafe { Sigctxt(context).report_overflow(g0.sched.sp.get(), addr) };
    true
}

/// Passes a signal on to the handler that was there before ours. Go's `sigfwd`.
///
/// # Safety
/// In a handler of that signal, with its arguments.
unsafe fn sigfwd(sig: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(i) = HANDLED.iter().position(|&handled| handled == sig) else {
        // The program doesn't want the signal any more, and its former action is back. So the signal is sent
        // once more, for that: it is blocked until our handler returns.
        // SAFETY: the kernel reads `info`, which is our handler's; this thread exists.
        unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), gettid(), sig, info) };
        return;
    };
    // SAFETY: initsig wrote it before it installed our handler, and nobody has written to it since.
    let previous = unsafe { (*PREVIOUS.0.get())[i].assume_init_ref() };
    match previous.sa_sigaction {
        // By default a SIGURG is ignored.
        libc::SIG_DFL | libc::SIG_IGN if sig == SIG_PREEMPT => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // The kernel doesn't let a fault be ignored either. It happens again when our handler returns,
            // and finds the default action.
            // SAFETY: all zero is a valid action, and the default one runs no code of ours.
            unsafe {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(sig, &default, ptr::null_mut());
            }
        }
        handler => {
            // SAFETY: the address of a handler that the program installed for this signal. One without
            // SA_SIGINFO takes the first argument only, and the ABI lets it be passed more.
            let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
            handler(sig, info, context);
        }
    }
}
