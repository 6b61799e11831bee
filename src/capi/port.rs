//! What a port calls, besides what programs do: the functions that the stubs of `asm/*/entry.S`
//! jump to. Each `unsafe` block relies on what the function of the same name in `header/` asks of
//! its caller.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::slice;

use crate::capi;
use crate::capi::caller::{need, need_g, need_goroutine, null, wait_reason};
use crate::runtime::runtime2::{G, M, SLOT_SIZE};
use crate::runtime::{
    Coro, Entry, GList, PortMutex, acquirem, coroswitch, curg, exitsyscall, free_os_memory, gcount,
    goparkunlock_of_port, gosched_if_busy, goschedguarded, goyield, injectglist, lock_of_port,
    lock_os_thread, locked_os_thread, mcount_now, newproc_at, poll_work, proc_pin, proc_unpin, releasem,
    set_max_threads, started, systemstack, unlock_of_port, unlock_os_thread,
};

const _: () = assert!(size_of::<capi::Coroutine>() == size_of::<Coro>());
const _: () = assert!(size_of::<capi::Mutex>() == size_of::<PortMutex>());
const _: () = assert!(align_of::<capi::Mutex>() == align_of::<PortMutex>());
const _: () = assert!(capi::GOSCHED_SLOT_SIZE <= SLOT_SIZE);

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_newproc_at_impl(f: Option<Entry>, arg: *mut c_void, callerpc: usize) {
    // SAFETY: `f` keeps the rules for copying stacks.
    unsafe { newproc_at(f, arg, callerpc) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_coroswitch_impl(coro: *mut Coro) {
    need_goroutine("gosched_coroswitch", "switch to a coroutine");
    if coro.is_null() {
        null("gosched_coroswitch", "coro")
    }
    // SAFETY: on a goroutine, and the coroutine stays.
    unsafe { coroswitch(coro) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_goyield_impl() {
    need_goroutine("gosched_goyield", "yield");
    // SAFETY: on a goroutine.
    unsafe { goyield() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_yield_if_busy_impl() {
    need_goroutine("gosched_yield_if_busy", "yield");
    // SAFETY: on a goroutine.
    unsafe { gosched_if_busy() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_yield_guarded_impl() {
    need_goroutine("gosched_yield_guarded", "yield");
    // SAFETY: on a goroutine.
    unsafe { goschedguarded() }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_poll_work_impl() -> bool {
    poll_work()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_injectglist_impl(gs: *const *mut G, n: usize) {
    if n == 0 {
        return;
    }
    if gs.is_null() {
        null("gosched_injectglist", "gs")
    }
    let list = GList::default();
    // SAFETY: `gs` are `n` G's.
    for &gp in unsafe { slice::from_raw_parts(gs, n) }.iter().rev() {
        // SAFETY: a G, and those are never freed.
        list.push(unsafe { need_g("gosched_injectglist", gp) });
    }
    systemstack(|| injectglist(&list))
}

#[unsafe(no_mangle)]
extern "C" fn gosched_curg_impl() -> *const G {
    curg().map_or(ptr::null(), ptr::from_ref)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_goid_impl(gp: *mut G) -> u64 {
    // SAFETY: a G, and those are never freed.
    unsafe { need_g("gosched_goid", gp) }.goid.get()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_slot_impl(gp: *mut G) -> *mut c_void {
    // SAFETY: a G, and those are never freed.
    unsafe { need_g("gosched_slot", gp) }.ext.slot.for_port()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_defer_impl(gp: *mut G) -> *mut *mut c_void {
    // SAFETY: a G, and those are never freed.
    unsafe { need_g("gosched_defer", gp) }._defer.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_panic_impl(gp: *mut G) -> *mut *mut c_void {
    // SAFETY: a G, and those are never freed.
    unsafe { need_g("gosched_panic", gp) }._panic.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn gosched_acquirem_impl() -> *const M {
    acquirem().map_or(ptr::null(), ptr::from_ref)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_releasem_impl(mp: *const M) {
    // SAFETY: null, or an M, which is never freed.
    releasem(unsafe { mp.as_ref() })
}

#[unsafe(no_mangle)]
extern "C" fn gosched_proc_pin_impl() -> c_int {
    need_goroutine("gosched_proc_pin", "be pinned");
    proc_pin()
}

#[unsafe(no_mangle)]
extern "C" fn gosched_proc_unpin_impl() {
    need_goroutine("gosched_proc_unpin", "be pinned");
    proc_unpin()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_lock_impl(l: *const PortMutex) {
    // SAFETY: a lock, which stays until it is released; zeros are one that nobody has.
    lock_of_port(unsafe { need("gosched_lock", "lock", l) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_unlock_impl(l: *const PortMutex) {
    // SAFETY: a lock, which stays until it is released; zeros are one that nobody has.
    unlock_of_port(unsafe { need("gosched_unlock", "lock", l) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_parkunlock_impl(l: *const PortMutex, reason: u32) {
    need_goroutine("gosched_parkunlock", "park");
    let reason = wait_reason("gosched_parkunlock", reason);
    // SAFETY: a lock, which stays until it is released; zeros are one that nobody has.
    goparkunlock_of_port(unsafe { need("gosched_parkunlock", "lock", l) }, reason)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_lock_os_thread_impl() {
    need_goroutine("gosched_lock_os_thread", "be locked to its thread");
    lock_os_thread()
}

#[unsafe(no_mangle)]
extern "C" fn gosched_unlock_os_thread_impl() {
    need_goroutine("gosched_unlock_os_thread", "be locked to its thread");
    unlock_os_thread()
}

#[unsafe(no_mangle)]
extern "C" fn gosched_locked_os_thread_impl() -> bool {
    locked_os_thread()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_exitsyscall_impl() {
    // SAFETY: the goroutine is in a system call.
    unsafe { exitsyscall() }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_gcount_impl() -> c_int {
    if started() { gcount() } else { 0 }
}

#[unsafe(no_mangle)]
extern "C" fn gosched_mcount_impl() -> c_int {
    mcount_now()
}

#[unsafe(no_mangle)]
extern "C" fn gosched_set_max_threads_impl(n: c_int) -> c_int {
    set_max_threads(n)
}

#[unsafe(no_mangle)]
extern "C" fn gosched_free_os_memory_impl() {
    systemstack(free_os_memory)
}
