//! What a compiler knows about its code.

use std::ffi::{c_int, c_void};
use std::mem;

use crate::capi::Address;
use crate::capi::caller::{need, null};
use crate::runtime::{
    self, PreemptibleError, register_preemptible, systemstack, try_register_frame_map, unregister_frame_map,
    unregister_preemptible,
};

/// A frame of a goroutine that isn't running, or whose stack is about to grow.
/// `docs/copying-stacks.md` draws one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    /// Where the function goes on: the address that its call, or its check, returns to.
    pub pc: Address,
    /// The frame's low end, above that of the function that it called.
    pub sp: Address,
    /// The function's frame pointer. The words up to `fp + 16` belong to the frame.
    pub fp: Address,
}

/// The words in the frames of a range of code that hold addresses of the stack: what Go's compiler
/// records as stack maps.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FrameMap {
    /// Calls `slot(at, to)` with the address `at` of each word of `frame`, below its `fp`, that may
    /// hold an address of the stack. An `at` that is outside of the frame or isn't aligned ends the
    /// process. `arg` is the `arg` of this struct.
    ///
    /// It is called on the scheduler's stack, and doesn't park or unwind.
    pub slots: Option<
        unsafe extern "C" fn(
            frame: *const Frame,
            slot: unsafe extern "C" fn(at: Address, to: *mut c_void),
            to: *mut c_void,
            arg: *mut c_void,
        ),
    >,
    /// Passed to `slots`.
    pub arg: *mut c_void,
}

unsafe extern "C" {
    /// Registers the map of the frames of the functions whose code is at `lo` to `hi`. When its
    /// stack moves, a frame that has a map is adjusted precisely: only the words that the map
    /// names, if they are addresses of the stack, and the caller's frame pointer are changed. Go's
    /// `getStackMap`, in `stkframe.go`, reads tables that its linker has written.
    ///
    /// Frames are found by their frame pointers. If a function below a frame keeps no frame
    /// pointer, the frame is adjusted as if it had no map. While a map is registered, a parked
    /// goroutine's stack is made smaller only if the function that parked it has a map.
    ///
    /// Returns 0, or an errno value:
    /// - `EINVAL`: there is nothing between `lo` and `hi`;
    /// - `EEXIST`: some of the code has a map already.
    ///
    /// It can be called anywhere but where the runtime calls a map. `*map` stays as it is until
    /// `gosched_unregister_frame_map`, and names every word of a frame that may hold an address of
    /// the stack. Each function of the code begins with `push %rbp; mov %rsp, %rbp`, on aarch64
    /// with `stp x29, x30, [sp, #-16]!; mov x29, sp`, and calls nothing before.
    pub fn gosched_register_frame_map(lo: Address, hi: Address, map: *const FrameMap) -> c_int;

    /// Removes the map that was registered for `lo` to `hi`. Returns 0, or `ENOENT` if there is
    /// none.
    ///
    /// # Safety
    /// As `gosched_register_frame_map`. No goroutine is in the code.
    pub fn gosched_unregister_frame_map(lo: Address, hi: Address) -> c_int;

    /// Registers the code at `lo` to `hi` as preemptible: a goroutine that is asked to stop while
    /// it runs this code stops there, between any two instructions. It is for code that the program
    /// generates; compiled functions are put into the section `gosched_preemptible` instead. Go's
    /// `isAsyncSafePoint`, in `preempt.go`, reads its compiler's tables.
    ///
    /// Returns 0, or an errno value:
    /// - `EINVAL`: there is nothing between `lo` and `hi`;
    /// - `EEXIST`: some of the code is preemptible already.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. Between any two instructions of the code
    /// the goroutine may park and continue on another thread. So the code holds nothing that
    /// belongs to a thread: no lock of pthreads, no address of a thread-local variable, no signal
    /// mask. It uses no more below its stack pointer than the ABI allows: 128 bytes on x86-64,
    /// nothing on aarch64. `docs/preemption.md` lists all the rules for such code.
    pub fn gosched_register_preemptible(lo: Address, hi: Address) -> c_int;

    /// Undoes `gosched_register_preemptible`. Returns 0, or `ENOENT` if `lo` to `hi` wasn't
    /// registered with it.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. No goroutine is in the code.
    pub fn gosched_unregister_preemptible(lo: Address, hi: Address) -> c_int;
}

// SAFETY: the program has `slots` called with `arg` on any thread.
unsafe impl Sync for FrameMap {}

// SAFETY: `slots` names every word that may hold an address of the stack, and the functions keep
// frame pointers, as gosched_register_frame_map asks.
unsafe impl runtime::FrameMap for FrameMap {
    fn slots(&self, frame: &runtime::Frame, slot: &mut dyn FnMut(usize)) {
        /// Passes an address on to the `slot` at `to`.
        unsafe extern "C" fn pass_on(at: usize, to: *mut c_void) {
            // SAFETY: it is the `slot` below, which nobody else uses meanwhile.
            unsafe { (*to.cast::<&mut dyn FnMut(usize)>())(at) }
        }
        let Some(slots) = self.slots else { return };
        let runtime::Frame { pc, sp, fp } = *frame;
        let (frame, mut slot) = (Frame { pc, sp, fp }, slot);
        // SAFETY: the program passed it to be called so.
        unsafe { slots(&frame, pass_on, (&raw mut slot).cast(), self.arg) }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_register_frame_map_impl(lo: usize, hi: usize, map: *const FrameMap) -> c_int {
    // SAFETY: a map that stays.
    let map: &'static FrameMap = unsafe { need("gosched_register_frame_map", "map", map) };
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
