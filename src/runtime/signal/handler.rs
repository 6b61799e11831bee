//! The signal handler, and how an action is set: Go's `initsig`, `sighandler`, `doSigPreempt`,
//! `sigfwd`, `getsig`, `setsig`.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use crate::runtime::arch::syscall::{sigaction, syscall};
use crate::runtime::arch::{Handler, SIGQUIT_TRAMP, SIGTRAMP, Sigctxt, getg, page_size, setg};
use crate::runtime::base::debug::async_preempt_off;
use crate::runtime::base::guarded::end_guarded;
use crate::runtime::base::os::{SIG_PREEMPT, gettid};
use crate::runtime::base::print::eprintln;
#[cfg(pthreads)]
use crate::runtime::data::ext::IS_THREAD;
use crate::runtime::data::runtime2::{G, M};
#[cfg(pthreads)]
use crate::runtime::m::sigmask::leave_signals_in_handler;
use crate::runtime::m::sigstack::FAULTS;
use crate::runtime::preempt::libc_code::find_libc;
use crate::runtime::preempt::preemptible::{is_async_safe_point, want_async_preempt};
use crate::runtime::prof::profiler_hooks::sampler;
use crate::runtime::sched::detach::lose_p;
use crate::runtime::sched::mstart::{badmorestackg0, badmorestackgsignal};
use crate::runtime::signal::sigqueue::{signal_ignored, sigsend};
use crate::runtime::signal::snapshot::{copy_if_asked, may_be_kept};

/// The signals that are handled here.
const HANDLED: [c_int; 3] = [FAULTS[0], FAULTS[1], SIG_PREEMPT];

/// The actions that [`HANDLED`] had before ours.
static PREVIOUS: Previous = Previous(std::cell::UnsafeCell::new([MaybeUninit::zeroed(); 3]));

struct Previous(std::cell::UnsafeCell<[MaybeUninit<libc::sigaction>; 3]>);

// SAFETY: an element is written once, before the handler that reads it is installed.
unsafe impl Sync for Previous {}

/// Installs the handlers, once. Go's `initsig`.
pub(in crate::runtime) fn initsig() {
    find_libc();
    let _any = move_handlers();
    for (i, sig) in HANDLED.into_iter().enumerate() {
        let installed = getsig(sig).and_then(|previous| {
            // SAFETY: the element is ours alone until the handler, which may run anywhere, is
            // installed.
            unsafe {
                (*PREVIOUS.0.get())[i].write(previous);
                setsig(sig, &our_action())
            }
        });
        if let Err(error) = installed {
            eprintln!("gosched: signal {sig} can't be handled ({error}): {}", without(sig));
        }
    }
}

/// Moves the program's handlers to the alternate stack; says whether there are any.
pub(in crate::runtime) fn move_handlers() -> bool {
    let others = (1..=libc::SIGRTMAX()).filter(|&sig| !is_handled(sig));
    others.filter(|&sig| setsigstack(sig)).count() > 0
}

/// What doesn't work without a handler of `sig`, one of [`HANDLED`].
fn without(sig: c_int) -> &'static str {
    if sig == SIG_PREEMPT {
        "goroutines stop at checks and where they wait, and nowhere else in preemptible code"
    } else {
        "a goroutine's stack overflow ends the process without a report"
    }
}

/// Whether the runtime always handles a signal, for itself.
pub(super) fn is_handled(sig: c_int) -> bool {
    HANDLED.contains(&sig)
}

/// The action that calls our handler.
pub(super) fn our_action() -> libc::sigaction {
    action(SIGTRAMP)
}

/// The action that calls `handler`, one of ours.
pub(in crate::runtime) fn action(handler: Handler) -> libc::sigaction {
    // SAFETY: all zero is a valid action; sigfillset writes to its mask.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigfillset(&mut action.sa_mask);
        action
    }
}

/// The action of a signal. Go's `getsig`.
pub(in crate::runtime) fn getsig(sig: c_int) -> io::Result<libc::sigaction> {
    let mut action = MaybeUninit::zeroed();
    // SAFETY: sets no action, and stores the present one in `action`.
    match unsafe { sigaction(sig, ptr::null(), action.as_mut_ptr()) } {
        // SAFETY: sigaction has filled it.
        0 => Ok(unsafe { action.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the action of a signal. Go's `setsig`.
///
/// # Safety
/// If the action is a handler, it may be called in place of whatever code runs when the signal
/// comes.
pub(in crate::runtime) unsafe fn setsig(sig: c_int, action: &libc::sigaction) -> io::Result<()> {
    // SAFETY: `action` is only read, and its handler may be called at any time, as the caller says.
    match unsafe { sigaction(sig, action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Moves a handler that the program has installed to the alternate stack; says whether there is
/// one. Go's `setsigstack`.
fn setsigstack(sig: c_int) -> bool {
    let Ok(mut action) = getsig(sig) else { return false }; // a signal of libc's own
    let handler = action.sa_sigaction;
    let ours = [SIGTRAMP, SIGQUIT_TRAMP].map(|ours| ours as usize);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN || ours.contains(&handler) {
        return false;
    }
    if action.sa_flags & libc::SA_ONSTACK == 0 {
        action.sa_flags |= libc::SA_ONSTACK;
        // SAFETY: the program's own action, with one more flag, which moves its frames to another
        // stack only.
        let _set = unsafe { setsig(sig, &action) };
    }
    true
}

/// Handles a fault, a request to stop, or a signal that the program has asked for; on the signal
/// stack. Go's `sighandler`.
#[unsafe(no_mangle)]
extern "C" fn gosched_sighandler(sig: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let gp = getg();
    let mp = gp.and_then(|gp| gp.m.get());
    // In a handler getg returns gsignal, so that nothing takes this stack for a goroutine's. And
    // the interrupted code must find its errno unchanged.
    // SAFETY: on the M's signal stack until g is set back, or on the signal stack of a thread that
    // isn't ours and has borrowed the M: either way not on a goroutine's. The kernel's arguments
    // and errno are ours.
    unsafe {
        let errno = *libc::__errno_location();
        if let Some(mp) = mp {
            setg(mp.gsignal.get());
        }
        let ucontext = &mut *context.cast::<libc::ucontext_t>();
        let handled = match (mp, gp) {
            (Some(mp), Some(gp)) if sig == SIG_PREEMPT => {
                let regs = Sigctxt(ucontext).regs();
                #[cfg(pthreads)]
                leave_signals_in_handler(mp, ucontext);
                copy_if_asked(mp, gp, &regs);
                may_be_kept(mp, &regs, || do_sig_preempt(mp, gp, &mut Sigctxt(ucontext)));
                false // one of the program's own may have come at the same time
            }
            _ if sig == libc::SIGPROF && is_for_sampler(mp, gp, &*info, &Sigctxt(ucontext)) => true,
            _ if FAULTS.contains(&sig) && end_guarded(&mut Sigctxt(ucontext)) => true,
            (Some(mp), Some(gp)) if FAULTS.contains(&sig) => {
                guard_hit(mp, gp, (*info).si_addr().addr(), ucontext)
            }
            _ => false,
        };
        if !handled && !sigsend(sig) && !signal_ignored(sig) {
            // The program's handler may leave by `siglongjmp`, to code that is a thread's.
            #[cfg(pthreads)]
            if gp.is_some_and(|gp| gp.ext.as_thread.get() & IS_THREAD != 0) {
                setg(gp);
                *libc::__errno_location() = errno;
            }
            sigfwd(sig, info, context);
        }
        setg(gp);
        *libc::__errno_location() = errno;
    }
}

/// Samples this thread for a profile, if the signal is a sampler's. Returns whether the signal is
/// for nobody else.
fn is_for_sampler(mp: Option<&M>, gp: Option<&G>, info: &libc::siginfo_t, context: &Sigctxt<'_>) -> bool {
    sampler().is_some_and(|sampler| (sampler.signaled)(mp, gp, info, context))
}

/// Handles a preemption signal that has come while the thread of `mp` ran `gp`: stops `gp`, if that
/// is wanted and possible, or takes its P. Go's `doSigPreempt`.
fn do_sig_preempt(mp: &'static M, gp: &'static G, context: &mut Sigctxt) {
    mp.signal_has_come();
    let asked = mp.take_asked();
    if async_preempt_off() {
        return;
    }
    if want_async_preempt(mp, gp) && is_async_safe_point(mp, gp, context.sigpc(), context.sigsp()) {
        // SAFETY: is_async_safe_point says that it may park here, and that there is room.
        unsafe { context.push_call() };
    } else {
        lose_p(mp, gp, asked, context.sigpc());
    }
}

/// If `addr` is in the guard page below the stack of `gp`, the G that was running, makes the thread
/// report the overflow when the handler returns. Returns whether it does.
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
        // The program doesn't want the signal any more, and its former action is back. So the
        // signal is sent once more, for that action.
        // SAFETY: the kernel's, as the caller says.
        unsafe { send_again(sig, info) };
        return;
    };
    // SAFETY: initsig wrote it before it installed our handler, and nobody has written to it since.
    let previous = unsafe { (*PREVIOUS.0.get())[i].assume_init_ref() };
    match previous.sa_sigaction {
        // By default a SIGURG is ignored.
        libc::SIG_DFL | libc::SIG_IGN if sig == SIG_PREEMPT => {}
        // SAFETY: the kernel's, as the caller says.
        libc::SIG_IGN if unsafe { was_sent(&*info) } => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // The kernel doesn't let a fault be ignored either. It happens again when our handler
            // returns, and finds the default action.
            // SAFETY: all zero is a valid action, and the default one runs no code of ours.
            unsafe {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                sigaction(sig, &default, ptr::null_mut());
                if was_sent(&*info) {
                    // A process sent the signal, so no instruction will fail again.
                    send_again(sig, info);
                }
            }
        }
        handler => {
            // SAFETY: the address of a handler that the program installed for this signal. A
            // handler without SA_SIGINFO takes only the first argument, and the ABI allows more.
            let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
            handler(sig, info, context);
            // std's handler sets the default action for a fault that it doesn't know, and expects
            // the fault to happen again.
            let is_default = || getsig(sig).is_ok_and(|now| now.sa_sigaction == libc::SIG_DFL);
            // SAFETY: the kernel has passed `info` to this handler.
            unsafe {
                if FAULTS.contains(&sig) && was_sent(&*info) && is_default() {
                    send_again(sig, info);
                }
            }
        }
    }
}

/// Whether a process has sent the signal, itself for example (`raise`), and no instruction has
/// failed.
fn was_sent(info: &libc::siginfo_t) -> bool {
    info.si_code <= 0
}

/// Sends this thread the signal once more. The signal is blocked until our handler returns.
///
/// # Safety
/// In a handler of that signal, with its argument.
unsafe fn send_again(sig: c_int, info: *mut libc::siginfo_t) {
    // SAFETY: the kernel reads `info`, which is our handler's; this thread exists. Where a sandbox
    // refuses that, any thread of the process may get the signal.
    unsafe {
        if syscall!(SYS_rt_tgsigqueueinfo, libc::getpid(), gettid(), sig, info) != 0 {
            libc::kill(libc::getpid(), sig);
        }
    }
}
