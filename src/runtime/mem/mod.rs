//! Memory: the pages that G's live in, the segments that stacks grow into, and pools. Go's
//! allocator in `stack.go`.
//!
//! Every G owns one page for life, its *home*. The upper half is the G itself, the lower half the
//! top of its first stack, so that a parked goroutine touches one page and no more. Below the page
//! there may be room, and below that is a guard page.
//!
//! ```text
//!     copying G   [guard][ home: 2 KiB stack | G ]
//!     fixed G     [guard][ room, untouched until used ][ home: 2 KiB stack | G ]
//! ```
//!
//! These sizes hold for pages of 4 KiB. With pages of 16 or 64 KiB, a guard and a home are as large
//! as a page. A fixed stack has the rest of its home. The stack of a copying G is still 2 KiB,
//! right above the guard.
//!
//! ```text
//!     copying G   [guard][ home: 2 KiB stack | G | unused ]
//!     fixed G     [guard][ room, untouched until used ][ home: 62 KiB stack | G ]
//! ```
//!
//! The stack of a **copying** G moves to a *segment* of twice the size when it is full, and back
//! home when its home is large enough: `stack` does that. The stack of a **fixed** G never moves
//! and grows down into its room. It is for Rust closures, which may keep pointers to their locals
//! anywhere.
//!
//! - Home pages, small segments, sudogs, channels and timers are cut from *arenas* and used again
//!   by way of a free list. Pieces that nobody has needed for a while go back to their arena
//!   (timers stay). No arena is ever unmapped. So an address of a G, a channel or a timer is good
//!   forever: at worst it is the address of another thing of the same kind.
//! - A free list belongs to a P, or is the common one. Only its owner touches a P's list, which has
//!   no lock; the common list has a lock and a `Level`. An M without a P uses the common list.
//! - The code here allocates, makes system calls and takes its own locks. It runs on g0, or on a
//!   stack with room.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | `stackinit`; a dead G gives its segment back, `go_home` |
//! | `sizes.rs` | how large stacks, rooms and guards are: `stackMin`, `stackGuard`, `stackPreempt` |
//! | `home.rs` | home pages, an arena for each kind of stack |
//! | `arena.rs` | address space that pieces of one size are cut from, and go back to |
//! | `guard.rs` | guard pages, and what is done when there can be no more of them |
//! | `pages.rs` | advice to the kernel for many places at once; which pages have memory |
//! | `segment.rs` | `stackalloc`, `stackfree`, `stackcache_clear`: what a stack grows into, small or large |
//! | `cache.rs` | what nobody uses: a list for each P, one for all, and what passes between them |
//! | `pool.rs` | things that stay what they are: channels, timers |
//! | `valgrind.rs` | requests to valgrind about stacks |
//! | `morestack_check.rs` | `morestack_check!`, the check at the head of an entry point; `poison_stack_limit` |

pub(super) mod arena;
pub(super) mod cache;
pub(super) mod guard;
pub(super) mod home;
pub(super) mod morestack_check;
pub(super) mod pages;
pub(super) mod pool;
pub(super) mod segment;
pub(super) mod sizes;
pub(super) mod valgrind;

use std::io;

use crate::runtime::arch::init_vector_state;
use crate::runtime::base::debug::stack_keep_off;
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::runtime2::G;
use crate::runtime::mem::sizes::KEPT_MAX;

/// Frees a dead G's segment, so that the G has its home page's stack again; with `keep`, only if
/// the segment is large. Called on g0, or on a thread that isn't ours.
#[inline]
pub(in crate::runtime) fn go_home(gp: &G, keep: bool) {
    let stack = gp.stack.get();
    if stack.hi == gp.as_ptr().addr()
        || gp.ext.kind.get() != StackKind::Copying
        || (keep && stack.hi - stack.lo <= KEPT_MAX && !stack_keep_off())
    {
        return;
    }
    segment::stackfree(stack);
    gp.stack.set(home::home_stack(gp));
}

/// Prepares stacks. Go's `stackinit`.
pub(in crate::runtime) fn stackinit() -> io::Result<()> {
    sizes::init()?;
    segment::init();
    init_vector_state();
    guard::init()
}
