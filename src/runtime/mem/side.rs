//! Side blocks: memory for `alloca` and arrays of variable length, when the stack has no room.
//!
//! Compiled code can't be told that its stack pointer has moved in the middle of a function, so it gets the
//! memory elsewhere. The stack grows at the same time, so that the next request finds room: a loop doesn't
//! collect blocks.
//!
//! A block belongs to the frame that asked for it, and is freed once the stack pointer is above that frame,
//! or when the goroutine ends. It may hold addresses of the stack, and is adjusted with the stack; it never
//! moves itself.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ffi::c_void;

use crate::runtime::arch::systemstack;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::this::getm;
use crate::runtime::data::adjust_info::AdjustInfo;
use crate::runtime::data::runtime2::G;

/// The header in front of a block's bytes.
#[repr(C, align(16))]
struct SideBlock {
    next: *mut SideBlock,
    /// The frame pointer of the function that asked for the block; one with an `alloca` keeps one.
    bp: usize,
    /// The size of the bytes behind this header, a multiple of its alignment.
    size: usize,
}

fn layout(size: usize) -> Layout {
    let size = size.checked_add(size_of::<SideBlock>());
    let layout = size.and_then(|size| Layout::from_size_align(size, align_of::<SideBlock>()).ok());
    layout.unwrap_or_else(|| throw("alloca: too large"))
}

/// Allocates `size` bytes for the function whose frame pointer is `bp`. `__morestack_allocate_stack_space`
/// jumps here after the stack has grown.
#[unsafe(no_mangle)]
extern "C" fn gosched_allocate_side_block(size: usize, bp: usize) -> *mut c_void {
    systemstack(|| {
        let Some(gp) = getm().curg.get() else { throw("alloca on no goroutine's stack") };
        free_side_blocks(gp, bp);
        let size = size.next_multiple_of(align_of::<SideBlock>());
        let layout = layout(size);
        // SAFETY: the layout isn't empty: it has the header.
        let block = unsafe { alloc(layout).cast::<SideBlock>() };
        if block.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: just allocated, for a header and `size` bytes. These are zeroed, as adjusting the block
        // reads every word, and would take what was there before for addresses.
        unsafe {
            block.write(SideBlock { next: gp.ext.side_blocks.get().cast(), bp, size });
            let bytes = block.add(1).cast::<u8>();
            bytes.write_bytes(0, size);
            gp.ext.side_blocks.set(block.cast());
            bytes.cast()
        }
    })
}

/// Frees the blocks of frames below `sp`: they have returned.
pub(in crate::runtime) fn free_side_blocks(gp: &G, sp: usize) {
    let mut block: *mut SideBlock = gp.ext.side_blocks.get().cast();
    // SAFETY: the list has blocks that were allocated with this layout, and each is freed once. Frames return
    // in the opposite order to the one they began in, so the blocks to free are in front.
    unsafe {
        while let Some(first) = block.as_ref()
            && first.bp < sp
        {
            let next = first.next;
            dealloc(block.cast(), layout(first.size));
            block = next;
        }
    }
    gp.ext.side_blocks.set(block.cast());
}

/// Calls `f` with the addresses where each block's bytes begin and end.
pub(in crate::runtime) fn each_side_block(gp: &G, mut f: impl FnMut(usize, usize)) {
    let mut block: *const SideBlock = gp.ext.side_blocks.get().cast();
    // SAFETY: the list has null or a block, which isn't freed before it leaves the list.
    while let Some(header) = unsafe { block.as_ref() } {
        // SAFETY: the block's bytes are behind the header, in the same allocation.
        let bytes = unsafe { block.add(1) }.expose_provenance();
        f(bytes, bytes + header.size);
        block = header.next;
    }
}

/// Adjusts the blocks' words, and the frame pointers that they belong to.
///
/// # Safety
/// The G isn't running.
pub(in crate::runtime) unsafe fn adjust_side_blocks(gp: &G, adjinfo: &AdjustInfo) {
    let mut block: *mut SideBlock = gp.ext.side_blocks.get().cast();
    // SAFETY: the blocks are the G's, and it isn't running, as the caller says: nobody but a sender uses
    // them. Their bytes are aligned words.
    unsafe {
        while !block.is_null() {
            (*block).bp = adjinfo.moved((*block).bp);
            block = (*block).next;
        }
        // As where senders write: a block may be the place that a value is received to.
        each_side_block(gp, |from, to| adjinfo.adjust_received(from, to));
    }
}
