//! Mutexes that are left to glibc: robust ones, those with a protocol for priorities, and those
//! that processes share.
//!
//! The word of such a mutex has the kernel's number of its owner's thread, which the kernel looks
//! up, or compares with those of other processes. A goroutine's own number isn't known there. So a
//! goroutine that takes the mutex is locked to its thread until it releases the mutex, and glibc's
//! functions find the thread's number. A goroutine that waits for the mutex keeps its thread.
//!
//! glibc puts a robust mutex on its owner's list, which is the goroutine's. The kernel knows the
//! thread's list, so the mutex moves there. A goroutine that ends with the mutex ends its thread.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use crate::runtime::m::lockosthread::{lock_os_thread, unlock_os_thread};
use crate::runtime::threads::locks::set_own_number;
use crate::runtime::threads::record::this_goroutine;
use crate::runtime::tls::give_robust_mutex_to_thread;

/// Calls `f`, a function of glibc's that takes, changes or releases a mutex, or waits for a
/// condition with one. The goroutine is locked to its thread, if it has the mutex.
pub(in crate::runtime::threads) fn as_thread(f: impl FnOnce() -> c_int) -> c_int {
    let Some((gp, mp)) = this_goroutine() else { return f() };
    let own = set_own_number(mp.procid.load(Ordering::Relaxed) as c_int);
    let result = f();
    set_own_number(own);
    // SAFETY: the goroutine has thread-locals of its own, and is locked to the thread if it has the
    // mutex, as the caller says.
    unsafe { give_robust_mutex_to_thread(gp, mp) };
    result
}

/// Calls `f`, which takes a mutex.
#[cold]
#[inline(never)]
pub(in crate::runtime::threads) fn lock(f: impl FnOnce() -> c_int) -> c_int {
    if this_goroutine().is_none() {
        return f();
    }
    lock_os_thread();
    let result = as_thread(f);
    if !matches!(result, 0 | libc::EOWNERDEAD) {
        unlock_os_thread();
    }
    result
}

/// Calls `f`, which releases a mutex.
#[cold]
#[inline(never)]
pub(in crate::runtime::threads) fn unlock(f: impl FnOnce() -> c_int) -> c_int {
    let result = as_thread(f);
    if result == 0 && this_goroutine().is_some() {
        unlock_os_thread();
    }
    result
}
