//! What a compiler tells of its code, for C: the functions that the stubs of `asm/*/entry.S` jump
//! to. Each `unsafe` block relies on what the function of the same name in `header/` asks of its
//! caller.

use std::ffi::{c_int, c_void};
use std::mem;

use crate::capi;
use crate::capi::caller::{need, null};
use crate::runtime::{
    Frame, FrameMap, PreemptibleError, register_preemptible, systemstack, try_register_frame_map,
    unregister_frame_map, unregister_preemptible,
};

// SAFETY: the program has `slots` called with `arg` on any thread.
unsafe impl Sync for capi::FrameMap {}

// SAFETY: `slots` names every word that may hold an address of the stack, and the functions keep
// frame pointers, as gosched_register_frame_map asks.
unsafe impl FrameMap for capi::FrameMap {
    fn slots(&self, frame: &Frame, slot: &mut dyn FnMut(usize)) {
        /// Passes an address on to the `slot` at `to`.
        unsafe extern "C" fn pass_on(at: usize, to: *mut c_void) {
            // SAFETY: it is the `slot` below, which nobody else uses meanwhile.
            unsafe { (*to.cast::<&mut dyn FnMut(usize)>())(at) }
        }
        let Some(slots) = self.slots else { return };
        let Frame { pc, sp, fp } = *frame;
        let (frame, mut slot) = (capi::Frame { pc, sp, fp }, slot);
        // SAFETY: the program passed it to be called so.
        unsafe { slots(&frame, pass_on, (&raw mut slot).cast(), self.arg) }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_register_frame_map_impl(
    lo: usize,
    hi: usize,
    map: *const capi::FrameMap,
) -> c_int {
    // SAFETY: a map that stays.
    let map: &'static capi::FrameMap = unsafe { need("gosched_register_frame_map", "map", map) };
    if map.slots.is_none() {
        null("gosched_register_frame_map", "map->slots")
    }
    if lo >= hi {
        return libc::EINVAL;
    }
    // SAFETY: the map is right for that code. On g0: the list of maps may grow.
    let registered = systemstack(|| unsafe { try_register_frame_map(&(lo..hi), map) });
    if registered { 0 } else { libc::EEXIST }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_unregister_frame_map_impl(lo: usize, hi: usize) -> c_int {
    if systemstack(|| unregister_frame_map(&(lo..hi))) { 0 } else { libc::ENOENT }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_register_preemptible_impl(lo: usize, hi: usize) -> c_int {
    // SAFETY: the code is as the function's doc has it.
    match unsafe { register_preemptible(lo..hi) } {
        Ok(registration) => {
            // Until gosched_unregister_preemptible.
            mem::forget(registration);
            0
        }
        Err(PreemptibleError::Empty(_)) => libc::EINVAL,
        Err(PreemptibleError::Overlaps(_)) => libc::EEXIST,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_unregister_preemptible_impl(lo: usize, hi: usize) -> c_int {
    if unregister_preemptible(&(lo..hi)) { 0 } else { libc::ENOENT }
}
