//! Channels without types: Go's `chan.go` and `select.go`.
//!
//! A value goes one of three ways: into the buffer, out of the buffer, or, if the sender or the
//! receiver is parked, straight from one to the other. In the third case, the goroutine that comes
//! second copies the value to or from the stack of the parked goroutine, and makes that goroutine
//! ready.
//!
//! - `hchan.lock` protects all fields, and the sudogs in the queues. A read without the lock (of
//!   `qcount`, `closed`, the queues' heads) gives an answer that may be out of date.
//! - At most one of the queues has waiters, unless a select has put one goroutine into both. No
//!   sender waits while the buffer has room, and no receiver while it has a value.
//! - A goroutine that is taken off a queue is made ready after the unlock. A parked goroutine's
//!   stack is written to with the lock held. Code that moves such a stack takes the lock too.
//! - A channel's memory stays a channel (`make.rs`), because a park releases the channel's lock.
//! - Where Go panics on a closed channel, an operation returns that the channel is closed. On a
//!   thread that doesn't run a goroutine, an operation that would have to wait doesn't, and returns
//!   that the channel is full or empty. The face decides what to do.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `make.rs` | `makechan`, `closechan`; freeing one, and the pool where channels come from |
//! | `block.rs` | `Block`: whether an operation waits; how a select waits; how an abort ends a wait |
//! | `ops.rs` | `chansend`, `chanrecv`, `send`, `recv`, `sendDirect`, `recvDirect`, `chanparkcommit`; `chanbuf`, `full`, `empty`, `chanlen`, `chancap` |
//! | `select.rs` | `selectgo`, `sellock`, `selunlock`, `selparkcommit`, `block` |
//! | `waitq.rs` | `waitq.enqueue`, `waitq.dequeue`, `waitq.dequeueSudoG` |
//! | `observe.rs` | `selectready`: waiting until an operation can be done, without doing it |
//! | `future.rs` | `Waiting`: futures in the same queues |
//! | `grow.rs` | channels whose buffer grows: a send never waits |
//! | `timer_chan.rs` | channels that a timer feeds: `sendTime`, `maybeRunChan` |

pub(super) mod block;
pub(super) mod future;
pub(super) mod grow;
pub(super) mod make;
pub(super) mod observe;
pub(super) mod ops;
pub(super) mod select;
pub(super) mod timer_chan;
mod waitq;
