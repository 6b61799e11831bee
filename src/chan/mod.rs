//! Channels: goroutines that pass values to each other.
//!
//! The names and meanings are those of crossbeam-channel: any number of senders and
//! receivers, and an error when the other side is gone. Go's [`close`](Sender::close) and
//! [`select!`](crate::select) are there, too.
//!
//! A channel has the capacity that [`bounded`] is given. With capacity 0 a send waits for its
//! receive, and the value goes from one goroutine's stack directly to the other's. A channel of
//! [`unbounded`] never lets a sender wait, and may grow until there is no memory left.
//!
//! ```
//! use gosched::chan::bounded;
//!
//! gosched::run(|| {
//!     let (tx, rx) = bounded(0);
//!     gosched::go(move || {
//!         for i in 0..3 {
//!             tx.send(i).unwrap();
//!         }
//!     });
//!     assert_eq!(rx.iter().collect::<Vec<_>>(), [0, 1, 2]);
//! });
//! ```
//!
//! | what | how |
//! | --- | --- |
//! | each value goes to one receiver | [`bounded`], [`unbounded`] |
//! | one value, such as an answer | [`oneshot`] |
//! | each value goes to all receivers | [`broadcast`] |
//! | a value that changes, such as a configuration | [`watch`] |
//!
//! A thread that isn't a goroutine's may use channels, too. Once the runtime has started, `send`,
//! `recv` and the like block that thread while they wait. Before that, and inside
//! [`blocking`](crate::blocking), they panic where they would have to wait.
//!
//! Besides the features of Go's `select`, `select!` has `biased;` for a fixed order, arms with a
//! condition, and arms with an `Option` of a handle. [`Select`] is a `select!` that is put together
//! at run time.
//!
//! Underneath is [`hchan`], Go's channel, without types.

// | file | what it holds |
// | --- | --- |
// | `handles.rs` | `Sender`, `Receiver`, `bounded`, `unbounded`, `never`; iterators; how a value travels through a channel without types |
// | `future.rs` | `recv_async`, `send_async`: the same for code that is async |
// | `stream.rs` | `RecvStream`: what is received, as a stream |
// | `timed.rs` | `recv_timeout` and its like, `deadline` |
// | `select_macro.rs` | `select!`; `RecvArm`, `SendArm`: what the macro is made of |
// | `select_set.rs` | `Select`: cases that are known at run time only |
// | `oneshot.rs` | channels for one value |
// | `broadcast.rs` | channels whose receivers each get every value |
// | `watch.rs` | a value that changes, and its receivers |
// | `waiters.rs` | `Waiters`: how the receivers of the last two wait |

pub mod broadcast;
mod future;
pub(crate) mod handles;
pub mod oneshot;
mod select_macro;
mod select_set;
#[cfg(feature = "futures")]
mod stream;
mod timed;
mod waiters;
pub mod watch;

pub use crate::raw::hchan;
pub use future::{RecvFuture, SendFuture};
pub use handles::{IntoIter, Iter, Receiver, Sender, TryIter, bounded, never, unbounded};
#[doc(hidden)]
pub use select_macro::{AsReceiver, AsSender, Place, RecvArm, SendArm, arms, arms_in_order};
pub use select_set::{Select, Selected};
pub use std::sync::mpsc::{RecvError, SendError, TryRecvError, TrySendError};
#[cfg(feature = "futures")]
pub use stream::RecvStream;
#[doc(hidden)]
pub use timed::deadline;
pub use timed::{RecvTimeoutError, SendTimeoutError};
