//! The memory of channels, which comes from a [`pool`](crate::runtime::mem::pool).
//!
//! A channel's memory stays a channel. A thread that unlocks a channel reads the lock once more
//! after the unlock (`lock/key.rs`). By then a goroutine that has just been parked may run, and may
//! have freed the channel. At worst the memory is another channel, whose lock tolerates the read,
//! or zero, which is an unlocked lock.
//!
//! Each channel is [`SIZE`] bytes, with room for a small buffer behind the struct. A larger buffer
//! comes from the allocator, and goes back to it.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::runtime::data::cell::Cell;
use crate::runtime::data::ext::{FreeList, Pool};
use crate::runtime::data::hchan::Hchan;
use crate::runtime::data::runtime2::{P, sched};
use crate::runtime::mem::arena::Arena;
use crate::runtime::mem::pool::{Linked, Pooled};

/// The size of a channel with its small buffer: two cache lines, and more in builds whose locks
/// have ranks.
const SIZE: usize = if cfg!(debug_assertions) { 256 } else { 128 };

/// The bytes of a small buffer.
pub(super) const SMALL: usize = SIZE - size_of::<Hchan>();

/// The arena from which channels are cut.
static ARENA: Arena = Arena::new(SIZE);

impl Linked for Hchan {
    unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void> {
        // SAFETY: the field lies in a channel's piece of the arena, and any bytes are a valid link.
        // There is no reference to the whole, because a piece that was never used isn't a valid
        // `Hchan`.
        unsafe { &(*this.as_ptr()).ext.link }
    }
}

impl Pooled for Hchan {
    fn cache(pp: &P) -> &FreeList<Self> {
        &pp.ext.hchans
    }

    fn pool() -> &'static Pool<Self> {
        &sched().ext.hchans
    }

    fn arena() -> &'static Arena {
        &ARENA
    }
}

const _: () = assert!(size_of::<Hchan>() <= SIZE && align_of::<Hchan>() <= SIZE);
