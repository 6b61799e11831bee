//! The M itself, made or used again, and its thread: Go's `allocm`, `mcommoninit` and `newm1`.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::io;
use std::sync::atomic::Ordering;

use crate::runtime::base::os::newosproc;
use crate::runtime::base::rand::mrandinit;
use crate::runtime::data::runtime2::{G, M, sched};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::count::ALLM;
use crate::runtime::m::sigstack::mpreinit;

/// In `m.free_wait`: the M's thread is about to end, and still uses the M. Go's `freeMWait`.
pub(in crate::runtime) const FREE_M_WAIT: u32 = 2;

/// In `m.free_wait`: the M can be used again. Go's `freeMRef`.
pub(in crate::runtime) const FREE_M_REF: u32 = 1;

/// An M without a thread, which will run `f` before the scheduler. Go's `allocm`.
pub(in crate::runtime) fn allocm(f: Option<fn()>, id: i64) -> io::Result<&'static M> {
    let mp = match reuse_m() {
        Some(mp) => {
            mp.id.set(id);
            mp
        }
        None => {
            // SAFETY: the layout isn't empty.
            let new = unsafe { alloc_zeroed(Layout::new::<M>()) }.cast::<M>();
            // SAFETY: all zero is a valid M, and one that others know of is never freed.
            let mp = unsafe { new.as_ref::<'static>() }.ok_or(io::ErrorKind::OutOfMemory)?;
            // SAFETY: allocated above, with this layout, and nobody else knows of it.
            mpreinit(mp).inspect_err(|_| unsafe { dealloc(new.cast(), Layout::new::<M>()) })?;
            mcommoninit(mp, id);
            mp
        }
    };
    mp.mstartfn.set(f);
    mp.g0.set(Some(&mp.ext.g0));
    mp.ext.g0.m.set(Some(mp));
    Ok(mp)
}

/// An M whose thread has ended, or could not be made.
fn reuse_m() -> Option<&'static M> {
    lock(&sched().lock);
    let mut link = &sched().freem;
    let found = loop {
        let Some(mp) = link.get() else { break None };
        // Acquire pairs with mexit: the thread doesn't use the M any more.
        if mp.free_wait.load(Ordering::Acquire) != FREE_M_WAIT {
            link.set(mp.freelink.get());
            break Some(mp);
        }
        link = &mp.freelink;
    };
    unlock(&sched().lock);
    found
}

/// Sets up what every M has. Go's `mcommoninit`.
fn mcommoninit(mp: &'static M, id: i64) {
    mp.id.set(id);
    mrandinit(mp);
    lock(&sched().lock);
    mp.alllink.set(ALLM.0.get());
    // Release pairs with readers that don't take the lock: they see the M set up.
    ALLM.0.store(Some(mp), Ordering::Release);
    unlock(&sched().lock);
}

/// Gives an M a thread; fails if none can be made. Go's `newm1`.
pub(super) fn newm1(mp: &'static M) -> io::Result<()> {
    let g0: *const G = &mp.ext.g0;
    let made = newosproc(g0.cast_mut().cast::<c_void>()).inspect_err(|_| {
        mp.nextp.set(None);
        lock(&sched().lock);
        mp.freelink.set(sched().freem.get());
        sched().freem.set(Some(mp));
        sched().nmfreed.set(sched().nmfreed.get() + 1);
        unlock(&sched().lock);
    });
    sched().ext.turns.starting.fetch_add(made.is_ok().into(), Ordering::Relaxed);
    made
}
