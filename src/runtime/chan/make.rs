//! Making, closing and freeing channels: Go's `makechan` and `closechan`. And the timer that feeds
//! a channel.
//!
//! The memory of channels comes from a [`pool`](crate::runtime::mem::pool). A channel's memory
//! stays a channel. A thread that unlocks a channel reads the lock once more after the unlock
//! (`lock/key.rs`). By then a goroutine that has just been parked may run, and may have freed the
//! channel. At worst the memory is another channel, whose lock tolerates the read, or zero, which
//! is an unlocked lock.
//!
//! Each channel is [`SIZE`] bytes, with room for a small buffer behind the struct. A larger buffer
//! comes from the allocator, and goes back to it: with the channel, or before (`grow.rs`).

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::iter;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::with_room;
use crate::runtime::chan::future::{end_closed, is_nobodys, wake_all};
use crate::runtime::chan::observe::{ready_all, take_all_observers};
use crate::runtime::chan::ops::typedmemclr;
use crate::runtime::data::cell::Cell;
use crate::runtime::data::ext::{FreeList, Pool};
use crate::runtime::data::gqueue::GList;
use crate::runtime::data::hchan::{CLOSED, EXPLORED, Hchan, HchanExt, Type, Waitq};
use crate::runtime::data::runtime2::{P, Sudog, sched};
use crate::runtime::data::timer::Timer;
use crate::runtime::lock::rank::{LockRank, lock_init};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::arena::Arena;
use crate::runtime::mem::pool::{self, Linked, Pooled};
use crate::runtime::prof::contention::released;
use crate::runtime::sched::exploration::{makes_points, point};
use crate::runtime::time::fire::end_timer;

/// The size of a channel with its small buffer: two cache lines, and more in builds whose locks
/// have ranks.
const SIZE: usize = if cfg!(debug_assertions) { 256 } else { 128 };

/// The bytes of a small buffer.
pub(super) const SMALL: usize = SIZE - size_of::<Hchan>();

const _: () = assert!(size_of::<Hchan>() <= SIZE && align_of::<Hchan>() <= SIZE);

/// The largest alignment of a value, in bytes.
pub(crate) const MAX_ALIGN: usize = 8;

/// Returns the layout of a buffer for `size` values; none if that is too large.
pub(super) fn buffer_layout(elem: &Type, size: usize) -> Option<Layout> {
    Layout::from_size_align(elem.size_.checked_mul(size)?, MAX_ALIGN).ok()
}

/// [`hchan::makechan`](crate::chan::hchan::makechan) without the check of the stack. Go's
/// `makechan`.
#[inline(never)]
pub(crate) fn makechan(elem: &'static Type, size: usize) -> Option<NonNull<Hchan>> {
    if elem.size_ >= 1 << 16 {
        throw("makechan: invalid channel element type");
    }
    if elem.align_ > MAX_ALIGN {
        throw("makechan: bad alignment");
    }
    let layout = buffer_layout(elem, size)?;
    // An allocator needs more stack than a copying goroutine has.
    let (c, buf) = with_room(|| {
        let c = pool::alloc::<Hchan>()?;
        // SAFETY: a channel's block has SMALL bytes behind the Hchan. A larger layout isn't of
        // size 0.
        let buf = NonNull::new(unsafe {
            if layout.size() <= SMALL { c.as_ptr().add(1).cast() } else { alloc(layout) }
        });
        if buf.is_none() {
            pool::free(c);
        }
        Some((c, buf?))
    })?;
    let fresh = c.as_ptr();
    // SAFETY: only this function uses the block, except that the thread which last unlocked its
    // lock may read the lock once more (see the top). So the fields are written one by one, and the
    // lock isn't written: it is unlocked, or zero, which is the same.
    unsafe {
        (&raw mut (*fresh).qcount).write(AtomicUsize::new(0));
        (&raw mut (*fresh).dataqsiz).write(Cell::new(size));
        (&raw mut (*fresh).buf).write(Cell::new(buf.as_ptr().cast()));
        (&raw mut (*fresh).elemsize).write(elem.size_ as u16);
        (&raw mut (*fresh).closed).write(AtomicU32::new(if makes_points() { EXPLORED } else { 0 }));
        (&raw mut (*fresh).elemtype).write(elem);
        (&raw mut (*fresh).sendx).write(Cell::new(0));
        (&raw mut (*fresh).recvx).write(Cell::new(0));
        (&raw mut (*fresh).recvq).write(Waitq::default());
        (&raw mut (*fresh).sendq).write(Waitq::default());
        (&raw mut (*fresh).ext).write(HchanExt {
            senders: AtomicU32::new(1),
            receivers: AtomicU32::new(1),
            sides: AtomicU32::new(2),
            link: Cell::new(ptr::null_mut()),
        });
        lock_init(&c.as_ref().lock, LockRank::HCHAN);
    }
    Some(c)
}

/// [`hchan::freechan`](crate::chan::hchan::freechan) without the check of the stack.
///
/// # Safety
/// As the raw one.
#[inline(never)]
pub(crate) unsafe fn freechan(c: NonNull<Hchan>) {
    // SAFETY: makechan made the channel, and it hasn't been freed.
    let (elem, size, buf) = unsafe { (c.as_ref().elemtype, c.as_ref().dataqsiz.get(), c.as_ref().buf.get()) };
    with_room(|| {
        // SAFETY: nobody else uses the channel.
        unsafe { drop_timer_of(c) };
        // SAFETY: the buffer is the channel's, and nobody uses it any more.
        unsafe { free_buffer(elem, size, buf) };
        pool::free(c);
    });
}

/// Gives a buffer back to the allocator, unless it is a small one.
///
/// # Safety
/// It was a channel's buffer for `size` values of the type `elem`, and nobody uses it any more.
pub(super) unsafe fn free_buffer(elem: &Type, size: usize, buf: *mut c_void) {
    if let Some(layout) = buffer_layout(elem, size)
        && layout.size() > SMALL
    {
        // SAFETY: a buffer larger than SMALL was allocated with this layout.
        unsafe { dealloc(buf.cast(), layout) };
    }
}

/// [`hchan::closechan`](crate::chan::hchan::closechan) without the check of the stack. Go's
/// `closechan`.
///
/// # Safety
/// As the raw one.
#[inline(never)]
pub(crate) unsafe fn closechan(c: NonNull<Hchan>) -> bool {
    // SAFETY: the caller keeps the channel until this returns.
    let c = unsafe { c.as_ref() };
    if c.closed.load(Ordering::Relaxed) & EXPLORED != 0 {
        point("close");
    }
    lock(&c.lock);
    if c.is_closed() {
        unlock(&c.lock);
        return false;
    }
    // SeqCst: chanrecv reads it without the lock, between two looks at the buffer.
    c.closed.fetch_or(CLOSED, Ordering::SeqCst);
    let list = GList::default();
    let futures = Waitq::default();
    while let Some(sg) = c.recvq.dequeue() {
        let elem = sg.elem.swap(ptr::null_mut(), Ordering::Relaxed);
        if !elem.is_null() {
            // SAFETY: the receiver's place for a value; it is parked, and its stack stays while the
            // lock is held.
            unsafe { typedmemclr(c.elemtype, elem) };
        }
        release_waiter(sg, &list, &futures);
    }
    // Values that came back are first in the queue, and stay in it at each moment, because chanrecv
    // looks without the lock.
    let back =
        iter::successors(c.sendq.first.get(), |sg| sg.next.get()).take_while(|sg| is_nobodys(sg)).last();
    let senders = c.sendq.split_off(back);
    while let Some(sg) = senders.dequeue() {
        sg.elem.store(ptr::null_mut(), Ordering::Relaxed);
        release_waiter(sg, &list, &futures);
    }
    if c.is_observed() {
        take_all_observers(c, &list);
    }
    unlock(&c.lock);
    ready_all(&list);
    wake_all(&futures);
    true
}

/// Tells the goroutine or the future of `sg` that the channel was closed. Puts the goroutine on
/// `list`, or the future's sudog on `futures`.
fn release_waiter(sg: &'static Sudog, list: &GList, futures: &Waitq) {
    let Some(gp) = sg.g.get() else {
        end_closed(sg);
        return futures.enqueue(sg);
    };
    gp.param.store(ptr::from_ref(sg).cast_mut().cast(), Ordering::Relaxed);
    sg.success.set(false);
    released(sg);
    list.push(gp);
}

/// The timer that feeds a channel.
///
/// # Safety
/// The channel is in use, and stays until this returns.
pub(super) unsafe fn timer_of(c: NonNull<Hchan>) -> Option<&'static Timer> {
    // SAFETY: the channel stays, as the caller says; while it is in use, the link is null or its
    // timer, which make_timer_chan put there, and timers are never freed.
    unsafe { c.as_ref().ext.link.get().cast::<Timer>().as_ref() }
}

/// Ends the timer of a channel that is going to be freed, if it has one.
///
/// # Safety
/// The channel is in use until this returns, and only the caller uses it.
unsafe fn drop_timer_of(c: NonNull<Hchan>) {
    // SAFETY: the channel is in use, as the caller says, and nobody else can free it.
    if let Some(t) = unsafe { timer_of(c) } {
        end_timer(t);
    }
}

/// The arena from which channels are cut.
static ARENA: Arena = Arena::new(SIZE, c"gosched: channels");

impl Linked for Hchan {
    unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void> {
        // SAFETY: the field lies in a channel's piece of the arena, and any bytes are a valid link.
        // There is no reference to the whole, because a piece that was never used isn't a valid
        // `Hchan`.
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
