//! The half of the poller that doesn't park: descriptors, and the kernel's events for them. It is
//! Go's `netpoll_epoll.go`, and the part of `netpoll.go` that the scheduler calls. The half that
//! parks is `pollwait`.
//!
//! ```text
//!     a goroutine   read: EAGAIN -> poll_runtime_poll_wait -> parks, its G in pd.rg           pollwait
//!     an M          findRunnable -> netpoll -> epoll says: readable -> takes the G out of pd.rg, runs it
//! ```
//!
//! A descriptor is registered once, for reading and writing, and edge-triggered: the kernel reports
//! when it *becomes* ready. So a goroutine tries before it waits, and again afterwards.
//!
//! No M is dedicated to polling. One M at a time sleeps in `netpoll`: an M that finds nothing else
//! to run, at most until the next timer is due. Another M that looks for work polls without
//! waiting. If all M's are busy, sysmon polls every 10 ms. `sched.lastpoll` is 0 while an M sleeps
//! here, and `sched.poll_until` is then the end of that sleep.
//!
//! - The poller is made with the first timer or descriptor. Until then `lastpoll` is 0, as if an M
//!   polled, so a program without timers and descriptors wakes no M to poll. (Go sets it when the
//!   scheduler starts.)
//! - Timers need no epoll. If there can be no epoll instance, because the process has no descriptor
//!   left, an M sleeps on a futex until the next timer is due. The first descriptor that is opened
//!   tries to make the epoll instance again, and fails if that fails.
//! - `netpoll` makes no goroutine ready. It returns a list; the caller makes the goroutines ready
//!   and then subtracts them from the number of waiters. A call that may wait, with a limit other
//!   than 0, is made without a P.
//! - A `PollDesc`'s memory stays a `PollDesc` forever, because the kernel has its address. `fdseq`
//!   tells events of an earlier use from those of this use.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | `netpollGenericInit`, `netpollinited`; `pollCache.alloc`, `pollCache.free` |
//! | `count.rs` | `netpollAnyWaiters`, `netpollAdjustWaiters` |
//! | `epoll.rs` | `netpollinit`, `netpollopen`, `netpollclose`, `netpollBreak`, `netpoll` |
//! | `ready.rs` | from an event to goroutines: `taggedPointerPack`, `netpollevent`, `netpollready`, `netpollunblock` |
//! | `poll_desc.rs` | `pollDesc`, `pollInfo`, the states of its semaphores; `Waiter`: what waits there |
//! | `marked.rs` | registrations of other rooms, which get their events |

mod count;
pub(super) mod epoll;
#[cfg(feature = "std")]
pub(super) mod marked;
pub(super) mod poll_desc;
pub(super) mod ready;

pub(super) use count::{netpoll_adjust_waiters, netpoll_any_waiters};

use std::alloc::{Layout, alloc_zeroed};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::runtime::arch::sanitizer::holds_roots;
use crate::runtime::base::os::nanotime;
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::{Mutex, sched};
use crate::runtime::lock::mutex::SharedMutex;
use crate::runtime::lock::rank::{LockRank, lock_init};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::netpoll::poll_desc::{PollDesc, TAGGED_POINTER_BITS};

/// Whether the poller is made, with epoll or without. Go's `netpollInited`.
// SeqCst, as in Go: `begin_to_poll` stores it last, and a thread that reads it sees the poller.
static NETPOLL_INITED: AtomicBool = AtomicBool::new(false);
/// Held while the poller is made. Go's `netpollInitLock`.
static NETPOLL_INIT_LOCK: SharedMutex = SharedMutex(Mutex::new());
/// The number of goroutines that are parked on descriptors. Go's `netpollWaiters`.
// SeqCst: pairs with `Schedt::lastpoll`. A thread changes this count, and then reads `lastpoll`. An
// M swaps in a 0 there before it polls, and then reads this count (`poll_or_stop`).
static NETPOLL_WAITERS: AtomicI32 = AtomicI32::new(0);

/// Makes the poller for descriptors, unless there is one. Go's `netpollGenericInit`.
#[cold]
pub(in crate::runtime) fn netpoll_generic_init() -> io::Result<()> {
    lock(&NETPOLL_INIT_LOCK.0);
    let mut made = Ok(());
    if !epoll::has_epoll() {
        made = epoll::netpollinit();
        if made.is_ok() && netpollinited() {
            epoll::end_sleep_without_epoll();
        } else if made.is_ok() {
            begin_to_poll();
        }
    }
    unlock(&NETPOLL_INIT_LOCK.0);
    made
}

/// Makes the poller for timers, unless there is one. If there can be no epoll instance, makes a
/// poller without epoll, in which an M waits for timers only.
#[cold]
pub(in crate::runtime) fn netpoll_init_for_timers() {
    if netpoll_generic_init().is_err() {
        lock(&NETPOLL_INIT_LOCK.0);
        if !netpollinited() {
            begin_to_poll();
        }
        unlock(&NETPOLL_INIT_LOCK.0);
    }
}

/// Lets M's that have nothing else to do poll.
///
/// Until then `lastpoll` is 0, which means that an M is polling. (Go sets it when the scheduler
/// starts.) So a program without timers and descriptors wakes no M to poll.
fn begin_to_poll() {
    // SeqCst: see `Schedt::lastpoll`.
    sched().lastpoll.store(nanotime(), Ordering::SeqCst);
    // Stored last. The load in netpollinited pairs with it: a thread that finds it true also finds
    // `lastpoll`.
    NETPOLL_INITED.store(true, Ordering::SeqCst);
}

/// Whether the poller is made, with epoll or without. Go's `netpollinited`.
#[inline(always)]
pub(in crate::runtime) fn netpollinited() -> bool {
    // SeqCst: see `NETPOLL_INITED`.
    NETPOLL_INITED.load(Ordering::SeqCst)
}

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
        // The new `fdseq` makes events stale that an M polls right now: they make no goroutine
        // ready. Pairs with the load in netpollevent. SeqCst, as in Go.
        let fdseq = pd.fdseq.load(Ordering::Relaxed).wrapping_add(1) & ((1 << TAGGED_POINTER_BITS) - 1);
        pd.fdseq.store(fdseq, Ordering::SeqCst);
        pd.publish_info();
        unlock(&pd.lock);

        self.put(std::slice::from_ref(pd));
    }
}
