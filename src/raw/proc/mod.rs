//! The raw layer: the scheduler under Go's names, without Rust's comforts.
//!
//! This is for authors who port a runtime onto the scheduler, or write goroutines that live in 4
//! KiB. Everything is `unsafe`, because here nothing catches a panic, nothing owns a result, and a
//! goroutine's stack [moves](#copying-stacks) as it grows. Most programs want [`go`](crate::go) and
//! never this.
//!
//! ```no_run
//! use std::ffi::c_void;
//! use gosched::proc;
//!
//! unsafe extern "C" fn hello(arg: *mut c_void) {
//!     // println! has no checks of its stack: on g0 there is room.
//!     // SAFETY: the closure doesn't park.
//!     unsafe { proc::systemstack(|| println!("hello from {}", arg.addr())) };
//! }
//!
//! gosched::run(|| {
//!     // SAFETY: `hello` keeps the rules below.
//!     unsafe {
//!         proc::newproc(Some(hello), std::ptr::without_provenance_mut(1));
//!         proc::gosched();
//!     }
//! });
//! ```
//!
//! # Copying stacks
//!
//! A goroutine made with [`newproc`] runs on a *copying* stack, which starts with 2,048 bytes and
//! moves to a larger place when a check finds it full. (With debug assertions it starts with 8 KiB
//! more, because frames are several times larger then.) Code on such a stack
//!
//! - checks the stack before it needs more than a few hundred bytes: by
//!   [`morestack_check!`](crate::morestack_check), or because a compiler put the check into each
//!   prologue. The functions here and of [`hchan`](crate::chan::hchan) do that themselves, and take
//!   less than 400 bytes of a release build, 450 on aarch64. Code without checks runs in
//!   [`systemstack`];
//! - must not panic, because the unwinder alone needs more;
//! - must not keep an address of the stack anywhere but on the stack, or in the arguments of a
//!   function of this crate during that call;
//! - must not have a number on the stack that looks like such an address, unless a [`FrameMap`]
//!   says so.
//!
//! [`copying_stacks`] has all the rules, for authors of such code or of a compiler. [`preemption`]
//! says where a goroutine stops that is asked to.
//!
//! # What is unsafe about it
//!
//! Functions inside the runtime trust their callers. The caller owns the G that it passes as the
//! function requires, holds the lock that the function names, and is on g0 or has a P where the
//! function says so. The functions offered here are `unsafe` because they rely on the same
//! conditions. A function that may be called on a copying stack ensures that the stack has room,
//! and then does the same as the runtime's function of that name.
//!
//! # Files
//!
//! A G, an M and a P are in [`runtime2`](crate::runtime2).
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | `throw`, `fatal`, `fatalpanic` |
//! | `goroutines.rs` | `newproc`, `gopark`, `goready`, `Gosched`, `newcoro`, `timeSleep`, `mcall`, `gogo`; `acquirem`, `procPin`, `LockOSThread`, `lock`, `goparkunlock` |
//! | `world.rs` | `entersyscall`, `stopTheWorld`, `forEachP`, `suspendG`, `schedEnableUser` |

mod goroutines;
mod world;

use crate::runtime;

#[doc(hidden)]
pub use crate::runtime::with_stack;
pub use crate::runtime::{
    AdjustInfo, CodePlace, Coro, CoroFn, Event, Frame, FrameMap, FrameMapRegistration, GList, GQueue, Hooks,
    PreemptibleError, PreemptibleRegistration, StwReason, SuspendGState, Symbolizer, Tracer, WorldStop,
    register_frame_map, register_preemptible, schedtrace, set_hooks, set_symbolizer, set_tracer,
};
pub use goroutines::*;
pub use world::*;

#[doc = include_str!("../../../docs/guide/copying-stacks.md")]
pub mod copying_stacks {
    #[cfg(doc)]
    use super::FrameMap;
}

#[doc = include_str!("../../../docs/guide/preemption.md")]
#[doc = include_str!("../../../docs/guide/collectors.md")]
pub mod preemption {}

/// Ends the process for a broken invariant: the message, a backtrace and every goroutine go to
/// stderr, and the status is 2. Go's `throw`, in `panic.go`.
pub fn throw(message: &str) -> ! {
    runtime::throw(message)
}

/// Ends the process for an error of the program, as [`throw`] does, without a backtrace of the
/// runtime. Go's `fatal`, in `panic.go`.
pub fn fatal(message: &str) -> ! {
    runtime::fatal(message)
}

/// Ends the process because the running goroutine has panicked, in a language that is ported onto
/// this, and hasn't recovered. `text`, which begins with "panic: " as a rule, goes to stderr
/// unchanged, then the goroutine with its stack. The status is 2. Go's `fatalpanic`, in `panic.go`.
pub fn fatalpanic(text: &str) -> ! {
    runtime::fatalpanic_of_port(text)
}
