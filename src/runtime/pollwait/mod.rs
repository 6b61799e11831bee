//! Waiting for a descriptor: the half of Go's `netpoll.go` that parks. The other half is `netpoll`.
//!
//! These are the functions that Go's `internal/poll` calls, offered outside as the raw `netpoll`.
//!
//! - At most one goroutine waits for reading and one for writing: a second is a `throw`. The owner
//!   of the descriptor ensures this, and closes the descriptor when no goroutine waits.
//! - `rg` and `wg` are changed by compare-and-swap and need no lock. `PollDesc.lock` protects
//!   deadlines and closing. It is released before a goroutine is made ready.
//! - A thread that closes the descriptor or has a deadline publishes that first, and then looks for
//!   a waiter. A waiter announces itself first, and then looks for a close or a deadline. So one of
//!   the two sees the other.
//! - A wait may end spuriously. Then the waiter tries again.
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
