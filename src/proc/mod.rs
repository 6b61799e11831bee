//! The raw layer: the scheduler under Go's names, without Rust's comforts.
//!
//! This is for those who port a runtime onto the scheduler, or write goroutines that live in
//! 4 KiB. Everything is `unsafe`, because here nothing catches a panic, nothing owns a result,
//! and a goroutine's stack [moves](#copying-stacks) as it grows. Most programs
//! want [`go`](crate::go) and never this.
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
//! // SAFETY: `hello` keeps the rules below, and nothing keeps a thread-local.
//! unsafe {
//!     gosched::run(|| {
//!         proc::newproc(Some(hello), std::ptr::without_provenance_mut(1));
//!         proc::gosched();
//!     });
//! }
//! ```
//!
//! # Copying stacks
//!
//! A goroutine made with [`newproc`] runs on a *copying* stack, which starts in 2,048 bytes and moves
//! to a larger place when a check finds it full. (With debug assertions it starts with 8 KiB more, as
//! frames are several times larger then.) Code on such a stack
//!
//! - checks before it needs more than a few hundred bytes: by
//!   [`morestack_check!`](crate::morestack_check), or because a compiler put the check into each
//!   prologue. The functions here and of [`hchan`](crate::chan::hchan) do that themselves, and take
//!   less than 400 bytes of a release build, 450 on aarch64. What has no checks runs in [`systemstack`];
//! - must not panic: the unwinder alone needs more;
//! - must not keep an address of the stack anywhere but on it, or in what it passes to a function of
//!   this crate for the time of that call;
//! - must not have a number on it that looks like one, unless a [`FrameMap`] says so.
//!
//! [`copying_stacks`] has all of it, for those who write such code or a compiler; [`preemption`], where
//! a goroutine stops that is asked to.
//!
//! # The chapters
//!
//! A G, an M and a P are in [`runtime2`](crate::runtime2). `proc.go` is cut into these files, and
//! `coro.go` is one of them:
//!
//! | file | what it holds |
//! | --- | --- |
//! | `boot.rs`, `main.rs` | `rt0_go`, `schedinit`, `main`: how the runtime starts |
//! | `m.rs`, `template.rs` | M's: `newm`, `allocm`, `mstart`, `mexit`, and the thread that makes threads |
//! | `extram.rs` | `needm`, `dropm`: threads that aren't ours |
//! | `p.rs`, `procs.rs`, `procresize.rs`, `pmask.rs` | P's: `acquirep`, `releasep`, `procresize`, `allp` |
//! | `newproc.rs`, `gfree.rs`, `allgs.rs` | G's: `newproc`, `malg`, `gfget`, `gfput`, `allgs` |
//! | `goexit.rs`, `join.rs` | the end of a G: `goexit0`, `gdestroy`, and who waits for it |
//! | `schedule.rs` | `schedule`, `findRunnable`, `execute` |
//! | `steal.rs`, `order.rs` | `stealWork` and the order of victims |
//! | `runq.rs`, `global.rs`, `gqueue.rs` | run queues: local, global, and lists |
//! | `wake.rs` | when P's are woken and let go: `wakep`, the "delicate dance" |
//! | `timers.rs` | `checkTimers`, `wakeNetPoller`, and the M that sleeps until a timer is due |
//! | `startstop.rs`, `idlem.rs` | `startm`, `stopm`, `handoffp`, `mput`, `mget` |
//! | `park.rs`, `gosched.rs`, `sudog.rs` | `gopark`, `goready`, `Gosched`, `goyield`, sudogs |
//! | `coro.rs` | coroutines: `newcoro`, `coroswitch` |
//! | `inject.rs` | `injectglist`: work from outside |
//! | `sysmon.rs` | `sysmon`, `retake` |
//! | `preempt.rs` | `preemptone`, `preemptall`, `preemptPark` |
//! | `syscall.rs` | `entersyscall`, `exitsyscall` and their slow paths |
//! | `stw.rs`, `safepoint.rs` | `stopTheWorld`, `startTheWorld`; `forEachP` |
//! | `disable.rs`, `pin.rs` | `schedEnableUser`; `procPin` |
//! | `status.rs` | `casgstatus` and its kin |
//! | `scavenge.rs` | handing memory back |
//! | `lockosthread.rs` | `LockOSThread` |
//! | `checkdead.rs` | `checkdead` |
//! | `hooks.rs`, `trace.rs` | what an embedder registers, and what a tracer is told |
//! | `raw.rs`, `raw_world.rs` | this layer's functions for those outside |
//! | `bad.rs` | `badmcall` and its kin |
//!
//! Functions inside of the crate trust each other: that a G passed to one is owned as that
//! function says, that the lock it names is held, that it is called on g0 or with a P where it
//! says so. What is offered here, outside, is `unsafe` for just that reason.

#[doc = include_str!("../../docs/copying-stacks.md")]
pub mod copying_stacks {
    #[cfg(doc)]
    use super::FrameMap;
}

#[doc = include_str!("../../docs/preemption.md")]
pub mod preemption {}

pub(crate) mod allgs;
pub(crate) mod bad;
pub(crate) mod boot;
pub(crate) mod checkdead;
pub(crate) mod coro;
pub(crate) mod disable;
pub(crate) mod extram;
pub(crate) mod gfree;
pub(crate) mod global;
pub(crate) mod goexit;
pub(crate) mod gosched;
pub(crate) mod gqueue;
pub(crate) mod hooks;
pub(crate) mod idlem;
pub(crate) mod inject;
pub(crate) mod join;
pub(crate) mod lockosthread;
pub(crate) mod m;
pub(crate) mod main;
pub(crate) mod newproc;
pub(crate) mod order;
pub(crate) mod p;
pub(crate) mod park;
pub(crate) mod pin;
pub(crate) mod pmask;
pub(crate) mod preempt;
pub(crate) mod procid;
pub(crate) mod procresize;
pub(crate) mod procs;
mod raw;
mod raw_world;
pub(crate) mod runq;
pub(crate) mod safepoint;
pub(crate) mod scavenge;
pub(crate) mod schedtrace;
pub(crate) mod schedule;
pub(crate) mod startstop;
pub(crate) mod status;
pub(crate) mod steal;
pub(crate) mod stw;
pub(crate) mod sudog;
pub(crate) mod syscall;
pub(crate) mod sysmon;
pub(crate) mod template;
pub(crate) mod timers;
pub(crate) mod trace;
pub(crate) mod tracking;
pub(crate) mod wake;

pub use coro::{Coro, CoroFn};
pub use gqueue::{GList, GQueue};
pub use hooks::{Hooks, set_hooks};
pub use raw::*;
pub use raw_world::*;
pub use schedtrace::schedtrace;
pub use stw::{StwReason, WorldStop};
pub use trace::{Event, Tracer, set_tracer};

pub use crate::preempt::SuspendGState;
pub use crate::preemptible::{PreemptibleError, PreemptibleRegistration, register_preemptible};
#[doc(hidden)]
pub use crate::stack::check::with_stack;
pub use crate::stack::copystack::AdjustInfo;
pub use crate::stack::frame_map::{Frame, FrameMap, FrameMapRegistration, register_frame_map};
