//! The routines of `asm/` that are called the same way on every architecture.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use crate::runtime::arch::Regs;
#[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
use crate::runtime::arch::{getg, stack_pointer};
use crate::runtime::data::ext::{Coro, CoroFn, Entry};
use crate::runtime::data::runtime2::G;

// C declares some of these with types of its own.
#[allow(clashing_extern_declarations)]
unsafe extern "C" {
    fn gosched_mcall_fn(f: *const c_void);
    fn gosched_goexit();
    fn gosched_newproc(f: Option<Entry>, arg: *mut c_void);
    fn gosched_newcoro(c: *mut c_void, f: *const c_void, arg: *mut c_void);
    fn gosched_mstart(g0: *mut c_void) -> *mut c_void;
    fn gosched_unclaim(tp: usize, gp: *mut c_void);
    fn gosched_setg(gp: *mut c_void);
    fn gosched_morestack_preempted();
    fn gosched_asmcgocall(f: unsafe extern "C" fn(*mut c_void) -> c_int, arg: *mut c_void) -> c_int;
    fn gosched_entersyscall_impl();
    fn gosched_entersyscallblock_impl();
    fn gosched_preemptible_section() -> Section;
    fn gosched_called_from(regs: &Regs, f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void);
    fn gosched_guarded(f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void, at: *mut usize) -> c_int;
    static gosched_vector_size: AtomicUsize;
    static gosched_malloc_words: [AtomicIsize; 2];
    fn gosched_no_word() -> isize;
    fn gosched_with_locals(tp: usize, f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void);
}

// Handlers, which only the kernel calls.
unsafe extern "C" {
    safe fn gosched_sigtramp(sig: c_int, info: *mut libc::siginfo_t, context: *mut c_void);
    safe fn gosched_sigquit_tramp(sig: c_int, info: *mut libc::siginfo_t, context: *mut c_void);
}

// C declares this apart: there, the function that it calls can't unwind.
#[allow(clashing_extern_declarations)]
unsafe extern "C-unwind" {
    fn gosched_systemstack_fn(fn_: unsafe extern "C-unwind" fn(*mut c_void), arg: *mut c_void);
}

/// Sets the result of [`getg`](crate::runtime::arch::getg) on this thread, and with it the limit of
/// compilers' checks.
///
/// # Safety
/// `gp` is the G on whose stack the thread runs, with its M; none if the thread isn't ours, or no
/// longer is.
pub(in crate::runtime) unsafe fn setg(gp: Option<&'static G>) {
    // SAFETY: stores values that the caller says are right to this thread's gosched_g and limit,
    // and reads `gp.m`.
    unsafe { gosched_setg(gp.map_or(std::ptr::null_mut(), |gp| gp.as_ptr().cast())) }
}

/// Sets this thread's thread pointer, which is that of `gp`, to `tp`.
///
/// # Safety
/// Called on g0. `tp` is the thread pointer of this thread's M, and nobody runs `gp`.
pub(in crate::runtime) unsafe fn unclaim(tp: usize, gp: &'static G) {
    // SAFETY: sets the thread pointer that the caller says is right, and `gosched_g` in the block
    // of `gp`.
    unsafe { gosched_unclaim(tp, gp.as_ptr().cast()) }
}

/// [`proc::mcall`](crate::proc::mcall). Go's `mcall`.
///
/// # Safety
/// As the raw function: on a goroutine, not on g0, and only `f` knows of that goroutine.
#[inline(always)]
pub(crate) unsafe fn mcall(f: unsafe extern "C" fn(*mut G) -> !) {
    // SAFETY: the caller is on a goroutine, whose G `f` takes over, and `f` has the type that mcall
    // calls.
    unsafe { gosched_mcall_fn(f as *const c_void) }
}

/// Calls `f(arg)` on g0's stack. Go's `systemstack`, without a closure.
///
/// # Safety
/// `f(arg)` may be called, and doesn't park. If it unwinds, the caller must set g again.
pub(super) unsafe fn systemstack_raw(f: unsafe extern "C-unwind" fn(*mut c_void), arg: *mut c_void) {
    // SAFETY: the caller lets `f(arg)` be called, and restores g after an unwind, which this
    // doesn't.
    unsafe { gosched_systemstack_fn(f, arg) }
}

/// Calls `f(arg)` with the thread pointer `tp`, and malloc's words of this thread.
///
/// # Safety
/// `f(arg)` may be called, and doesn't unwind. `tp` is the thread pointer of a block that no other
/// thread uses. Either no signal handler runs meanwhile, or `tp` is that of this thread's M.
pub(in crate::runtime) unsafe fn with_thread_pointer(
    tp: usize,
    f: unsafe extern "C" fn(*mut c_void),
    arg: *mut c_void,
) {
    // SAFETY: `f` returns, as the caller says, and then the thread pointer has its old value.
    unsafe { gosched_with_locals(tp, f, arg) }
}

/// Sets the words, up to two, that go along with the thread pointer where it changes from M to
/// goroutine and back. Returns false if there are more.
pub(in crate::runtime) fn set_malloc_words(words: &[isize]) -> bool {
    // SAFETY: assembly's own, two words; and a function without conditions.
    let (places, none) = unsafe { (&gosched_malloc_words, gosched_no_word()) };
    for (i, place) in places.iter().enumerate() {
        // Relaxed: no goroutine has thread-locals of its own yet.
        place.store(words.get(i).copied().unwrap_or(none), Ordering::Relaxed);
    }
    words.len() <= places.len()
}

/// Makes a goroutine on a copying stack, noting the caller's pc. Go's `newproc`.
///
/// # Safety
/// As [`newproc`](crate::proc::newproc).
#[inline(always)]
pub(crate) unsafe fn newproc_here(f: Option<Entry>, arg: *mut c_void) {
    // SAFETY: the stub passes both on to the newproc in Rust, whose conditions the caller meets.
    unsafe { gosched_newproc(f, arg) }
}

/// Calls `f(arg)` on g0's stack. Go's `asmcgocall`.
///
/// # Safety
/// `f(arg)` may be called, and neither parks nor unwinds.
#[inline(always)]
pub(crate) unsafe fn asmcgocall(f: unsafe extern "C" fn(*mut c_void) -> c_int, arg: *mut c_void) -> c_int {
    // SAFETY: the caller lets `f(arg)` be called, and says that it doesn't unwind.
    unsafe { gosched_asmcgocall(f, arg) }
}

/// Enters a system call, and saves the caller's pc, sp and callee-saved registers for it. Go's
/// `entersyscall`.
///
/// # Safety
/// As [`entersyscall`](crate::runtime::sched::entersyscall::entersyscall).
#[inline(always)]
pub(in crate::runtime) unsafe fn entersyscall_here() {
    // SAFETY: on a goroutine without locks that leaves the system call again, as the caller says.
    unsafe { gosched_entersyscall_impl() }
}

/// [`entersyscall_here`] for a system call that blocks. Go's `entersyscallblock`.
///
/// # Safety
/// As [`entersyscall`](crate::runtime::sched::entersyscall::entersyscall).
#[inline(always)]
pub(in crate::runtime) unsafe fn entersyscallblock_here() {
    // SAFETY: on a goroutine without locks that leaves the system call again, as the caller says.
    unsafe { gosched_entersyscallblock_impl() }
}

/// Makes a coroutine on a copying stack, noting the caller's pc. Go's `newcoro`.
///
/// # Safety
/// As [`newcoro`](crate::proc::newcoro).
#[inline(always)]
pub(crate) unsafe fn newcoro_here(c: *mut Coro, f: CoroFn, arg: *mut c_void) {
    // SAFETY: the stub passes these on to the newcoro in Rust, whose conditions the caller meets.
    unsafe { gosched_newcoro(c.cast(), f as *const c_void, arg) }
}

/// Whether less than `n` bytes remain between the stack pointer and the running G's guard: the
/// check where the thread has no limit word. False on a thread that isn't ours.
#[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
#[inline(always)]
pub(super) fn lacks_room(n: usize) -> bool {
    let Some(gp) = getg() else { return false };
    let guard = gp.stackguard0.load(Ordering::Relaxed);
    stack_pointer().checked_sub(n).is_none_or(|low| low < guard)
}

/// Returns how many bytes the saved vector registers take.
pub(in crate::runtime) fn vector_size() -> usize {
    // SAFETY: morestack.S has a static of this name and type, and Rust's uses of it are atomic.
    unsafe { gosched_vector_size.load(Ordering::Relaxed) }
}

/// Sets [`vector_size`], before there is a goroutine, because assembly reads it without an order.
pub(super) fn set_vector_size(size: usize) {
    // SAFETY: as in `vector_size`.
    unsafe { gosched_vector_size.store(size, Ordering::Relaxed) }
}

impl Regs {
    /// Returns the registers of a goroutine at `pc`, in a frame that has saved its caller's
    /// registers.
    pub(in crate::runtime) fn new(pc: usize, sp: usize, fp: usize) -> Regs {
        Regs { pc, sp, fp, saved: Default::default() }
    }

    /// Returns registers with `pc`, and `word` in every other register.
    pub(in crate::runtime) fn all(pc: usize, word: usize) -> Regs {
        let mut regs = Regs::new(pc, word, word);
        regs.saved.fill(word);
        regs
    }

    /// Changes every register but the pc.
    pub(in crate::runtime) fn change(&mut self, mut f: impl FnMut(&mut usize)) {
        [&mut self.sp, &mut self.fp].into_iter().chain(&mut self.saved).for_each(&mut f);
    }
}

/// Calls `f` in a frame whose caller, for an unwinder, is the code that has these registers.
///
/// # Safety
/// The words that an unwinder reads by the registers' CFI can be read until this returns, and `f`
/// doesn't unwind.
pub(in crate::runtime) unsafe fn called_from<F: FnMut()>(regs: &Regs, mut f: F) {
    unsafe extern "C" fn call<F: FnMut()>(f: *mut c_void) {
        // SAFETY: this is the address of the closure `f` below, which nobody else uses meanwhile.
        unsafe { (*f.cast::<F>())() }
    }
    // SAFETY: `call` gets a closure of its type, which doesn't unwind. An unwinder that walks from
    // there can read the words that it needs, as the caller says.
    unsafe { gosched_called_from(regs, call::<F>, (&raw mut f).cast()) }
}

/// Calls `f`. Stores the stack pointer to `at`, by which
/// [`Sigctxt::end_guarded`](crate::runtime::arch::Sigctxt) can end the call. Returns whether `f`
/// has returned.
///
/// # Safety
/// `f` doesn't unwind, and if it is ended, nobody needs what it leaves behind.
pub(in crate::runtime) unsafe fn call_guarded<F: FnOnce()>(f: F, at: *mut usize) -> bool {
    unsafe extern "C" fn call<F: FnOnce()>(f: *mut c_void) {
        // SAFETY: this is the address of the closure `f` below, which is called once and forgotten
        // there.
        unsafe { f.cast::<F>().read()() }
    }
    let mut f = ManuallyDrop::new(f);
    // SAFETY: `call` gets a closure of its type, which doesn't unwind, as the caller says; `at` can
    // be written.
    unsafe { gosched_guarded(call::<F>, (&raw mut f).cast(), at) == 0 }
}

/// The type of a signal's handler with `SA_SIGINFO`.
pub(in crate::runtime) type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// The handler by which the kernel calls `gosched_sighandler`, in `signal/handler.rs`. Go's
/// `sigtramp`.
pub(in crate::runtime) const SIGTRAMP: Handler = gosched_sigtramp;

/// The handler by which the kernel calls `gosched_sigquit`, in `report/quit.rs`.
pub(in crate::runtime) const SIGQUIT_TRAMP: Handler = gosched_sigquit_tramp;

/// Returns where a goroutine that was preempted at a check goes on.
pub(in crate::runtime) fn morestack_preempted_pc() -> usize {
    gosched_morestack_preempted as *const () as usize
}

/// The result of `gosched_preemptible_section`.
#[repr(C)]
struct Section {
    start: usize,
    end: usize,
}

/// Returns the addresses of the functions of [`preemptible!`](crate::preemptible); empty if there
/// are none.
#[inline(always)]
pub(in crate::runtime) fn preemptible_section() -> Range<usize> {
    // SAFETY: the routine loads two addresses that the linker has set, and returns them as a
    // Section.
    let Section { start, end } = unsafe { gosched_preemptible_section() };
    start..end
}

/// Returns the pc of a new G, at the base of its stack.
pub(in crate::runtime) fn goexit_pc() -> usize {
    gosched_goexit as *const () as usize
}

/// The start routine of every thread that we make; its argument is the g0.
pub(in crate::runtime) const MSTART: extern "C" fn(*mut c_void) -> *mut c_void = {
    extern "C" fn mstart(g0: *mut c_void) -> *mut c_void {
        // SAFETY: newosproc passes the g0 of a new M, on the M's new thread.
        unsafe { gosched_mstart(g0) }
    }
    mstart
};

/// Spins for `cycles` pauses. Go's `procyield`.
#[inline(always)]
pub(in crate::runtime) fn procyield(cycles: u32) {
    for _ in 0..cycles {
        std::hint::spin_loop();
    }
}
