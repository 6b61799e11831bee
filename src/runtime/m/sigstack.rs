//! The signal stack and the signal mask of an M: Go's `mpreinit`, `minitSignals`, `unminitSignals`,
//! `sigsave` and `sigblock`.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use memmap2::{MmapMut, MmapOptions};

use crate::runtime::arch::page_size;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::os::{SIG_PREEMPT, name_mapping};
use crate::runtime::base::print::eprintln;
use crate::runtime::base::real::{pthread_sigmask, sigaltstack};
use crate::runtime::data::runtime2::{M, Stack};
#[cfg(pthreads)]
use crate::runtime::m::sigmask::choose_first_mask;
use crate::runtime::mem::sizes::STACK_GUARD;

/// The signals that a guard page raises.
pub(in crate::runtime) const FAULTS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The bytes of a signal stack for handlers' own frames, beside the frame that the kernel pushes.
const SIGSTACK_USE: usize = 64 << 10;

/// The signal mask of the thread that started the runtime, and so of every M. Go's
/// `initSigmask`.
pub(in crate::runtime) static INIT_SIGMASK: OnceLock<libc::sigset_t> = OnceLock::new();

/// Returns the signal mask of the thread that started the runtime; before the start, a mask that
/// blocks nothing.
pub(crate) fn init_sigmask() -> MaybeUninit<libc::sigset_t> {
    INIT_SIGMASK.get().map_or(MaybeUninit::zeroed(), |mask| MaybeUninit::new(*mask))
}

/// Returns the caller's signal mask. Go's `sigsave`.
pub(in crate::runtime) fn sigsave() -> libc::sigset_t {
    let mut mask = MaybeUninit::zeroed();
    // SAFETY: changes no mask, and stores the thread's in `mask`, which is a valid one in any case.
    unsafe {
        pthread_sigmask(libc::SIG_SETMASK, ptr::null(), mask.as_mut_ptr());
        mask.assume_init()
    }
}

/// Allocates the signal stack of an M, with a guard below it. Go's `mpreinit`.
pub(super) fn mpreinit(mp: &'static M) -> io::Result<()> {
    let (memory, stack) = new_sigstack()?;
    std::mem::forget(memory);
    let gsignal = &mp.ext.gsignal;
    gsignal.stack.set(stack);
    gsignal.stackguard0.store(stack.lo + STACK_GUARD, Ordering::Relaxed);
    gsignal.m.set(Some(mp));
    mp.gsignal.set(Some(gsignal));
    Ok(())
}

/// Maps a signal stack, with a guard below it.
fn new_sigstack() -> io::Result<(MmapMut, Stack)> {
    let page = page_size();
    let size = (SIGSTACK_USE + min_signal_frame()).next_multiple_of(page);
    let mut memory = MmapOptions::new().len(page + size).map_anon()?;
    name_mapping(memory.as_ptr(), page + size, c"gosched: signal stacks");
    let base = memory.as_mut_ptr();
    // SAFETY: our own page, which nothing uses. If it fails, the stack has no guard, and works.
    unsafe { libc::mprotect(base.cast(), page, libc::PROT_NONE) };
    let lo = base.expose_provenance() + page;
    Ok((memory, Stack { lo, hi: lo + size }))
}

/// Returns the stack in the form that `sigaltstack` takes.
pub(in crate::runtime) fn stack_of(Stack { lo, hi }: Stack) -> libc::stack_t {
    libc::stack_t { ss_sp: ptr::with_exposed_provenance_mut(lo), ss_flags: 0, ss_size: hi - lo }
}

/// Returns how many bytes the kernel pushes for a signal. It is more on a CPU with larger vector
/// registers.
fn min_signal_frame() -> usize {
    // SAFETY: getauxval takes no pointer.
    unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) as usize }
}

/// Gives this thread its signal stack and its signal mask. Go's `minitSignals`.
pub(in crate::runtime) fn minit_signals(mp: &M) {
    let Some(gsignal) = mp.gsignal.get() else { throw("minit: no gsignal") };
    let stack = stack_of(gsignal.stack.get());
    let mut mask = mp.sigmask.get();
    #[cfg(pthreads)]
    choose_first_mask(mp, &mut mask);
    // SAFETY: the stack's memory is this M's and stays mapped, and no other thread has it; the mask
    // is initialised, as every mask of an M is.
    unsafe {
        if sigaltstack(&stack, ptr::null_mut()) != 0 {
            let error = io::Error::last_os_error();
            eprintln!(
                "runtime: a signal stack of {} bytes is refused ({error}): the kernel asks for {} at least, \
                 with this CPU's vector registers",
                stack.ss_size,
                min_signal_frame(),
            );
            throw("sigaltstack failed");
        }
        // At a blocked fault the kernel ends the process without a report. Without the other signal
        // a goroutine that blocks its thread would keep its P. The thread that starts the runtime
        // may block all signals, as the makers of servers' threads do.
        for sig in FAULTS.into_iter().chain([SIG_PREEMPT]) {
            libc::sigdelset(mask.as_mut_ptr(), sig);
        }
        pthread_sigmask(libc::SIG_SETMASK, mask.as_ptr(), ptr::null_mut());
    }
}

/// Blocks all signals on this thread, which is about to end. Go's `sigblock`.
pub(in crate::runtime) fn sigblock() {
    let mut all = MaybeUninit::uninit();
    // SAFETY: sigfillset initialises `all` before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), ptr::null_mut());
    }
}

/// Calls `f`, which stays on this thread. Meanwhile blocks the signals that the runtime sends to
/// threads.
pub(crate) fn with_signals_blocked<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(libc::sigset_t);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the mask is this thread's former one.
            unsafe { pthread_sigmask(libc::SIG_SETMASK, &self.0, ptr::null_mut()) };
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
        pthread_sigmask(libc::SIG_BLOCK, ours.as_ptr(), former.as_mut_ptr());
        Restore(former.assume_init())
    };
    f()
}

/// Removes this thread's signal stack, as another thread may get the M. Go's `unminitSignals`.
pub(in crate::runtime) fn unminit_signals() {
    let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: the thread is on g0's stack, and not in a handler on its signal stack.
    unsafe { sigaltstack(&none, ptr::null_mut()) };
}

/// A signal stack that replaces the one of a thread that isn't ours, until this is dropped.
///
/// std gives each thread a signal stack of 8 KiB, meant for the report of an overflow. On a CPU
/// with large vector registers the frames of two signals fill it. Once the program's handlers are
/// [moved](crate::runtime::signal::handler::move_handlers), they run on that stack and may
/// interrupt each other.
pub(in crate::runtime) struct LargerSigstack {
    former: libc::stack_t,
    _memory: MmapMut,
}

impl LargerSigstack {
    /// Sets a larger signal stack. Returns none if the thread has no signal stack, or a large one,
    /// or if there is no memory.
    pub(in crate::runtime) fn new() -> Option<Self> {
        let mut former = MaybeUninit::zeroed();
        // SAFETY: changes nothing, and stores what the thread has in `former`, which is valid in
        // any case.
        let former: libc::stack_t = unsafe {
            sigaltstack(ptr::null(), former.as_mut_ptr());
            former.assume_init()
        };
        if former.ss_flags != 0 || former.ss_size >= SIGSTACK_USE {
            return None;
        }
        let (memory, stack) = new_sigstack().ok()?;
        // SAFETY: the memory is this thread's until it gets its former stack back.
        let set = unsafe { sigaltstack(&stack_of(stack), ptr::null_mut()) } == 0;
        set.then_some(LargerSigstack { former, _memory: memory })
    }
}

impl Drop for LargerSigstack {
    fn drop(&mut self) {
        // SAFETY: this is the stack that the thread had, and the thread isn't in a handler.
        unsafe { sigaltstack(&self.former, ptr::null_mut()) };
    }
}
