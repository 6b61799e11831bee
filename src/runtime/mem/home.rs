//! Home pages: an arena for each kind of stack. Below each page are its room and its guard page.
//!
//! A dead G stays in its page. A page that goes back to the arena is no G any more, and reads as
//! zero until it is cut again.

use std::io;
use std::ptr;

use crate::runtime::data::ext::{G_SIZE, KINDS, ROOM_CLASSES, StackKind};
use crate::runtime::data::runtime2::{G, Stack};
use crate::runtime::mem::arena::{Arena, Pieces};
use crate::runtime::mem::sizes::{PAGE_MIN, room_size, stack_size};
use crate::runtime::tls::block_size;

/// Home pages that were cut together:
///
/// ```text
///     [guard][room][home] [guard][room][home] ...
/// ```
pub(in crate::runtime) struct Homes {
    pieces: Pieces,
    kind: StackKind,
}

impl Homes {
    /// Returns how many home pages there are.
    pub(in crate::runtime) fn count(&self) -> usize {
        self.pieces.count
    }

    /// Returns the G of home `i`, in the upper half, and the low end of its stack.
    pub(in crate::runtime) fn home(&self, i: usize) -> (&'static G, usize) {
        let lo = self.pieces.start(i);
        // SAFETY: the page is aligned and never unmapped, and it reads as zero, which is a valid G.
        unsafe { (&*lo.add(stack_size(self.kind)).cast::<G>(), lo.addr()) }
    }

    /// Hands the pages back, which only the caller has used. Doesn't allocate, as there may be no
    /// memory.
    pub(in crate::runtime) fn hand_back(&self) {
        let arena = &ARENAS[number(self.kind)];
        for i in 0..self.count() {
            let mut start = [self.pieces.start(i).addr()];
            let discarded = arena.discard(&mut start);
            arena.put_back(&mut start[..discarded]);
        }
    }
}

/// An arena for each size of room, and one for the copying G's.
static ARENAS: [Arena; KINDS] = {
    const fn size(kind: StackKind) -> usize {
        room_size(kind) + PAGE_MIN
    }
    let mut arenas = [const { Arena::new(size(StackKind::Copying), c"gosched: stacks") }; KINDS];
    let mut room = 0;
    while room < ROOM_CLASSES {
        arenas[room].size = size(StackKind::Fixed(room as u8));
        arenas[ROOM_CLASSES + room].size = size(StackKind::Thread(room as u8));
        arenas[ROOM_CLASSES + room].strict = true;
        room += 1;
    }
    arenas
};

/// Returns each kind of stack.
pub(in crate::runtime) fn kinds() -> impl Iterator<Item = StackKind> {
    let rooms = 0..ROOM_CLASSES as u8;
    rooms.clone().map(StackKind::Fixed).chain(rooms.map(StackKind::Thread)).chain([StackKind::Copying])
}

/// Returns the number of a kind, below [`KINDS`].
pub(in crate::runtime) fn number(kind: StackKind) -> usize {
    match kind {
        StackKind::Fixed(room) => usize::from(room),
        StackKind::Thread(room) => ROOM_CLASSES + usize::from(room),
        StackKind::Copying => 2 * ROOM_CLASSES,
    }
}

/// The stack that a goroutine has used when it first waits, at least. Thread-locals and the G come
/// on top.
const FIRST_FRAMES: usize = 1024;

/// Returns the bytes between a G of this kind and its stack.
fn locals_size(kind: StackKind) -> usize {
    if kind.has_own_locals() { block_size() } else { 0 }
}

/// Cuts up to `n` home pages of this kind, at least one, with their guards. The pages read as zero.
/// Fails as [`Arena::cut`] does.
pub(in crate::runtime) fn cut_homes(kind: StackKind, n: usize) -> io::Result<Homes> {
    let used = G_SIZE + locals_size(kind) + FIRST_FRAMES;
    Ok(Homes { pieces: ARENAS[number(kind)].cut(n, used)?, kind })
}

/// Hands the memory of dead G's of this kind to the kernel: their home pages, and the rooms below.
/// Nobody uses these G's before their pages are cut again. Returns the G's whose memory can't go,
/// because the program has locked it.
pub(in crate::runtime) fn discard(kind: StackKind, dead: &[&'static G]) -> Vec<&'static G> {
    let arena = &ARENAS[number(kind)];
    let mut starts: Vec<usize> = dead.iter().map(|gp| home_stack(gp).lo).collect();
    let discarded = arena.discard(&mut starts);
    arena.put_back(&mut starts[..discarded]);
    let g = |lo| ptr::with_exposed_provenance(lo + stack_size(kind));
    // SAFETY: these are addresses of G's in `dead`, whose pages are unchanged.
    starts[discarded..].iter().map(|&lo| unsafe { &*g(lo) }).collect()
}

/// Returns the first stack of a G, in its home page and the room below. Thread-locals of its own
/// are between the G and the stack.
pub(in crate::runtime) fn home_stack(gp: &G) -> Stack {
    let (kind, hi) = (gp.ext.kind.get(), gp.as_ptr().addr());
    Stack { lo: hi - stack_size(kind), hi: hi - locals_size(kind) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::runtime::data::runtime2::{GDEAD, GIDLE};
    use crate::runtime::mem::stackinit;

    #[test]
    fn what_was_handed_back_is_cut_again() {
        stackinit().unwrap();
        // No other test has homes with such a room.
        let kind = StackKind::Fixed(3);
        let addresses = |homes: &Homes| (0..homes.count()).map(|i| homes.home(i).1).collect::<Vec<_>>();
        let first = cut_homes(kind, 4).unwrap();
        (0..4).for_each(|i| first.home(i).0.atomicstatus.store(GDEAD, Ordering::Relaxed));
        first.hand_back();
        let again = cut_homes(kind, 4).unwrap();
        assert_eq!(addresses(&first), addresses(&again));
        assert!((0..4).all(|i| again.home(i).0.atomicstatus.load(Ordering::Relaxed) == GIDLE));
    }
}
