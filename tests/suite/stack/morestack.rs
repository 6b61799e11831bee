//! Failures when a stack has to grow, and what is kept of a grown stack.

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::panic::catch_unwind;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use gosched::chan::bounded;
use gosched::proc::{self, AdjustInfo, Hooks};
use gosched::runtime2::G;
use gosched::sync::WaitGroup;
use gosched::{Builder, go, morestack_check, run};

use crate::asm::at_the_stacks_end::{ask_for_stack, call_below};
use crate::harness::goroutines::others_ended;
use crate::harness::memory::allow;
use crate::harness::pages::page_size;
use crate::harness::{Test, run_lean, tests};

tests! {
    up_to_the_limit
    beyond_the_limit
    a_fixed_stack_is_full
    more_than_there_is
    no_memory_for_a_larger_stack
    at_a_bad_time
    while_it_panics
    on_g0
    on_gsignal
    off_goroutines
    shrinking_where_it_stands
    shrinking_what_runs
    a_stub_asks_for_little
    a_stack_that_is_kept
    a_stack_that_is_not_kept
    a_stack_too_large_to_keep
    embedders_chains_are_adjusted
}

pub(super) fn nothing() {}

/// Makes a goroutine on a copying stack, and waits until it has ended.
pub(super) fn raw(f: unsafe extern "C" fn(*mut c_void)) {
    static RUNNING: WaitGroup = WaitGroup::new();
    static BODY: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

    unsafe extern "C" fn body(_: *mut c_void) {
        // SAFETY: the function that `raw` has stored.
        let f: unsafe extern "C" fn(*mut c_void) =
            unsafe { std::mem::transmute(BODY.load(Ordering::Relaxed)) };
        // SAFETY: the test's function.
        unsafe { f(ptr::null_mut()) };
        RUNNING.done();
    }

    BODY.store(f as *mut c_void, Ordering::Relaxed);
    RUNNING.add(1);
    // SAFETY: the tests' functions check their stacks, or test what happens if they don't.
    unsafe { proc::newproc(Some(body), ptr::null_mut()) };
    RUNNING.wait();
}

/// Takes more and more of its stack, with a check before each frame.
fn recurse(depth: usize) -> usize {
    let frame = black_box([depth; 64]);
    morestack_check!(2048, recurse, depth + 1) + frame[depth % 64]
}

unsafe extern "C" fn without_end(_: *mut c_void) {
    recurse(0);
}

unsafe extern "C" fn to_three_quarters(_: *mut c_void) {
    morestack_check!(768 << 10, nothing);
}

fn up_to_the_limit(test: Test) {
    let process = test.process(|| {
        run(|| {
            proc::set_max_stack(1 << 20);
            raw(to_three_quarters);
        });
    });
    process.end().with("exit status: 0");
}

fn beyond_the_limit(test: Test) {
    let process = test.process(|| {
        run(|| {
            // The default would take seconds of system time for its pages.
            assert_eq!(proc::set_max_stack(1 << 20), 1 << 30);
            raw(without_end);
        });
    });
    let ended = process.end();
    ended.with("exit status: 2").says("runtime: goroutine stack exceeds 1048576-byte limit\n");
    ended.says("runtime: sp=0x").says("fatal error: stack overflow\n\ngoroutine 2 [running");
    ended.says("created by suite::stack::morestack::raw in goroutine 1\n");
    ended.says("morestack::recurse").says("...additional frames elided...\n");
}

fn a_fixed_stack_is_full(test: Test) {
    let process = test.process(|| {
        run_lean(|| drop(Builder::new().stack_size(256 << 10).go(|| recurse(0)).unwrap().join()));
    });
    let ended = process.end();
    ended.with("exit status: 2").says("fatal error: stack overflow\n\ngoroutine 2 [running");
    // 256 KiB, and the rest of the home page beside the G.
    let limit = (256 << 10) + page_size() - 2048;
    ended.says(&format!("runtime: goroutine stack exceeds {limit}-byte limit\n"));
    // The check has found the overflow, not the guard page.
    let address = |before: &str| {
        let (_, after) = ended.stderr.split_once(before).expect("the report says where");
        usize::from_str_radix(after.split([' ', ',']).next().unwrap_or_default(), 16).expect("an address")
    };
    assert!(address(" sp=0x") > address(" stack=[0x"), "it was a guard page:\n{}", ended.stderr);
}

fn more_than_there_is(test: Test) {
    unsafe extern "C" fn much_more(_: *mut c_void) {
        morestack_check!(usize::MAX, nothing);
    }
    let ended = test.process(|| run(|| raw(much_more))).end();
    ended.with("exit status: 2").says("runtime: goroutine stack exceeds 1073741824-byte limit\n");
}

fn no_memory_for_a_larger_stack(test: Test) {
    if test.skipped_in_emulator("address space has no limit") {
        return;
    }
    unsafe extern "C" fn more(_: *mut c_void) {
        morestack_check!(300 << 20, nothing);
    }
    let process = test.process(|| {
        run(|| {
            allow(400 << 20);
            raw(more);
        });
    });
    let ended = process.end();
    ended
        .with("exit status: 2")
        .says("fatal error: out of memory (stackalloc of 536870912 bytes: Cannot allocate memory");
    // The frames lead from g0's stack to the goroutine's, and to its base.
    ended.says("no_memory_for_a_larger_stack::more").says("gosched_goexit").says("\n\ngoroutine 1 [");
}

fn at_a_bad_time(test: Test) {
    unsafe extern "C" fn split(_: *mut c_void) {
        // SAFETY: the running G.
        unsafe { (*proc::getg()).throwsplit.set(true) };
        morestack_check!(100_000, nothing);
    }
    let ended = test.process(|| run(|| raw(split))).end();
    ended.with("exit status: 2").says("runtime: newstack at 0x").says("stack=[0x");
    ended.says("fatal error: runtime: stack split at bad time\n").says("morestack::at_a_bad_time::split");
}

fn while_it_panics(test: Test) {
    struct Grows;
    impl Drop for Grows {
        fn drop(&mut self) {
            morestack_check!(1 << 20, nothing);
        }
    }
    fn panics() {
        let _ = catch_unwind(|| {
            let _grows = Grows;
            panic!("on a stack that has room for it");
        });
    }
    unsafe extern "C" fn roomy(_: *mut c_void) {
        morestack_check!(100_000, panics);
    }
    let ended = test.process(|| run(|| raw(roomy))).end();
    ended.with("exit status: 2").says("while it panics\n");
    ended.says("fatal error: runtime: stack split at bad time\n");
}

fn on_g0(test: Test) {
    // SAFETY: the call only leads to a fatal error.
    let process = test.process(|| run(|| unsafe { proc::systemstack(ask_for_stack) }));
    let ended = process.end();
    ended.with("exit status: 2").says("runtime: stack overflow on g0, stack [0x");
    ended.says("fatal error: morestack on g0\n");
}

fn on_gsignal(test: Test) {
    extern "C" fn handler(_: c_int) {
        ask_for_stack();
    }
    let process = test.process(|| {
        // The runtime's handler comes before it, and passes foreign faults on, on gsignal.
        // SAFETY: a handler with one argument.
        unsafe { libc::signal(libc::SIGSEGV, handler as extern "C" fn(c_int) as usize) };
        // SAFETY: a field of a struct at null; the fault is what is tested.
        run(|| unsafe { ptr::without_provenance::<u64>(black_box(8)).read_volatile() });
    });
    process.end().with("exit status: 2").says("fatal: morestack on gsignal\n");
}

fn off_goroutines(test: Test) {
    let process = test.process(|| {
        // A thread of the program's checks nothing: its stack doesn't grow.
        assert_eq!(morestack_check!(1 << 40, usize::pow, 2, 3), 8);
        run(|| {});
        assert_eq!(morestack_check!(1 << 40, usize::pow, 2, 3), 8);
    });
    process.end().with("exit status: 0");
}

fn shrinking_where_it_stands(test: Test) {
    unsafe extern "C" fn shrink(_: *mut c_void) {
        // SAFETY: none: this goroutine runs on the stack that it shrinks.
        unsafe { proc::shrinkstack(proc::getg()) };
    }
    let ended = test.process(|| run(|| raw(shrink))).end();
    ended.with("exit status: 2").says("fatal error: shrinkstack on the stack that is to shrink\n");
}

fn shrinking_what_runs(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (tx, rx) = bounded::<usize>(0);
            go(move || {
                tx.send(proc::getg().expose_provenance()).unwrap();
                rx_forever();
            });
            let gp = ptr::with_exposed_provenance_mut(rx.recv().unwrap());
            // SAFETY: none: nothing keeps the goroutine from running.
            unsafe { proc::shrinkstack(gp) };
        });
    });
    process.end().with("exit status: 2").says("fatal error: bad status in shrinkstack\n");
}

fn rx_forever() {
    let (_tx, rx) = bounded::<()>(0);
    let _ = rx.recv();
}

fn a_stub_asks_for_little(test: Test) {
    static SIZE: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn ends(_: *mut c_void) {}

    extern "C" fn spawn() {
        // SAFETY: `ends` needs no stack.
        unsafe { proc::newproc(Some(ends), ptr::null_mut()) };
    }

    unsafe extern "C" fn near_the_guard(_: *mut c_void) {
        // One of these calls is the first without room.
        for bytes in (0..1600_usize).step_by(16) {
            call_below(bytes, spawn);
        }
        // SAFETY: the running G.
        let stack = unsafe { (*proc::getg()).stack.get() };
        SIZE.store(stack.hi - stack.lo, Ordering::Relaxed);
    }

    let process = test.process(|| {
        run(|| raw(near_the_guard));
        // A linker that took the stub for code without checks would make it ask for 16 KiB.
        let size = SIZE.load(Ordering::Relaxed);
        let little = if cfg!(debug_assertions) { 16 << 10 } else { 4096 };
        assert!(size <= little.max(page_size()), "{size} bytes");
    });
    process.end().with("exit status: 0");
}

static MOVES: AtomicUsize = AtomicUsize::new(0);

fn count_moves(_: &G, _: &AdjustInfo) {
    MOVES.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" fn grow_once(_: *mut c_void) {
    morestack_check!(60_000, nothing);
}

unsafe extern "C" fn grow_too_much(_: *mut c_void) {
    morestack_check!(600_000, nothing);
}

/// Returns how often stacks move when `f` runs ten times, one after the other, on one P.
fn moves_of_ten(f: unsafe extern "C" fn(*mut c_void)) -> usize {
    // SAFETY: before the first run.
    unsafe { proc::set_hooks(Hooks { copystack: Some(count_moves), ..Hooks::default() }) };
    run(|| {
        for _ in 0..10 {
            raw(f);
            // Only then is the goroutine's stack free.
            others_ended();
        }
    });
    MOVES.load(Ordering::Relaxed)
}

fn a_stack_that_is_kept(test: Test) {
    let body = || assert_eq!(moves_of_ten(grow_once), 1, "the others had the segment of the first");
    // The stack isn't given back meanwhile, and is kept because the goroutine ends with its P.
    let process = test.process(body).env("GOMAXPROCS", "1").env("GODEBUG", "period=100000,detach=0");
    process.end().with("exit status: 0");
}

fn a_stack_that_is_not_kept(test: Test) {
    let body = || assert_eq!(moves_of_ten(grow_once), 10);
    let process = test.process(body).env("GOMAXPROCS", "1").env("GODEBUG", "stackkeep=0");
    process.end().with("exit status: 0");
}

fn a_stack_too_large_to_keep(test: Test) {
    let body = || assert_eq!(moves_of_ten(grow_too_much), 10);
    test.process(body).env("GOMAXPROCS", "1").end().with("exit status: 0");
}

fn embedders_chains_are_adjusted(test: Test) {
    /// A defer record, on the stack as Go's are.
    #[repr(C)]
    struct Defer {
        link: *mut Defer,
        value: u64,
    }

    fn adjust(gp: &G, moved: &AdjustInfo) {
        let mut defer: *mut Defer = gp._defer.get().cast();
        // SAFETY: the records are in the new stack; each link is a word of it.
        unsafe {
            while !defer.is_null() {
                assert_eq!(
                    (*defer).link.addr(),
                    moved.moved((*defer).link.addr()),
                    "adjusted with the frame"
                );
                defer = (*defer).link;
            }
        }
        MOVES.fetch_add(1, Ordering::Relaxed);
    }

    unsafe extern "C" fn defers(_: *mut c_void) {
        let mut first = Defer { link: ptr::null_mut(), value: 1 };
        let mut second = Defer { link: &raw mut first, value: 2 };
        // SAFETY: the running G. The chain belongs to the embedder.
        unsafe { (*proc::getg())._defer.set((&raw mut second).cast()) };
        morestack_check!(100_000, nothing);
        // SAFETY: the chain's head, and the records at their present addresses.
        unsafe {
            let head: *mut Defer = (*proc::getg())._defer.get().cast();
            let same =
                head == &raw mut second && (*head).link == &raw mut first && (*(*head).link).value == 1;
            (*proc::getg())._defer.set(ptr::null_mut());
            MOVES.fetch_add(usize::from(same) * 10, Ordering::Relaxed);
        }
        black_box((&first, &second.value));
    }

    let process = test.process(|| {
        // SAFETY: before the first run.
        unsafe { proc::set_hooks(Hooks { copystack: Some(adjust), ..Hooks::default() }) };
        run(|| raw(defers));
        assert_eq!(MOVES.load(Ordering::Relaxed), 11, "one move, and the chain is right after it");
    });
    process.end().with("exit status: 0");
}
