//! Operations of channels that were made in an exploration, which are points; and of closed ones, as a channel that is
//! neither is known by one word, [`Hchan::closed`]: so others pay nothing.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::base::this::whoami;
use crate::runtime::chan::future::Woken;
use crate::runtime::chan::ops::{Received, Sent, recv_locked, send_locked};
use crate::runtime::chan::select::{Scase, channel};
use crate::runtime::data::hchan::Hchan;
use crate::runtime::data::runtime2::M;
use crate::runtime::lock::{lock_on, unlock_on};
use crate::runtime::sched::point::{point, value};

/// [`chansend`](super::ops::chansend) on a channel that is closed, or one of an exploration, which may have others go on first.
///
/// # Safety
/// As there; `c` is locked, and is not when this returns.
#[cold]
#[inline(never)]
pub(super) unsafe fn send_marked(
    mp: Option<&'static M>,
    c: &Hchan,
    ep: *const c_void,
    block: bool,
    wake: impl FnOnce(Woken),
) -> Sent {
    unlock_on(mp, &c.lock);
    point("send");
    let (gp, mp) = whoami();
    lock_on(mp, &c.lock);
    if c.is_closed() {
        unlock_on(mp, &c.lock);
        return Sent::Closed;
    }
    // SAFETY: as the caller says; the channel is locked, and open.
    unsafe { send_locked(gp, mp, c, ep, block, wake) }
}

/// [`chanrecv`](super::ops::chanrecv) on a channel that is closed, or one of an exploration, which may have others go on first.
///
/// # Safety
/// As there; `c` is locked, and is not when this returns.
#[cold]
#[inline(never)]
pub(super) unsafe fn recv_marked(
    mp: Option<&'static M>,
    c: &Hchan,
    ep: *mut c_void,
    block: bool,
) -> Received {
    unlock_on(mp, &c.lock);
    point("receive");
    let (gp, mp) = whoami();
    lock_on(mp, &c.lock);
    // SAFETY: as the caller says; the channel is locked.
    unsafe { recv_locked(gp, mp, c, ep, block, c.is_closed()) }
}

/// Lets an exploration say which of the cases that are ready is done, if `any` may be: puts that first. And has those of
/// one channel wait there as they are written: sorted by addresses, they come in an order that depends on those, and
/// on chance. The channels are locked in `lockorder`, and stay so.
///
/// # Safety
/// As [`channel`].
#[cold]
pub(super) unsafe fn order_by_strategy(
    scases: &[Scase],
    pollorder: &mut [u16],
    lockorder: &mut [u16],
    nsends: usize,
    any: bool,
) {
    // SAFETY: the caller keeps the channels.
    let channel = |o: u16| unsafe { channel(scases, o) };
    lockorder.sort_unstable_by_key(|&o| (ptr::from_ref(channel(o)).addr(), o));
    if !any {
        return;
    }
    pollorder.sort_unstable();
    let is_ready = |&place: &usize| {
        let c = channel(pollorder[place]);
        let (sends, qcount) = (usize::from(pollorder[place]) < nsends, c.qcount.load(Ordering::Relaxed));
        let open = if sends {
            !c.recvq.first.is_null() || qcount < c.dataqsiz
        } else {
            !c.sendq.first.is_null() || qcount > 0
        };
        open || c.is_closed()
    };
    let ready: Vec<usize> = (0..pollorder.len()).filter(is_ready).collect();
    if ready.len() > 1 {
        pollorder.swap(0, ready[value(ready.len())]);
    }
}
