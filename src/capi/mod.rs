//! What C programs call, by `include/gosched.h`. A Rust program has
//! [`proc`](crate::proc) and [`chan::hchan`](crate::chan::hchan), which are the same.
//!
//! The header begins with what there is to know: the kinds of stack, the rules for code on a
//! copying one, and how to compile and link. `examples/c/primes.c` is a program.
//!
//! Each function is a stub in `asm/*/entry.S`. It makes sure of its stack while the arguments are
//! still in registers and no Rust frame exists, and then goes on in a Rust function, which has the
//! same name with `_impl` behind it. (`gosched_getg` and `gosched_systemstack` need no stack, and
//! are whole in `asm.S`.)
//!
//! What may park or allocate in them follows the rules of the raw face. Nothing here unwinds into
//! C: what can fail returns an errno value or an [`OpResult`], and what C must not do is a fatal
//! error.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `header/` | what the header declares; it is made of that folder |
//! | `caller.rs` | what ends a program that calls where it can't, or with NULL |
//! | `goroutine.rs` | what the stubs for goroutines go on in |
//! | `port.rs` | what those go on in that a port calls, besides what programs do |
//! | `fatal.rs` | what a port says in reports |
//! | `chan.rs` | what the stubs for channels and select go on in |
//! | `gstatus.rs` | those for a goroutine's state |
//! | `world.rs` | those for all goroutines and all P's: stopping, suspending, scanning |
//! | `hooks.rs` | those for a ported runtime's hooks |
//! | `code.rs` | those for what a compiler tells of its code |
//! | `trace.rs` | those for a tracer |
//! | `timer.rs` | those for timers |
//! | `note.rs` | those for notes |
//! | `sema.rs` | those for semaphores and conditions |
//! | `netpoll.rs` | those for the network poller |
//! | `signal.rs` | those for signals |
//! | `report.rs` | those for metrics and labels |

mod caller;
mod chan;
mod code;
mod fatal;
mod goroutine;
mod gstatus;
mod header;
mod hooks;
mod netpoll;
mod note;
mod port;
mod report;
mod sema;
mod signal;
mod timer;
mod trace;
mod world;

pub use header::*;

/// An address of anything: C's `uintptr_t`. (What is `usize` in `header/` is a `size_t`.)
pub type Address = usize;
