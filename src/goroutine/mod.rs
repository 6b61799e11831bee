//! The safe face of goroutines: it starts the runtime, makes a goroutine from a closure, returns
//! the closure's result, and answers questions about the running goroutine.
//!
//! A closure runs on a fixed stack, which never moves, so the closure may keep pointers to its
//! locals anywhere. Until the goroutine starts, the closure is in the slot of the goroutine's home
//! page. Its result waits there for the handle. A closure or a result that is too large for the
//! slot is in a box.
//!
//! - A panic unwinds to the base of its goroutine, and `join` returns it. `run` resumes the main
//!   goroutine's panic in the caller. `goexit` unwinds, too.
//! - A goroutine has thread-locals of its own, so it may do what a thread may. Nothing here is
//!   `unsafe`, except functions that make goroutines share the thread-locals of their threads, and
//!   `labels_of`, which is for tracers.
//! - An operation waits on a goroutine. A thread that isn't a goroutine becomes one during the
//!   wait, and calls no code of the program then. Inside of `blocking`, and before the first `run`,
//!   the operation panics, with a message that says so.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `run.rs` | `run`: where a program enters |
//! | `spawn.rs` | `go`, `Builder`, `set_default_stack_size`, `set_default_shared_locals`; `body`, which such a goroutine runs |
//! | `local.rs` | `goroutine_local!`, `GoroutineLocal` |
//! | `join_handle.rs` | `JoinHandle`, `JoinError`, `JoinFuture`; `set_panic_mode`: the effect of a panic that no caller takes |
//! | `join_set.rs` | `JoinSet`: results as they come |
//! | `abort_handle.rs` | `AbortHandle`: ends a goroutine |
//! | `scope.rs` | `scope`, `try_scope`, `Scope`, `ScopedJoinHandle`: goroutines that borrow |
//! | `scoped_value.rs` | `ScopedValue`: values that are bound during a call |
//! | `current.rs` | `yield_now`, `check`, `goexit`, `goid`, `try_goid`, `num_goroutine`, `gomaxprocs`, `lock_os_thread` |
//! | `blocking.rs` | `blocking`: the code that Go puts around a system call |
//! | `future.rs` | `block_on`, `stay`, `wake` |
//! | `labels.rs` | part of Go's `runtime/pprof`: `WithLabels`, and labels during a call |

mod abort_handle;
mod blocking;
mod current;
mod future;
mod join_handle;
mod join_set;
pub mod labels;
mod local;
mod run;
mod scope;
mod scoped_value;
mod spawn;

pub use abort_handle::AbortHandle;
pub use blocking::blocking;
pub(crate) use blocking::{close, ignoring_eintr};
pub(crate) use current::not_a_goroutine;
pub use current::{
    OsThreadLock, check, goexit, goid, gomaxprocs, lock_os_thread, num_goroutine, set_default_gomaxprocs,
    set_gomaxprocs, set_max_detached, try_goid, yield_now,
};
pub use future::block_on;
#[cfg(feature = "tokio")]
pub(crate) use future::stay;
pub(crate) use future::{wake, wake_elsewhere};
pub use join_handle::{JoinError, JoinFuture, JoinHandle, PanicMode, set_panic_mode};
pub(crate) use join_handle::{catch_into, is_panic, message};
pub use join_set::JoinSet;
pub use local::{AccessError, GoroutineLocal};
pub use run::run;
pub use scope::{Scope, ScopedJoinHandle, scope, try_scope};
pub use scoped_value::ScopedValue;
pub use spawn::{Builder, go, set_default_shared_locals, set_default_stack_size};
pub(crate) use spawn::{cannot, move_out};
