//! What goroutines sleep on: notes, which a signal handler may wake, and semaphores and conditions,
//! on which Go's package `sync` is built.

use std::sync::atomic::AtomicU32;

use crate::capi::WaitReason;
use crate::capi::caller::{must_wait, need, need_goroutine, null, wait_reason};
use crate::runtime::{
    self, can_spin, cansemacquire, do_spin, noteclear, notetsleepg, notewakeup, notify_list_add,
    notify_list_notify_all, notify_list_notify_one, notify_list_wait, runtime2, semacquire1, semrelease1,
    this_m,
};

/// An event that happens once, and that one goroutine can sleep on: Go's `note`. It begins as all
/// zeros, `{0}`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Note {
    /// Private to the library.
    pub key: u64,
}

/// A condition's list of waiters: Go's `notifyList`, in `sema.go`. It begins as all zeros, `{0}`.
/// It isn't on a copying stack, and stays where it is while a caller waits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NotifyList {
    /// Private to the library.
    pub rest: [u64; 4],
}

unsafe extern "C" {
    /// Makes a note ready to be slept on again. Go's `noteclear`, in `lock_futex.go`.
    ///
    /// # Safety
    /// It can be called anywhere. No goroutine sleeps on the note, and no caller is about to wake
    /// it.
    pub fn gosched_noteclear(n: *mut Note);

    /// Wakes the goroutine that sleeps on the note, or lets a later sleep return at once. A second
    /// wakeup without `gosched_noteclear` in between ends the process. Go's `notewakeup`, in
    /// `lock_futex.go`.
    ///
    /// It uses little stack and doesn't check how much there is, because it may run on a signal's
    /// stack. A signal handler mustn't check either: `__attribute__((no_split_stack))`.
    ///
    /// # Safety
    /// It can be called anywhere, also in a signal handler. `n` is a note that isn't on a copying
    /// stack.
    // stub: UNCHECKED
    pub fn gosched_notewakeup(n: *mut Note);

    /// Sleeps on a note until it is woken, at most `ns` nanoseconds unless `ns` is negative.
    /// Returns whether the note was woken. The goroutine's thread sleeps, and other goroutines get
    /// its processor. It is for wakeups from places that can't make a goroutine ready, such as a
    /// signal handler. Go's `notetsleepg`, in `lock_futex.go`.
    ///
    /// # Safety
    /// On a goroutine. At most one goroutine at a time sleeps on a note. The note isn't on a
    /// copying stack.
    pub fn gosched_notetsleepg(n: *mut Note, ns: i64) -> bool;

    /// Subtracts one from the number at `addr`, a semaphore. While the number is 0, waits for a
    /// release. Go's `semacquire`, in `sema.go`.
    ///
    /// Any `uint32_t` can be a semaphore. Its first value is how often it can be acquired without a
    /// release. The library keeps the waiters in a table, by the address. Use it as a pair of sleep
    /// and wakeup that can't miss each other: a lock has a word of its own for its state, and a
    /// semaphore to wait on.
    ///
    /// # Safety
    /// On a goroutine, or on another thread once the runtime runs, which then waits as a goroutine
    /// does. A call that doesn't have to wait can be made anywhere. The number is aligned, isn't on
    /// a copying stack, and stays until this returns. It is changed only by these functions or by
    /// atomic operations.
    pub fn gosched_semacquire(addr: *mut u32);

    /// As `gosched_semacquire`. With `lifo`, the caller waits before all others. Reports show
    /// `reason`. Go's `semacquire1`, in `sema.go`.
    ///
    /// # Safety
    /// As `gosched_semacquire`.
    pub fn gosched_semacquire1(addr: *mut u32, lifo: bool, reason: WaitReason);

    /// Adds one to the number at `addr`, and wakes one waiter. Go's `semrelease`, in `sema.go`.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. `addr` is as for `gosched_semacquire`.
    /// The semaphore may be gone as soon as another caller can know of the release.
    pub fn gosched_semrelease(addr: *mut u32);

    /// As `gosched_semrelease`. With `handoff`, the first waiter gets the added unit, and at once
    /// the rest of this goroutine's time slice. Go's `semrelease1`, in `sema.go`.
    ///
    /// # Safety
    /// As `gosched_semrelease`. With `handoff`, a goroutine may park here.
    pub fn gosched_semrelease1(addr: *mut u32, handoff: bool);

    /// Draws a number for a wait, with the lock of the condition held. The caller then releases the
    /// lock and passes the number to `gosched_notify_list_wait`. Go's `notifyListAdd`, in
    /// `sema.go`.
    ///
    /// # Safety
    /// It can be called anywhere. `l` is a list.
    pub fn gosched_notify_list_add(l: *mut NotifyList) -> u32;

    /// Waits until number `t` is notified. Returns at once if `t` was notified since it was drawn.
    /// Go's `notifyListWait`, in `sema.go`.
    ///
    /// # Safety
    /// On a goroutine, or on another thread once the runtime runs. `t` was drawn from this list,
    /// and is waited for once.
    pub fn gosched_notify_list_wait(l: *mut NotifyList, t: u32);

    /// Notifies all numbers that were drawn. Go's `notifyListNotifyAll`, in `sema.go`.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. `l` is a list.
    pub fn gosched_notify_list_notify_all(l: *mut NotifyList);

    /// Notifies the lowest number that wasn't notified yet. Does nothing if there is none. Go's
    /// `notifyListNotifyOne`, in `sema.go`.
    ///
    /// # Safety
    /// As `gosched_notify_list_notify_all`.
    pub fn gosched_notify_list_notify_one(l: *mut NotifyList);

    /// Whether it makes sense to spin for a lock for the `iter`th time, from 0 on: another
    /// goroutine runs that may unlock it, and no goroutine waits for this processor. Go's
    /// `canSpin`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere. It returns false on a thread that isn't the runtime's.
    pub fn gosched_can_spin(iter: u32) -> bool;

    /// Spins, for about 30 pause instructions. Go's `doSpin`, in `proc.go`.
    ///
    /// # Safety
    /// It can be called anywhere.
    pub fn gosched_do_spin();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_noteclear_impl(n: *const runtime2::Note) {
    // SAFETY: a note that nobody else uses now.
    noteclear(unsafe { need("gosched_noteclear", "n", n) })
}

/// Also in a signal handler, of the program's own, on the signal's stack.
#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notewakeup_impl(n: *const runtime2::Note) {
    // SAFETY: a note; once its sleeper may go on only its address is used.
    notewakeup(unsafe { need("gosched_notewakeup", "n", n) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notetsleepg_impl(n: *const runtime2::Note, ns: i64) -> bool {
    need_goroutine("gosched_notetsleepg", "sleep so");
    // SAFETY: need_goroutine has returned, so this is one; the note stays where it is while this
    // sleeps.
    unsafe { notetsleepg(need("gosched_notetsleepg", "n", n), ns) }
}

// A Note of C has the layout of the runtime's.
const _: () = assert!(size_of::<Note>() == size_of::<runtime2::Note>());
const _: () = assert!(align_of::<Note>() == align_of::<runtime2::Note>());

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
    // SAFETY: the caller says that `addr` is an aligned number that stays, and that only atomics
    // change.
    unsafe { AtomicU32::from_ptr(addr) }
}

/// Takes one from the semaphore, for `function`.
#[inline(always)]
fn acquire(function: &str, semaphore: &AtomicU32, lifo: bool, reason: runtime2::WaitReason) {
    if !cansemacquire(semaphore) {
        let _guest = must_wait(function);
        semacquire1(semaphore, lifo, reason);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_semacquire_impl(addr: *mut u32) {
    let function = "gosched_semacquire";
    // SAFETY: a semaphore that stays until this returns.
    acquire(function, unsafe { semaphore(function, addr) }, false, runtime2::WaitReason::Semacquire)
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
unsafe extern "C" fn gosched_notify_list_add_impl(l: *const runtime::NotifyList) -> u32 {
    // SAFETY: a list.
    notify_list_add(unsafe { need("gosched_notify_list_add", "l", l) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notify_list_wait_impl(l: *const runtime::NotifyList, t: u32) {
    let function = "gosched_notify_list_wait";
    let _guest = must_wait(function);
    // SAFETY: a list that stays while somebody waits.
    notify_list_wait(unsafe { need(function, "l", l) }, t)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notify_list_notify_all_impl(l: *const runtime::NotifyList) {
    // SAFETY: a list.
    notify_list_notify_all(unsafe { need("gosched_notify_list_notify_all", "l", l) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_notify_list_notify_one_impl(l: *const runtime::NotifyList) {
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
const _: () = assert!(size_of::<NotifyList>() == size_of::<runtime::NotifyList>());
const _: () = assert!(align_of::<NotifyList>() == align_of::<runtime::NotifyList>());
