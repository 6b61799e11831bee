//! All stacks that were seen, each once. They stay, as threads remember them (`stack.rs`), so that there may be a
//! limited number. In memory from the kernel: see `pool.rs`.

use std::hash::Hasher;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::runtime::data::ext::Name;
use crate::runtime::trace::hash::Fast;
use crate::runtime::trace::pool;

/// How many frames of a stack are looked at, and written, at most. Go's `tracev2.MaxFramesPerStack`.
pub(super) const MAX_FRAMES: usize = 128;

/// A frame: its pc, and where on the stack the return address to it is, from the stack pointer on. The first has its pc
/// in a register.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Frame {
    /// A return address, but for the first frame if that was interrupted.
    pub(super) pc: usize,
    pub(super) slot: usize,
}

/// The `slot` of a frame whose pc is the address of a [`Location`](std::panic::Location): where a goroutine was made.
pub(super) const LOCATION: usize = usize::MAX;

/// A stack, or, with a single frame and perhaps a name, the function that a goroutine begins with.
#[repr(C)]
pub(super) struct Stack {
    pub(super) hash: u64,
    pub(super) name: Name,
    len: usize,
    frames: [Frame; 0],
}

impl Stack {
    /// Its frames, the innermost first.
    pub(super) fn frames(&self) -> &[Frame] {
        // SAFETY: the table puts them behind it, so many.
        unsafe { std::slice::from_raw_parts(self.frames.as_ptr(), self.len) }
    }

    /// Its number.
    pub(super) fn id(&self) -> u32 {
        let table = memory().map_or(0, |memory| memory.addr());
        ((ptr::from_ref(self).addr() - table) / UNIT) as u32
    }
}

/// How many bytes of address space the table has.
const LEN: usize = 64 << 20;

/// Stacks are at multiples of this, so that 32 bits number them.
const UNIT: usize = 16;

/// How many stacks there may be: half as many as the index has places.
const MAX: usize = INDEX / 2;
const INDEX: usize = 1 << 17;

struct Table {
    /// How much is used, in bytes.
    used: usize,
    count: usize,
}

/// In front of the stacks is the index: their numbers, by their hashes.
static TABLE: Mutex<Table> = Mutex::new(Table { used: INDEX * size_of::<u32>(), count: 0 });

/// The memory of the table; null if there is none.
fn memory() -> Option<*mut u8> {
    static MEMORY: OnceLock<usize> = OnceLock::new();
    let address =
        *MEMORY.get_or_init(|| pool::map(LEN).map_or(0, |memory| memory.as_mut_ptr().expose_provenance()));
    (address != 0).then(|| ptr::with_exposed_provenance_mut(address))
}

/// The stack with this number, which the table has given out.
pub(super) fn stack(id: u32) -> Option<&'static Stack> {
    let memory = memory().filter(|_| id != 0)?;
    // SAFETY: stacks are never changed once they have a number.
    Some(unsafe { &*memory.add(id as usize * UNIT).cast::<Stack>() })
}

/// The stack with these frames and this name; none if the table is full.
pub(super) fn intern(frames: &[Frame], name: Name) -> Option<&'static Stack> {
    let mut hasher = Fast::default();
    frames.iter().for_each(|frame| hasher.write_u64((frame.pc ^ frame.slot.rotate_left(32)) as u64));
    hasher.write(name.as_str().as_bytes());
    let hash = hasher.finish();
    let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    let memory = memory()?;
    let mut place = hash as usize % INDEX;
    loop {
        // SAFETY: the index is the table's first part, and only who has the lock uses it.
        let entry = unsafe { &mut *memory.cast::<u32>().add(place) };
        match stack(*entry) {
            None => {
                let stack = table.add(memory, frames, name, hash)?;
                *entry = stack.id();
                return Some(stack);
            }
            Some(stack)
                if stack.hash == hash && stack.frames() == frames && stack.name.as_str() == name.as_str() =>
            {
                return Some(stack);
            }
            Some(_) => place = (place + 1) % INDEX,
        }
    }
}

impl Table {
    fn add(&mut self, memory: *mut u8, frames: &[Frame], name: Name, hash: u64) -> Option<&'static Stack> {
        let size = size_of::<Stack>() + size_of_val(frames);
        if self.count == MAX || self.used + size > LEN {
            return None;
        }
        // SAFETY: the place is within the table's memory, aligned, and nobody's yet.
        let stack = unsafe {
            let at = memory.add(self.used).cast::<Stack>();
            at.write(Stack { hash, name, len: frames.len(), frames: [] });
            ptr::copy_nonoverlapping(frames.as_ptr(), at.add(1).cast::<Frame>(), frames.len());
            &*at
        };
        self.count += 1;
        self.used += size.next_multiple_of(UNIT);
        Some(stack)
    }
}
