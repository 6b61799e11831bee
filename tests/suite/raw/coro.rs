//! The raw layer's coroutines.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use gosched::proc::{self, Coro};
use gosched::runtime2::{G, GSCANWAITING, GWAITING};
use gosched::{Builder, morestack_check, scope, yield_now};

use crate::harness::goroutines::wait_until;
use crate::harness::storm::storm;
use crate::harness::{run_with_procs, tests};

tests! {
    raw_coroutines_grow_on_both_sides
    the_stack_of_a_coroutine_that_has_not_begun_shrinks
    many_goroutines_switch_in_one_coroutine
}

/// Runs `main` with several P's.
fn run<T: Send>(main: impl FnOnce() -> T + Send) -> T {
    run_with_procs(4, main)
}

/// Data that a raw coroutine and its test share.
#[derive(Default)]
struct Raw {
    coro: Coro,
    value: AtomicUsize,
    ended: AtomicUsize,
}

/// More than a frame of `dive` takes.
const FRAME: usize = if cfg!(debug_assertions) { 1024 } else { 256 };

/// Recurses `n` frames deep, switches there, and returns their sum.
fn dive(n: usize, c: *mut Coro) -> usize {
    let mine = n;
    if n == 0 {
        // SAFETY: the coroutine belongs to the goroutine that this runs on, or that goroutine has
        // made it.
        unsafe { proc::coroswitch(c) };
        return 0;
    }
    let sum = morestack_check!(FRAME, dive, n - 1, c);
    sum + *black_box(&mine)
}

unsafe extern "C" fn dives(c: *mut Coro, raw: *mut c_void) {
    // SAFETY: the tests pass a Raw that stays.
    let raw = unsafe { &*raw.cast::<Raw>() };
    for n in [0, 3, 300, 3_000] {
        raw.value.store(dive(n, c), Ordering::Relaxed);
        // SAFETY: this goroutine's coroutine.
        unsafe { proc::coroswitch(c) };
    }
    raw.ended.fetch_add(1, Ordering::Relaxed);
}

/// Makes a coroutine, and runs it to its end; also on a copying stack.
unsafe extern "C" fn drive(raw: *mut c_void) {
    // SAFETY: the tests pass a Raw that stays.
    let raw = unsafe { &*raw.cast::<Raw>() };
    let c = (&raw const raw.coro).cast_mut();
    // SAFETY: `dives` checks before each frame.
    unsafe { proc::newcoro(c, dives, ptr::from_ref(raw).cast_mut().cast()) };
    for n in [0, 3, 300, 3_000] {
        // Switches once at the deepest frame, and once from here.
        morestack_check!(FRAME, dive, n, c);
        // SAFETY: it hasn't ended.
        unsafe { proc::coroswitch(c) };
        if raw.value.load(Ordering::Relaxed) != n * (n + 1) / 2 {
            proc::throw("a wrong sum");
        }
    }
    // SAFETY: likewise. This is its last step.
    unsafe { proc::coroswitch(c) };
    raw.ended.fetch_add(1, Ordering::Release);
}

fn raw_coroutines_grow_on_both_sides() {
    run(|| {
        let raws: Vec<Raw> = (0..5).map(|_| Raw::default()).collect();
        for raw in &raws {
            // SAFETY: `drive` checks before each frame. All have ended before the values are
            // dropped.
            unsafe { proc::newproc(Some(drive), ptr::from_ref(raw).cast_mut().cast()) };
        }
        for raw in &raws {
            wait_until(|| raw.ended.load(Ordering::Acquire) == 2);
        }
        // A Coro can be used again, also on a fixed stack.
        scope(|s| {
            // SAFETY: as above.
            let drive = || unsafe { drive(ptr::from_ref(&raws[0]).cast_mut().cast()) };
            Builder::new().stack_size(64 << 20).go_scoped(s, drive).unwrap();
        });
        assert_eq!(raws[0].ended.load(Ordering::Relaxed), 4);
    });
}

/// A coroutine waits before it has its first frame.
fn the_stack_of_a_coroutine_that_has_not_begun_shrinks() {
    static GROWN: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
    unsafe extern "C" fn grows(c: *mut Coro, raw: *mut c_void) {
        GROWN.store(proc::getg(), Ordering::Relaxed);
        // SAFETY: the test passes a Raw that stays.
        let raw = unsafe { &*raw.cast::<Raw>() };
        raw.value.store(morestack_check!(FRAME, dive, 60, c), Ordering::Relaxed);
    }
    run(|| {
        let raw = Raw::default();
        let c = (&raw const raw.coro).cast_mut();
        let mut shrunk = false;
        while !shrunk {
            // If a goroutine ends without a P, its stack is freed at once.
            yield_now();
            // SAFETY: `grows` checks before each frame, and ends before `raw` is dropped.
            unsafe { proc::newcoro(c, grows, ptr::from_ref(&raw).cast_mut().cast()) };
            // Usually its G is the one that has just ended, with the stack that it had.
            let gp = GROWN.load(Ordering::Relaxed);
            // SAFETY: G's are never freed. While this one has the scan bit, it is ours.
            unsafe {
                if !gp.is_null() && proc::castogscanstatus(gp, GWAITING, GSCANWAITING) {
                    let size = |gp: *mut G| (*gp).stack.get().hi - (*gp).stack.get().lo;
                    let before = size(gp);
                    proc::shrinkstack(gp);
                    shrunk = size(gp) < before;
                    proc::casfrom_gscanstatus(gp, GSCANWAITING, GWAITING);
                }
            }
            // SAFETY: it dives, and ends.
            unsafe {
                proc::coroswitch(c);
                proc::coroswitch(c);
            }
            assert_eq!(raw.value.load(Ordering::Relaxed), 60 * 61 / 2);
        }
    });
}

/// As with a channel, any goroutine may switch: one goroutine waits in it at any time.
fn many_goroutines_switch_in_one_coroutine() {
    unsafe extern "C" fn passes(c: *mut Coro, raw: *mut c_void) {
        // SAFETY: the test passes a Raw that stays.
        let raw = unsafe { &*raw.cast::<Raw>() };
        while raw.ended.load(Ordering::Acquire) < 4 {
            raw.value.fetch_add(1, Ordering::Relaxed);
            // SAFETY: it hasn't ended.
            unsafe { proc::coroswitch(c) };
        }
    }
    run(|| {
        let raw = Raw::default();
        let c = |raw: &Raw| (&raw const raw.coro).cast_mut();
        let switches = AtomicUsize::new(0);
        // SAFETY: `passes` fits its stack, and `raw` stays until it has ended.
        unsafe { proc::newcoro(c(&raw), passes, ptr::from_ref(&raw).cast_mut().cast()) };
        scope(|s| {
            for _ in 0..4 {
                s.go(|| {
                    for _ in storm(5000) {
                        switches.fetch_add(1, Ordering::Relaxed);
                        // SAFETY: it ends after this.
                        unsafe { proc::coroswitch(c(&raw)) };
                    }
                    raw.ended.fetch_add(1, Ordering::Release);
                });
            }
        });
        // SAFETY: the coroutine ends now.
        unsafe { proc::coroswitch(c(&raw)) };
        // A goroutine may have switched to another goroutine instead.
        let (passed, switches) = (raw.value.load(Ordering::Relaxed), switches.into_inner());
        assert!((1..=switches).contains(&passed), "{passed} of {switches}");
    });
}
