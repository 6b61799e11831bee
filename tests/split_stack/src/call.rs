//! `struct Call` of `c/call.h`: one run of a case.

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

/// The parameters of a case's run.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The seed of the values.
    pub seed: u64,
    /// The number of levels of a recursion.
    pub levels: u64,
    /// The number of levels of the deepest recursion.
    pub deep_levels: u64,
}

/// The input of a case, and its output.
#[repr(C)]
#[derive(Debug)]
pub struct Call {
    bytes: u64,
    driver: Driver,
    /// rsp as the driver is called.
    pub(crate) sp: Cell<u64>,
    /// The guard as the driver is called: prologues compare rsp with it.
    pub(crate) guard: Cell<u64>,
    result: Cell<u64>,
    done: AtomicU32,
    settings: Settings,
    bridge: *const Bridge,
    partner: *const c_void,
    /// rsp as the first function under test is entered.
    pub(crate) entry: Cell<u64>,
    /// How many prologues with a check have run, at least.
    pub(crate) checks: Cell<u64>,
}

// The offsets that assembly uses, and those of the last fields.
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
    /// Calls the driver with rsp as far down as `Call::bytes` says.
    fn at_depth(call: *mut c_void);
}

#[cfg(not(split_stack))]
unsafe extern "C" fn at_depth(_: *mut c_void) {
    unreachable!("there is no case that could be called");
}

impl Call {
    /// Prepares a run of a case, which starts `bytes` further down the stack. The case sends to
    /// `partner` and receives from it.
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
        // SAFETY: the driver is a case's. The case makes checks, which a goroutine's copying stack
        // needs.
        unsafe { (self.driver)(self) }
    }

    /// Runs the case here, on a plain thread. Returns the result.
    pub(crate) fn on_this_thread(&self) -> u64 {
        // SAFETY: the driver is a case's, and a thread's stack is large enough.
        unsafe { at_depth(ptr::from_ref(self).cast_mut().cast()) };
        self.result.get()
    }

    /// Runs the case on a goroutine with a copying stack, and waits for it. Returns the result.
    pub fn on_a_goroutine(&self) -> u64 {
        // SAFETY: at_depth uses no more stack than the call says, and the functions that it calls
        // make checks. The call lives until it is done.
        unsafe { proc::newproc(Some(at_depth), ptr::from_ref(self).cast_mut().cast()) };
        while self.done.load(Ordering::Acquire) == 0 {
            yield_now();
        }
        self.result.get()
    }
}
