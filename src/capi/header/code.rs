//! What C programs see of what a compiler tells of the code that it has made.

use std::ffi::{c_int, c_void};

use crate::capi::Address;

/// A frame of a goroutine that isn't running, or whose stack is about to grow. `docs/copying-stacks.md` draws one.
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

/// Where the frames of a range of code keep addresses of the stack: what Go's compiler writes down as stack maps.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FrameMap {
    /// Calls `slot(at, to)` with the address `at` of each word of `frame`, below its `fp`, that may hold an address of
    /// the stack. One that is outside of the frame, or isn't aligned, ends the process. `arg` is that of this struct.
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
    /// What `slots` gets.
    pub arg: *mut c_void,
}

unsafe extern "C" {
    /// Registers the map of the frames of the functions whose code is at `lo` to `hi`. A frame that has a map is
    /// adjusted precisely when its stack moves: the words that the map names, if they are addresses of the stack,
    /// and the caller's frame pointer; no other, whatever it looks like. Go's `getStackMap`, in `stkframe.go`, looks
    /// into what its linker has written.
    ///
    /// Frames are found by their frame pointers: a frame is adjusted as if it had no map, if a function below it
    /// keeps none. While a map is registered, a parked goroutine's stack is made smaller only if the function that
    /// has parked it has one.
    ///
    /// Returns 0, or an errno value:
    /// - `EINVAL`: there is nothing between `lo` and `hi`;
    /// - `EEXIST`: some of the code has a map already.
    ///
    /// # Safety
    /// It can be called anywhere but where the runtime calls a map. `*map` stays as it is until
    /// `gosched_unregister_frame_map`. It names every word of a frame that may hold an address of the stack; and each
    /// function of the code begins with `push %rbp; mov %rsp, %rbp`, on aarch64 with
    /// `stp x29, x30, [sp, #-16]!; mov x29, sp`, and calls nothing before.
    pub fn gosched_register_frame_map(lo: Address, hi: Address, map: *const FrameMap) -> c_int;

    /// Takes back the map that was registered for `lo` to `hi`. Returns 0, or `ENOENT` if there is none.
    ///
    /// # Safety
    /// As `gosched_register_frame_map`. No goroutine is in the code.
    pub fn gosched_unregister_frame_map(lo: Address, hi: Address) -> c_int;

    /// Registers the code at `lo` to `hi` as preemptible: a goroutine that is asked to stop while it runs there is
    /// stopped, whatever two instructions it is between. For code that the program has generated; functions are put
    /// into the section `gosched_preemptible`. Go's `isAsyncSafePoint`, in `preempt.go`, asks its compiler's tables.
    ///
    /// Returns 0, or an errno value:
    /// - `EINVAL`: there is nothing between `lo` and `hi`;
    /// - `EEXIST`: some of the code is preemptible already.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. Between any two instructions of the code the goroutine may
    /// park, and go on on another thread: so it has nothing there that belongs to a thread, no lock of pthreads, no
    /// address of a thread-local variable, no signal mask. It uses no more below its stack pointer than the ABI lets
    /// it: 128 bytes on x86-64, nothing on aarch64. `docs/preemption.md` has all that it keeps to.
    pub fn gosched_register_preemptible(lo: Address, hi: Address) -> c_int;

    /// Takes that back. Returns 0, or `ENOENT` if `lo` to `hi` wasn't registered so.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. No goroutine is in the code.
    pub fn gosched_unregister_preemptible(lo: Address, hi: Address) -> c_int;
}
