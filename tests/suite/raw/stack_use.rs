//! How much of a copying stack the raw layer's functions use: below the check at their heads, or
//! without a check.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use gosched::chan::hchan::{
    Hchan, Scase, Type, chanrecv1, chanrecv2, chansend1, closechan, freechan, makechan, selectgo,
    selectnbrecv, selectnbsend,
};
use gosched::proc::{self, Coro, StwReason};
use gosched::runtime2::{G, GRUNNING, Timer, TraceBlockReason, WaitReason};

use gosched::run;
use gosched::sema::{self, NotifyList};

use crate::harness::tests;
use crate::painted::Case;

tests! {
    every_raw_function_fits_a_copying_stack
}

/// The bytes that the check at the head of a function ensures, beyond the guard.
const ENTRY_ROOM: usize = if cfg!(debug_assertions) { 4096 } else { 0 };

/// How far below the guard a compiled function may be that has a small frame and calls a function
/// without a check.
const SMALL_FRAME: usize = 256;

/// The bytes that morestack saves, and some words of its callers.
const MORESTACK: usize = 128;

/// For release builds, the documentation promises less than the whole room.
const PROMISED: usize = match (cfg!(debug_assertions), cfg!(target_arch = "aarch64")) {
    (true, _) => 8000,
    (false, true) => 450,
    (false, false) => 400,
};

static WORD: Type = Type { size_: size_of::<u64>(), align_: align_of::<u64>() };

/// The channel that the function under test uses.
static CHANNEL: AtomicPtr<Hchan> = AtomicPtr::new(ptr::null_mut());

fn channel() -> Option<NonNull<Hchan>> {
    NonNull::new(CHANNEL.load(Ordering::Relaxed))
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

unsafe fn send() {
    let value = 1u64;
    // SAFETY: a value of the channel's type, which stays.
    unsafe { chansend1(channel(), (&raw const value).cast()) };
}

unsafe fn receive() {
    let mut value = 0u64;
    // SAFETY: a place for a value of the channel's type, which stays.
    unsafe { chanrecv1(channel(), (&raw mut value).cast()) };
}

unsafe fn receive_if_open() {
    let mut value = 0u64;
    // SAFETY: likewise.
    unsafe { chanrecv2(channel(), (&raw mut value).cast()) };
}

unsafe fn try_both() {
    let mut value = 1u64;
    // SAFETY: likewise.
    unsafe {
        selectnbsend(channel(), (&raw const value).cast());
        selectnbrecv((&raw mut value).cast(), channel());
    }
}

unsafe fn make_and_free() {
    let Some(c) = makechan(&WORD, 100) else { return };
    // SAFETY: just made, and nobody else's.
    unsafe { freechan(c) }
}

unsafe fn close() {
    // SAFETY: the channel stays.
    channel().map(|c| unsafe { closechan(c) });
}

unsafe fn make_a_goroutine() {
    // SAFETY: `nothing` needs no stack.
    unsafe { proc::newproc(Some(nothing), ptr::null_mut()) }
}

unsafe extern "C" fn go_on(_: *mut G, _: *mut c_void) -> bool {
    false
}

unsafe fn park() {
    // SAFETY: `go_on` lets the goroutine go on at once.
    unsafe {
        proc::gopark(Some(go_on), ptr::null_mut(), WaitReason::Zero, TraceBlockReason::Generic, 0);
    }
}

unsafe fn select() {
    let mut value = 0u64;
    let cases = [Scase { c: channel(), elem: (&raw mut value).cast() }; 2];
    // SAFETY: places for values of the channel's type, which stays.
    unsafe { selectgo(&cases, &mut [0; 4], 1, true) };
}

unsafe fn work_on_g0() {
    // SAFETY: it doesn't park.
    let sum = unsafe { proc::systemstack(|| (0..100).map(|i| i.to_string().len()).sum::<usize>()) };
    assert_eq!(sum, 190);
}

unsafe fn stop_all() {
    // SAFETY: the world is started at once.
    unsafe { proc::start_the_world(proc::stop_the_world(StwReason::Unknown)) }
}

unsafe fn count_all() {
    let mut count = 0;
    // SAFETY: the closure only counts.
    unsafe { proc::for_each_g(|_| count += 1) };
    assert_ne!(count, 0);
}

unsafe fn hold_the_m() {
    // SAFETY: released once.
    unsafe { proc::releasem(proc::acquirem()) };
}

unsafe fn look() {
    // SAFETY: on a goroutine.
    let status = unsafe { proc::readgstatus(proc::getg()) };
    assert_eq!(status, GRUNNING);
}

unsafe fn yield_to_all() {
    // SAFETY: on a goroutine without thread-locals.
    unsafe { proc::gosched() }
}

unsafe fn yield_to_one() {
    // SAFETY: likewise.
    unsafe { proc::goyield() }
}

/// A coroutine that ends when it is switched to.
static CORO: Coro = Coro::new();

unsafe extern "C" fn end(_: *mut Coro, _: *mut c_void) {}

unsafe fn make_a_coroutine() {
    // SAFETY: `end` needs no stack.
    unsafe { proc::newcoro((&raw const CORO).cast_mut(), end, ptr::null_mut()) }
}

unsafe fn switch_to_it() {
    // SAFETY: the coroutine was made just before.
    unsafe { proc::coroswitch((&raw const CORO).cast_mut()) }
}

unsafe fn sleep() {
    // SAFETY: likewise.
    unsafe { proc::time_sleep(1_000) }
}

unsafe fn wait_at_a_semaphore() {
    static SEMA: AtomicU32 = AtomicU32::new(0);

    unsafe extern "C" fn release(_: *mut c_void) {
        // SAFETY: a static.
        unsafe { sema::semrelease1(&SEMA, true) }
    }

    // SAFETY: `release` fits its stack; the semaphore is a static, and this is a goroutine.
    unsafe {
        proc::newproc(Some(release), ptr::null_mut());
        sema::semacquire(&SEMA);
    }
}

unsafe fn notify() {
    static LIST: NotifyList = NotifyList::new();

    unsafe extern "C" fn notify_all(_: *mut c_void) {
        sema::notify_list_notify_all(&LIST);
    }

    // SAFETY: `notify_all` fits its stack; the list is a static, and this is a goroutine.
    unsafe {
        sema::notify_list_add(&LIST);
        sema::notify_list_notify_one(&LIST);
        let t = sema::notify_list_add(&LIST);
        proc::newproc(Some(notify_all), ptr::null_mut());
        sema::notify_list_wait(&LIST, t);
    }
}

unsafe fn set_a_timer() {
    // SAFETY: zero is a timer, and this one stays; only this test changes it.
    unsafe {
        // SAFETY: all zero is a timer.
        static TIMER: Timer = unsafe { zeroed() };
        let when = proc::nanotime() + 1_000_000;
        proc::mod_timer(&TIMER, when, 0, None, ptr::null_mut(), 0);
        proc::reset_timer(&TIMER, when + 1_000_000);
        proc::stop_timer(&TIMER);
    }
}

macro_rules! cases {
    ($($f:ident)*) => { [$(Case::new(stringify!($f), $f)),*] };
}

/// Functions that begin with a check,
static CHECKED: [Case; 19] = cases! {
    send receive receive_if_open try_both select make_and_free close make_a_goroutine park
    yield_to_all yield_to_one make_a_coroutine switch_to_it sleep set_a_timer stop_all count_all
    wait_at_a_semaphore notify
};

/// and functions that don't.
static UNCHECKED: [Case; 3] = cases! { work_on_g0 hold_the_m look };

unsafe extern "C" fn measure_checked(case: *mut c_void) {
    // SAFETY: the test passes a Case, on a goroutine.
    unsafe { (*case.cast::<Case>()).measure(|guard| guard + ENTRY_ROOM - MORESTACK) };
}

unsafe extern "C" fn measure_unchecked(case: *mut c_void) {
    // SAFETY: likewise.
    unsafe { (*case.cast::<Case>()).measure(|guard| guard - SMALL_FRAME - MORESTACK) };
}

/// Makes a goroutine measure each case.
fn measure(cases: &'static [Case], measure: unsafe extern "C" fn(*mut c_void)) {
    for case in cases {
        let c = makechan(&WORD, 2).expect("memory for a channel");
        CHANNEL.store(c.as_ptr(), Ordering::Relaxed);
        // SAFETY: the cases fit their stacks and don't panic; the channel is freed when nobody uses
        // it.
        unsafe {
            proc::newproc(Some(measure), ptr::from_ref(case).cast_mut().cast());
            // The receivers park until a value comes. The channel doesn't stay full.
            while !case.measured() {
                gosched::yield_now();
                let mut value = 7u64;
                selectnbsend(Some(c), (&raw const value).cast());
                selectnbrecv((&raw mut value).cast(), Some(c));
            }
            freechan(c);
        }
    }
}

fn every_raw_function_fits_a_copying_stack() {
    run(|| {
        measure(&CHECKED, measure_checked);
        measure(&UNCHECKED, measure_unchecked);
    });
    CHECKED.iter().chain(&UNCHECKED).for_each(|case| case.check(PROMISED));
}
