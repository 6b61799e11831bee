//! Channels without types: Go's `chan.go` and `select.go`.
//!
//! A value goes one of three ways: into the buffer, out of the buffer, or straight from the sender to the
//! receiver, when one of them is parked. The one that comes second copies it, to or from the stack of the
//! other, and makes that one ready.
//!
//! - `hchan.lock` protects everything, the sudogs in the queues too. What is read without it (`qcount`,
//!   `closed`, the queues' heads) is for answers that may be out of date.
//! - At most one of the queues has waiters, but for a goroutine that is in both by a select. If there is room
//!   and a receiver, or a value and a sender, nobody waits.
//! - Whoever is taken off a queue is made ready after the unlock. A parked goroutine's stack is written to
//!   with the lock held: whoever moves that stack takes the lock too.
//! - A channel's memory stays a channel (`pool.rs`), as its lock is one that a park releases.
//! - Where Go panics on a closed channel, an operation returns that it is closed. On a thread that isn't a
//!   goroutine's, what would have to wait returns that, too: the face decides what to do.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `make.rs` | `makechan`, `closechan`; freeing one |
//! | `ops.rs` | `chansend`, `chanrecv`, `send`, `recv`, `sendDirect`, `recvDirect`, `chanparkcommit` |
//! | `buffer.rs` | `chanbuf`, `full`, `empty`, `chanlen`, `chancap`: values, and the ring that has them |
//! | `future.rs` | `Waiting`: futures in the same queues |
//! | `waitq.rs` | `waitq.enqueue`, `waitq.dequeue`, `waitq.dequeueSudoG` |
//! | `select.rs` | `selectgo`, `sellock`, `selunlock`, `selparkcommit`, `block` |
//! | `explored.rs` | `send_marked`, `recv_marked`: channels that are points of an exploration, or closed |
//! | `timer_chan.rs` | channels that a timer feeds: `sendTime`, `maybeRunChan` |
//! | `pool.rs` | where channels come from |

pub(super) mod buffer;
mod explored;
pub(super) mod future;
pub(super) mod make;
pub(super) mod ops;
mod pool;
pub(super) mod select;
pub(super) mod timer_chan;
mod waitq;
