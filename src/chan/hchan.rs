//! Channels without types: Go's `chan.go`.
//!
//! A value goes one of three ways: into the buffer, out of the buffer, or straight from the
//! sender to the receiver, when one of them is parked. The one that comes second copies it,
//! to or from the stack of the other, and makes that one ready.
//!
//! - `lock` protects everything, the sudogs in the queues too. What is read without it
//!   (`qcount`, `closed`, the queues' heads) is for answers that may be out of date.
//! - At most one of the queues has waiters, but for a goroutine that is in both by a select.
//!   If there is room and a receiver, or a value and a sender, nobody waits.
//!
//! The typed channels of the safe layer are in [`chan`](crate::chan).

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::chan::ops::typedmemclr;
pub use crate::chan::ops::{
    Received, Sent, chanrecv, chanrecv1, chanrecv2, chansend, chansend1, selectnbrecv, selectnbsend,
};
use crate::chan::pool;
use crate::lock::rank::{LockRank, lock_init};
use crate::lock::{lock, unlock};
use crate::panic::throw;
use crate::proc::gqueue::GList;
use crate::proc::park::goready;
use crate::runtime2::{Link, Mutex, Sudog};
use crate::stack::with_room;

/// A channel. Go's `hchan`.
#[repr(C)]
pub struct Hchan {
    /// How many values are in the buffer.
    pub qcount: AtomicUsize,
    /// How many there is room for.
    pub dataqsiz: usize,
    /// The buffer: `dataqsiz` values, behind this struct.
    pub buf: *mut c_void,
    /// The size of a value.
    pub elemsize: u16,
    /// 1 once it is closed.
    pub closed: AtomicU32,
    /// What the values are.
    pub elemtype: &'static Type,
    /// Where the next value goes.
    pub sendx: Cell<usize>,
    /// Where the next value comes from.
    pub recvx: Cell<usize>,
    /// Waiting receivers.
    pub recvq: Waitq,
    /// Waiting senders.
    pub sendq: Waitq,
    /// Protects all of this.
    pub lock: Mutex,
    /// What this port adds.
    pub ext: HchanExt,
}

/// What this port adds to an [`Hchan`]: who holds it, as there is no collector to find out.
#[repr(C)]
pub struct HchanExt {
    /// Handles that send; the safe layer's.
    pub senders: AtomicU32,
    /// Handles that receive; the safe layer's.
    pub receivers: AtomicU32,
    /// How many of these two counts have not come to 0; the safe layer's.
    pub sides: AtomicU32,
    /// The next unused channel, while this is one.
    pub(crate) free: Cell<*mut Hchan>,
}

/// What a channel must know of its values. Go's `_type`, as far as it concerns a channel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// The size of a value, less than 64 KiB.
    pub size_: usize,
    /// Its alignment, at most 8.
    pub align_: usize,
}

/// Those who wait at a channel, in the order that they came. Go's `waitq`.
#[repr(C)]
#[derive(Default)]
pub struct Waitq {
    /// The one that has waited longest.
    pub first: Link<Sudog>,
    /// The one that came last.
    pub last: Link<Sudog>,
}

/// The largest alignment of a value.
pub(crate) const MAX_ALIGN: usize = 8;

/// The layout of a buffer that is too large to stand behind its channel.
fn buffer_layout(elem: &Type, size: usize) -> Option<Layout> {
    Layout::from_size_align(elem.size_.checked_mul(size)?, MAX_ALIGN).ok()
}

/// A channel of values of type `elem` with room for `size` of them; `None` if there is no
/// memory for it. To be freed with [`freechan`]. Go's `makechan`.
pub fn makechan(elem: &'static Type, size: usize) -> Option<NonNull<Hchan>> {
    if elem.size_ >= 1 << 16 {
        throw("makechan: invalid channel element type");
    }
    if elem.align_ > MAX_ALIGN {
        throw("makechan: bad alignment");
    }
    let layout = buffer_layout(elem, size)?;
    // An allocator needs more stack than a copying goroutine has.
    let (c, buf) = with_room(|| {
        let c = pool::alloc()?;
        // SAFETY: the bytes behind the channel are its own; the layout isn't empty.
        let buf = NonNull::new(unsafe {
            if layout.size() <= pool::SMALL { c.as_ptr().add(1).cast() } else { alloc(layout) }
        });
        if buf.is_none() {
            pool::free(c);
        }
        Some((c, buf?))
    })?;
    let fresh = c.as_ptr();
    // SAFETY: nobody uses this channel, but that its lock may be read once more by who unlocked
    // it last: the lock is as it should be, and left alone.
    unsafe {
        (&raw mut (*fresh).qcount).write(AtomicUsize::new(0));
        (&raw mut (*fresh).dataqsiz).write(size);
        (&raw mut (*fresh).buf).write(buf.as_ptr().cast());
        (&raw mut (*fresh).elemsize).write(elem.size_ as u16);
        (&raw mut (*fresh).closed).write(AtomicU32::new(0));
        (&raw mut (*fresh).elemtype).write(elem);
        (&raw mut (*fresh).sendx).write(Cell::new(0));
        (&raw mut (*fresh).recvx).write(Cell::new(0));
        (&raw mut (*fresh).recvq).write(Waitq::default());
        (&raw mut (*fresh).sendq).write(Waitq::default());
        (&raw mut (*fresh).ext).write(HchanExt {
            senders: AtomicU32::new(1),
            receivers: AtomicU32::new(1),
            sides: AtomicU32::new(2),
            free: Cell::new(ptr::null_mut()),
        });
        lock_init(&c.as_ref().lock, LockRank::HCHAN);
    }
    Some(c)
}

/// Frees a channel; values in its buffer are forgotten.
///
/// # Safety
/// It came from [`makechan`], and nobody uses it any more.
pub unsafe fn freechan(c: NonNull<Hchan>) {
    // SAFETY: the caller's.
    let (elem, size, buf) = unsafe { (c.as_ref().elemtype, c.as_ref().dataqsiz, c.as_ref().buf) };
    with_room(|| {
        if let Some(layout) = buffer_layout(elem, size)
            && layout.size() > pool::SMALL
        {
            // SAFETY: as makechan allocated it.
            unsafe { dealloc(buf.cast(), layout) };
        }
        pool::free(c);
    });
}

/// Closes the channel: receivers get what is in the buffer and then nothing, senders fail.
/// False if it was closed before, where Go panics. Go's `closechan`.
///
/// # Safety
/// The channel stays until this returns.
#[inline(never)]
pub unsafe fn closechan(c: NonNull<Hchan>) -> bool {
    // SAFETY: the caller's.
    let c = unsafe { c.as_ref() };
    lock(&c.lock);
    if c.closed.load(Ordering::Relaxed) != 0 {
        unlock(&c.lock);
        return false;
    }
    c.closed.store(1, Ordering::SeqCst);
    let list = GList::default();
    while let Some(sg) = c.recvq.dequeue() {
        let elem = sg.elem.swap(ptr::null_mut(), Ordering::Relaxed);
        if !elem.is_null() {
            // SAFETY: the waiting receiver's place for a value.
            unsafe { typedmemclr(c.elemtype, elem) };
        }
        release_waiter(sg, &list);
    }
    while let Some(sg) = c.sendq.dequeue() {
        sg.elem.store(ptr::null_mut(), Ordering::Relaxed);
        release_waiter(sg, &list);
    }
    unlock(&c.lock);
    // Only now: a G must not change its state while a channel's lock is held.
    while let Some(gp) = list.pop() {
        gp.schedlink.set(None);
        goready(gp, 3);
    }
    true
}

/// Notes that the channel of `sg` was closed, and puts its G on `list`.
fn release_waiter(sg: &'static Sudog, list: &GList) {
    let Some(gp) = sg.g.get() else { throw("sudog without a g") };
    gp.param.store(ptr::from_ref(sg).cast_mut().cast(), Ordering::Relaxed);
    sg.success.set(false);
    list.push(gp);
}

impl Waitq {
    /// Adds `sg` at the end.
    #[inline]
    pub(crate) fn enqueue(&self, sg: &'static Sudog) {
        sg.next.set(None);
        let last = self.last.get();
        sg.prev.set(last);
        match last {
            Some(last) => last.next.set(Some(sg)),
            None => self.first.set(Some(sg)),
        }
        self.last.set(Some(sg));
    }

    /// Takes the first that can still be woken.
    #[inline]
    pub(crate) fn dequeue(&self) -> Option<&'static Sudog> {
        loop {
            let sg = self.first.get()?;
            match sg.next.get() {
                None => {
                    self.first.set(None);
                    self.last.set(None);
                }
                Some(next) => {
                    next.prev.set(None);
                    self.first.set(Some(next));
                    sg.next.set(None); // off the queue: see dequeue_sudo_g
                }
            }
            // In a select, a case on another channel may have been first; its goroutine
            // has yet to take this one off the queue.
            if sg.is_select.get() && !win_select(sg) {
                continue;
            }
            return Some(sg);
        }
    }

    /// Takes `sg` out, if it is still in. Go's `dequeueSudoG`.
    pub(crate) fn dequeue_sudo_g(&self, sg: &'static Sudog) {
        match (sg.prev.get(), sg.next.get()) {
            (Some(prev), next) => {
                prev.next.set(next);
                match next {
                    Some(next) => next.prev.set(Some(prev)),
                    None => self.last.set(Some(prev)),
                }
                sg.next.set(None);
                sg.prev.set(None);
            }
            (None, Some(next)) => {
                next.prev.set(None);
                self.first.set(Some(next));
                sg.next.set(None);
            }
            // Alone, or gone already.
            (None, None) => {
                if self.first.get().is_some_and(|first| ptr::eq(first, sg)) {
                    self.first.set(None);
                    self.last.set(None);
                }
            }
        }
    }
}

/// Whether this is the case that wakes the goroutine.
fn win_select(sg: &Sudog) -> bool {
    let Some(gp) = sg.g.get() else { throw("sudog without a g") };
    gp.select_done.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}
