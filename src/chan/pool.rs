//! Where channels come from: a cache for each P, and one for all.
//!
//! A channel's memory is never given back to the allocator, only to these lists. Whoever
//! unlocks a channel reads its lock once more after that (`lock/key.rs`), and a goroutine
//! that has just been parked may run by then, and its channel be gone. Here it is another
//! channel at worst, whose lock doesn't mind; and a channel costs two list operations.
//!
//! Each is [`SIZE`] bytes, with room for a small buffer behind it; a larger buffer comes from
//! the allocator, and goes back.

use std::alloc::{Layout, alloc_zeroed};
use std::cell::Cell;
use std::ptr::{self, NonNull};

use crate::chan::hchan::Hchan;
use crate::lock::{lock, unlock};
use crate::proc::m::{acquirem, releasem};
use crate::runtime2::{Mutex, P, sched};

/// The size of a channel with its small buffer: two cache lines of its own, and more where a
/// lock has a rank.
pub(crate) const SIZE: usize = if cfg!(debug_assertions) { 256 } else { 128 };

/// The bytes of a small buffer.
pub(crate) const SMALL: usize = SIZE - size_of::<Hchan>();

/// A P with so many gives half of them to the others; one with none takes half as many.
const LOCAL_MAX: usize = 128;

/// Channels that nobody uses, linked through `ext.free`.
#[repr(C)]
pub struct HchanList {
    first: Cell<*mut Hchan>,
    len: Cell<usize>,
}

impl HchanList {
    fn push(&self, c: NonNull<Hchan>) {
        // SAFETY: an unused channel's link is this list's.
        unsafe { (*c.as_ptr()).ext.free.set(self.first.get()) };
        self.first.set(c.as_ptr());
        self.len.set(self.len.get() + 1);
    }

    fn pop(&self) -> Option<NonNull<Hchan>> {
        let c = NonNull::new(self.first.get())?;
        // SAFETY: as in push.
        self.first.set(unsafe { (*c.as_ptr()).ext.free.get() });
        self.len.set(self.len.get() - 1);
        Some(c)
    }

    /// Moves channels to `to` until `keep` are left.
    fn give(&self, to: &HchanList, keep: usize) {
        while self.len.get() > keep
            && let Some(c) = self.pop()
        {
            to.push(c);
        }
    }
}

/// The channels that no P has.
#[repr(C)]
pub struct HchanPool {
    lock: Mutex,
    list: HchanList,
}

/// A channel to be initialised; none if there is no memory.
pub(crate) fn alloc() -> Option<NonNull<Hchan>> {
    let mp = acquirem();
    let pp = mp.and_then(|mp| mp.p.get());
    let c = match pp {
        Some(pp) => pp.ext.hchans.pop().or_else(|| refill(pp)),
        None => take_central().or_else(|| block(|_| {})),
    };
    releasem(mp);
    c
}

/// Takes a channel back. Nobody uses it any more, but for a last read of its lock.
pub(crate) fn free(c: NonNull<Hchan>) {
    let mp = acquirem();
    match mp.and_then(|mp| mp.p.get()) {
        Some(pp) => {
            pp.ext.hchans.push(c);
            if pp.ext.hchans.len.get() > LOCAL_MAX {
                spill(pp, LOCAL_MAX / 2);
            }
        }
        None => {
            let central = &sched().ext.hchans;
            lock(&central.lock);
            central.list.push(c);
            unlock(&central.lock);
        }
    }
    releasem(mp);
}

/// Moves the P's channels to the common list, but `keep`.
#[cold]
pub(crate) fn spill(pp: &P, keep: usize) {
    let central = &sched().ext.hchans;
    lock(&central.lock);
    pp.ext.hchans.give(&central.list, keep);
    unlock(&central.lock);
}

fn take_central() -> Option<NonNull<Hchan>> {
    let central = &sched().ext.hchans;
    lock(&central.lock);
    let c = central.list.pop();
    unlock(&central.lock);
    c
}

/// Takes channels from the common list, or makes some.
#[cold]
#[inline(never)]
fn refill(pp: &P) -> Option<NonNull<Hchan>> {
    let central = &sched().ext.hchans;
    lock(&central.lock);
    let keep = central.list.len.get().saturating_sub(LOCAL_MAX / 2);
    central.list.give(&pp.ext.hchans, keep);
    unlock(&central.lock);
    pp.ext.hchans.pop().or_else(|| block(|c| pp.ext.hchans.push(c)))
}

/// How many are made at once.
const BLOCK: usize = 32;

/// Makes some channels; passes all but one to `others`.
fn block(others: impl Fn(NonNull<Hchan>)) -> Option<NonNull<Hchan>> {
    let layout = Layout::from_size_align(BLOCK * SIZE, SIZE).ok()?;
    // SAFETY: the layout isn't empty. It is leaked, see above.
    let block = NonNull::new(unsafe { alloc_zeroed(layout) })?;
    for i in 1..BLOCK {
        // SAFETY: within the block.
        others(unsafe { block.byte_add(i * SIZE) }.cast());
    }
    Some(block.cast())
}

const _: () = assert!(size_of::<Hchan>() <= SIZE && align_of::<Hchan>() <= SIZE);

impl Default for HchanList {
    fn default() -> Self {
        HchanList { first: Cell::new(ptr::null_mut()), len: Cell::new(0) }
    }
}
