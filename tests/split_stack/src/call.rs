//! One run of a case: `struct Call` of `c/call.h`.

use std::cell::Cell;
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use gosched::{proc, yield_now};

use crate::bridge::{Bridge, Partner};
use crate::cases::Case;

/// The C function of a case.
pub(crate) type Driver = unsafe extern "C" fn(*const Call) -> u64;

/// What a case's values depend on.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The seed of the values.
    pub seed: u64,
    /// How many levels a recursion has.
    pub levels: u64,
    /// How many levels the deep recursion has.
    pub deep_levels: u64,
}

/// The input of a case, and its output.
#[repr(C)]
#[derive(Debug)]
pub struct Call {
    bytes: u64,
    driver: Driver,
    /// rsp when the driver is called.
    pub(crate) sp: Cell<u64>,
    /// What a prologue would have compared rsp with then.
    pub(crate) guard: Cell<u64>,
    result: Cell<u64>,
    done: AtomicU32,
    settings: Settings,
    bridge: *const Bridge,
    partner: *const c_void,
    /// rsp when the first function under test is entered.
    pub(crate) entry: Cell<u64>,
    /// How many prologues with a check have run.
    pub(crate) checks: Cell<u64>,
}

// The offsets that assembly uses, and the end.
const _: () = {
    assert!(offset_of!(Call, bytes) == 0);
    assert!(offset_of!(Call, driver) == 8);
    assert!(offset_of!(Call, sp) == 16);
    assert!(offset_of!(Call, guard) == 24);
    assert!(offset_of!(Call, result) == 32);
    assert!(offset_of!(Call, done) == 40);
    assert!(offset_of!(Call, settings) == 48);
    assert!(offset_of!(Call, bridge) == 72);
    assert!(offset_of!(Call, checks) == 96);
};

#[cfg(split_stack)]
unsafe extern "C" {
    /// Calls the driver as far down as the call says.
    fn at_depth(call: *mut c_void);
}

#[cfg(not(split_stack))]
unsafe extern "C" fn at_depth(_: *mut c_void) {
    unreachable!("there is no case that could be called");
}

impl Call {
    /// A run of a case, `bytes` below where it would be otherwise. The case sends to `partner` and
    /// receives from it.
    pub fn new(case: &Case, bytes: usize, settings: Settings, partner: &Partner) -> Self {
        Call {
            bytes: bytes as u64,
            driver: case.driver,
            sp: Cell::new(0),
            guard: Cell::new(0),
            result: Cell::new(0),
            done: AtomicU32::new(0),
            settings,
            bridge: partner.bridge(),
            partner: ptr::from_ref(partner).cast(),
            entry: Cell::new(0),
            checks: Cell::new(0),
        }
    }

    /// Runs the case on this stack, whatever stack it is. Returns the result.
    pub fn on_this_stack(&self) -> u64 {
        // SAFETY: a case, which makes checks if this is a goroutine's stack that can be too short.
        unsafe { (self.driver)(self) }
    }

    /// Runs the case here, on a plain thread. Returns the result.
    pub(crate) fn on_this_thread(&self) -> u64 {
        // SAFETY: a case, with a thread's stack.
        unsafe { at_depth(ptr::from_ref(self).cast_mut().cast()) };
        self.result.get()
    }

    /// Runs the case on a goroutine with a copying stack, and waits for it. Returns the result.
    pub fn on_a_goroutine(&self) -> u64 {
        // SAFETY: at_depth takes no more stack than the call says, and what it calls makes checks.
        // The call lives until it is done.
        unsafe { proc::newproc(Some(at_depth), ptr::from_ref(self).cast_mut().cast()) };
        while self.done.load(Ordering::Acquire) == 0 {
            yield_now();
        }
        self.result.get()
    }
}
