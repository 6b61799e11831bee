//! The raw face: the runtime under Go's names, for authors who port a runtime onto it. Everybody
//! else uses the safe face. It is public as [`proc`], [`netpoll`], [`sema`], [`sigqueue`] and
//! [`chan::hchan`](hchan).
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `proc/` | the scheduler |
//! | `hchan.rs` | channels without types |
//! | `netpoll.rs` | the network poller |
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
pub mod netpoll;
pub mod proc;
pub mod sema;
pub mod sigqueue;
