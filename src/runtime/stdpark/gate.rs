//! Whether waits park: in this process, and for the caller of a function of the C library.
//!
//! Also signal handlers that the program installs, which have to run on the signal stack. A handler
//! on the goroutine's stack looks like the code that it has interrupted, so a wait in the handler
//! would park the goroutine in the middle of anything, with signals blocked. Go demands the same of
//! C code that it is linked with.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
#[cfg(pthreads)]
use std::sync::atomic::compiler_fence;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering, fence};

use crate::runtime::arch::sanitizer::SANITIZED;
use crate::runtime::arch::syscall::{sigaction as libc_sigaction, syscall};
use crate::runtime::arch::{getg, stack_pointer};
use crate::runtime::base::debug::std_park_off;
use crate::runtime::base::this::{started, this_m};
#[cfg(pthreads)]
use crate::runtime::data::ext::IS_THREAD;
use crate::runtime::data::runtime2::{G, Stack, sched};
use crate::runtime::lock::foreign_locks;
use crate::runtime::sched::detach::in_user_code;
use crate::runtime::signal::handler::move_handlers;
use crate::runtime::stdpark::descriptors::make_table;

/// Two bytes in pages of their own, with room for the largest page of any architecture.
#[repr(C, align(65536))]
struct Pages {
    /// Whether waits park.
    live: AtomicU8,
    /// Whether threads are goroutines.
    threads: AtomicU8,
    rest: [u8; (64 << 10) - 2],
}

/// 1 in the process in which waits park, or threads are goroutines, and 0 in its children: the
/// kernel clears the page there, however the child is made. (A child of `vfork` shares the memory,
/// so `vfork` is made `fork`.)
static PAGES: Pages = Pages { live: AtomicU8::new(0), threads: AtomicU8::new(0), rest: [0; (64 << 10) - 2] };

/// Whether the program has called [`park_std_waits`] before the runtime has started.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Whether waits park in this process.
#[inline(always)]
pub(in crate::runtime) fn live() -> bool {
    PAGES.live.load(Ordering::Relaxed) != 0
}

/// Whether threads are goroutines in this process (`threads/live.rs`).
#[cfg(feature = "threads")]
#[inline(always)]
pub(in crate::runtime) fn threads_live() -> bool {
    PAGES.threads.load(Ordering::Relaxed) != 0
}

/// Orders a change that the caller has made, by a read-modify-write, before what the caller looks
/// at next.
#[cfg(pthreads)]
#[inline(always)]
pub(in crate::runtime) fn barrier_after_change() {
    if cfg!(target_arch = "x86_64") {
        // There, the change is a barrier for the processor.
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// Makes threads goroutines in this process, in which waits park.
#[cfg(pthreads)]
pub(in crate::runtime) fn set_threads_live() {
    PAGES.threads.store(1, Ordering::Release);
}

/// Makes waits in std's own code, and in C code, park the goroutine instead of blocking its thread.
/// Available with the feature `std`. These waits park:
///
/// - `std::sync`'s locks, conditions, barriers and channels, `thread::park`, `thread::sleep`,
///   `thread::yield_now`;
/// - sockets of `std::net` and `std::os::unix::net`, pipes, terminals, standard streams;
/// - `Child::wait`, and the output of a `Command`;
/// - waits of crates and C libraries by the same calls of the C library: `syscall(SYS_futex)`,
///   `recv`, `send`, `read`, `write`, `accept`, `connect`, `poll`, `select`, `epoll_wait`,
///   `waitpid`, `nanosleep` and the like.
///
/// When a descriptor is closed while a goroutine waits for it, the wait ends with `EBADF`, where a
/// thread would wait on. No signal ends a wait with `EINTR`, unless `make_threads_goroutines` has
/// made threads goroutines and `pthread_kill` sends it. In an [exploration](crate::explore#std)
/// std's clocks and random numbers come from the run. A wait for a socket ends the process there,
/// because an exploration doesn't control sockets.
///
/// Call this once, as a rule at the beginning of `main`. Libraries must not, because it changes how
/// the whole program waits. If the environment variable `GOSCHED_STD` is 1, waits park in a program
/// with the feature without this call. With `GODEBUG=stdpark=0` the call does nothing.
///
/// A wait parks on a goroutine with [thread-locals of its own](crate#thread-locals), which is the
/// default. Inside [`blocking`](crate::blocking), in a signal handler, and in a child of `fork`, a
/// wait blocks the thread, as without this call. `docs/guide/any-crate.md` has a table of the calls
/// that park and those that don't.
///
/// Signal handlers that the program installs from then on by `sigaction` or `signal` run on the
/// thread's signal stack (`SA_ONSTACK`). So do handlers that are there when the runtime starts.
///
/// ```
/// use std::sync::mpsc;
///
/// gosched::park_std_waits().unwrap();
/// gosched::run(|| {
///     let (tx, rx) = mpsc::channel();
///     let sums = gosched::go(move || rx.iter().sum::<u32>());
///     (1..=10).for_each(|i| tx.send(i).unwrap());
///     drop(tx);
///     assert_eq!(sums.join().unwrap(), 55);
/// });
/// ```
///
/// # Errors
/// - Under a sanitizer, which has these functions itself
///   ([`Unsupported`](io::ErrorKind::Unsupported)).
/// - That of `madvise(MADV_WIPEONFORK)`, which Linux has since 4.14. Without it a child of `fork`
///   would wait for goroutines that it doesn't have.
/// - That of `mmap`, if there is no room for the table of descriptors.
pub fn park_std_waits() -> io::Result<()> {
    if SANITIZED {
        let why =
            "under a sanitizer, which replaces the same functions of the C library, std's waits can't park";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    make_table()?;
    let pages: *mut c_void = ptr::from_ref(&PAGES).cast_mut().cast();
    // SAFETY: the pages contain only the byte, which is to be 0 in a child.
    if unsafe { libc::madvise(pages, size_of::<Pages>(), libc::MADV_WIPEONFORK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if !WANTED.swap(true, Ordering::Relaxed) {
        // SAFETY: the handler stores to an atomic.
        unsafe { libc::pthread_atfork(None, None, Some(leave_child_of_fork)) };
    }
    // Pairs with go_live_if_wanted: if the runtime starts at this moment, either the start sees
    // this, or this sees the start.
    fence(Ordering::SeqCst);
    if started() {
        go_live_if_wanted();
    }
    Ok(())
}

/// Clears the bytes in a child of `fork`, as the kernel does. An emulator may accept the `madvise`
/// and not follow it.
unsafe extern "C" fn leave_child_of_fork() {
    PAGES.live.store(0, Ordering::Relaxed);
    PAGES.threads.store(0, Ordering::Relaxed);
}

/// Makes waits park, if the program or the environment has asked for it. Called when the runtime
/// has started.
pub(in crate::runtime) fn go_live_if_wanted() {
    fence(Ordering::SeqCst);
    if WANTED.load(Ordering::Relaxed) && !std_park_off() {
        note_handlers(move_handlers());
        PAGES.live.store(1, Ordering::Release);
    }
}

/// Returns the running goroutine, if it may park here. Returns none on a thread that isn't ours,
/// which pays only for one look at a thread-local.
#[inline(always)]
pub(in crate::runtime) fn may_park() -> Option<&'static G> {
    let gp = getg()?;
    if live() { check(gp) } else { None }
}

/// Whether the caller is on a thread of ours, and waits park in this process. A function of the C
/// library's checks this before anything else. The check uses no registers that have to be saved.
#[inline(always)]
pub(super) fn may_have_to_park() -> bool {
    live() && getg().is_some()
}

fn check(gp: &'static G) -> Option<&'static G> {
    let mp = gp.m.get()?;
    // std keeps references to thread-locals across its waits, so the thread-locals have to be the
    // goroutine's. The goroutine must also be on its own stack: a handler on the signal stack
    // isn't, nor is code that has made a stack of its own, which may have left a thread's state
    // behind.
    let may = gp.ext.tp.get() != 0
        && gp.syscallsp.get() == 0
        && !gp.ext.system.get()
        && in_user_code(mp, gp)
        && is_on(gp.stack.get());
    may.then_some(gp)
}

/// Whether `gp` was made as a thread, so that `pthread_cancel` may end its waits
/// (`threads/cancel.rs`).
#[inline(always)]
pub(super) fn is_thread(gp: &G) -> bool {
    #[cfg(pthreads)]
    return gp.ext.as_thread.get() & IS_THREAD != 0;
    #[cfg(not(pthreads))]
    {
        let _ = gp;
        false
    }
}

/// Whether the caller is on this stack.
fn is_on(stack: Stack) -> bool {
    (stack.lo..stack.hi).contains(&stack_pointer())
}

/// Whether the caller may make goroutines ready, which takes locks of the runtime's. It may if it
/// holds no such lock, and hasn't interrupted code that holds one, or that is between two steps on
/// g0.
pub(in crate::runtime) fn may_ready() -> bool {
    match this_m() {
        Some(mp) => mp.locks.get() == 0 && !is_on(mp.ext.gsignal.stack.get()),
        // A handler may have interrupted the allocator, which making a thread for the goroutine
        // needs.
        None => foreign_locks() == 0 && !on_signal_stack(),
    }
}

/// Whether the caller, on a thread that isn't ours, is on its signal stack.
fn on_signal_stack() -> bool {
    let mut stack = MaybeUninit::<libc::stack_t>::uninit();
    // SAFETY: the kernel fills `stack`, if it returns 0.
    unsafe {
        syscall!(SYS_sigaltstack, 0, stack.as_mut_ptr()) == 0
            && stack.assume_init().ss_flags & libc::SS_ONSTACK != 0
    }
}

/// `sigaction`, as the C library's, except that a handler gets `SA_ONSTACK`.
///
/// # Safety
/// As the C library's.
pub(super) unsafe fn sigaction(
    sig: c_int,
    action: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: null, or an action, as the caller says.
    let moved = unsafe { action.as_ref() }.filter(|_| live()).map(with_signal_stack);
    let action = moved.as_ref().map_or(action, ptr::from_ref);
    // SAFETY: as the caller says; a handler may be called on another stack.
    unsafe { libc_sigaction(sig, action, old) }
}

fn with_signal_stack(action: &libc::sigaction) -> libc::sigaction {
    let mut moved = *action;
    if !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
        moved.sa_flags |= libc::SA_ONSTACK;
        note_handlers(true);
    }
    moved
}

/// Notes that the program has handlers, if it has `any`. A handler may wake goroutines, so when all
/// goroutines wait, a deadlock isn't certain.
fn note_handlers(any: bool) {
    if any {
        sched().ext.handlers.store(true, Ordering::Relaxed);
    }
}

/// `signal`, whose handlers have these flags, and block their own signal if `masks`.
///
/// # Safety
/// As the C library's.
#[inline(never)]
pub(super) unsafe fn signal(
    sig: c_int,
    handler: libc::sighandler_t,
    flags: c_int,
    masks: bool,
) -> libc::sighandler_t {
    // SAFETY: all zero is a valid action; the rest as the caller says.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut old = action;
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        if handler == libc::SIG_ERR || masks && libc::sigaddset(&mut action.sa_mask, sig) != 0 {
            *libc::__errno_location() = libc::EINVAL;
            return libc::SIG_ERR;
        }
        if sigaction(sig, &action, &mut old) < 0 { libc::SIG_ERR } else { old.sa_sigaction }
    }
}
