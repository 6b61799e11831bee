//! The stubs that C calls. The function behind a stub uses no more of a copying stack than the stub
//! has checked for, and knows its caller.

use std::ffi::c_void;
use std::hint;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use gosched::capi::*;
use gosched::{proc, run};

use crate::harness::tests;
use crate::painted;

tests! {
    every_function_keeps_to_its_room
    a_goroutine_knows_where_it_was_made
}

unsafe extern "C" {
    /// The bytes that a stub checks for, beyond the guard.
    static gosched_entry_room: usize;
}

/// The channel of words that a case uses: the test keeps it neither empty nor full.
static CHANNEL: AtomicPtr<Chan> = AtomicPtr::new(ptr::null_mut());

/// A goroutine that is parked.
static PARKED: AtomicPtr<Goroutine> = AtomicPtr::new(ptr::null_mut());

fn channel() -> *mut Chan {
    CHANNEL.load(Ordering::Relaxed)
}

/// More cases than a select sorts on the stack. The last one receives from the channel.
static MANY_CASES: AtomicPtr<Case> = AtomicPtr::new(ptr::null_mut());
const MANY: usize = 40;

unsafe extern "C" fn nothing(_: *mut c_void) {}

unsafe extern "C" fn null(_: *mut c_void) -> *mut c_void {
    ptr::null_mut()
}

unsafe fn run_within() {
    // SAFETY: the call is refused.
    assert_eq!(unsafe { gosched_run(Some(null), ptr::null_mut(), ptr::null_mut()) }, libc::EDEADLK);
}

unsafe fn make_goroutines() {
    // SAFETY: `nothing` needs no stack.
    unsafe {
        gosched_newproc(Some(nothing), ptr::null_mut());
        assert_eq!(gosched_newproc_fixed(Some(nothing), ptr::null_mut(), 0), 0);
        assert_eq!(gosched_newproc_fixed(Some(nothing), ptr::null_mut(), 2 << 30), libc::EINVAL);
    }
}

unsafe fn let_others_run() {
    // SAFETY: on a goroutine.
    unsafe { gosched_yield() }
}

unsafe extern "C" fn go_on(_: *mut Goroutine, _: *mut c_void) -> bool {
    false
}

unsafe fn park() {
    // SAFETY: on a goroutine. `go_on` makes it go on at once.
    unsafe { gosched_park(Some(go_on), ptr::null_mut(), WaitReason::Sleep) }
}

unsafe extern "C" fn publish(g: *mut Goroutine, _: *mut c_void) -> bool {
    PARKED.store(g, Ordering::Release);
    true
}

unsafe extern "C" fn park_for_good(_: *mut c_void) {
    // SAFETY: on a goroutine. `ready` may take it.
    unsafe { gosched_park(Some(publish), ptr::null_mut(), WaitReason::Sleep) }
}

unsafe fn ready() {
    // SAFETY: the goroutine has parked.
    unsafe { gosched_ready(PARKED.swap(ptr::null_mut(), Ordering::Acquire)) }
}

unsafe fn block_and_sleep() {
    // SAFETY: on a goroutine; `nothing` doesn't park.
    unsafe {
        gosched_blocking(Some(nothing), ptr::null_mut());
        gosched_sleep(1);
    }
}

unsafe fn set_limits() {
    // SAFETY: on a goroutine.
    unsafe {
        assert_eq!(gosched_set_gomaxprocs(-1), -1);
        let procs = gosched_set_gomaxprocs(0);
        assert_eq!(gosched_set_gomaxprocs(procs + 1), procs);
        assert_eq!(gosched_set_default_gomaxprocs(), procs + 1);
        assert!(gosched_set_gomaxprocs(procs) > 0);
        gosched_set_max_stack(1 << 30);
        gosched_shrink_stack();
    }
}

unsafe fn make_and_free() {
    let mut chan = ptr::null_mut();
    // SAFETY: the channel is only this function's.
    unsafe {
        // The size is new, and the buffer isn't small.
        assert_eq!(gosched_chan_make(12_345, 100, &mut chan), 0);
        gosched_chan_free(chan);
        assert_eq!(gosched_chan_make((1 << 16) - 1, 1, &mut chan), 0);
        gosched_chan_free(chan);
        assert_eq!(gosched_chan_make(1 << 16, 1, &mut chan), libc::EINVAL);
        assert_eq!(gosched_chan_make(1 << 15, usize::MAX >> 8, &mut chan), libc::ENOMEM);
        assert!(chan.is_null());
    }
}

unsafe fn send() {
    let value = 1u64;
    // SAFETY: a value of the channel's size.
    unsafe {
        gosched_chan_send(channel(), (&raw const value).cast());
        gosched_chan_try_send(channel(), (&raw const value).cast());
    }
}

unsafe fn receive() {
    let mut value = 0u64;
    // SAFETY: a place for a value of the channel's size.
    unsafe {
        gosched_chan_recv(channel(), (&raw mut value).cast());
        gosched_chan_try_recv(channel(), (&raw mut value).cast());
    }
}

unsafe fn look_and_close() {
    // SAFETY: the channel stays.
    unsafe {
        assert_eq!(gosched_chan_cap(channel()), 2);
        assert!(gosched_chan_len(channel()) <= 2);
        assert!(gosched_chan_close(channel()));
        assert!(!gosched_chan_close(channel()));
    }
}

unsafe fn select_of_two() {
    let mut value = 0u64;
    let case = Case { chan: channel(), elem: (&raw mut value).cast() };
    // SAFETY: a value of the channel's size, and a place for one.
    unsafe { gosched_select([case; 2].as_ptr(), 1, 1, true) };
}

/// Receives from a goroutine that waits to send.
unsafe fn select_of_a_sender() {
    static SENT: AtomicBool = AtomicBool::new(false);

    unsafe extern "C" fn sends(chan: *mut c_void) {
        let value = 1u64;
        // SAFETY: a value of the channel's size; the channel stays until this has sent.
        unsafe { gosched_chan_send(chan.cast(), (&raw const value).cast()) };
        SENT.store(true, Ordering::Release);
    }

    let (mut chan, mut value) = (ptr::null_mut(), 0u64);
    // SAFETY: a place for a value of the channel's size. Nobody uses the channel afterwards.
    unsafe {
        assert_eq!(gosched_chan_make(size_of::<u64>(), 0, &mut chan), 0);
        gosched_newproc(Some(sends), chan.cast());
        let case = Case { chan, elem: (&raw mut value).cast() };
        while gosched_select(&case, 0, 1, false).result != OpResult::Done {
            gosched_yield();
        }
        while !SENT.load(Ordering::Acquire) {
            gosched_yield();
        }
        gosched_chan_free(chan);
    }
}

unsafe fn select_of_many() {
    // SAFETY: places for values of the channel's size.
    let selected = unsafe { gosched_select(MANY_CASES.load(Ordering::Relaxed), 0, MANY, true) };
    assert_eq!(selected, Selected { index: MANY as isize - 1, result: OpResult::Done });
}

unsafe extern "C" fn nothing_with_g(_: *mut Goroutine, _: *mut c_void) {}

unsafe extern "C" fn nothing_with_p(_: *mut Processor, _: *mut c_void) {}

unsafe extern "C" fn nothing_with_range(_: usize, _: usize, _: *mut c_void) {}

unsafe extern "C" fn change_its_state(g: *mut c_void) {
    const SCANNED: u32 = GOSCHED_GRUNNING + GOSCHED_GSCAN;
    let g = g.cast();
    // SAFETY: the goroutine that has called systemstack. Nobody else changes its state meanwhile.
    unsafe {
        assert!(gosched_castogscanstatus(g, GOSCHED_GRUNNING, SCANNED));
        gosched_scan_stack(g, Some(nothing_with_range), ptr::null_mut());
        gosched_casfrom_gscanstatus(g, SCANNED, GOSCHED_GRUNNING);
        gosched_cas_g_to_waiting(g, GOSCHED_GRUNNING, WaitReason::None);
        assert_eq!(gosched_casgcopystack(g), GOSCHED_GWAITING);
        gosched_casgstatus(g, GOSCHED_GCOPYSTACK, GOSCHED_GRUNNING);
    }
}

unsafe fn change_state() {
    // SAFETY: on a goroutine.
    unsafe {
        let g = gosched_getg();
        assert_eq!(gosched_readgstatus(g), GOSCHED_GRUNNING);
        gosched_systemstack_scannable(Some(change_its_state), g.cast());
    }
}

unsafe fn look_at_all() {
    // SAFETY: the callee does nothing.
    unsafe {
        gosched_for_each_g(Some(nothing_with_g), ptr::null_mut());
        gosched_for_each_g_race(Some(nothing_with_g), ptr::null_mut());
        gosched_for_each_p(WaitReason::None, Some(nothing_with_p), ptr::null_mut());
        gosched_preemptall();
        gosched_schedtrace(false);
    }
}

unsafe fn stop_and_start() {
    // SAFETY: on a goroutine, which doesn't park in the stopped world.
    unsafe {
        let stop = gosched_stop_the_world(StwReason::ReadMemStats);
        assert_eq!(stop.reason, StwReason::ReadMemStats);
        gosched_start_the_world(stop);
        gosched_sched_enable_user(true);
        gosched_set_detach(true);
        gosched_become_system_goroutine();
    }
}

unsafe extern "C" fn no_slots(
    _: *const Frame,
    _: unsafe extern "C" fn(usize, *mut c_void),
    _: *mut c_void,
    _: *mut c_void,
) {
}

unsafe fn register_and_take_back() {
    const MAP: &FrameMap = &FrameMap { slots: Some(no_slots), arg: ptr::null_mut() };
    const HOOKS: &Hooks = &Hooks {
        p_init: None,
        p_destroy: None,
        acquirep: None,
        find_runnable_gc_worker: None,
        gdestroy: None,
        copystack: None,
    };
    // SAFETY: the range has no code. The hooks are refused.
    unsafe {
        assert_eq!(gosched_register_frame_map(1, 2, MAP), 0);
        assert_eq!(gosched_register_frame_map(1, 2, MAP), libc::EEXIST);
        assert_eq!(gosched_unregister_frame_map(1, 2), 0);
        assert_eq!(gosched_register_preemptible(1, 2), 0);
        assert_eq!(gosched_register_preemptible(1, 2), libc::EEXIST);
        assert_eq!(gosched_unregister_preemptible(1, 2), 0);
        assert_eq!(gosched_set_hooks(HOOKS), libc::EBUSY);
    }
}

macro_rules! functions {
    ($($f:ident)*) => { [$(painted::Case::new(stringify!($f), $f)),*] };
}

static FUNCTIONS: [painted::Case; 18] = functions! {
    run_within make_goroutines let_others_run park ready block_and_sleep set_limits make_and_free send receive
    look_and_close select_of_two select_of_a_sender select_of_many
    change_state look_at_all stop_and_start register_and_take_back
};

unsafe extern "C" fn measure(function: *mut c_void) {
    // SAFETY: the argument is one of FUNCTIONS, on a goroutine.
    unsafe { (*function.cast::<painted::Case>()).measure(|guard| guard + gosched_entry_room) };
}

fn every_function_keeps_to_its_room() {
    // SAFETY: the goroutines fit their stacks and don't panic.
    run(|| unsafe {
        gosched_newproc(Some(park_for_good), ptr::null_mut());
        while PARKED.load(Ordering::Acquire).is_null() {
            gosched::yield_now();
        }
        for function in &FUNCTIONS {
            let (mut chan, mut value) = (ptr::null_mut(), 7u64);
            let elem = (&raw mut value).cast();
            assert_eq!(gosched_chan_make(size_of::<u64>(), 2, &mut chan), 0);
            CHANNEL.store(chan, Ordering::Relaxed);
            let mut cases = [Case { chan: ptr::null_mut(), elem: ptr::null_mut() }; MANY];
            cases[MANY - 1].chan = chan;
            MANY_CASES.store(cases.as_mut_ptr(), Ordering::Relaxed);
            gosched_newproc(Some(measure), ptr::from_ref(function).cast_mut().cast());
            // The receivers park until a value comes. The channel doesn't stay full.
            while !function.measured() {
                gosched::yield_now();
                gosched_chan_try_send(chan, elem);
                gosched_chan_try_recv(chan, elem);
            }
            gosched_chan_free(chan);
        }
    });
    for function in &FUNCTIONS {
        function.check(usize::MAX);
    }
}

/// The address of the call that made the running goroutine.
static MADE_AT: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn look_at_gopc(_: *mut c_void) {
    // SAFETY: on a goroutine, so getg isn't null.
    MADE_AT.store(unsafe { (*proc::getg()).gopc.get() }, Ordering::Release);
}

#[inline(never)]
unsafe extern "C" fn make_on_a_copying_stack() {
    // SAFETY: `look_at_gopc` fits its stack.
    unsafe { gosched_newproc(Some(look_at_gopc), ptr::null_mut()) };
    hint::black_box(()); // keeps the call from being a jump
}

#[inline(never)]
unsafe extern "C" fn make_on_a_fixed_stack() {
    // SAFETY: the runtime runs.
    assert_eq!(unsafe { gosched_newproc_fixed(Some(look_at_gopc), ptr::null_mut(), 0) }, 0);
}

fn a_goroutine_knows_where_it_was_made() {
    for make in [make_on_a_copying_stack, make_on_a_fixed_stack] {
        MADE_AT.store(0, Ordering::Relaxed);
        run(|| {
            // SAFETY: the runtime runs.
            unsafe { make() };
            while MADE_AT.load(Ordering::Acquire) == 0 {
                gosched::yield_now();
            }
        });
        let into = MADE_AT.load(Ordering::Relaxed).wrapping_sub(make as *const () as usize);
        assert!((1..256).contains(&into), "{into} bytes into the function");
    }
}
