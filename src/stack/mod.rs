//! Stacks, and the pages that G's live in.
//!
//! Every G owns one page for life, its *home*. The upper half is the [`G`] itself, the
//! lower half the top of its first stack, so that a parked goroutine keeps one page of memory
//! and no more. Below the page there may be *room*, and below that is a guard page.
//!
//! ```text
//!     copying G   [guard][ home: 2 KiB stack | G ]
//!     fixed G     [guard][ room, untouched until used ][ home: 2 KiB stack | G ]
//! ```
//!
//! So it is with pages of 4 KiB. If pages have 16 or 64 KiB, a guard and a home are as large. A fixed stack
//! has what the G leaves of its home, and a copying G's stack is 2 KiB all the same, right above the guard.
//!
//! ```text
//!     copying G   [guard][ home: 2 KiB stack | G | unused ]
//!     fixed G     [guard][ room, untouched until used ][ home: 62 KiB stack | G ]
//! ```
//!
//! - The stack of a **copying** G is copied to a *segment* of twice the size when a check finds
//!   that it is full, and to one of half the size when little of it is used; it comes back to the
//!   home page when that is enough. [`newproc`](crate::proc::newproc) makes such G's.
//! - The stack of a **fixed** G never moves and grows down into its room. It is for Rust
//!   closures, which may keep pointers to their locals anywhere.
//!
//! | file | what |
//! | --- | --- |
//! | [`home`] | home pages |
//! | [`segment`] | what a stack grows into: `stackalloc`, `stackfree` |
//! | [`large`] | large segments |
//! | [`arena`] | address space that home pages and small segments are cut from, and go back to |
//! | [`advise`] | `madvise` for many places at once |
//! | [`guard`] | guard pages, and what is done when there can be no more of them |
//! | [`check`] | checks made by hand |
//! | [`newstack`] | what happens when a check has failed |
//! | [`limit`] | making a check on another thread fail |
//! | [`copystack`] | moving a stack, and adjusting what points into it |
//! | [`frame_map`] | what an embedder knows of its frames |
//! | [`side`] | blocks for `alloca` where the stack has no room |
//! | [`shrink`] | making a stack smaller |
//! | [`scan`] | the words of a goroutine that a collector scans |
//! | [`verify`] | a search for addresses that a move has missed |

mod advise;
pub(crate) mod arena;
pub(crate) mod check;
pub(crate) mod copystack;
pub(crate) mod frame_map;
pub(crate) mod guard;
pub(crate) mod home;
pub(crate) mod large;
pub(crate) mod limit;
pub(crate) mod newstack;
pub(crate) mod scan;
pub(crate) mod segment;
pub(crate) mod shrink;
pub(crate) mod side;
mod verify;

use std::io;

use crate::arch::{getg, init_vector_state, page_size, systemstack};
use crate::debug::{stack_force_move, stack_keep_off};
use crate::runtime2::{G, G_SIZE, StackKind};

/// The smallest page size of any kernel: a G and its first stack take as much, and rooms and segments are
/// counted in it.
pub(crate) const PAGE_MIN: usize = 4096;

/// The first stack of every G: the half of its home that the G doesn't fill. Go's
/// `stackMin`.
pub(crate) const STACK_MIN: usize = 2048;

const _: () = assert!(STACK_MIN + G_SIZE == PAGE_MIN);

/// Whether frames are several times as large as they need be: without optimisation, or with the checks of a
/// debug build. Go has `stackGuardMultiplier` for such builds.
pub(crate) const LARGE_FRAMES: bool = cfg!(any(debug_assertions, unoptimized));

/// How far above `stack.lo` a check fails already: room for functions that have no check. Go's `stackGuard`.
pub(crate) const STACK_GUARD: usize = if LARGE_FRAMES { 4 * 928 } else { 928 };

/// The `stackguard0` of a goroutine that is to stop: above every stack. Go's `stackPreempt`.
pub(crate) const STACK_PREEMPT: usize = -1314_isize as usize;

/// The `stackguard0` of a goroutine whose stack is to be moved: above every stack. Go's `stackForceMove`.
const STACK_FORCE_MOVE: usize = -275_isize as usize;

/// The byte that `GODEBUG=efence=1` fills a home page's stack with when the goroutine has left it. Go's
/// `stackPoisonCopy`.
pub(crate) const POISON: u8 = 0xfc;

/// The bytes of the largest segment that a dead G keeps for the next goroutine.
const KEPT_MAX: usize = 128 << 10;

/// The room below a fixed G's home page, as a power of two in [`PAGE_MIN`]: 256 KiB.
pub(crate) const DEFAULT_ROOM: u8 = 6;

/// The room of a main goroutine: 8 MiB, what a process's main thread has.
pub(crate) const MAIN_ROOM: u8 = 11;

/// The largest room: 1 GiB.
const MAX_ROOM: u8 = 18;

/// How many sizes of room there are.
pub(crate) const ROOM_CLASSES: usize = MAX_ROOM as usize + 1;

/// The room below a copying G's home page: none, unless frames are large and 2 KiB hold too few of them.
const COPYING_ROOM: usize = if LARGE_FRAMES { 2 * PAGE_MIN } else { 0 };

/// The bytes of room below a home page.
pub(crate) const fn room_size(kind: StackKind) -> usize {
    match kind {
        StackKind::Copying => COPYING_ROOM,
        StackKind::Fixed(room) => PAGE_MIN << room,
    }
}

/// The bytes of a G's first stack: in its home page, and the room below.
pub(crate) fn stack_size(kind: StackKind) -> usize {
    let size = room_size(kind) + STACK_MIN;
    match kind {
        StackKind::Copying => size,
        StackKind::Fixed(_) => (size + G_SIZE).next_multiple_of(page_size()) - G_SIZE,
    }
}

/// The `stackguard0` of `gp` while it runs and nobody wants it to stop.
#[inline(always)]
pub(crate) fn running_guard(gp: &G) -> usize {
    if stack_force_move() && gp.ext.kind.get() == StackKind::Copying {
        return STACK_FORCE_MOVE;
    }
    gp.stack.get().lo + STACK_GUARD
}

/// Frees a dead G's segment, so that it has its home page's stack again; with `keep`, only if the segment is
/// large. On g0, or on a thread that isn't ours.
#[inline]
pub(crate) fn go_home(gp: &G, keep: bool) {
    let stack = gp.stack.get();
    if stack.hi == gp.as_ptr().addr() || (keep && stack.hi - stack.lo <= KEPT_MAX && !stack_keep_off()) {
        return;
    }
    segment::stackfree(stack);
    gp.stack.set(home::home_stack(gp));
}

/// The kind of stack with the smallest room that has at least `size` bytes; none if no room is as large.
pub(crate) fn room_for(size: usize) -> Option<StackKind> {
    let pages = size.saturating_sub(STACK_MIN).div_ceil(PAGE_MIN).max(1);
    let room = pages.checked_next_power_of_two()?.trailing_zeros() as u8;
    (room <= MAX_ROOM).then_some(StackKind::Fixed(room))
}

/// Calls `f` where there is room for an allocator, or other code that is written for threads: on g0, if the
/// caller is on a copying stack.
#[inline(always)]
pub(crate) fn with_room<R>(f: impl FnOnce() -> R) -> R {
    if getg().is_some_and(|gp| gp.ext.kind.get() == StackKind::Copying) { systemstack(f) } else { f() }
}

/// Prepares stacks. Go's `stackinit`.
pub(crate) fn stackinit() -> io::Result<()> {
    segment::init();
    init_vector_state();
    guard::init()
}
