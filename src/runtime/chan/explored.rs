//! Operations of special channels: channels that were made in an exploration, whose operations are
//! points; channels that a timer feeds; and closed channels. One word, [`Hchan::closed`], tells
//! whether a channel is special, so other channels pay nothing.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

use crate::runtime::base::this::whoami;
use crate::runtime::chan::buffer::{bufrecv, received_nothing};
use crate::runtime::chan::ops::{Received, recv};
use crate::runtime::chan::select::{Scase, channel};
use crate::runtime::chan::timer_chan::maybe_run_chan;
use crate::runtime::data::hchan::{FED, Hchan};
use crate::runtime::data::runtime2::{G, M};
use crate::runtime::lock::{lock_on, unlock_and_hold, unlock_on};
use crate::runtime::sched::exploration::{point, value};

/// The running goroutine and its M, as [`whoami`] returns them.
type Me = (Option<&'static G>, Option<&'static M>);

/// Begins a send to a channel that is closed or belongs to an exploration. An exploration may let
/// other goroutines go on first. `c` is locked. Returns the goroutine and the M that run here
/// afterwards. If `c` is closed, unlocks `c` and returns none.
#[cold]
#[inline(never)]
pub(super) fn send_marked(mp: Option<&'static M>, c: &Hchan) -> Option<Me> {
    // The channel is unlocked while an exploration lets other goroutines go on first.
    unlock_on(mp, &c.lock);
    point("send");
    let me = whoami();
    lock_on(me.1, &c.lock);
    if c.is_closed() {
        unlock_on(me.1, &c.lock);
        return None;
    }
    Some(me)
}

/// Receives from a channel that is closed, or begins a receive from a channel that a timer feeds or
/// that belongs to an exploration, as [`send_marked`] does. `c` is locked. If this returns `Err`,
/// the receive is over and `c` is unlocked.
///
/// # Safety
/// As [`chanrecv`](super::ops::chanrecv).
#[cold]
#[inline(never)]
pub(super) unsafe fn recv_marked(mp: Option<&'static M>, c: &Hchan, ep: *mut c_void) -> Result<Me, Received> {
    unlock_on(mp, &c.lock);
    point("receive");
    if c.closed.load(Ordering::Relaxed) & FED != 0 {
        maybe_run_chan(c);
    }
    let me = whoami();
    lock_on(me.1, &c.lock);
    if !c.is_closed() {
        return Ok(me);
    }
    let mp = me.1;
    // A sender that is still in the queue of a closed channel holds a value that came back.
    if let Some(sg) = c.sendq.dequeue() {
        // SAFETY: the closure releases the lock, which is held; sg is off its queue; `ep` is what
        // the caller says.
        unsafe { recv(mp, c, sg, ep, || unlock_and_hold(mp, &c.lock)) };
        return Err(Received::Done);
    }
    if c.qcount.load(Ordering::Relaxed) > 0 {
        // SAFETY: the buffer has a value, the lock is held, and `ep` is what the caller says.
        unsafe { bufrecv(c, ep) };
        unlock_on(mp, &c.lock);
        return Err(Received::Done);
    }
    unlock_on(mp, &c.lock);
    // SAFETY: the caller says that `ep` is null or a place for a value.
    unsafe { received_nothing(c, ep) };
    Err(Received::Closed)
}

/// If `any` ready case may be done, lets the exploration choose one, and puts that case first in
/// `pollorder`. Also sorts the cases of one channel in `lockorder` as they are written, so that
/// they wait there in that order: a sort by addresses alone leaves their order to chance. The
/// channels are locked in `lockorder`, and stay locked.
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
