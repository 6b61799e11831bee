//! The signal stack and the signal mask of an M: Go's `mpreinit`, `minitSignals`, `unminitSignals`, `sigsave`
//! and `sigblock`.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use memmap2::MmapOptions;

use crate::runtime::arch::page_size;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::SIG_PREEMPT;
use crate::runtime::base::print::eprintln;
use crate::runtime::data::runtime2::{M, Stack};
use crate::runtime::mem::sizes::STACK_GUARD;

/// The signals that a guard page raises.
pub(in crate::runtime) const FAULTS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The bytes of a signal stack for handlers' own frames, beside the frame that the kernel pushes.
const SIGSTACK_USE: usize = 64 << 10;

/// The signal mask of the thread that started the runtime, and so of every M. Go's
/// `initSigmask`.
pub(in crate::runtime) static INIT_SIGMASK: OnceLock<libc::sigset_t> = OnceLock::new();

/// The signal mask of the thread that started the runtime; before it has, one that blocks nothing.
pub(crate) fn init_sigmask() -> MaybeUninit<libc::sigset_t> {
    INIT_SIGMASK.get().map_or(MaybeUninit::zeroed(), |mask| MaybeUninit::new(*mask))
}

/// The caller's signal mask. Go's `sigsave`.
pub(in crate::runtime) fn sigsave() -> libc::sigset_t {
    let mut mask = MaybeUninit::zeroed();
    // SAFETY: changes no mask, and stores the thread's in `mask`, which is a valid one in any case.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), mask.as_mut_ptr());
        mask.assume_init()
    }
}

/// Allocates the signal stack of an M, with a guard below it. Go's `mpreinit`.
pub(super) fn mpreinit(mp: &'static M) -> io::Result<()> {
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

/// The bytes that the kernel pushes for a signal: the larger the CPU's vector registers, the more.
fn min_signal_frame() -> usize {
    // SAFETY: getauxval takes no pointer.
    unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) as usize }
}

/// Gives this thread its signal stack and its signal mask. Go's `minitSignals`.
pub(in crate::runtime) fn minit_signals(mp: &M) {
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
pub(in crate::runtime) fn sigblock() {
    let mut all = MaybeUninit::uninit();
    // SAFETY: sigfillset initialises `all` before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), ptr::null_mut());
    }
}

/// Calls `f`, which stays on this thread, with the signals blocked that the runtime sends to threads.
pub(crate) fn with_signals_blocked<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(libc::sigset_t);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the mask is this thread's former one.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, ptr::null_mut()) };
        }
    }

    let mut ours = MaybeUninit::uninit();
    let mut former = MaybeUninit::zeroed();
    // SAFETY: sigemptyset initialises `ours` before it is read. `former` is a mask in any case.
    let _restore = unsafe {
        libc::sigemptyset(ours.as_mut_ptr());
        for sig in [SIG_PREEMPT, libc::SIGPROF] {
            libc::sigaddset(ours.as_mut_ptr(), sig);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, ours.as_ptr(), former.as_mut_ptr());
        Restore(former.assume_init())
    };
    f()
}

/// Takes this thread's signal stack away, as another thread may get the M. Go's `unminitSignals`.
pub(in crate::runtime) fn unminit_signals() {
    let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: the thread is on g0's stack, and not in a handler on its signal stack.
    unsafe { libc::sigaltstack(&none, ptr::null_mut()) };
}
