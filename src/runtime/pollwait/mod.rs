//! Waiting for a descriptor: the half of Go's `netpoll.go` that parks. The other half is `netpoll`.
//!
//! These are the functions that Go's `internal/poll` calls, offered outside as the raw `netpoll`.
//!
//! - One goroutine waits for reading and one for writing: a second is a `throw`. The owner of the descriptor
//!   sees to that, and closes it when nobody waits.
//! - `rg` and `wg` are changed by compare-and-swap and need no lock. `PollDesc.lock` protects deadlines and
//!   closing; it is released before anybody is made ready.
//! - A close or a deadline is published first, and a waiter looked for then; a waiter announces itself first,
//!   and looks at what was published then. So one of the two sees the other.
//! - A wait may end for nothing: the waiter tries again.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `ops.rs` | `poll_runtime_pollOpen`, `poll_runtime_pollWait`, `poll_runtime_pollClose`, and the like |
//! | `block.rs` | `netpollblock`, `netpollblockcommit`, `netpollcheckerr` |
//! | `deadline.rs` | `poll_runtime_pollSetDeadline`, `netpolldeadlineimpl`, `netpollDeadline` |

mod block;
pub(super) mod deadline;
pub(super) mod ops;
