//! Semaphores and conditions for C: the functions that the stubs of `asm/*/entry.S` jump to. Each
//! `unsafe` block relies on what the function of the same name in `header/` asks of its caller.

use std::sync::atomic::AtomicU32;

use crate::capi;
use crate::capi::caller::{must_wait, need, null, wait_reason};
use crate::runtime::runtime2::WaitReason;
use crate::runtime::{
    NotifyList, can_spin, cansemacquire, do_spin, notify_list_add, notify_list_notify_all,
    notify_list_notify_one, notify_list_wait, semacquire1, semrelease1, this_m,
};

/// The semaphore that C has passed.
///
/// # Safety
/// It is NULL, or an aligned number that stays while it is used, and is changed by atomic
/// operations only.
#[inline(always)]
unsafe fn semaphore<'a>(function: &str, addr: *mut u32) -> &'a AtomicU32 {
    if addr.is_null() {
        null(function, "addr");
    }
    // SAFETY: as the caller says.
    unsafe { AtomicU32::from_ptr(addr) }
}

/// Takes one from the semaphore, for `function`.
#[inline(always)]
fn acquire(function: &str, semaphore: &AtomicU32, lifo: bool, reason: WaitReason) {
    if !cansemacquire(semaphore) {
        let _guest = must_wait(function);
        semacquire1(semaphore, lifo, reason);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_semacquire_impl(addr: *mut u32) {
    let function = "gosched_semacquire";
    // SAFETY: a semaphore that stays until this returns.
    acquire(function, unsafe { semaphore(function, addr) }, false, WaitReason::Semacquire)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_semacquire1_impl(addr: *mut u32, lifo: bool, reason: u32) {
    let function = "gosched_semacquire1";
    let reason = wait_reason(function, reason);
    // SAFETY: as in gosched_semacquire_impl.
    acquire(function, unsafe { semaphore(function, addr) }, lifo, reason)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_semrelease_impl(addr: *mut u32) {
    // SAFETY: a semaphore; once another can know of the release only its address is used.
    semrelease1(unsafe { semaphore("gosched_semrelease", addr) }, false)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_semrelease1_impl(addr: *mut u32, handoff: bool) {
    // SAFETY: as in gosched_semrelease_impl.
    semrelease1(unsafe { semaphore("gosched_semrelease1", addr) }, handoff)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notify_list_add_impl(l: *const NotifyList) -> u32 {
    // SAFETY: a list.
    notify_list_add(unsafe { need("gosched_notify_list_add", "l", l) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notify_list_wait_impl(l: *const NotifyList, t: u32) {
    let function = "gosched_notify_list_wait";
    let _guest = must_wait(function);
    // SAFETY: a list that stays while somebody waits.
    notify_list_wait(unsafe { need(function, "l", l) }, t)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notify_list_notify_all_impl(l: *const NotifyList) {
    // SAFETY: a list.
    notify_list_notify_all(unsafe { need("gosched_notify_list_notify_all", "l", l) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notify_list_notify_one_impl(l: *const NotifyList) {
    // SAFETY: a list.
    notify_list_notify_one(unsafe { need("gosched_notify_list_notify_one", "l", l) })
}

#[unsafe(no_mangle)]
extern "C" fn gosched_can_spin_impl(iter: u32) -> bool {
    this_m().is_some() && can_spin(iter)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_do_spin_impl() {
    do_spin()
}

// A NotifyList of C has the layout of the runtime's.
const _: () = assert!(size_of::<capi::NotifyList>() == size_of::<NotifyList>());
const _: () = assert!(align_of::<capi::NotifyList>() == align_of::<NotifyList>());
