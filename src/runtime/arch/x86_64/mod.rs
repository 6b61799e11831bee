//! The Rust side of `asm/x86_64`.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `shadow_stack.rs` | whether the kernel enforces one |
//! | `sigctxt.rs` | `sigctxt.sigpc`, `sigctxt.pushCall`; how large the vector registers are |
//! | `valgrind.rs` | a request to valgrind |

mod shadow_stack;
mod sigctxt;
mod valgrind;

pub(in crate::runtime) use shadow_stack::*;
pub(in crate::runtime) use sigctxt::*;
pub(in crate::runtime) use valgrind::*;

use std::arch::asm;
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
#[cfg(feature = "std")]
use std::ffi::c_long;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::runtime::arch::syscall::sigaction;
use crate::runtime::data::runtime2::{G, Gobuf};

unsafe extern "C" {
    fn gosched_mcall_by_jump();
    fn gosched_gogo_buf();
    fn gosched_gogo_claimed();
    static gosched_set_by_kernel: AtomicBool;
    fn gosched_morestack();
}

/// Returns the kernel's page size.
#[inline(always)]
pub(in crate::runtime) const fn page_size() -> usize {
    4096
}

/// Reads a fast clock that runs at the same speed on each processor. Go's `cputicks`.
#[inline(always)]
pub(in crate::runtime) fn cputicks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Fetches the line at `p` into the caches, if there is memory. Nothing waits for it.
#[inline(always)]
pub(in crate::runtime) fn prefetch<T>(p: *const T) {
    // SAFETY: every x86-64 processor has the instruction, and it doesn't fault.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
}

/// Calls the kernel by the instruction, without the C library's symbols. Returns the kernel's
/// result, an error as a negative number.
///
/// # Safety
/// As that system call.
#[cfg(feature = "std")]
#[inline(always)]
pub(in crate::runtime) unsafe fn raw(number: c_long, args: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = args;
    let ret;
    // SAFETY: as the caller says. The kernel overwrites rcx with the return address, and r11 with
    // the flags.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => ret,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        )
    }
    ret
}

/// A target for an indirect jump, and a jump from there to the operand `f` of a `global_asm!`.
#[cfg(all(feature = "std", not(any(asan, tsan, target_feature = "crt-static"))))]
macro_rules! jump_to_f {
    () => {
        "endbr64\njmp {f}"
    };
}
#[cfg(all(feature = "std", not(any(asan, tsan, target_feature = "crt-static"))))]
pub(in crate::runtime) use jump_to_f;

/// Returns the running G; none on a thread that isn't ours. Go's `getg`.
///
/// The `asm!` isn't `pure`: after a switch the G may be on another thread, where the compiler must
/// read gosched_g again.
#[inline(always)]
pub(crate) fn getg() -> Option<&'static G> {
    let gp: *const G;
    // SAFETY: reads this thread's gosched_g, which holds null or the running G, whose page is never
    // unmapped.
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

/// Fetches the line of `gosched_g` in the thread-locals at `tp` into the caches.
#[inline(always)]
pub(in crate::runtime) fn prefetch_g(tp: usize) {
    // SAFETY: this reads only the offset of gosched_g, and computes its address. A prefetch of an
    // address never faults.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + gosched_g@GOTTPOFF]",
            "prefetcht0 byte ptr [{0} + {1}]",
            out(reg) _,
            in(reg) tp,
            options(nostack, preserves_flags, readonly),
        );
    }
}

/// [`mcall`](super::mcall) without a call or a return that the return predictor would see: for
/// goroutines that switch to each other from different places (`asm.S` explains).
///
/// # Safety
/// As [`mcall`](super::mcall).
#[inline(always)]
pub(in crate::runtime) unsafe fn mcall_by_jump(f: unsafe extern "C" fn(*mut G) -> !) {
    // SAFETY: the caller runs on a goroutine that `f` takes care of. The goroutine is resumed after
    // the jump, with the registers that a call preserves as they were; `clobber_abi` names the
    // others.
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
/// This is a jump and not a call, and it is inlined with everything between mcall and here, so that
/// the return predictor stays in step (`asm.S` explains).
///
/// # Safety
/// Called on g0, whose frames are given up. Only this M has the G, and `buf` says where it goes on.
/// mcall, morestack or asyncPreempt filled `buf` when the G left, or newproc1 or mstart did, and
/// the G wasn't resumed since.
#[inline(always)]
pub(crate) unsafe fn gogo(buf: &Gobuf, guard: usize) -> ! {
    // SAFETY: the G is ours, and `buf` says where it goes on, as the caller says. Nothing returns
    // to g0's frames: the next switch to g0 overwrites them.
    unsafe {
        asm!(
            "jmp {gogo}",
            gogo = sym gosched_gogo_buf,
            in("rdi") buf,
            in("rcx") guard,
            options(noreturn, nostack),
        )
    }
}

/// [`gogo`] for a G that was claimed before the last G left: the thread pointer is set already.
///
/// # Safety
/// As [`gogo`].
#[inline(always)]
pub(in crate::runtime) unsafe fn gogo_claimed(buf: &Gobuf, guard: usize) -> ! {
    // SAFETY: as in gogo.
    unsafe {
        asm!(
            "jmp {gogo}",
            gogo = sym gosched_gogo_claimed,
            in("rdi") buf,
            in("rcx") guard,
            options(noreturn, nostack),
        )
    }
}

/// Makes sure that `n` bytes of stack remain below the caller's frame: grows a copying stack if
/// they don't, and ends the process, with a report, if it can't. Go's `morestack`, with the check
/// that leads there. On a thread that isn't ours, nothing is checked. On g0, nothing is checked
/// with glibc's limit word; without that word, a lack of room there ends the process.
///
/// Inlined, like a check in a function's prologue. The function that needs the bytes must not be
/// inlined: its frame has to be made after the check.
#[inline(always)]
pub(in crate::runtime) fn morestack_check(n: usize) {
    #[cfg(target_env = "gnu")]
    // SAFETY: gosched_morestack changes no register but these two. If it moves the stack, it
    // adjusts every address of it that the compiler may keep, in registers or in frames.
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
    if crate::runtime::arch::routines::lacks_room(n) {
        // SAFETY: as with the limit word, above.
        unsafe {
            asm!("call {}", sym gosched_morestack, inout("r10") n => _, out("r11") _);
        }
    }
}

/// Returns the word with which compilers' checks compare rsp, of the thread with this thread
/// pointer. Returns none if the libc has no such word. The word must not be used once the thread
/// has ended.
///
/// # Safety
/// `tp` is a thread pointer.
pub(in crate::runtime) unsafe fn stack_limit(tp: usize) -> Option<&'static AtomicUsize> {
    // SAFETY: this is an aligned word of the descriptor, which lives as long as the thread. Only
    // checks and SET_STACK_LIMIT use the word.
    cfg!(target_env = "gnu").then(|| unsafe { &*ptr::with_exposed_provenance::<AtomicUsize>(tp + 0x70) })
}

/// Whether the TLS of modules lies below the thread pointer, and `struct pthread` above it.
pub(in crate::runtime) const TLS_BELOW: bool = true;

/// Returns this thread's thread pointer.
pub(in crate::runtime) fn thread_pointer() -> usize {
    let tp;
    // SAFETY: reads the first word of the thread's control block, which is its address.
    unsafe { asm!("mov {}, fs:0", out(reg) tp, options(nostack, preserves_flags, readonly)) };
    tp
}

/// Returns the offset of gosched_g from the thread pointer.
pub(in crate::runtime) fn g_offset() -> isize {
    let offset;
    // SAFETY: reads a word of the table of addresses, which the linker or the loader has filled.
    unsafe {
        asm!("mov {}, qword ptr [rip + gosched_g@GOTTPOFF]", out(reg) offset, options(nostack, preserves_flags, readonly))
    };
    offset
}

/// Finds out whether the program can set the thread pointer itself: the kernel must allow it, and
/// whatever runs the program, valgrind for example, must know the instruction. Otherwise the kernel
/// sets it.
pub(in crate::runtime) fn init_thread_pointer() {
    unsafe extern "C" fn skip(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel passes the context with which it goes on; the instruction has five
        // bytes.
        unsafe {
            (&mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs)[libc::REG_RIP as usize] += 5
        };
        // SAFETY: assembly's own.
        unsafe { gosched_set_by_kernel.store(true, Ordering::Relaxed) };
    }
    const HWCAP2_FSGSBASE: libc::c_ulong = 2;
    // SAFETY: the action is complete, and the former action is put back. The instruction sets the
    // value that the thread pointer already has.
    unsafe {
        if libc::getauxval(libc::AT_HWCAP2) & HWCAP2_FSGSBASE == 0 {
            gosched_set_by_kernel.store(true, Ordering::Relaxed);
            return;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = skip as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        let mut before = std::mem::zeroed();
        sigaction(libc::SIGILL, &action, &mut before);
        asm!("wrfsbase {}", in(reg) thread_pointer(), options(nostack, preserves_flags));
        sigaction(libc::SIGILL, &before, ptr::null_mut());
    }
}

/// Returns the caller's stack pointer.
#[inline(always)]
pub(in crate::runtime) fn stack_pointer() -> usize {
    let sp;
    // SAFETY: copies a register, and touches no memory.
    unsafe { asm!("mov {}, rsp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

/// The contents of the registers that a call preserves, except rbp, which every switch saves.
pub(in crate::runtime) type CalleeSaved = [usize; 5];

/// Copies the callee-saved registers to `registers`. (A compiler would copy a returned array once
/// more, on a stack that may be small.)
#[inline(always)]
pub(super) fn callee_saved_registers(registers: &mut CalleeSaved) {
    // SAFETY: writes the 5 words of `registers`, and changes no register.
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

/// Whether the frame record (the caller's rbp and the return address) is the uppermost part of
/// every frame.
pub(in crate::runtime) const RECORD_ON_TOP: bool = true;

/// For a G that isn't running and whose saved frame pointer is `bp`, returns the address of the
/// word with its caller's pc, and its caller's stack pointer. If the G was stopped `at_check`,
/// morestack has saved `bp`, and the first return address, which leads into the prologue, is
/// skipped. Otherwise mcall has saved `bp`.
pub(in crate::runtime) fn parked_caller(bp: usize, at_check: bool) -> (usize, usize) {
    let pc = bp + if at_check { 16 } else { 8 };
    (pc, pc + 8)
}
