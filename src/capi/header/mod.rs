//! What C programs see: `include/gosched.h` is made of the files of this folder, by
//! `cbindgen.toml`.
//!
//! # Files
//!
//! | file | what it declares |
//! | --- | --- |
//! | `goroutine.rs` | goroutines, as programs use them |
//! | `port.rs` | goroutines, as a port uses them |
//! | `fatal.rs` | what a port says in reports |
//! | `chan.rs` | channels and select |
//! | `gstatus.rs` | a goroutine's state |
//! | `world.rs` | all goroutines and all P's: stopping, suspending, scanning |
//! | `hooks.rs` | a ported runtime's hooks |
//! | `code.rs` | what a compiler tells of its code |
//! | `trace.rs` | a tracer, and its events |
//! | `timer.rs` | timers |
//! | `note.rs` | notes: what a signal handler wakes |
//! | `sema.rs` | semaphores and conditions |
//! | `netpoll.rs` | the network poller |
//! | `signal.rs` | signals |
//! | `report.rs` | metrics and labels |

mod chan;
mod code;
mod fatal;
mod goroutine;
mod gstatus;
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

pub use chan::*;
pub use code::*;
pub use fatal::*;
pub use goroutine::*;
pub use gstatus::*;
pub use hooks::*;
pub use netpoll::*;
pub use note::*;
pub use port::*;
pub use report::*;
pub use sema::*;
pub use signal::*;
pub use timer::*;
pub use trace::*;
pub use world::*;
