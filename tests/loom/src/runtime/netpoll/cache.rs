//! Stand-in for the cache of descriptors: a thread that frees one gets it back next.

use std::io;
use std::sync::atomic::Ordering;

use loom::sync::Mutex;

use crate::runtime::lock::{lock, unlock};
use crate::runtime::made::zeroed;
use crate::runtime::netpoll::poll_desc::{PollDesc, TAGGED_POINTER_BITS};

pub(crate) struct PollCache;

pub(crate) static POLLCACHE: PollCache = PollCache;

loom::lazy_static! {
    static ref UNUSED: Mutex<Option<&'static PollDesc>> = Mutex::new(None);
}

impl PollCache {
    pub(crate) fn alloc(&self) -> io::Result<&'static PollDesc> {
        Ok(UNUSED.lock().unwrap().take().unwrap_or_else(zeroed))
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
