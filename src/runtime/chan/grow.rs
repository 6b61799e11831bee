//! Channels whose buffer grows when it is full, so that a send never waits. Go has no such channel.
//!
//! - A channel that grows has the mark [`GROWS`] in [`Hchan::closed`]. So sends and receives come
//!   here from the paths of special channels, and other channels pay nothing.
//! - A buffer that is full is replaced by one of twice its size. The allocator is called without
//!   the channel's lock. The values are moved with the lock held; on average each value is moved
//!   less than twice.
//! - A buffer of more than [`KEPT`] bytes that a receive finds empty goes back to the allocator.
//!   The small buffer behind the struct takes its place. So a backlog that was worked off takes no
//!   memory, and a channel that is often empty doesn't allocate each time.
//! - No sender waits in the queue of such a channel, not even one without an owner (`future.rs`).

use std::alloc::{alloc, handle_alloc_error};
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::{whoami, with_room};
use crate::runtime::chan::make::{SMALL, buffer_layout, free_buffer, makechan};
use crate::runtime::chan::ops::Me;
use crate::runtime::data::hchan::{GROWS, Hchan, Type};
use crate::runtime::data::runtime2::M;
use crate::runtime::lock::{lock_on, unlock_on};

/// The bytes of the largest buffer that an empty channel keeps.
const KEPT: usize = 4096;

/// Returns how many values the small buffer behind the struct has room for.
fn small_size(elem: &Type) -> usize {
    // Values without a size need no room.
    SMALL.checked_div(elem.size_).unwrap_or(isize::MAX as usize)
}

/// Makes a channel that grows. Returns none if there is no memory.
pub(crate) fn makechan_growing(elem: &'static Type) -> Option<NonNull<Hchan>> {
    let c = makechan(elem, small_size(elem))?;
    // For `shrink`, which has only a reference.
    c.as_ptr().expose_provenance();
    // SAFETY: makechan made it, and this is the only handle.
    unsafe { c.as_ref() }.closed.fetch_or(GROWS, Ordering::Relaxed);
    Some(c)
}

/// Allocates a buffer for `size` values. If there is no memory, the process ends, as with a `Vec`.
fn allocate(elem: &Type, size: usize) -> *mut c_void {
    let Some(layout) = buffer_layout(elem, size) else {
        throw("a channel has more values than there are addresses");
    };
    // SAFETY: the size isn't 0, as values without a size need no larger buffer.
    let buf = unsafe { alloc(layout) };
    if buf.is_null() {
        handle_alloc_error(layout);
    }
    buf.cast()
}

/// Makes the buffer of `c`, which grows, larger if it is full. `c` is locked, and unlocked
/// meanwhile. When this returns, there is room. Returns the goroutine and the M that run here
/// afterwards.
#[cold]
#[inline(never)]
pub(super) fn make_room(mut mp: Option<&'static M>, c: &Hchan) -> Me {
    loop {
        let size = c.dataqsiz.get();
        if c.qcount.load(Ordering::Relaxed) < size {
            return whoami();
        }
        unlock_on(mp, &c.lock);
        let larger = (2 * size).max(1);
        let buf = with_room(|| allocate(c.elemtype, larger));
        (_, mp) = whoami();
        lock_on(mp, &c.lock);
        // Another sender may have replaced the buffer meanwhile.
        let unused = if c.dataqsiz.get() == size {
            // SAFETY: the buffer is new, and has room for all values; the lock is held.
            unsafe { replace_buffer(c, larger, buf) }
        } else {
            (larger, buf)
        };
        mp = free_unlocked(mp, c, unused).1;
    }
}

/// Gives back the buffer of `c`, which grows, if it is large and empty. `c` is locked, and may be
/// unlocked meanwhile. Returns the goroutine and the M that run here afterwards.
#[cold]
#[inline(never)]
pub(super) fn shrink(mp: Option<&'static M>, c: &Hchan) -> Me {
    if c.qcount.load(Ordering::Relaxed) != 0 || c.dataqsiz.get() * c.elemtype.size_ <= KEPT {
        return whoami();
    }
    // SAFETY: makechan_growing has exposed the provenance of the block, which has the small buffer
    // behind the struct. That buffer isn't in use, and there is no value to move. The lock is held.
    let unused = unsafe {
        let block = ptr::with_exposed_provenance_mut::<Hchan>(ptr::from_ref(c).addr());
        replace_buffer(c, small_size(c.elemtype), block.add(1).cast())
    };
    free_unlocked(mp, c, unused)
}

/// Makes `buf`, which has room for `size` values, the buffer of `c`, and moves the values there.
/// Returns the size and the address of the old one.
///
/// # Safety
/// The lock is held. Nobody else uses `buf`, and it has room for the values that there are.
unsafe fn replace_buffer(c: &Hchan, size: usize, buf: *mut c_void) -> (usize, *mut c_void) {
    let (old_size, old) = (c.dataqsiz.replace(size), c.buf.replace(buf));
    let (elem, count, first) = (c.elemtype.size_, c.qcount.load(Ordering::Relaxed), c.recvx.replace(0));
    let until_end = count.min(old_size - first);
    // SAFETY: the values are those from slot `first` to the end, and then from slot 0. There is
    // room for them in the new buffer, as the caller says.
    unsafe {
        ptr::copy_nonoverlapping(old.byte_add(first * elem).cast::<u8>(), buf.cast(), until_end * elem);
        ptr::copy_nonoverlapping(
            old.cast::<u8>(),
            buf.byte_add(until_end * elem).cast(),
            (count - until_end) * elem,
        );
    }
    c.sendx.set(count);
    (old_size, old)
}

/// Frees a buffer that `c` doesn't use. `c` is locked, and unlocked meanwhile. Returns the
/// goroutine and the M that run here afterwards.
fn free_unlocked(mp: Option<&'static M>, c: &Hchan, (size, buf): (usize, *mut c_void)) -> Me {
    unlock_on(mp, &c.lock);
    // SAFETY: it is a buffer that makechan or `allocate` made, and nobody uses it any more.
    with_room(|| unsafe { free_buffer(c.elemtype, size, buf) });
    let me = whoami();
    lock_on(me.1, &c.lock);
    me
}
