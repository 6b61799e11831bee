//! The network poller: goroutines that wait for a descriptor park here, and no thread waits with
//! them. Go's `netpoll.go`, as its `internal/poll` calls it.
//!
//! A descriptor is registered once, for reading and writing, and edge-triggered: the kernel reports
//! when it *becomes* ready. So try an operation first, wait if it would block, and try again
//! afterwards.
//!
//! These are for authors who port a runtime. Everybody else uses [`net`](crate::net).

pub use crate::runtime::{
    Mode, PollDesc, PollError, netpoll_is_poll_descriptor, poll_runtime_poll_close, poll_runtime_poll_open,
    poll_runtime_poll_reset, poll_runtime_poll_server_init, poll_runtime_poll_set_deadline,
    poll_runtime_poll_unblock, poll_runtime_poll_wait,
};
