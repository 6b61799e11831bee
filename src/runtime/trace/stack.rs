//! The stacks of goroutines, as numbers.
//!
//! The number of a goroutine's stack is found in about twenty nanoseconds, because each thread
//! remembers stacks that it has seen. An unwinder takes a microsecond for each frame. But it finds
//! the same frames whenever it begins with the same pc and finds the same return addresses in the
//! same places. So the frames are kept with the places of their return addresses. The key is the pc
//! and the goroutine's distance from the base of its stack. Next time, a check that the places
//! still hold the same return addresses is enough.
//!
//! A table has each stack once ([`intern`]). Stacks are never freed, because threads remember them,
//! so their number is limited. Their memory comes from the kernel: see `buffer.rs`.

use std::ffi::{c_int, c_void};
use std::hash::Hasher;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::runtime::arch::{called_from, goexit_pc};
use crate::runtime::data::ext::Name;
use crate::runtime::data::runtime2::{G, M};
use crate::runtime::data::trace::Chunk;
use crate::runtime::g::callers::{_Unwind_Backtrace, _Unwind_GetCFA, _Unwind_GetIP, GO_ON, STOP, left_at};
use crate::runtime::trace::buffer;
use crate::runtime::trace::hash::Fast;

/// An entry of a thread's table: the key, and the stack. A key of 0 means that the entry is empty.
#[repr(C)]
#[derive(Clone, Copy)]
struct Known {
    key: u64,
    stack: *const Stack,
}

/// The number of stacks that a thread remembers.
const KNOWN: usize = Chunk::SIZE / size_of::<Known>();

/// The number of entries in which a stack may be.
const WAYS: usize = 4;

/// Returns the number of the stack of `gp`, from which the thread of `mp`, the calling thread, has
/// switched to g0. Returns 0 if the stack can't be found.
pub(super) fn stack_of(mp: &M, gp: &G) -> u32 {
    let (pc, sp) = (gp.sched.pc.get(), gp.sched.sp.get());
    let bounds = gp.stack.get();
    if sp < bounds.lo || sp >= bounds.hi || pc == goexit_pc() {
        return 0;
    }
    let room = bounds.hi - sp;
    let found = remembered(mp, key(pc, room), |stack| {
        let [first, rest @ ..] = stack.frames() else { return false };
        first.pc == pc
            && rest.iter().all(|frame| {
                // SAFETY: the place is on the goroutine's stack, which stays as it is while this
                // thread is on g0.
                frame.slot < room
                    && unsafe { ptr::with_exposed_provenance::<usize>(sp + frame.slot).read() } == frame.pc
            })
    });
    match found {
        Found::Known(id) => id,
        Found::New(place) => walk(gp).map_or(0, |walk| {
            let stack = intern(&walk.frames[..walk.len], Name::NONE);
            if walk.all_found {
                remember(place, key(pc, room), stack);
            }
            stack.map_or(0, Stack::id)
        }),
    }
}

/// Returns the number of a stack that describes the start of `gp`: its function, and its name.
pub(super) fn start_of(mp: Option<&M>, gp: &G) -> u32 {
    let name = gp.ext.name.get();
    // All closures are started by the same few functions. The place that made the goroutine says
    // more.
    let frames = [match gp.ext.created_at.get() {
        Some(place) => Frame { pc: ptr::from_ref(place).expose_provenance(), slot: LOCATION },
        // The start of a foreign thread is unknown.
        None if gp.startpc.get() == 0 => return 0,
        None => Frame { pc: gp.startpc.get(), slot: 0 },
    }];
    let Some(mp) = mp else { return intern(&frames, name).map_or(0, Stack::id) };
    let key = key(frames[0].pc, name.as_str().len());
    match remembered(mp, key, |stack| stack.frames() == frames && stack.name.as_str() == name.as_str()) {
        Found::Known(id) => id,
        Found::New(known) => {
            let stack = intern(&frames, name);
            remember(known, key, stack);
            stack.map_or(0, Stack::id)
        }
    }
}

fn key(pc: usize, room: usize) -> u64 {
    (pc as u64).rotate_left(24).wrapping_add(room as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

enum Found<'a> {
    Known(u32),
    /// The stack isn't known. The thread can remember it in this entry.
    New(Option<&'a mut Known>),
}

/// Returns the stack that the thread of `mp`, the calling thread, remembers by this key, if the
/// stack `matches`.
fn remembered<'a>(mp: &M, key: u64, mut matches: impl FnMut(&Stack) -> bool) -> Found<'a> {
    let table = &mp.ext.trace_buffer.writer.stacks;
    if table.get().is_null() {
        table.set(buffer::get_block().map_or(ptr::null_mut(), |block| block.as_mut_ptr()));
    }
    if table.get().is_null() {
        return Found::New(None);
    }
    // SAFETY: the block has room for KNOWN entries, which are valid as zeros, and is used by this
    // thread only.
    let known = unsafe { std::slice::from_raw_parts_mut(table.get().cast::<Known>(), KNOWN) };
    let first = (key >> 32) as usize % (KNOWN / WAYS) * WAYS;
    let set = &mut known[first..first + WAYS];
    for known in set.iter() {
        // SAFETY: stacks are never freed.
        if known.key == key && matches(unsafe { &*known.stack }) {
            // SAFETY: stacks are never freed.
            return Found::Known(unsafe { (*known.stack).id() });
        }
    }
    let place = set.iter().position(|known| known.key == 0).unwrap_or((key >> 8) as usize % WAYS);
    Found::New(Some(&mut set[place]))
}

fn remember(place: Option<&mut Known>, key: u64, stack: Option<&'static Stack>) {
    if let (Some(place), Some(stack)) = (place, stack) {
        *place = Known { key, stack };
    }
}

struct Walk {
    frames: [Frame; MAX_FRAMES],
    len: usize,
    /// The first frame's pc and stack pointer.
    pc: usize,
    sp: usize,
    /// The last frame's stack pointer.
    last: usize,
    /// The stack's base.
    hi: usize,
    /// Whether the place of each return address was found.
    all_found: bool,
}

/// Finds the frames of `gp`, from which this thread has switched to g0.
fn walk(gp: &G) -> Option<Walk> {
    let regs = left_at(gp);
    let none = Frame { pc: 0, slot: 0 };
    let hi = gp.stack.get().hi;
    let mut walk = Walk {
        frames: [none; MAX_FRAMES],
        len: 0,
        pc: regs.pc,
        sp: regs.sp,
        last: regs.sp,
        hi,
        all_found: true,
    };
    // SAFETY: the unwinder reads the stack that the registers lead to, which stays as it is.
    // `frame` gets the walk, and doesn't unwind.
    unsafe { called_from(&regs, || _ = _Unwind_Backtrace(frame, (&raw mut walk).cast())) };
    (walk.len > 0).then_some(walk)
}

/// Notes a frame of the goroutine's. The frames of the walk itself come first, and are skipped.
unsafe extern "C" fn frame(context: *mut c_void, walk: *mut c_void) -> c_int {
    // SAFETY: the unwinder passes its context, and the walk, which no other code uses meanwhile.
    let (walk, pc, sp) =
        unsafe { (&mut *walk.cast::<Walk>(), _Unwind_GetIP(context), _Unwind_GetCFA(context)) };
    if pc == 0 || walk.len == MAX_FRAMES {
        return STOP;
    }
    if walk.len == 0 && pc != walk.pc {
        return GO_ON;
    }
    let mut slot = 0;
    if walk.len > 0 {
        // The return address to a frame is at the end of the frame that it has called. A frame
        // below the goroutine's stack pointer has made no call. The look-up of a name makes such a
        // frame up (`report/symbols.rs`), and the goroutine may wait in that look-up.
        let low = if walk.last < walk.sp { walk.hi } else { walk.last };
        let words = (low..sp.min(walk.hi)).step_by(size_of::<usize>());
        // SAFETY: the words between two frames' stack pointers are on the goroutine's stack.
        let found =
            words.rev().find(|word| unsafe { ptr::with_exposed_provenance::<usize>(*word).read() } == pc);
        walk.all_found &= found.is_some();
        slot = found.map_or(0, |word| word - walk.sp);
        walk.last = sp;
    }
    walk.frames[walk.len] = Frame { pc, slot };
    walk.len += 1;
    GO_ON
}

/// The maximum number of frames of a stack that are read and written. Go's
/// `tracev2.MaxFramesPerStack`.
pub(super) const MAX_FRAMES: usize = 128;

/// A frame: its pc, and the offset from the stack pointer of the return address to the frame. The
/// pc of the first frame was in a register.
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
    hash: u64,
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
    fn id(&self) -> u32 {
        let table = memory().map_or(0, |memory| memory.addr());
        ((ptr::from_ref(self).addr() - table) / UNIT) as u32
    }
}

/// The address space of the table, in bytes.
const TABLE_LEN: usize = 64 << 20;

/// Stacks are at multiples of this, so that 32 bits number them.
const UNIT: usize = 16;

/// The maximum number of stacks: half the number of places in the index.
const MAX_STACKS: usize = INDEX / 2;
const INDEX: usize = 1 << 17;

struct Table {
    /// The number of bytes used.
    used: usize,
    count: usize,
}

/// The index precedes the stacks in memory: it maps hashes to the numbers of stacks.
static TABLE: Mutex<Table> = Mutex::new(Table { used: INDEX * size_of::<u32>(), count: 0 });

/// Returns the memory of the table, or none if it couldn't be mapped.
fn memory() -> Option<*mut u8> {
    static MEMORY: OnceLock<usize> = OnceLock::new();
    let address = *MEMORY.get_or_init(|| {
        buffer::map_memory(TABLE_LEN).map_or(0, |memory| memory.as_mut_ptr().expose_provenance())
    });
    (address != 0).then(|| ptr::with_exposed_provenance_mut(address))
}

/// Returns the stack with this number, which the table has given out.
pub(super) fn stack(id: u32) -> Option<&'static Stack> {
    let memory = memory().filter(|_| id != 0)?;
    // SAFETY: stacks are never changed once they have a number.
    Some(unsafe { &*memory.add(id as usize * UNIT).cast::<Stack>() })
}

/// Returns the stack with these frames and this name, or none if the table is full.
fn intern(frames: &[Frame], name: Name) -> Option<&'static Stack> {
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
        if self.count == MAX_STACKS || self.used + size > TABLE_LEN {
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
