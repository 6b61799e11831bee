//! The Rust side of `asm/x86_64`.

mod sigctxt;

use std::arch::asm;
use std::ffi::c_void;
use std::sync::atomic::AtomicUsize;

use crate::runtime2::{G, Gobuf};

pub(crate) use sigctxt::*;

unsafe extern "C" {
    fn gosched_mcall_by_jump();
    fn gosched_gogo();
    fn gosched_morestack();
}

/// The kernel's page size.
#[inline(always)]
pub(crate) const fn page_size() -> usize {
    4096
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
    if crate::arch::routines::lacks_room(n) {
        // SAFETY: as above.
        unsafe {
            asm!("call {}", sym gosched_morestack, inout("r10") n => _, out("r11") _);
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

/// The caller's stack pointer.
#[inline(always)]
pub(crate) fn stack_pointer() -> usize {
    let sp;
    // SAFETY: a copy of a register.
    unsafe { asm!("mov {}, rsp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

/// How many words `entersyscall` saves of a goroutine's registers: rbx, rbp, r12 to r15.
pub(crate) const SYSCALL_REGS: usize = 6;

/// What is in the registers that a call preserves, but for rbp, which every switch saves.
pub(crate) type CalleeSaved = [usize; 5];

/// Copies them. To where they are to stay: compilers would make a second copy of what is returned, on a stack
/// that may be small.
#[inline(always)]
pub(crate) fn callee_saved_registers(registers: &mut CalleeSaved) {
    // SAFETY: stores copies of registers there.
    unsafe {
        asm!(
            "mov [{0}], rbx",
            "mov [{0} + 8], r12",
            "mov [{0} + 16], r13",
            "mov [{0} + 24], r14",
            "mov [{0} + 32], r15",
            in(reg) registers,
            options(nostack, preserves_flags),
        );
    }
}

/// Whether every frame's record of its caller is its uppermost part.
pub(crate) const RECORD_ON_TOP: bool = true;

/// Of a G that mcall has left, or morestack if it was stopped `at_check`, with `bp`: where its caller's pc
/// is, and what its caller's stack pointer was. Morestack's own return address is no frame.
pub(crate) fn parked_caller(bp: usize, at_check: bool) -> (usize, usize) {
    let pc = bp + if at_check { 16 } else { 8 };
    (pc, pc + 8)
}
