//! The Rust side of `asm/x86_64/asm.S`.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::proc::coro::{Coro, CoroFn};
use crate::proc::newproc::Entry;
use crate::runtime2::{G, Gobuf};

unsafe extern "C" {
    fn gosched_mcall(f: *const c_void);
    fn gosched_mcall_by_jump();
    fn gosched_gogo();
    fn gosched_goexit();
    fn gosched_newproc(f: Option<Entry>, arg: *mut c_void);
    fn gosched_newcoro(c: *mut c_void, f: *const c_void, arg: *mut c_void);
    fn gosched_mstart(g0: *mut c_void) -> *mut c_void;
    fn gosched_sigreport();
    fn gosched_setg(gp: *mut c_void);
    fn gosched_morestack();
    fn gosched_morestack_preempted();
    fn gosched_asmcgocall(f: unsafe extern "C" fn(*mut c_void) -> c_int, arg: *mut c_void) -> c_int;
    fn gosched_entersyscall();
    fn gosched_entersyscallblock();
    fn gosched_async_preempt();
    fn gosched_preemptible_section() -> Section;
    static gosched_vector_size: AtomicUsize;
    static gosched_xsave_mask: AtomicU32;
    static gosched_preempt_mask: AtomicU64;
}

unsafe extern "C-unwind" {
    fn gosched_systemstack(fn_: unsafe extern "C-unwind" fn(*mut c_void), arg: *mut c_void);
}

/// The running G; none on a thread that isn't ours. Go's `getg`.
///
/// Not `pure`: after a switch the G may be on another thread, and what was read
/// before must not be used again.
#[inline(always)]
pub(crate) fn getg() -> Option<&'static G> {
    let gp: *const G;
    // SAFETY: reads this thread's gosched_g, which holds null or a G, and G's are
    // never freed.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + gosched_g@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) gp,
            options(nostack, preserves_flags, readonly),
        );
        gp.as_ref()
    }
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

/// [`mcall`] that neither calls nor returns, as far as the return predictor is concerned: for
/// goroutines that switch to each other from different places (`asm.S` explains).
///
/// # Safety
/// As [`mcall`].
#[inline(always)]
pub(crate) unsafe fn mcall_by_jump(f: unsafe extern "C" fn(*mut G) -> !) {
    // SAFETY: the caller's; when the G is resumed, what a call preserves is as it was.
    unsafe {
        asm!(
            "lea rsi, [rip + 2f]",
            "jmp {mcall}",
            "2: endbr64",
            mcall = sym gosched_mcall_by_jump,
            inout("rdi") f as *const c_void => _,
            clobber_abi("C"),
        )
    }
}

/// Resumes the G whose `sched` is `buf`, and whose `stackguard0` is `guard`. Go's `gogo`.
///
/// A jump and not a call, and inlined with everything that leads here from mcall,
/// so that the return predictor stays in step (`asm.S` explains).
///
/// # Safety
/// On g0. The G is this M's alone, and `buf` was filled by mcall or newproc1 and
/// not resumed since.
#[inline(always)]
pub(crate) unsafe fn gogo(buf: &Gobuf, guard: usize) -> ! {
    // SAFETY: the caller's; what is on g0's stack now is given up.
    unsafe {
        asm!(
            "jmp {gogo}",
            gogo = sym gosched_gogo,
            in("rdi") buf,
            in("rcx") guard,
            options(noreturn, nostack),
        )
    }
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

/// Makes sure that `n` bytes of stack remain below the caller's frame: grows a copying stack if
/// they don't, and ends the process, with a report, if it can't. Go's `morestack`, with the check
/// that leads there. On g0, and on a thread that isn't ours, nothing is checked.
///
/// Inlined, as a check in a function's prologue would be; what needs the bytes must not be.
#[inline(always)]
pub(crate) fn morestack_check(n: usize) {
    #[cfg(target_env = "gnu")]
    // SAFETY: gosched_morestack changes no register but these two, and moves what is on the stack
    // with every address in it that the compiler may keep there.
    unsafe {
        asm!(
            "mov r11, rsp",
            "sub r11, r10",
            "jb 2f",
            "cmp r11, fs:[0x70]", // what SET_STACK_LIMIT sets
            "jae 3f",
            "2: call {morestack}",
            "3:",
            morestack = sym gosched_morestack,
            inout("r10") n => _,
            out("r11") _,
        )
    }
    #[cfg(not(target_env = "gnu"))]
    {
        let Some(gp) = getg() else { return };
        let sp: usize;
        // SAFETY: a copy of a register.
        unsafe { asm!("mov {}, rsp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
        let guard = gp.stackguard0.load(Ordering::Relaxed);
        if sp.checked_sub(n).is_none_or(|low| low < guard) {
            // SAFETY: as above.
            unsafe {
                asm!("call {}", sym gosched_morestack, inout("r10") n => _, out("r11") _);
            }
        }
    }
}

/// The word of this thread that compilers' checks compare rsp with, while the thread lives; none where
/// there is no such word.
pub(crate) fn stack_limit() -> Option<&'static AtomicUsize> {
    #[cfg(target_env = "gnu")]
    {
        let thread: *const u8;
        // SAFETY: the thread's descriptor begins with its own address.
        unsafe { asm!("mov {}, fs:0", out(reg) thread, options(nostack, preserves_flags, readonly)) };
        // SAFETY: a word of the descriptor, which only checks and SET_STACK_LIMIT look at.
        Some(unsafe { &*thread.add(0x70).cast() })
    }
    #[cfg(not(target_env = "gnu"))]
    None
}

/// What is in the registers that a call preserves, but for rbp, which every switch saves.
#[inline(always)]
pub(crate) fn callee_saved_registers() -> [usize; 5] {
    let mut registers = [0; 5];
    // SAFETY: stores copies of registers there.
    unsafe {
        asm!(
            "mov [{0}], rbx",
            "mov [{0} + 8], r12",
            "mov [{0} + 16], r13",
            "mov [{0} + 24], r14",
            "mov [{0} + 32], r15",
            in(reg) &mut registers,
            options(nostack, preserves_flags),
        );
    }
    registers
}

/// How many bytes the saved vector registers take.
pub(crate) fn vector_size() -> usize {
    // SAFETY: a static of morestack.S, written before there is a goroutine.
    unsafe { gosched_vector_size.load(Ordering::Relaxed) }
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

/// What the ABI lets a function use below its stack pointer.
pub(crate) const RED_ZONE: usize = 128;

/// What `gosched_async_preempt` pushes on the goroutine's stack, below the red zone: pc, flags and 15
/// registers, and a word of alignment.
pub(crate) const ASYNC_PREEMPT_FRAME: usize = 18 * size_of::<usize>();

/// A goroutine's registers, as a signal handler can change them. Go's `sigctxt`.
pub(crate) struct Sigctxt<'a>(pub(crate) &'a mut libc::ucontext_t);

impl Sigctxt<'_> {
    /// Where it was interrupted. Go's `sigpc`.
    pub(crate) fn sigpc(&self) -> usize {
        self.0.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
    }

    /// Its stack pointer. Go's `sigsp`.
    pub(crate) fn sigsp(&self) -> usize {
        self.0.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
    }

    /// Lets it go on as if it had just called `gosched_async_preempt`. Go's `pushCall`, which knows no
    /// red zone.
    ///
    /// # Safety
    /// There is room for that on its stack.
    pub(crate) unsafe fn push_call(&mut self) {
        let sp = self.sigsp() - RED_ZONE - size_of::<usize>();
        // SAFETY: the caller's.
        unsafe { std::ptr::with_exposed_provenance_mut::<usize>(sp).write(self.sigpc()) };
        let registers = &mut self.0.uc_mcontext.gregs;
        registers[libc::REG_RSP as usize] = sp as i64;
        registers[libc::REG_RIP as usize] = gosched_async_preempt as *const () as i64;
    }
}

/// Finds out how morestack and asyncPreempt save the vector registers.
#[allow(unused_unsafe)] // __cpuid is safe, but not in each version of Rust that this is for
pub(crate) fn init_vector_state() {
    const OSXSAVE: u32 = 1 << 27;
    // Of xsave's parts, those that hold arguments: xmm, the upper halves of ymm, and of zmm.
    // And what else a compiler may keep across a check that is made by hand: the masks, and zmm16 to 31.
    const KEPT: u32 = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7;
    // The keys to memory's protection belong to the thread.
    const PKRU: u64 = 1 << 9;
    let (mut size, mut xcr0) = (512, 0_u64); // fxsave
    // SAFETY: every x86-64 processor has the instruction, here and below.
    if unsafe { __cpuid(1) }.ecx & OSXSAVE != 0 {
        let (low, high): (u32, u32);
        // SAFETY: the processor has the instruction, and the system has enabled it.
        unsafe { asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack)) };
        xcr0 = u64::from(high) << 32 | u64::from(low);
        // SAFETY: likewise.
        size = unsafe { __cpuid_count(0xd, 0) }.ebx as usize;
    }
    // SAFETY: statics of morestack.S and preempt.S, which no goroutine reads yet.
    unsafe {
        gosched_vector_size.store(size, Ordering::Relaxed);
        gosched_xsave_mask.store(xcr0 as u32 & KEPT, Ordering::Relaxed);
        gosched_preempt_mask.store(xcr0 & !PKRU, Ordering::Relaxed);
    }
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

/// Where a thread goes on that ran into a guard page; see [`Regs`](crate::signal::Regs).
pub(crate) fn sigreport_pc() -> usize {
    gosched_sigreport as *const () as usize
}

/// One pause of a spin loop. Go's `procyield`.
#[inline(always)]
pub(crate) fn procyield(cycles: u32) {
    for _ in 0..cycles {
        std::hint::spin_loop();
    }
}
