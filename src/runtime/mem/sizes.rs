//! How large stacks, rooms, guards and segments are: Go's `stackMin`, `stackGuard`, `stackPreempt`.

use std::env;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::runtime::arch::page_size;
use crate::runtime::base::debug::stack_force_move;
use crate::runtime::data::ext::{G_SIZE, MAX_ROOM, StackKind};
use crate::runtime::data::runtime2::G;

/// The smallest page size of any kernel: a G and its first stack take as much, and rooms and segments are
/// counted in it.
pub(in crate::runtime) const PAGE_MIN: usize = 4096;

/// The first stack of every G: the half of its home that the G doesn't fill. Go's
/// `stackMin`.
const STACK_MIN: usize = 2048;

const _: () = assert!(STACK_MIN + G_SIZE == PAGE_MIN);

/// Whether frames are several times as large as they need be: without optimisation, or with the checks of a
/// debug build. Go has `stackGuardMultiplier` for such builds.
pub(in crate::runtime) const LARGE_FRAMES: bool = cfg!(any(debug_assertions, unoptimized));

/// How far above `stack.lo` a check fails already: room for functions that have no check. Go's `stackGuard`.
pub(in crate::runtime) const STACK_GUARD: usize = if LARGE_FRAMES { 4 * 928 } else { 928 };

/// The `stackguard0` of a goroutine that is to stop: above every stack. Go's `stackPreempt`, without the
/// sign: gcc's checks compare unsigned numbers, LLVM's of an `alloca` signed ones.
pub(in crate::runtime) const STACK_PREEMPT: usize = (isize::MAX & -1314) as usize;

/// The `stackguard0` of a goroutine whose stack is to be moved: above every stack, too. Go's `stackForceMove`.
const STACK_FORCE_MOVE: usize = (isize::MAX & -275) as usize;

/// The byte that `GODEBUG=efence=1` fills a home page's stack with when the goroutine has left it. Go's
/// `stackPoisonCopy`.
pub(in crate::runtime) const POISON: u8 = 0xfc;

/// The smallest segment, with pages of 4 KiB. Go's `fixedStack`, which is half of it: a G's first stack is in
/// its home page.
pub(super) const SEGMENT_MIN: usize = PAGE_MIN;

/// The bytes of the largest segment that a dead G keeps for the next goroutine.
pub(super) const KEPT_MAX: usize = 128 << 10;

/// The room below a fixed G's home page, unless the program or the environment says otherwise, as a power of
/// two in [`PAGE_MIN`]: 256 KiB, and with large frames 1 MiB.
const USUAL_ROOM: u8 = if LARGE_FRAMES { 8 } else { 6 };

/// The room below a fixed G's home page, if who makes the G doesn't say it. It stays what it is when the
/// runtime has started.
static DEFAULT_ROOM: AtomicU8 = AtomicU8::new(USUAL_ROOM);

/// The room of a main goroutine: 8 MiB, what a process's main thread has.
pub(in crate::runtime) const MAIN_ROOM: u8 = 11;

/// The room below a copying G's home page: none, unless frames are large and 2 KiB hold too few of them.
const COPYING_ROOM: usize = if LARGE_FRAMES { 2 * PAGE_MIN } else { 0 };

/// The bytes of room below a home page.
pub(super) const fn room_size(kind: StackKind) -> usize {
    match kind {
        StackKind::Copying => COPYING_ROOM,
        StackKind::Fixed(room) => PAGE_MIN << room,
    }
}

/// The bytes of a G's first stack: in its home page, and the room below.
pub(super) fn stack_size(kind: StackKind) -> usize {
    let size = room_size(kind) + STACK_MIN;
    match kind {
        StackKind::Copying => size,
        StackKind::Fixed(_) => (size + G_SIZE).next_multiple_of(page_size()) - G_SIZE,
    }
}

/// The `stackguard0` of `gp` while it runs and nobody wants it to stop.
#[inline(always)]
pub(in crate::runtime) fn running_guard(gp: &G) -> usize {
    if stack_force_move() && gp.ext.kind.get() == StackKind::Copying {
        return STACK_FORCE_MOVE;
    }
    gp.stack.get().lo + STACK_GUARD
}

/// The room of a fixed G whose maker doesn't say how large it is to be.
#[inline(always)]
pub(in crate::runtime) fn default_room() -> u8 {
    // Relaxed: it is set before anybody can make a G.
    DEFAULT_ROOM.load(Ordering::Relaxed)
}

/// The kind of stack with [`default_room`].
#[inline(always)]
pub(crate) fn default_kind() -> StackKind {
    StackKind::Fixed(default_room())
}

/// Sets the default room, for stacks of at least `size` bytes, before there is a G. Fails if there can be no
/// such stack.
pub(in crate::runtime) fn set_default_room(size: usize) -> io::Result<()> {
    let Some(StackKind::Fixed(room)) = room_for(size) else { return Err(too_large(size)) };
    DEFAULT_ROOM.store(room, Ordering::Relaxed);
    Ok(())
}

/// Sets the default room if the environment says what it is to be. Fails if it says what can't be.
pub(super) fn init() -> io::Result<()> {
    let Ok(size) = env::var("GOSCHED_STACK_SIZE") else { return Ok(()) };
    size.parse().ok().and_then(|size| set_default_room(size).ok()).ok_or_else(|| {
        let error = format!("GOSCHED_STACK_SIZE={size}: it takes a number of bytes, at most 1 GiB");
        io::Error::new(io::ErrorKind::Unsupported, error)
    })
}

/// The error of who asks for a stack of so many bytes.
#[cold]
pub(crate) fn too_large(size: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("a stack can't have {size} bytes: 1 GiB is the limit"),
    )
}

/// The kind of stack with the smallest room that has at least `size` bytes; none if no room is as large.
pub(crate) fn room_for(size: usize) -> Option<StackKind> {
    let pages = size.saturating_sub(STACK_MIN).div_ceil(PAGE_MIN).max(1);
    let room = pages.checked_next_power_of_two()?.trailing_zeros() as u8;
    (room <= MAX_ROOM).then_some(StackKind::Fixed(room))
}

/// ⌊log₂ n⌋. Go's `stacklog2`.
pub(super) fn stacklog2(n: usize) -> usize {
    n.ilog2() as usize
}
