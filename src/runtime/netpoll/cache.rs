//! The free list of [`PollDesc`]s: Go's `pollCache`.

use std::alloc::{Layout, alloc_zeroed};
use std::io;
use std::sync::atomic::Ordering;

use crate::runtime::arch::sanitizer::holds_roots;
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::Mutex;
use crate::runtime::lock::rank::{LockRank, lock_init};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::netpoll::poll_desc::{PollDesc, TAGGED_POINTER_BITS};

/// The size of a block of `PollDesc`s that are made at once, in bytes. Go's `pollBlockSize`.
const POLL_BLOCK_SIZE: usize = 4 * 1024;

/// The unused `PollDesc`s. Their memory is never given back. Go's `pollCache`.
pub(in crate::runtime) struct PollCache {
    lock: Mutex,
    first: Link<PollDesc>,
}

// SAFETY: the lock protects the list.
unsafe impl Sync for PollCache {}

/// Go's `pollcache`.
pub(in crate::runtime) static POLLCACHE: PollCache = PollCache { lock: Mutex::new(), first: Link::null() };

impl PollCache {
    /// Returns an unused `PollDesc`, with the marks of its last use. Go's `pollCache.alloc`.
    pub(in crate::runtime) fn alloc(&self) -> io::Result<&'static PollDesc> {
        let pd = self.take().or_else(|| self.refill()).ok_or(io::ErrorKind::OutOfMemory)?;
        lock_init(&pd.lock, LockRank::POLL_DESC);
        Ok(pd)
    }

    fn take(&self) -> Option<&'static PollDesc> {
        lock(&self.lock);
        let pd = self.first.get();
        if let Some(pd) = pd {
            self.first.set(pd.link.get());
        }
        unlock(&self.lock);
        pd
    }

    fn put(&self, pds: &'static [PollDesc]) {
        lock(&self.lock);
        for pd in pds {
            pd.link.set(self.first.get());
            self.first.set(Some(pd));
        }
        unlock(&self.lock);
    }

    /// Makes a block of `PollDesc`s if there is memory, and returns one of them. The lock isn't
    /// held, because an allocator may wait for the kernel.
    #[cold]
    fn refill(&self) -> Option<&'static PollDesc> {
        const N: usize = POLL_BLOCK_SIZE / size_of::<PollDesc>();
        let layout = Layout::new::<[PollDesc; N]>();
        // SAFETY: the layout isn't empty.
        let block: *mut PollDesc = unsafe { alloc_zeroed(layout) }.cast();
        if block.is_null() {
            return None;
        }
        // SAFETY: the block has room for N and is never freed, and a `PollDesc` that is all zero is
        // a valid, unused one.
        let pds: &'static [PollDesc] = unsafe { std::slice::from_raw_parts(block, N) };
        holds_roots(block.cast(), size_of_val(pds));
        let (pd, others) = pds.split_first()?;
        self.put(others);
        Some(pd)
    }

    /// Takes `pd` back. Go's `pollCache.free`.
    pub(in crate::runtime) fn free(&self, pd: &'static PollDesc) {
        lock(&pd.lock);
        // With another `fdseq`, events of this use that an M polls right now are stale and make no
        // goroutine ready.
        let fdseq = pd.fdseq.load(Ordering::Relaxed).wrapping_add(1) & ((1 << TAGGED_POINTER_BITS) - 1);
        pd.fdseq.store(fdseq, Ordering::SeqCst);
        pd.publish_info();
        unlock(&pd.lock);

        self.put(std::slice::from_ref(pd));
    }
}
