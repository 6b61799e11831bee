//! What C programs call. `include/gosched.h` is made of this file.
//!
//! Each function is a stub in `asm/x86_64/entry.S`: it makes sure of its stack, while the arguments
//! are still in registers and no Rust frame exists, and goes on in the Rust function of the same name
//! with `_impl` behind it. (`gosched_getg` and `gosched_systemstack` are whole in `asm.S`, and
//! need no room.)
//!
//! A Rust program has [`proc`](crate::proc) and [`chan::hchan`](crate::chan::hchan), which are the
//! same.

mod chan;
mod goroutine;

use std::ffi::{c_int, c_void};

/// A goroutine: Go's `g`. Once there is one its address is good forever: the memory of one that has
/// ended is kept, and becomes another goroutine's.
pub struct Goroutine {
    _opaque: (),
}

/// A channel of values of one size: Go's `chan`. Any number of goroutines and threads may use one at
/// the same time.
pub struct Chan {
    _opaque: (),
}

/// How a channel operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum OpResult {
    /// The value was sent, or received.
    Done,
    /// Nothing was done: it would have had to wait, and was not to, or is on no goroutine.
    WouldBlock,
    /// The channel is closed. Nothing was sent; or there was nothing left to receive, and the place
    /// for the value was filled with zeros.
    Closed,
}

/// Why a goroutine is parked, as reports show it: Go's `waitReason`. Any other of Go's numbers will
/// do as well, up to 36.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum ParkReason {
    /// No reason: "waiting".
    None = 0,
    /// "IO wait"
    IoWait = 2,
    /// "semacquire"
    Semacquire = 18,
    /// "sleep"
    Sleep = 19,
    /// "sync.Cond.Wait"
    CondWait = 20,
    /// "sync.Mutex.Lock"
    MutexLock = 21,
    /// "sync.RWMutex.RLock"
    RwmutexRlock = 22,
    /// "sync.RWMutex.Lock"
    RwmutexLock = 23,
    /// "coroutine"
    Coroutine = 36,
}

/// A case of `gosched_select`: Go's `scase`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Case {
    /// The channel. One that is NULL is never chosen.
    pub chan: *mut Chan,
    /// The value to send, or the place to receive to, which may be NULL.
    pub elem: *mut c_void,
}

/// What `gosched_select` has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Selected {
    /// The chosen case, counted from 0; -1 if none was ready.
    pub index: isize,
    /// How that case ended.
    pub result: OpResult,
}

