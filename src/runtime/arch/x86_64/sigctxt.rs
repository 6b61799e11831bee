//! The part of signal handling that depends on x86-64: the registers of the interrupted code, and
//! their sizes.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::runtime::arch::routines::set_vector_size;
use crate::runtime::data::runtime2::M;

unsafe extern "C" {
    fn gosched_sigreport();
    fn gosched_async_preempt();
    fn gosched_guarded_end();
    static gosched_xsave_mask: AtomicU32;
    static gosched_preempt_mask: AtomicU64;
}

/// The registers of a goroutine that stands still, for an unwinder: all of them. Where a signal has
/// stopped the goroutine, its frame may be found by any register, as by r11 in the loop that
/// touches the pages of a large frame. Assembly knows the layout.
#[repr(C)]
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Regs {
    pub(in crate::runtime) pc: usize,
    pub(in crate::runtime) sp: usize,
    pub(in crate::runtime) fp: usize,
    /// rbx, r12 to r15; and the registers that a call may change: rax, rdx, rcx, rsi, rdi, r8 to
    /// r11.
    pub(in crate::runtime) saved: [usize; 14],
}

impl Regs {
    /// Returns the registers of the caller of `entersyscall`, which that function saved in `mp`.
    pub(in crate::runtime) fn in_syscall(mp: &M, pc: usize, sp: usize) -> Regs {
        let [rbx, rbp, r12, r13, r14, r15] = mp.ext.syscall_regs.each_ref().map(|register| register.get());
        let mut regs = Regs::new(pc, sp, rbp);
        regs.saved[..5].copy_from_slice(&[rbx, r12, r13, r14, r15]);
        regs
    }
}

/// The bytes that the ABI lets a function use below its stack pointer.
pub(in crate::runtime) const RED_ZONE: usize = 128;

/// How many bytes the handler and `gosched_async_preempt` push on the goroutine's stack, below the
/// red zone: pc, flags and 15 registers, and a word of alignment.
pub(in crate::runtime) const ASYNC_PREEMPT_FRAME: usize = 18 * size_of::<usize>();

/// A goroutine is stopped only where its stack pointer is a multiple of this: anywhere.
pub(in crate::runtime) const SP_ALIGN: usize = 1;

/// Whether this processor's vector registers can be saved, so that a goroutine can go on where a
/// signal has stopped it.
pub(in crate::runtime) fn vectors_fit() -> bool {
    true
}

/// A goroutine's registers, as a signal handler can change them. Go's `sigctxt`.
pub(in crate::runtime) struct Sigctxt<'a>(pub(in crate::runtime) &'a mut libc::ucontext_t);

impl Sigctxt<'_> {
    /// Returns the interrupted pc. Go's `sigpc`.
    pub(in crate::runtime) fn sigpc(&self) -> usize {
        self.0.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
    }

    /// Returns the interrupted code's stack pointer. Go's `sigsp`.
    pub(in crate::runtime) fn sigsp(&self) -> usize {
        self.0.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
    }

    /// Returns the registers, for an unwinder.
    pub(in crate::runtime) fn regs(&self) -> Regs {
        use libc::{REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
        use libc::{REG_RAX, REG_RBP, REG_RBX, REG_RCX, REG_RDI, REG_RDX, REG_RSI};
        let saved = [
            REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15, REG_RAX, REG_RDX, REG_RCX, REG_RSI, REG_RDI, REG_R8,
            REG_R9, REG_R10, REG_R11,
        ];
        let reg = |name: libc::c_int| self.0.uc_mcontext.gregs[name as usize] as usize;
        Regs { pc: self.sigpc(), sp: self.sigsp(), fp: reg(REG_RBP), saved: saved.map(reg) }
    }

    /// Lets the code go on as if it had just called `gosched_async_preempt`. Go's `pushCall`, which
    /// needn't skip a red zone.
    ///
    /// # Safety
    /// The interrupted code is a goroutine at an asynchronous safe point (`is_async_safe_point`):
    /// it may park there, and its stack has room for the saved registers.
    pub(in crate::runtime) unsafe fn push_call(&mut self) {
        let sp = self.sigsp() - RED_ZONE - size_of::<usize>();
        // SAFETY: below the red zone the goroutine's stack is free, and has room, as the caller
        // says.
        unsafe { ptr::with_exposed_provenance_mut::<usize>(sp).write(self.sigpc()) };
        let registers = &mut self.0.uc_mcontext.gregs;
        registers[libc::REG_RSP as usize] = sp as i64;
        registers[libc::REG_RIP as usize] = gosched_async_preempt as *const () as i64;
    }

    /// Lets the thread go on in `gosched_sigreport`, with the goroutine's registers and `addr`, on
    /// g0's stack below `sp`.
    ///
    /// # Safety
    /// A goroutine was interrupted, and g0's stack is free below `sp`, with room for a report.
    pub(in crate::runtime) unsafe fn report_overflow(&mut self, sp: usize, addr: usize) {
        let regs = self.regs();
        let registers = &mut self.0.uc_mcontext.gregs;
        let at = (sp - size_of::<Regs>()) & !15;
        // SAFETY: the caller says that g0's stack is free here; `at` is aligned.
        unsafe { ptr::with_exposed_provenance_mut::<Regs>(at).write(regs) };
        registers[libc::REG_RBX as usize] = at as i64;
        registers[libc::REG_RSP as usize] = at as i64;
        registers[libc::REG_RBP as usize] = 0;
        registers[libc::REG_RDI as usize] = addr as i64;
        registers[libc::REG_RIP as usize] = gosched_sigreport as *const () as i64;
    }

    /// Lets the thread go on at the end of `gosched_guarded`, whose stack pointer was `at`.
    ///
    /// # Safety
    /// That call is this thread's, and hasn't returned.
    pub(in crate::runtime) unsafe fn end_guarded(&mut self, at: usize) {
        let registers = &mut self.0.uc_mcontext.gregs;
        registers[libc::REG_RSP as usize] = at as i64;
        registers[libc::REG_RIP as usize] = gosched_guarded_end as *const () as i64;
    }

    /// Whether the thread waits for a lock: whether the signal has interrupted a wait for a futex,
    /// which begins anew when the handler returns.
    pub(in crate::runtime) fn waits_for_lock(&self) -> bool {
        const SYSCALL: [u8; 2] = [0x0f, 0x05];
        let pc = ptr::with_exposed_provenance::<[u8; 2]>(self.sigpc());
        // SAFETY: the pc is at an instruction, and no instruction begins at the last byte of a
        // program's code.
        self.0.uc_mcontext.gregs[libc::REG_RAX as usize] == libc::SYS_futex && unsafe { pc.read() } == SYSCALL
    }
}

/// The components of xsave that may be live at a check. Arguments are in xmm, and in the upper
/// halves of ymm and of zmm0 to zmm15. Also live across a check that is written by hand: the mask
/// registers, zmm16 to zmm31, and r16 to r31.
const KEPT: u32 = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << APX;

/// The component of r16 to r31: the only one with addresses of the stack.
const APX: u32 = 19;

/// The offset of that component in the area of xsave; 0 if the processor has no such registers.
static APX_OFFSET: AtomicUsize = AtomicUsize::new(0);

/// Calls `f` with each general register among the vector registers that were saved at `regs`.
///
/// # Safety
/// The registers were saved there, and only the caller uses them.
pub(in crate::runtime) unsafe fn each_saved_general(regs: *mut u8, f: impl FnMut(&mut usize)) {
    let offset = APX_OFFSET.load(Ordering::Relaxed);
    if offset != 0 {
        // SAFETY: the registers are the caller's; xsave has 16 aligned words at that offset.
        unsafe { (*regs.add(offset).cast::<[usize; 16]>()).iter_mut().for_each(f) };
    }
}

/// Sets how morestack and asyncPreempt save the vector registers.
#[allow(unused_unsafe)] // __cpuid is safe, but not in each version of Rust that this is for
pub(in crate::runtime) fn init_vector_state() {
    const OSXSAVE: u32 = 1 << 27;
    // The rights of protection keys belong to the thread, and not to the goroutine.
    const PKRU: u64 = 1 << 9;
    let (mut size, mut xcr0) = (512, 0_u64); // fxsave
    // SAFETY: every x86-64 processor has cpuid.
    if unsafe { __cpuid(1) }.ecx & OSXSAVE != 0 {
        let (low, high): (u32, u32);
        // SAFETY: OSXSAVE says that the processor has the instruction and the system has enabled
        // it.
        unsafe { asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack)) };
        xcr0 = u64::from(high) << 32 | u64::from(low);
        // SAFETY: as above; a processor with xsave has this leaf.
        size = unsafe { __cpuid_count(0xd, 0) }.ebx as usize;
        if xcr0 & 1 << APX != 0 {
            // SAFETY: likewise; the component is enabled.
            let offset = unsafe { __cpuid_count(0xd, APX) }.ebx as usize;
            APX_OFFSET.store(offset, Ordering::Relaxed);
        }
    }
    set_vector_size(size);
    // SAFETY: morestack.S and preempt.S have statics of these names and types; no goroutine reads
    // them yet.
    unsafe {
        gosched_xsave_mask.store(xcr0 as u32 & KEPT, Ordering::Relaxed);
        gosched_preempt_mask.store(xcr0 & !PKRU, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the offset of processors that have these registers: in place of the registers of MPX.
    #[test]
    fn general_registers_are_found_among_the_vectors() {
        #[repr(align(64))]
        struct Saved([usize; 200]);

        let mut saved = Saved([7; 200]);
        let mut double = || {
            // SAFETY: the words are ours, and are more than xsave has there.
            unsafe { each_saved_general(saved.0.as_mut_ptr().cast(), |word| *word *= 2) };
            saved.0.iter().enumerate().filter(|(_, word)| **word == 14).map(|(i, _)| i).collect::<Vec<_>>()
        };
        let before = APX_OFFSET.swap(0, Ordering::Relaxed);
        assert!(double().is_empty());
        APX_OFFSET.store(960, Ordering::Relaxed);
        assert_eq!(double(), (120..136).collect::<Vec<_>>());
        APX_OFFSET.store(before, Ordering::Relaxed);
    }
}
