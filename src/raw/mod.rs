//! The raw face: the runtime under Go's names, for authors who port a runtime onto it. Everybody
//! else uses the safe face. It is public as [`proc`], [`netpoll`], [`sema`], [`sigqueue`] and
//! [`chan::hchan`](hchan).
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | the network poller |
//! | `proc/` | the scheduler |
//! | `hchan.rs` | channels without types |
//! | `sema.rs` | semaphores and conditions |
//! | `sigqueue.rs` | signals |

/// Defines functions that ensure that the stack has room, and then call the runtime's function of
/// the same name.
macro_rules! offered {
    ($($(#[$doc:meta])* pub unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $result:ty)?;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $name($($arg: $ty),*) $(-> $result)? {
            entry_check();
            // SAFETY: the caller keeps to this function's doc, which has all conditions of the
            // runtime's.
            unsafe { runtime::$name($($arg),*) }
        }
    )*};
}

pub mod hchan;
pub mod proc;
pub mod sema;
pub mod sigqueue;

/// The network poller: goroutines that wait for a descriptor park here, and no thread waits with
/// them. Go's `netpoll.go`, as its `internal/poll` calls it.
///
/// A descriptor is registered once, for reading and writing, and edge-triggered: the kernel reports
/// when it *becomes* ready. So try an operation first, wait if it would block, and try again
/// afterwards.
///
/// These are for authors who port a runtime. Everybody else uses [`net`](crate::net).
pub mod netpoll {
    pub use crate::runtime::{
        Mode, PollDesc, PollError, netpoll_is_poll_descriptor, poll_runtime_poll_close,
        poll_runtime_poll_open, poll_runtime_poll_reset, poll_runtime_poll_server_init,
        poll_runtime_poll_set_deadline, poll_runtime_poll_unblock, poll_runtime_poll_wait,
    };
}
