//! Home pages: where they come from.
//!
//! For each kind of stack there is an arena that home pages are cut from, each with its room
//! and its guard page below. Nothing is given back: a G lives on in its page and is used again.

use std::io;

use crate::runtime2::{G, Stack, StackKind};
use crate::stack::arena::{Arena, Pieces};
use crate::stack::{PAGE, ROOM_CLASSES, STACK_MIN, room_size};

/// Home pages that were cut together:
///
/// ```text
///     [guard][room][home] [guard][room][home] ...
/// ```
pub(crate) struct Homes(Pieces);

impl Homes {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.count
    }

    /// The G of home `i`, in the upper half, and the low end of its stack.
    pub(crate) fn home(&self, i: usize) -> (&'static G, usize) {
        let (lo, end) = self.0.bounds(i);
        // SAFETY: the page is never unmapped; it is zero, as a G may be, and aligned.
        unsafe { (&*end.sub(PAGE - STACK_MIN).cast::<G>(), lo.addr()) }
    }
}

/// One for the copying G's, and one for each size of room.
static ARENAS: [Arena; ROOM_CLASSES + 1] = [const { Arena::new() }; ROOM_CLASSES + 1];

/// Prepares the arenas.
pub(crate) fn init() {
    for arena in &ARENAS {
        arena.init();
    }
}

/// Cuts up to `n` home pages of this kind, at least one, with their guards; their pages read
/// as zero. Fails as [`Arena::cut`] does.
pub(crate) fn cut(kind: StackKind, n: usize) -> io::Result<Homes> {
    let arena = &ARENAS[match kind {
        StackKind::Copying => ROOM_CLASSES,
        StackKind::Fixed(room) => usize::from(room),
    }];
    arena.cut(PAGE + room_size(kind) + PAGE, PAGE, n).map(Homes)
}

/// The first stack of a G of this kind, in its home page and the room below.
pub(crate) fn home_stack(gp: &G) -> Stack {
    let hi = gp.as_ptr().addr();
    Stack { lo: hi - STACK_MIN - room_size(gp.ext.kind.get()), hi }
}
