//! The Rust side of `asm/aarch64`.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `shadow_stack.rs` | whether the kernel enforces one |
//! | `sigctxt.rs` | `sigctxt.sigpc`, `sigctxt.pushCall`; how large the vector registers are; the signal frame by which a preempted goroutine goes on |
//! | `valgrind.rs` | a request to valgrind |

mod shadow_stack;
mod sigctxt;
mod valgrind;

pub(in crate::runtime) use shadow_stack::*;
pub(in crate::runtime) use sigctxt::*;
pub(in crate::runtime) use valgrind::*;

use std::arch::asm;
#[cfg(feature = "std")]
use std::ffi::c_long;
use std::ffi::c_void;
use std::sync::atomic::AtomicUsize;

use crate::runtime::arch::offsets::defined;
use crate::runtime::arch::routines::lacks_room;
use crate::runtime::data::runtime2::{G, Gobuf};

unsafe extern "C" {
    fn gosched_mcall_by_jump();
    fn gosched_gogo_buf();
    fn gosched_gogo_claimed();
    fn gosched_morestack();
}

/// Returns the kernel's page size: 4, 16 or 64 KiB, depending on its configuration.
pub(in crate::runtime) fn page_size() -> usize {
    // SAFETY: no memory is passed.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Reads a fast clock that runs at the same speed on each processor. Go's `cputicks`.
#[inline(always)]
pub(in crate::runtime) fn cputicks() -> u64 {
    let ticks;
    // SAFETY: reads the virtual counter, which Linux lets programs read.
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) }
    ticks
}

/// Fetches the line at `p` into the caches, if there is memory. Nothing waits for it.
#[inline(always)]
pub(in crate::runtime) fn prefetch<T>(p: *const T) {
    // SAFETY: it doesn't fault.
    unsafe { asm!("prfm pldl1keep, [{}]", in(reg) p, options(nostack, preserves_flags, readonly)) }
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
    // SAFETY: as the caller says. The kernel overwrites no register but x0.
    unsafe {
        asm!(
            "svc #0",
            in("x8") number,
            inlateout("x0") a => ret,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            in("x4") e,
            in("x5") f,
            options(nostack),
        )
    }
    ret
}

/// A target for an indirect jump, and a jump from there to the operand `f` of a `global_asm!`.
#[cfg(all(feature = "std", not(target_feature = "crt-static")))]
macro_rules! jump_to_f {
    () => {
        "bti c\nb {f}"
    };
}
#[cfg(all(feature = "std", not(target_feature = "crt-static")))]
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
            "adrp {0}, :gottprel:gosched_g",
            "ldr {0}, [{0}, :gottprel_lo12:gosched_g]",
            "mrs {1}, tpidr_el0",
            "ldr {0}, [{0}, {1}]",
            out(reg) gp,
            out(reg) _,
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
            "adrp {0}, :gottprel:gosched_g",
            "ldr {0}, [{0}, :gottprel_lo12:gosched_g]",
            "prfm pldl1keep, [{0}, {1}]",
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
            "adr x1, 2f",
            "b {mcall}",
            "2: hint #36", // bti j
            mcall = sym gosched_mcall_by_jump,
            inout("x0") f as *const c_void => _,
            clobber_abi("C"),
        )
    }
}

/// Resumes the G whose `sched` is `buf`. Go's `gogo`.
///
/// This is a jump and not a call, and it is inlined with everything between mcall and here, so that
/// the return predictor stays in step (`asm.S` explains).
///
/// # Safety
/// Called on g0, whose frames are given up. Only this M has the G, and `buf` says where it goes on.
/// mcall, morestack or asyncPreempt filled `buf` when the G left, or newproc1 or mstart did, and
/// the G wasn't resumed since.
#[inline(always)]
pub(crate) unsafe fn gogo(buf: &Gobuf, _guard: usize) -> ! {
    // SAFETY: the G is ours, and `buf` says where it goes on, as the caller says. Nothing returns
    // to g0's frames: the next switch to g0 overwrites them.
    unsafe {
        asm!(
            "b {gogo}",
            gogo = sym gosched_gogo_buf,
            in("x0") buf,
            options(noreturn, nostack),
        )
    }
}

/// [`gogo`] for a G that was claimed before the last G left: the thread pointer is set already.
///
/// # Safety
/// As [`gogo`].
#[inline(always)]
pub(in crate::runtime) unsafe fn gogo_claimed(buf: &Gobuf, _guard: usize) -> ! {
    // SAFETY: as in gogo.
    unsafe {
        asm!(
            "b {gogo}",
            gogo = sym gosched_gogo_claimed,
            in("x0") buf,
            options(noreturn, nostack),
        )
    }
}

/// Makes sure that `n` bytes of stack remain below the caller's frame: grows a copying stack if
/// they don't, and ends the process, with a report, if it can't. Go's `morestack`, with the check
/// that leads there. On a thread that isn't ours, nothing is checked. On g0 a lack of room ends the
/// process.
///
/// Inlined, like a check in a function's prologue. The function that needs the bytes must not be
/// inlined: its frame has to be made after the check.
#[inline(always)]
pub(in crate::runtime) fn morestack_check(n: usize) {
    if lacks_room(n) {
        // SAFETY: gosched_morestack changes no register but these three. If it moves the stack, it
        // adjusts every address of it that the compiler may keep, in registers or in frames.
        unsafe {
            asm!(
                "bl {morestack}",
                morestack = sym gosched_morestack,
                inout("x16") n => _,
                out("x17") _,
                out("x30") _,
            )
        }
    }
}

/// Returns the word of a thread with which compilers' checks compare sp: none, as compilers have no
/// such checks for this architecture.
///
/// # Safety
/// None here. On the other architecture the argument must be a thread pointer.
pub(in crate::runtime) unsafe fn stack_limit(_tp: usize) -> Option<&'static AtomicUsize> {
    None
}

/// Whether the TLS of modules lies below the thread pointer, and `struct pthread` above it. Here it
/// is the other way round.
pub(in crate::runtime) const TLS_BELOW: bool = false;

/// Returns this thread's thread pointer.
pub(in crate::runtime) fn thread_pointer() -> usize {
    let tp;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) tp, options(nomem, nostack, preserves_flags)) };
    tp
}

/// Returns the offset of gosched_g from the thread pointer.
pub(in crate::runtime) fn g_offset() -> isize {
    let offset;
    // SAFETY: reads a word of the table of addresses, which the linker or the loader has filled.
    unsafe {
        asm!(
            "adrp {0}, :gottprel:gosched_g",
            "ldr {0}, [{0}, :gottprel_lo12:gosched_g]",
            out(reg) offset,
            options(nostack, preserves_flags, readonly),
        )
    };
    offset
}

/// Finds out how the thread pointer is set. Here any program can set it.
pub(in crate::runtime) fn init_thread_pointer() {}

/// Returns the caller's stack pointer.
#[inline(always)]
pub(in crate::runtime) fn stack_pointer() -> usize {
    let sp;
    // SAFETY: copies a register, and touches no memory.
    unsafe { asm!("mov {}, sp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    sp
}

/// The contents of the registers that a call preserves, except x29, which every switch saves.
pub(in crate::runtime) type CalleeSaved = [usize; 18];

/// Copies the callee-saved registers to `registers`. (A compiler would copy a returned array once
/// more, on a stack that may be small.)
#[inline(always)]
pub(super) fn callee_saved_registers(registers: &mut CalleeSaved) {
    // SAFETY: writes the 18 words of `registers`, and changes no register.
    unsafe {
        asm!(
            "stp x19, x20, [{0}]",
            "stp x21, x22, [{0}, #16]",
            "stp x23, x24, [{0}, #32]",
            "stp x25, x26, [{0}, #48]",
            "stp x27, x28, [{0}, #64]",
            "stp d8, d9, [{0}, #80]",
            "stp d10, d11, [{0}, #96]",
            "stp d12, d13, [{0}, #112]",
            "stp d14, d15, [{0}, #128]",
            in(reg) registers,
            options(nostack, preserves_flags),
        );
    }
}

/// Whether the frame record (the caller's x29 and the return address) is the uppermost part of
/// every frame. Here compilers put it anywhere in the frame.
pub(in crate::runtime) const RECORD_ON_TOP: bool = false;

/// For a G that isn't running and whose saved frame pointer is `bp`, returns the address of the
/// word with its caller's pc, and its caller's stack pointer. If the G was stopped `at_check`,
/// morestack has saved `bp`, otherwise mcall.
pub(in crate::runtime) fn parked_caller(bp: usize, at_check: bool) -> (usize, usize) {
    // asm.S and morestack.S have pictures of these frames.
    const MCALL_FRAME: usize = defined(include_bytes!("../../../../asm/aarch64/asm.S"), b"MCALL_FRAME");
    const MORESTACK_FRAME: usize =
        defined(include_bytes!("../../../../asm/aarch64/morestack.S"), b"MORESTACK_FRAME");
    (bp + 8, bp + if at_check { MORESTACK_FRAME } else { MCALL_FRAME })
}
