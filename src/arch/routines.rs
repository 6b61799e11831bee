//! The routines of `asm/` that are called alike on every architecture.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arch::Regs;
#[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
use crate::arch::{getg, stack_pointer};
use crate::proc::coro::{Coro, CoroFn};
use crate::proc::newproc::Entry;
use crate::runtime2::G;

unsafe extern "C" {
    fn gosched_mcall(f: *const c_void);
    fn gosched_goexit();
    fn gosched_newproc(f: Option<Entry>, arg: *mut c_void);
    fn gosched_newcoro(c: *mut c_void, f: *const c_void, arg: *mut c_void);
    fn gosched_mstart(g0: *mut c_void) -> *mut c_void;
    fn gosched_setg(gp: *mut c_void);
    fn gosched_morestack_preempted();
    fn gosched_asmcgocall(f: unsafe extern "C" fn(*mut c_void) -> c_int, arg: *mut c_void) -> c_int;
    fn gosched_entersyscall();
    fn gosched_entersyscallblock();
    fn gosched_preemptible_section() -> Section;
    fn gosched_called_from(regs: &Regs, f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void);
    static gosched_vector_size: AtomicUsize;
}

unsafe extern "C-unwind" {
    fn gosched_systemstack(fn_: unsafe extern "C-unwind" fn(*mut c_void), arg: *mut c_void);
}

/// Sets what [`getg`] returns on this thread.
///
/// # Safety
/// `gp` is the G on whose stack the thread runs.
pub(crate) unsafe fn setg(gp: Option<&'static G>) {
    // SAFETY: a store to this thread's gosched_g.
    unsafe { gosched_setg(gp.map_or(std::ptr::null_mut(), |gp| gp.as_ptr().cast())) }
}

/// Leaves the running G and calls `f` with it on g0's stack. Returns when somebody
/// resumes the G with [`gogo`], maybe on another thread. Go's `mcall`.
///
/// # Safety
/// On a goroutine, not on g0. `f` must see to it that the G is resumed or dead:
/// nothing else knows of it.
#[inline(always)]
pub(crate) unsafe fn mcall(f: unsafe extern "C" fn(*mut G) -> !) {
    // SAFETY: the caller's.
    unsafe { gosched_mcall(f as *const c_void) }
}

/// Calls `f(arg)` on g0's stack. Go's `systemstack`, as assembly has it.
///
/// # Safety
/// As calling `f(arg)` here. If it unwinds, the caller must set g again.
pub(crate) unsafe fn systemstack_raw(f: unsafe extern "C-unwind" fn(*mut c_void), arg: *mut c_void) {
    // SAFETY: the caller's.
    unsafe { gosched_systemstack(f, arg) }
}

/// Makes a goroutine on a copying stack, noting the caller's pc. Go's `newproc`.
///
/// # Safety
/// As [`newproc`](crate::proc::newproc).
#[inline(always)]
pub(crate) unsafe fn newproc_here(f: Option<Entry>, arg: *mut c_void) {
    // SAFETY: the caller's.
    unsafe { gosched_newproc(f, arg) }
}

/// Calls `f(arg)` on g0's stack. Go's `asmcgocall`.
///
/// # Safety
/// As calling `f(arg)`, which must not unwind.
#[inline(always)]
pub(crate) unsafe fn asmcgocall(f: unsafe extern "C" fn(*mut c_void) -> c_int, arg: *mut c_void) -> c_int {
    // SAFETY: the caller's.
    unsafe { gosched_asmcgocall(f, arg) }
}

/// Notes where the caller is, and its callee-saved registers, and enters a system call. Go's
/// `entersyscall`.
///
/// # Safety
/// As [`entersyscall`](crate::proc::syscall::entersyscall).
#[inline(always)]
pub(crate) unsafe fn entersyscall_here() {
    // SAFETY: the caller's.
    unsafe { gosched_entersyscall() }
}

/// The same for one that blocks. Go's `entersyscallblock`.
///
/// # Safety
/// As [`entersyscall`](crate::proc::syscall::entersyscall).
#[inline(always)]
pub(crate) unsafe fn entersyscallblock_here() {
    // SAFETY: the caller's.
    unsafe { gosched_entersyscallblock() }
}

/// Makes a coroutine on a copying stack, noting the caller's pc. Go's `newcoro`.
///
/// # Safety
/// As [`newcoro`](crate::proc::newcoro).
#[inline(always)]
pub(crate) unsafe fn newcoro_here(c: *mut Coro, f: CoroFn, arg: *mut c_void) {
    // SAFETY: the caller's.
    unsafe { gosched_newcoro(c.cast(), f as *const c_void, arg) }
}

/// Whether less than `n` bytes remain between the stack pointer and the running G's guard: what a check
/// compares where no word of the thread has the guard, too. Never on a thread that isn't ours.
#[cfg(not(all(target_arch = "x86_64", target_env = "gnu")))]
#[inline(always)]
pub(super) fn lacks_room(n: usize) -> bool {
    let Some(gp) = getg() else { return false };
    let guard = gp.stackguard0.load(Ordering::Relaxed);
    stack_pointer().checked_sub(n).is_none_or(|low| low < guard)
}

/// How many bytes the saved vector registers take.
pub(crate) fn vector_size() -> usize {
    // SAFETY: a static of morestack.S, written before there is a goroutine.
    unsafe { gosched_vector_size.load(Ordering::Relaxed) }
}

/// Says that, before there is a goroutine.
pub(super) fn set_vector_size(size: usize) {
    // SAFETY: as above.
    unsafe { gosched_vector_size.store(size, Ordering::Relaxed) }
}

impl Regs {
    /// What a goroutine goes on with that is at `pc`, in a frame that has saved its caller's registers.
    pub(crate) fn new(pc: usize, sp: usize, fp: usize) -> Regs {
        Regs { pc, sp, fp, saved: Default::default() }
    }

    /// At `pc`, with this word in every register.
    pub(crate) fn all(pc: usize, word: usize) -> Regs {
        let mut regs = Regs::new(pc, word, word);
        regs.saved.fill(word);
        regs
    }

    /// Changes every register but the pc.
    pub(crate) fn change(&mut self, mut f: impl FnMut(&mut usize)) {
        [&mut self.sp, &mut self.fp].into_iter().chain(&mut self.saved).for_each(&mut f);
    }
}

/// Calls `f` in a frame whose caller, to an unwinder, is whoever has these registers.
///
/// # Safety
/// What an unwinder reads there can be read meanwhile, and `f` doesn't unwind.
pub(crate) unsafe fn called_from<F: FnMut()>(regs: &Regs, mut f: F) {
    unsafe extern "C" fn call<F: FnMut()>(f: *mut c_void) {
        // SAFETY: the closure below.
        unsafe { (*f.cast::<F>())() }
    }
    // SAFETY: the caller's.
    unsafe { gosched_called_from(regs, call::<F>, (&raw mut f).cast()) }
}

/// Where a goroutine goes on that was preempted at a check.
pub(crate) fn morestack_preempted_pc() -> usize {
    gosched_morestack_preempted as *const () as usize
}

/// What `gosched_preemptible_section` returns.
#[repr(C)]
struct Section {
    start: usize,
    end: usize,
}

/// Where the functions of [`preemptible!`](crate::preemptible) are; empty if there are none.
#[inline(always)]
pub(crate) fn preemptible_section() -> Range<usize> {
    // SAFETY: it returns two addresses.
    let Section { start, end } = unsafe { gosched_preemptible_section() };
    start..end
}

/// The address that a new G starts at.
pub(crate) fn goexit_pc() -> usize {
    gosched_goexit as *const () as usize
}

/// The start routine of every thread that we make; its argument is the g0.
pub(crate) const MSTART: extern "C" fn(*mut c_void) -> *mut c_void = {
    extern "C" fn mstart(g0: *mut c_void) -> *mut c_void {
        // SAFETY: newosproc passes the g0 of a new M.
        unsafe { gosched_mstart(g0) }
    }
    mstart
};

/// One pause of a spin loop. Go's `procyield`.
#[inline(always)]
pub(crate) fn procyield(cycles: u32) {
    for _ in 0..cycles {
        std::hint::spin_loop();
    }
}
