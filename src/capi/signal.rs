//! Signals for C: the functions that the stubs of `asm/*/entry.S` jump to. Each `unsafe` block
//! relies on what the function of the same name in `header/` asks of its caller.

use std::ffi::c_int;
use std::io;

use crate::capi::caller::need_goroutine;
use crate::capi::goroutine::errno;
use crate::runtime::{
    disable_for_embedder, enable_for_embedder, ignore_for_embedder, recv_for_embedder, signal_ignored,
    signal_wait_until_idle, systemstack,
};

/// Does it where there is room for a lock of std's; returns 0, or an errno value.
fn done(sig: c_int, act: fn(c_int) -> io::Result<()>) -> c_int {
    systemstack(|| act(sig).map_or_else(|error| errno(&error), |()| 0))
}

#[unsafe(no_mangle)]
extern "C" fn gosched_signal_enable_impl(sig: c_int) -> c_int {
    done(sig, enable_for_embedder)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_signal_disable_impl(sig: c_int) -> c_int {
    done(sig, disable_for_embedder)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_signal_ignore_impl(sig: c_int) -> c_int {
    done(sig, ignore_for_embedder)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_signal_ignored_impl(sig: c_int) -> bool {
    signal_ignored(sig)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_signal_recv_impl() -> u32 {
    need_goroutine("gosched_signal_recv", "receive signals");
    // SAFETY: need_goroutine has returned, so this is one, and always the same.
    unsafe { recv_for_embedder() as u32 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_signal_wait_until_idle_impl() {
    need_goroutine("gosched_signal_wait_until_idle", "wait so");
    // SAFETY: need_goroutine has returned, so this is one; it isn't the receiver, and there is one.
    unsafe { signal_wait_until_idle() }
}
