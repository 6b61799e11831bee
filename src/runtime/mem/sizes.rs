//! The sizes of stacks, rooms, guards and segments: Go's `stackMin`, `stackGuard`, `stackPreempt`.

use std::env;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};

use crate::runtime::arch::page_size;
use crate::runtime::base::debug::stack_force_move;
use crate::runtime::base::this::started;
use crate::runtime::data::ext::{G_SIZE, MAX_ROOM, StackKind};
use crate::runtime::data::runtime2::G;
use crate::runtime::tls;

/// The smallest page size of any kernel. A G and its first stack take this much, and rooms and
/// segments are multiples of it.
pub(in crate::runtime) const PAGE_MIN: usize = 4096;

/// The first stack of every G: the half of its home that the G doesn't fill. Go's
/// `stackMin`.
const STACK_MIN: usize = 2048;

const _: () = assert!(STACK_MIN + G_SIZE == PAGE_MIN);

/// Whether frames are several times as large as they need be: without optimisation, or with the
/// checks of a debug build. Go has `stackGuardMultiplier` for such builds.
pub(in crate::runtime) const LARGE_FRAMES: bool = cfg!(any(debug_assertions, unoptimized, asan, tsan));

/// A check fails at this distance above `stack.lo`, which leaves room for functions without a
/// check. Go's `stackGuard`.
pub(in crate::runtime) const STACK_GUARD: usize = if LARGE_FRAMES { 4 * 928 } else { 928 };

/// The `stackguard0` of a goroutine that is to stop: above every stack. Go's `stackPreempt`,
/// without the sign: gcc's checks compare unsigned numbers, LLVM's of an `alloca` signed ones.
pub(in crate::runtime) const STACK_PREEMPT: usize = (isize::MAX & -1314) as usize;

/// The `stackguard0` of a goroutine whose stack is to be moved: above every stack, too. Go's
/// `stackForceMove`.
const STACK_FORCE_MOVE: usize = (isize::MAX & -275) as usize;

/// The byte with which `GODEBUG=efence=1` fills a home page's stack when the goroutine has left it.
/// Go's `stackPoisonCopy`.
pub(in crate::runtime) const POISON: u8 = 0xfc;

/// The smallest segment, with pages of 4 KiB. Go's `fixedStack` is half as large; here a G's first
/// stack is in its home page.
pub(super) const SEGMENT_MIN: usize = PAGE_MIN;

/// The bytes of the largest segment that a dead G keeps for the next goroutine.
pub(super) const KEPT_MAX: usize = 128 << 10;

/// The room below a fixed G's home page, unless the program or the environment says otherwise, as a
/// power of two in [`PAGE_MIN`]: 256 KiB, and with large frames 1 MiB.
const USUAL_ROOM: u8 = if LARGE_FRAMES { 8 } else { 6 };

/// The room below a fixed G's home page, if the maker of the G gives none. It doesn't change once
/// the runtime has started.
static DEFAULT_ROOM: AtomicU8 = AtomicU8::new(USUAL_ROOM);

/// The kind of a main goroutine whose maker gives none, thread-locals left aside: 8 MiB, as a
/// process's main thread has.
pub(crate) const MAIN_KIND: StackKind = StackKind::Fixed(11);

/// The room below a copying G's home page: none, unless frames are large and 2 KiB hold too few of
/// them.
const COPYING_ROOM: usize = if LARGE_FRAMES { 2 * PAGE_MIN } else { 0 };

/// Returns the bytes of room below a home page.
pub(super) const fn room_size(kind: StackKind) -> usize {
    match kind {
        StackKind::Copying => COPYING_ROOM,
        StackKind::Fixed(room) | StackKind::Thread(room) => PAGE_MIN << room,
    }
}

/// Returns the size of a G's first stack in bytes: the part in its home page, and the room below.
pub(super) fn stack_size(kind: StackKind) -> usize {
    let size = room_size(kind) + STACK_MIN;
    match kind {
        StackKind::Copying => size,
        StackKind::Fixed(_) | StackKind::Thread(_) => (size + G_SIZE).next_multiple_of(page_size()) - G_SIZE,
    }
}

/// Returns the `stackguard0` of `gp` while `gp` runs and isn't asked to stop.
#[inline(always)]
pub(in crate::runtime) fn running_guard(gp: &G) -> usize {
    if stack_force_move() && gp.ext.kind.get() == StackKind::Copying {
        return STACK_FORCE_MOVE;
    }
    gp.stack.get().lo + STACK_GUARD
}

/// Returns the room of a fixed G whose maker gives no size.
#[inline(always)]
pub(in crate::runtime) fn default_room() -> u8 {
    // Relaxed: the value is set before a G can be made.
    DEFAULT_ROOM.load(Ordering::Relaxed)
}

/// Returns the kind with [`default_room`] that uses the thread-locals of the thread that it runs
/// on.
pub(crate) fn fixed_kind() -> StackKind {
    StackKind::Fixed(default_room())
}

/// The kind of a goroutine whose maker gives none: [`FIXED`] or [`THREAD`], and a room. 0 until the
/// runtime has started, and where there can be no such goroutine.
static DEFAULT_KIND: AtomicU16 = AtomicU16::new(0);

const FIXED: u16 = 1 << 8;
const THREAD: u16 = 2 << 8;

/// Sets the default kind: with thread-locals of its own, unless those of threads are to be shared.
pub(in crate::runtime) fn set_default_kind(shared: bool) {
    let kind = if shared { Ok(fixed_kind()) } else { with_own_locals(fixed_kind(), false) };
    let kind = match kind {
        Ok(StackKind::Fixed(room)) => FIXED | u16::from(room),
        Ok(StackKind::Thread(room)) => THREAD | u16::from(room),
        _ => 0,
    };
    // Release pairs with default_kind: its callers see what the runtime has set up.
    DEFAULT_KIND.store(kind, Ordering::Release);
}

/// Returns the kind of a goroutine whose maker gives none. Fails if the runtime hasn't started, or
/// there can be no such goroutine here.
#[inline(always)]
pub(crate) fn default_kind() -> io::Result<StackKind> {
    // Acquire pairs with set_default_kind.
    let kind = DEFAULT_KIND.load(Ordering::Acquire);
    match kind & !0xff {
        FIXED => Ok(StackKind::Fixed(kind as u8)),
        THREAD => Ok(StackKind::Thread(kind as u8)),
        _ => Err(no_default_kind()),
    }
}

#[cold]
fn no_default_kind() -> io::Error {
    let why = started().then(|| tls::works().err()).flatten();
    why.unwrap_or_else(|| {
        io::Error::other("the runtime isn't running: the first call of gosched::run starts it")
    })
}

/// Whether a goroutine has thread-locals of its own by default. Fails as [`default_kind`].
pub(crate) fn own_locals_are_default() -> io::Result<bool> {
    default_kind().map(|kind| kind.has_own_locals())
}

/// Sets the default room, for stacks of at least `size` bytes, before there is a G. Fails if there
/// can be no such stack.
pub(in crate::runtime) fn set_default_room(size: usize) -> io::Result<()> {
    let Some(StackKind::Fixed(room)) = room_for(size) else { return Err(too_large(size)) };
    DEFAULT_ROOM.store(room, Ordering::Relaxed);
    Ok(())
}

/// Sets the default room if the environment gives a size. Fails if there can be no such stack.
pub(super) fn init() -> io::Result<()> {
    let Some(size) = env::var_os("GOSCHED_STACK_SIZE") else { return Ok(()) };
    let size = size.to_string_lossy();
    size.parse().ok().and_then(|size| set_default_room(size).ok()).ok_or_else(|| {
        let error = format!("GOSCHED_STACK_SIZE={size}: it takes a number of bytes, at most 1 GiB");
        io::Error::new(io::ErrorKind::Unsupported, error)
    })
}

/// Returns the error for a stack of `size` bytes, which is too large.
#[cold]
pub(crate) fn too_large(size: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("a stack can't have {size} bytes: 1 GiB is the limit"),
    )
}

/// Returns the kind of stack that has at least `size` bytes, with the smallest room; none if no
/// room is large enough.
pub(crate) fn room_for(size: usize) -> Option<StackKind> {
    let pages = size.saturating_sub(STACK_MIN).div_ceil(PAGE_MIN).max(1);
    let room = pages.checked_next_power_of_two()?.trailing_zeros() as u8;
    (room <= MAX_ROOM).then_some(StackKind::Fixed(room))
}

/// Returns the kind of a goroutine with thread-locals of its own, which take up a part of its room.
/// If the stack alone must have the requested size (`at_least`), the room is larger. Fails with the
/// reason if there can be no such goroutine here.
#[cold]
pub(crate) fn with_own_locals(kind: StackKind, at_least: bool) -> io::Result<StackKind> {
    tls::works()?;
    let StackKind::Fixed(room) = kind else { return Ok(kind) };
    let (stack, block) = (PAGE_MIN << room, tls::block_size());
    // The stack is at least as large as the thread-locals.
    let wanted = if at_least { stack + block } else { stack.max(2 * block) };
    let room = wanted.div_ceil(PAGE_MIN).next_power_of_two().trailing_zeros() as u8;
    Ok(StackKind::Thread(room.min(MAX_ROOM)))
}

/// ⌊log₂ n⌋. Go's `stacklog2`.
pub(super) fn stacklog2(n: usize) -> usize {
    n.ilog2() as usize
}
