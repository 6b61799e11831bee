//! The functions that C programs call, by `include/gosched.h`. A Rust program has
//! [`proc`](crate::proc) and [`chan::hchan`](crate::chan::hchan), which do the same.
//!
//! The head of the header explains the kinds of stack, the rules for code on a copying stack, and
//! how to compile and link. `examples/c/primes.c` is a program.
//!
//! Each function is a stub in `asm/*/entry.S`. The stub makes sure that the stack has room, while
//! the arguments are still in registers and no Rust frame exists. Then it goes on in a Rust
//! function, which has the same name with `_impl` behind it. (A few functions that need almost no
//! stack, such as `gosched_getg`, are whole in the assembly.)
//!
//! A function that may park or allocate follows the rules of the raw face. No function unwinds into
//! C. A function that can fail returns an errno value or an [`OpResult`], and a call that C must
//! not make is a fatal error.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `goroutine.rs` | goroutines, as programs use them |
//! | `port.rs` | goroutines, as a port uses them |
//! | `fatal.rs` | fatal errors and panics of a port, for reports |
//! | `chan.rs` | channels and select |
//! | `world.rs` | a goroutine's state; all goroutines and all P's: stopping, suspending, scanning |
//! | `hooks.rs` | a ported runtime's hooks; what a compiler knows about its code |
//! | `trace.rs` | a tracer, and its events |
//! | `timer.rs` | timers |
//! | `sema.rs` | notes, which a signal handler may wake; semaphores and conditions |
//! | `netpoll.rs` | the network poller |
//! | `signal.rs` | signals |
//! | `report.rs` | metrics and labels |
//! | `caller.rs` | checks of the caller and of the arguments |
//!
//! Each file but `caller.rs` has three parts:
//!
//! 1. The types of C's. A type of the runtime's that has the same name is written with its path, as
//!    `runtime::Timer`.
//! 2. A block that declares the functions, with their documentation. `tests/header` generates
//!    `include/gosched.h` of the types and the declarations, and `asm/stubs.h` of the declarations.
//!    A function's stub is an `ENTRY` of its name, unless a comment `// stub:` names another macro
//!    of `entry.S`, or further arguments, or says that there is none.
//! 3. The functions with `_impl`. Each `unsafe` block in one relies on what the section on safety
//!    of its declaration requires of the caller.

mod caller;
mod chan;
mod fatal;
mod goroutine;
mod hooks;
mod netpoll;
mod port;
mod report;
mod sema;
mod signal;
mod timer;
mod trace;
mod world;

pub use chan::*;
pub use fatal::*;
pub use goroutine::*;
pub use hooks::*;
pub use netpoll::*;
pub use port::*;
pub use report::*;
pub use sema::*;
pub use signal::*;
pub use timer::*;
pub use trace::*;
pub use world::*;

/// An address of anything: C's `uintptr_t`. (A `usize` in a declaration is a `size_t`.)
pub type Address = usize;
