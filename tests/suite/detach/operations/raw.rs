//! Functions on which a runtime is built, in Rust and in C, called by a goroutine on a fixed stack.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use gosched::capi::*;
use gosched::chan::hchan::{Type, chanrecv1, chansend1, freechan, makechan};
use gosched::proc;
use gosched::runtime2::{G, TraceBlockReason, WaitReason as Reason};
use gosched::{go, yield_now};

use super::{Operation, operations};
use crate::detach::stepper::operation;
use crate::harness::goroutines::until_it_waits;

static WORD: Type = Type { size_: size_of::<u64>(), align_: align_of::<u64>() };

static COUNT: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn count(n: *mut c_void) {
    COUNT.fetch_add(n.addr(), Ordering::Relaxed);
}

/// Fails unless the final count is exactly `n`.
fn counted(n: usize) {
    while COUNT.load(Ordering::Relaxed) < n {
        yield_now();
    }
    assert_eq!(COUNT.swap(0, Ordering::Relaxed), n);
}

/// Adds once, yields, and adds again, on a stack that is copied.
unsafe extern "C" fn count_twice(n: *mut c_void) {
    // SAFETY: on a goroutine.
    unsafe {
        count(n);
        proc::gosched();
        count(n);
    }
}

static PARKED: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());

unsafe extern "C" fn publish(gp: *mut G, _: *mut c_void) -> bool {
    PARKED.store(gp, Ordering::Release);
    true
}

unsafe extern "C" fn go_on(_: *mut G, _: *mut c_void) -> bool {
    false
}

fn park(unlockf: unsafe extern "C" fn(*mut G, *mut c_void) -> bool) {
    // SAFETY: on a goroutine; the functions touch nothing but an atomic.
    unsafe { proc::gopark(Some(unlockf), ptr::null_mut(), Reason::Sleep, TraceBlockReason::Sleep, 0) }
}

pub fn all() -> Vec<Operation> {
    operations! {
        "newproc" => || {
            let n = ptr::without_provenance_mut(3);
            // SAFETY: the function fits its stack.
            operation(|| unsafe { proc::newproc(Some(count_twice), n) });
            counted(6);
        };
        "newproc, and let it run" => || {
            let n = ptr::without_provenance_mut(3);
            // SAFETY: as above; on a goroutine.
            operation(|| unsafe {
                proc::newproc(Some(count_twice), n);
                proc::gosched();
                proc::goyield();
            });
            counted(6);
        };
        "goready" => || {
            PARKED.store(ptr::null_mut(), Ordering::Relaxed);
            let other = go(|| park(publish));
            let gp = until_it_waits(&PARKED);
            // SAFETY: it has parked.
            operation(|| unsafe { proc::goready(gp, 0) });
            other.join().unwrap();
        };
        "gopark" => || {
            PARKED.store(ptr::null_mut(), Ordering::Relaxed);
            let other = go(|| {
                let gp = until_it_waits(&PARKED);
                // SAFETY: it has parked.
                unsafe { proc::goready(gp, 0) };
            });
            operation(|| park(publish));
            other.join().unwrap();
        };
        "gopark, and not" => || operation(|| park(go_on));
        "timeSleep" => || {
            // SAFETY: on a goroutine.
            operation(|| unsafe { proc::time_sleep(20_000) });
        };
        "systemstack" => || {
            // SAFETY: the closure doesn't park.
            assert_eq!(operation(|| unsafe { proc::systemstack(|| 7) }), 7);
        };
        "acquirem and procPin" => || {
            // SAFETY: on a goroutine, which does nothing meanwhile.
            operation(|| unsafe {
                let mp = proc::acquirem();
                let pinned = proc::proc_pin();
                assert_eq!(pinned, 0);
                proc::proc_unpin();
                proc::releasem(mp);
            });
        };
        "entersyscall and exitsyscall" => || {
            // SAFETY: on a goroutine, which does nothing in between.
            operation(|| unsafe {
                proc::entersyscall();
                proc::exitsyscall();
            });
        };
        "entersyscallblock and exitsyscall" => || {
            // SAFETY: as above.
            operation(|| unsafe {
                proc::entersyscallblock();
                proc::exitsyscall();
            });
        };
        "asmcgocall" => || {
            unsafe extern "C" fn seven(_: *mut c_void) -> i32 {
                7
            }
            // SAFETY: it doesn't park.
            assert_eq!(operation(|| unsafe { proc::asmcgocall(seven, ptr::null_mut()) }), 7);
        };
        "chansend and chanrecv" => || {
            let c = makechan(&WORD, 1);
            let (sent, mut received) = (7_u64, 0_u64);
            // SAFETY: words of the channel's type, which nobody else uses.
            operation(|| unsafe {
                chansend1(c, (&raw const sent).cast());
                chanrecv1(c, (&raw mut received).cast());
                freechan(c.unwrap());
            });
            assert_eq!(received, 7);
        };
        "gosched_newproc and gosched_yield" => || {
            let n = ptr::without_provenance_mut(3);
            // SAFETY: on a goroutine; the function fits its stack.
            operation(|| unsafe {
                gosched_newproc(Some(count_twice), n);
                gosched_yield();
            });
            counted(6);
        };
        "gosched_newproc_fixed" => || {
            let n = ptr::without_provenance_mut(3);
            // SAFETY: as above.
            operation(|| unsafe { assert_eq!(gosched_newproc_fixed(Some(count_twice), n, 0), 0) });
            counted(6);
        };
        "gosched_blocking and gosched_sleep" => || {
            // SAFETY: on a goroutine; `count` doesn't park.
            operation(|| unsafe {
                gosched_blocking(Some(count), ptr::without_provenance_mut(1));
                gosched_sleep(1);
            });
            counted(1);
        };
        "gosched_chan_send and gosched_chan_recv" => || {
            let mut chan = ptr::null_mut();
            let (sent, mut received) = (7_u64, 0_u64);
            // SAFETY: words of the channel's type, which nobody else uses.
            operation(|| unsafe {
                assert_eq!(gosched_chan_make(8, 1, &mut chan), 0);
                assert_eq!(gosched_chan_send(chan, (&raw const sent).cast()), OpResult::Done);
                assert_eq!(gosched_chan_recv(chan, (&raw mut received).cast()), OpResult::Done);
                gosched_chan_free(chan);
            });
            assert_eq!(received, 7);
        };
    }
}
