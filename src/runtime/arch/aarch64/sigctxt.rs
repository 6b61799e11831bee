//! The part of signal handling that depends on aarch64: the registers of the interrupted code and
//! their sizes, and the frame from which an interrupted goroutine goes on.

use std::arch::asm;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::runtime::arch::offsets::defined;
use crate::runtime::arch::routines::{set_vector_size, vector_size};
use crate::runtime::arch::syscall::syscall;
use crate::runtime::data::ext::SYSCALL_REGS;
use crate::runtime::data::runtime2::M;

unsafe extern "C" {
    fn gosched_sigreport();
    fn gosched_async_preempt();
    fn gosched_guarded_end();
    static gosched_sve: AtomicU32;
}

/// The registers of a goroutine that stands still, for an unwinder: all but x18. Where a signal has
/// stopped the goroutine, its frame may be found by any register, as by x9 or x12 in the loop that
/// touches the pages of a large frame. Assembly knows the layout.
#[repr(C)]
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Regs {
    pub(in crate::runtime) pc: usize,
    pub(in crate::runtime) sp: usize,
    pub(in crate::runtime) fp: usize,
    /// x30, x19 to x28; and the registers that a call may change: x0 to x17.
    pub(in crate::runtime) saved: [usize; 29],
}

impl Regs {
    /// Returns the registers of the caller of `entersyscall`, which that function saved in `mp`.
    pub(in crate::runtime) fn in_syscall(mp: &M, pc: usize, sp: usize) -> Regs {
        let words = mp.ext.syscall_regs.each_ref().map(|register| register.get());
        let mut regs = Regs::new(pc, sp, words[SYSCALL_REGS - 1]);
        regs.saved[1..11].copy_from_slice(&words[..10]);
        regs
    }
}

/// The bytes that the ABI lets a function use below its stack pointer: none.
pub(in crate::runtime) const RED_ZONE: usize = 0;

/// A goroutine is stopped only where its stack pointer is a multiple of this: the processor checks
/// the alignment whenever the stack is used.
pub(in crate::runtime) const SP_ALIGN: usize = 16;

/// Whether this processor's vector registers fit into a signal's frame, so that a goroutine can go
/// on where a signal has stopped it. The frame has room for SVE registers of up to 96 bytes.
pub(in crate::runtime) fn vectors_fit() -> bool {
    vector_size() <= RESERVED - size_of::<Head>()
}

/// How many bytes the handler and `gosched_async_preempt` push on the goroutine's stack.
pub(in crate::runtime) const ASYNC_PREEMPT_FRAME: usize = size_of::<Preempted>();

/// The words that the handler and `gosched_async_preempt` push (`preempt.S` has a picture).
#[repr(C)]
struct Preempted {
    x29: u64,
    pc: u64,
    /// x0 to x28.
    x: [u64; 29],
    _pad: u64,
    pushed: Pushed,
}

/// The part that the handler pushes.
#[repr(C)]
struct Pushed {
    x30: u64,
    pstate: u64,
}

/// A goroutine's registers, as a signal handler can change them. Go's `sigctxt`.
pub(in crate::runtime) struct Sigctxt<'a>(pub(crate) &'a mut libc::ucontext_t);

impl Sigctxt<'_> {
    /// Returns the interrupted pc. Go's `sigpc`.
    pub(in crate::runtime) fn sigpc(&self) -> usize {
        self.0.uc_mcontext.pc as usize
    }

    /// Returns the interrupted code's stack pointer. Go's `sigsp`.
    pub(in crate::runtime) fn sigsp(&self) -> usize {
        self.0.uc_mcontext.sp as usize
    }

    /// Returns the registers, for an unwinder.
    pub(in crate::runtime) fn regs(&self) -> Regs {
        let from = self.0.uc_mcontext.regs.map(|register| register as usize);
        let mut regs = Regs::new(self.sigpc(), self.sigsp(), from[29]);
        regs.saved[0] = from[30];
        regs.saved[1..11].copy_from_slice(&from[19..29]);
        regs.saved[11..].copy_from_slice(&from[..18]);
        regs
    }

    /// Lets the code go on as if it had just called `gosched_async_preempt`. Go's `pushCall`.
    ///
    /// # Safety
    /// The interrupted code is a goroutine at an asynchronous safe point (`is_async_safe_point`):
    /// it may park there, and its stack has room for the saved registers.
    pub(in crate::runtime) unsafe fn push_call(&mut self) {
        let registers = &mut self.0.uc_mcontext;
        registers.sp -= size_of::<Pushed>() as u64;
        let pushed = Pushed { x30: registers.regs[30], pstate: registers.pstate };
        // SAFETY: below sp the goroutine's stack is free, as there is no red zone, and has room, as
        // the caller says; sp is aligned at a safe point.
        unsafe { ptr::with_exposed_provenance_mut::<Pushed>(registers.sp as usize).write(pushed) };
        registers.regs[30] = registers.pc;
        registers.pc = gosched_async_preempt as *const () as u64;
    }

    /// Lets the thread go on in `gosched_sigreport`, with the goroutine's registers and `addr`, on
    /// g0's stack below `sp`.
    ///
    /// # Safety
    /// A goroutine was interrupted, and g0's stack is free below `sp`, with room for a report.
    pub(in crate::runtime) unsafe fn report_overflow(&mut self, sp: usize, addr: usize) {
        let regs = self.regs();
        let registers = &mut self.0.uc_mcontext;
        let at = (sp - size_of::<Regs>()) & !15;
        // SAFETY: the caller says that g0's stack is free here; `at` is aligned.
        unsafe { ptr::with_exposed_provenance_mut::<Regs>(at).write(regs) };
        registers.regs[19] = at as u64;
        registers.sp = at as u64;
        registers.regs[29] = 0;
        registers.regs[0] = addr as u64;
        registers.pc = gosched_sigreport as *const () as u64;
    }

    /// Lets the thread go on at the end of `gosched_guarded`, whose stack pointer was `at`.
    ///
    /// # Safety
    /// That call is this thread's, and hasn't returned.
    pub(in crate::runtime) unsafe fn end_guarded(&mut self, at: usize) {
        self.0.uc_mcontext.sp = at as u64;
        self.0.uc_mcontext.pc = gosched_guarded_end as *const () as u64;
    }

    /// Whether the thread waits for a lock: whether the signal has interrupted a wait for a futex,
    /// which begins anew when the handler returns.
    pub(in crate::runtime) fn waits_for_lock(&self) -> bool {
        const SVC: u32 = 0xd400_0001;
        let pc = ptr::with_exposed_provenance::<u32>(self.sigpc());
        // SAFETY: the pc is at an instruction.
        self.0.uc_mcontext.regs[8] == libc::SYS_futex as u64 && unsafe { pc.read() } == SVC
    }
}

/// The size of `mcontext_t.__reserved`, at its end.
const RESERVED: usize = 4096;

/// The head of each record in `mcontext_t.__reserved`: the kernel's `_aarch64_ctx`.
#[repr(C)]
struct Head {
    magic: u32,
    size: u32,
}

/// `fpsimd_context`; `vectors.h` fills all of it except the head.
#[repr(C, align(16))]
struct Fpsimd {
    head: Head,
    fpsr: u32,
    fpcr: u32,
    v: [u128; 32],
}

/// The head of `sve_context`, whose registers follow.
#[repr(C)]
struct Sve {
    head: Head,
    /// The length of a register in bytes.
    vl: u16,
    flags: u16,
    reserved: [u16; 2],
}

const FPSIMD_MAGIC: u32 = 0x4650_8001;
const SVE_MAGIC: u32 = 0x5356_4501;

/// Returns the length in bytes of z0 to z31, p0 to p15 and ffr, if each z has `vl` bytes.
const fn sve_registers(vl: usize) -> usize {
    32 * vl + 17 * vl / 8
}

/// Returns the length in bytes of an SVE register; 0 if there are none.
fn vector_length() -> usize {
    // SAFETY: getauxval takes no pointer.
    if unsafe { libc::getauxval(libc::AT_HWCAP) } & libc::HWCAP_SVE == 0 {
        return 0;
    }
    let length;
    // SAFETY: the processor has the instruction, which sets a register only.
    unsafe {
        asm!(
            ".arch_extension sve",
            "rdvl {}, #1",
            out(reg) length,
            options(nomem, nostack, preserves_flags),
        );
    }
    length
}

/// Calls `f` with each general register among the vector registers that were saved at a check. Here
/// there are none.
///
/// # Safety
/// None here. On x86-64 there are some.
pub(in crate::runtime) unsafe fn each_saved_general(_: *mut u8, _: impl FnMut(&mut usize)) {}

/// Sets how morestack and asyncPreempt save the vector registers.
pub(in crate::runtime) fn init_vector_state() {
    let vl = vector_length();
    let sve = if vl == 0 { 0 } else { (size_of::<Sve>() + sve_registers(vl)).next_multiple_of(16) };
    set_vector_size(size_of::<Fpsimd>() + sve);
    // SAFETY: morestack.S has a static of this name and type; no goroutine reads it yet.
    unsafe { gosched_sve.store(vl as u32, Ordering::Relaxed) };
}

/// The frame of a signal, as the kernel's `rt_sigframe`.
#[repr(C)]
struct Sigframe {
    info: [u64; 16],
    uc: libc::ucontext_t,
}

const PREEMPT_S: &[u8] = include_bytes!("../../../../asm/aarch64/preempt.S");
const _: () = assert!(size_of::<Preempted>() == defined(PREEMPT_S, b"PREEMPT_FRAME"));
const _: () = assert!(size_of::<Sigframe>() == defined(PREEMPT_S, b"SIGFRAME"));

/// Makes a signal's frame, as if the goroutine had been interrupted in this thread where it was
/// preempted: `rt_sigreturn` lets it go on from there. Assembly calls this on g0's stack.
///
/// The signal stack and the mask in the frame are this thread's, which may not be the interrupted
/// thread.
///
/// # Safety
/// `vectors` are the saved vector registers, `words` the other registers, as they were pushed, and
/// `frame` has room for the frame. Nobody else uses these.
#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_sigframe(vectors: *const u8, words: *const Preempted, frame: *mut Sigframe) {
    // SAFETY: assembly passes the three as above. sigaltstack and rt_sigprocmask fill their part
    // of the frame, and rt_sigreturn reads only the parts that are filled here.
    unsafe {
        let uc = &raw mut (*frame).uc;
        libc::sigaltstack(ptr::null(), &raw mut (*uc).uc_stack);
        let mask = &raw mut (*uc).uc_sigmask;
        syscall!(SYS_rt_sigprocmask, libc::SIG_SETMASK, 0, mask, size_of::<u64>());
        let Preempted { x29, pc, x, ref pushed, .. } = *words;
        // A pointer, because the frame isn't initialised yet, and no reference may refer to such
        // memory.
        let registers = &raw mut (*uc).uc_mcontext;
        (&raw mut (*registers).regs).cast::<[u64; 29]>().write(x);
        (*registers).regs[29] = x29;
        (*registers).regs[30] = pushed.x30;
        (*registers).sp = words.add(1).addr() as u64;
        (*registers).pc = pc;
        (*registers).pstate = pushed.pstate;
        add_vectors(vectors, registers.cast::<u8>().add(size_of::<libc::mcontext_t>() - RESERVED));
    }
}

/// Copies the saved vector registers to `reserved`, and adds the records' heads.
///
/// # Safety
/// `vectors` are the saved vector registers. `reserved` is a frame's `__reserved`, aligned to 16.
unsafe fn add_vectors(vectors: *const u8, reserved: *mut u8) {
    let size = vector_size();
    // SAFETY: `vectors` has `size` bytes, as the caller says, and `reserved` has room for them and
    // a last head: a goroutine is stopped only if `vectors_fit`.
    unsafe {
        ptr::copy_nonoverlapping(vectors, reserved, size);
        let fpsimd = reserved.cast::<Fpsimd>();
        (*fpsimd).head = Head { magic: FPSIMD_MAGIC, size: size_of::<Fpsimd>() as u32 };
        if size > size_of::<Fpsimd>() {
            let sve = fpsimd.add(1).cast::<Sve>();
            let head = Head { magic: SVE_MAGIC, size: (size - size_of::<Fpsimd>()) as u32 };
            sve.write(Sve {
                head,
                vl: gosched_sve.load(Ordering::Relaxed) as u16,
                flags: 0,
                reserved: [0; 2],
            });
        }
        reserved.add(size).cast::<Head>().write(Head { magic: 0, size: 0 });
    }
}
