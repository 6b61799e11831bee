//! Stand-in for the cache of descriptors: a thread that frees one gets it back next.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::sync::Mutex as LoomMutex;

use crate::runtime::data::atomic::{AtomicPtr, AtomicU32};
use crate::runtime::data::link::Link;
use crate::runtime::data::runtime2::Mutex;
use crate::runtime::data::timer::Timer;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::netpoll::poll_desc::{PD_NIL, PollDesc, TAGGED_POINTER_BITS};

pub(crate) struct PollCache;

pub(crate) static POLLCACHE: PollCache = PollCache;

loom::lazy_static! {
    static ref UNUSED: LoomMutex<Option<&'static PollDesc>> = LoomMutex::new(None);
}

impl PollCache {
    pub(crate) fn alloc(&self) -> io::Result<&'static PollDesc> {
        Ok(UNUSED.lock().unwrap().take().unwrap_or_else(|| {
            Box::leak(Box::new(PollDesc {
                link: Link::null(),
                fd: Cell::new(0),
                fdseq: AtomicUsize::new(0),
                atomic_info: AtomicU32::new(0),
                rg: AtomicPtr::new(PD_NIL),
                wg: AtomicPtr::new(PD_NIL),
                lock: Mutex::new(),
                closing: Cell::new(false),
                user: Cell::new(0),
                rseq: Cell::new(0),
                rt: Timer::default(),
                rd: Cell::new(0),
                wseq: Cell::new(0),
                wt: Timer::default(),
                wd: Cell::new(0),
                self_: Link::null(),
            }))
        }))
    }

    /// As in the shipped file.
    pub(crate) fn free(&self, pd: &'static PollDesc) {
        lock(&pd.lock);
        let fdseq = pd.fdseq.load(Ordering::Relaxed).wrapping_add(1) & ((1 << TAGGED_POINTER_BITS) - 1);
        pd.fdseq.store(fdseq, Ordering::SeqCst);
        pd.publish_info();
        unlock(&pd.lock);
        *UNUSED.lock().unwrap() = Some(pd);
    }
}
