//! A goroutine's state for C: the functions that the stubs of `asm/*/entry.S` jump to. Each
//! `unsafe` block relies on what the function of the same name in `header/` asks of its caller.

use crate::capi;
use crate::capi::caller::{need_g, wait_reason};
use crate::runtime::runtime2::{
    G, GCOPYSTACK, GDEAD, GIDLE, GPREEMPTED, GRUNNABLE, GRUNNING, GSCAN, GSYSCALL, GWAITING,
};
use crate::runtime::{
    cas_g_to_waiting, casfrom_gscanstatus, casgcopystack, casgstatus, castogscanstatus, readgstatus,
};

/// The states in C have the runtime's numbers, which are Go's.
const _: () = {
    assert!(capi::GOSCHED_GIDLE == GIDLE);
    assert!(capi::GOSCHED_GRUNNABLE == GRUNNABLE);
    assert!(capi::GOSCHED_GRUNNING == GRUNNING);
    assert!(capi::GOSCHED_GSYSCALL == GSYSCALL);
    assert!(capi::GOSCHED_GWAITING == GWAITING);
    assert!(capi::GOSCHED_GDEAD == GDEAD);
    assert!(capi::GOSCHED_GCOPYSTACK == GCOPYSTACK);
    assert!(capi::GOSCHED_GPREEMPTED == GPREEMPTED);
    assert!(capi::GOSCHED_GSCAN == GSCAN);
};

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_readgstatus_impl(gp: *mut G) -> u32 {
    // SAFETY: a goroutine's address.
    readgstatus(unsafe { need_g("gosched_readgstatus", gp) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_casgstatus_impl(gp: *mut G, oldval: u32, newval: u32) {
    // SAFETY: a goroutine's address, whose state is the caller's to change.
    casgstatus(unsafe { need_g("gosched_casgstatus", gp) }, oldval, newval)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_cas_g_to_waiting_impl(gp: *mut G, oldval: u32, reason: u32) {
    let reason = wait_reason("gosched_cas_g_to_waiting", reason);
    // SAFETY: a goroutine's address, whose state is the caller's to change.
    cas_g_to_waiting(unsafe { need_g("gosched_cas_g_to_waiting", gp) }, oldval, reason)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_casgcopystack_impl(gp: *mut G) -> u32 {
    // SAFETY: a goroutine's address, whose state is the caller's to change.
    casgcopystack(unsafe { need_g("gosched_casgcopystack", gp) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_castogscanstatus_impl(gp: *mut G, oldval: u32, newval: u32) -> bool {
    // SAFETY: a goroutine's address; the caller clears the bit.
    castogscanstatus(unsafe { need_g("gosched_castogscanstatus", gp) }, oldval, newval)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_casfrom_gscanstatus_impl(gp: *mut G, oldval: u32, newval: u32) {
    // SAFETY: a goroutine's address, whose scan bit the caller has set.
    casfrom_gscanstatus(unsafe { need_g("gosched_casfrom_gscanstatus", gp) }, oldval, newval)
}
