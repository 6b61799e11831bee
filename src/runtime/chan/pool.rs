//! Where channels come from: [`pool`](crate::runtime::mem::pool).
//!
//! A channel's memory stays a channel. Whoever unlocks one reads its lock once more after that
//! (`lock/key.rs`), and a goroutine that has just been parked may run by then, and its channel be
//! gone. Here it is another channel at worst, whose lock doesn't mind, or zero, which is an unlocked one.
//!
//! Each is [`SIZE`] bytes, with room for a small buffer behind it; a larger buffer comes from
//! the allocator, and goes back.

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::runtime::data::cell::Cell;
use crate::runtime::data::ext::{FreeList, Pool};
use crate::runtime::data::hchan::Hchan;
use crate::runtime::data::runtime2::{P, sched};
use crate::runtime::mem::arena::Arena;
use crate::runtime::mem::pool::{Linked, Pooled};

/// The size of a channel with its small buffer: two cache lines of its own, and more where a
/// lock has a rank.
const SIZE: usize = if cfg!(debug_assertions) { 256 } else { 128 };

/// The bytes of a small buffer.
pub(super) const SMALL: usize = SIZE - size_of::<Hchan>();

/// Where channels are cut from.
static ARENA: Arena = Arena::new(SIZE);

impl Linked for Hchan {
    unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void> {
        // SAFETY: a place in a channel's piece of the arena, and any bytes are a link. The whole is no reference:
        // one that was never used lacks its type.
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
