//! The Rust side of `asm/`: the code that is written for each architecture. Go's `stubs.go`,
//! `asm_*.s` and `signal_*.go`.
//!
//! No other room calls a routine of `asm/`. Both architectures offer the same functions under the
//! same names (`docs/design/architectures.md` has them side by side), so there is no
//! `cfg(target_arch)` above this floor.
//!
//! - `asm/offsets.h` is the only place where assembly learns an offset. `offsets.rs` asserts each
//!   line of it against the structs when the crate is compiled.
//! - `getg` reads a thread-local that lives in assembly. Its `asm!` isn't `pure`: the compiler must
//!   not carry the value across a switch, after which the goroutine may be on another thread.
//! - `mcall` is called, and jumps to its function. From there to `gogo`, no call may be one that
//!   doesn't return: `asm/x86_64/asm.S` says why, and what such a call costs. So a function that
//!   `mcall` jumps to ends in `schedule`, `execute` or `gogo`, which are inlined.
//! - `systemstack` passes a panic on: if its closure panics on g0, the panic goes on in the caller.
//!   While the closure runs, the caller's registers are in no place that a scan sees;
//!   `systemstack_scannable` saves them first.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | `systemstack`, and `systemstack_scannable` |
//! | `routines.rs` | what is called alike on both: `mcall`, `setg`, `mstart`, `asmcgocall`, `procyield` |
//! | `sanitizer.rs` | what AddressSanitizer is told, or both are, but for the switches; Go's `asan.go` |
//! | `tsan.rs` | what ThreadSanitizer alone is told; Go's `race.go` |
//! | `syscall.rs` | `syscall!`: how the kernel is called |
//! | `offsets.rs` | `asm/offsets.h` against the structs |
//! | `x86_64/` | `getg`, `gogo`, `mcall_by_jump`, where callee-saved registers are; signals |
//! | `aarch64/` | the same |

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod offsets;
mod routines;
pub(in crate::runtime) mod sanitizer;
pub(in crate::runtime) mod syscall;
pub(crate) mod tsan;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;
pub(crate) use routines::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

use std::ffi::c_void;
use std::mem::{ManuallyDrop, MaybeUninit};

use crate::runtime::arch::sanitizer::unwound_to;

/// `weak_function!("name", f)` gives `f` a second, weak name, under which the program's other parts
/// find it. If the program has a strong symbol of that name, they find that one.
#[cfg(all(feature = "std", not(any(asan, tsan, target_feature = "crt-static"))))]
macro_rules! weak_function {
    ($name:literal, $f:ident) => {
        std::arch::global_asm!(
            concat!(".pushsection .text.", $name, ", \"ax\", %progbits"),
            concat!(".weak ", $name),
            concat!(".type ", $name, ", %function"),
            concat!($name, ":"),
            ".cfi_startproc",
            $crate::runtime::arch::jump_to_f!(),
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            f = sym $f,
        );
    };
}
#[cfg(all(feature = "std", not(any(asan, tsan, target_feature = "crt-static"))))]
pub(in crate::runtime) use weak_function;

/// Calls `f` on g0's stack and returns its result. On g0 already, in a signal handler and on a
/// thread that isn't ours, just calls `f`. Go's `systemstack`.
///
/// `f` can't park: g0 is no goroutine. If it panics, the panic goes on in the caller.
#[inline(always)]
pub(crate) fn systemstack<R, F: FnOnce() -> R>(f: F) -> R {
    struct Call<F, R> {
        f: ManuallyDrop<F>,
        result: MaybeUninit<R>,
    }

    unsafe extern "C-unwind" fn call<R, F: FnOnce() -> R>(arg: *mut c_void) {
        // SAFETY: `arg` is the address of `this`, below, which nobody else uses before this
        // returns.
        let call = unsafe { &mut *arg.cast::<Call<F, R>>() };
        // SAFETY: this runs once, and nothing else takes or drops `f`.
        let f = unsafe { ManuallyDrop::take(&mut call.f) };
        call.result.write(f());
    }

    /// Sets g after an unwind: the stack is the caller's again, but getg still says g0.
    struct SetG(Option<&'static crate::runtime::data::runtime2::G>);
    impl Drop for SetG {
        fn drop(&mut self) {
            // SAFETY: this is the G that called systemstack, and we are on its stack again. It is
            // still on this thread, as nothing on g0 can park.
            unsafe { setg(self.0) }
            unwound_to(self.0);
        }
    }

    let mut this = Call { f: ManuallyDrop::new(f), result: MaybeUninit::uninit() };
    let unwound = SetG(getg());
    // SAFETY: `call` gets a `Call` of its type, and `unwound` sets g if it unwinds.
    unsafe { systemstack_raw(call::<R, F>, (&raw mut this).cast()) };
    std::mem::forget(unwound);
    // SAFETY: `call` returned, so it wrote the result.
    unsafe { this.result.assume_init() }
}

/// [`systemstack`] for a goroutine that waits while `f` runs, and whose stack others may scan
/// meanwhile. The callee-saved registers are saved on that stack, and not in frames of g0's. (Go's
/// compiler keeps nothing in registers across a call.)
///
/// Not inlined: otherwise the compiler might load a value into one of those registers after they
/// were saved.
#[inline(never)]
pub(crate) fn systemstack_scannable<R, F: FnOnce() -> R>(f: F) -> R {
    let mut saved = CalleeSaved::default();
    callee_saved_registers(&mut saved);
    let result = systemstack(f);
    std::hint::black_box(&saved);
    result
}
