//! The table of all stacks that were recorded, each once. Stacks are never freed, because threads
//! remember them (`stack.rs`). So their number is limited. Their memory comes from the kernel: see
//! `pool.rs`.

use std::hash::Hasher;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::runtime::data::ext::Name;
use crate::runtime::trace::hash::Fast;
use crate::runtime::trace::pool;

/// The maximum number of frames that are read and written of a stack. Go's
/// `tracev2.MaxFramesPerStack`.
pub(super) const MAX_FRAMES: usize = 128;

/// A frame: its pc, and the offset of the return address to it from the stack pointer. The pc of
/// the first frame was in a register.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Frame {
    /// A return address, except in the first frame of an interrupted goroutine.
    pub(super) pc: usize,
    pub(super) slot: usize,
}

/// The `slot` of a frame whose pc is the address of a [`Location`](std::panic::Location): the place
/// that made a goroutine.
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
        // SAFETY: the table puts `len` frames behind the struct.
        unsafe { std::slice::from_raw_parts(self.frames.as_ptr(), self.len) }
    }

    /// Its number.
    pub(super) fn id(&self) -> u32 {
        let table = memory().map_or(0, |memory| memory.addr());
        ((ptr::from_ref(self).addr() - table) / UNIT) as u32
    }
}

/// The address space of the table, in bytes.
const LEN: usize = 64 << 20;

/// Stacks are at multiples of this, so that 32 bits number them.
const UNIT: usize = 16;

/// The maximum number of stacks: half the number of places in the index.
const MAX: usize = INDEX / 2;
const INDEX: usize = 1 << 17;

struct Table {
    /// The number of bytes used.
    used: usize,
    count: usize,
}

/// The index precedes the stacks in memory: it maps hashes to the numbers of stacks.
static TABLE: Mutex<Table> = Mutex::new(Table { used: INDEX * size_of::<u32>(), count: 0 });

/// The memory of the table; none if it couldn't be mapped.
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
        // SAFETY: the index is the table's first part, and only the holder of the lock uses it.
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
        // SAFETY: the place is within the table's memory, aligned, and unused.
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
