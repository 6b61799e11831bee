//! Go's scheduler for Rust and C programs.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("gosched supports x86_64 Linux and no other target");

mod arch;
mod atomic;
pub mod chan;
mod current;
mod debug;
mod go;
mod join_handle;
mod link;
mod lock;
mod os;
mod panic;
mod print;
pub mod proc;
mod rand;
mod run;
pub mod runtime2;
mod scope;
mod select;
mod sema;
mod signal;
mod slot;
mod stack;
pub mod sync;
mod traceback;

pub use current::{OsThreadLock, goexit, goid, gomaxprocs, lock_os_thread, num_goroutine, yield_now};
pub use go::{Builder, go};
pub use join_handle::{JoinError, JoinHandle};
pub use run::run;
pub use scope::{Scope, ScopedJoinHandle, scope};
