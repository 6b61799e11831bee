//! What can go wrong when a stack is to grow: each in a process of its own, as most of it ends one.

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::panic::catch_unwind;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::time::Instant;

use gosched::chan::bounded;
use gosched::proc::{self, AdjustInfo, Frame, FrameMap, Hooks};
use gosched::runtime2::G;
use gosched::sync::WaitGroup;
use gosched::{go, morestack_check};

use crate::asm::at_the_stacks_end::{ask_for_stack, call_below, mapped, mapped_end};
use crate::harness::memory::allow;
use crate::harness::pages::page_size;
use crate::harness::{Test, run, tests};

tests! {
    beyond_the_limit
    beyond_a_limit_that_was_set
    a_fixed_stack_is_full
    more_than_there_is
    no_memory_for_a_larger_stack
    at_a_bad_time
    while_it_panics
    on_g0
    on_gsignal
    off_goroutines
    a_slot_above_its_frame
    a_slot_below_its_frame
    a_slot_between_two_words
    a_map_that_overlaps
    a_map_that_forgets_a_slot
    a_stale_pointer_into_a_segment
    a_stale_pointer_into_the_home_page
    shrinking_where_it_stands
    shrinking_what_runs
    a_stub_asks_for_little
    a_stack_that_is_kept
    a_stack_that_is_not_kept
    a_stack_too_large_to_keep
    embedders_chains_are_adjusted
}

fn nothing() {}

/// Makes a goroutine on a copying stack, and waits until it has ended.
fn raw(f: unsafe extern "C" fn(*mut c_void)) {
    static RUNNING: WaitGroup = WaitGroup::new();
    static BODY: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

    unsafe extern "C" fn body(_: *mut c_void) {
        // SAFETY: what raw has stored.
        let f: unsafe extern "C" fn(*mut c_void) =
            unsafe { std::mem::transmute(BODY.load(Ordering::Relaxed)) };
        // SAFETY: the test's.
        unsafe { f(ptr::null_mut()) };
        RUNNING.done();
    }

    BODY.store(f as *mut c_void, Ordering::Relaxed);
    RUNNING.add(1);
    // SAFETY: the tests' functions check their stacks, or it is what they are to show.
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

fn beyond_the_limit(test: Test) {
    let ended = test.process(|| run(|| raw(without_end))).end();
    ended.with("exit status: 2").says("runtime: goroutine stack exceeds 1073741824-byte limit\n");
    ended.says("runtime: sp=0x").says("fatal error: stack overflow\n\ngoroutine 2 [running]:\n");
    ended.says("created at pc").says("morestack::recurse").says("...additional frames elided...\n");
}

fn beyond_a_limit_that_was_set(test: Test) {
    let process = test.process(|| {
        run(|| {
            assert_eq!(proc::set_max_stack(100_000), 1 << 30);
            raw(without_end);
        });
    });
    let ended = process.end();
    ended.with("exit status: 2").says("runtime: goroutine stack exceeds 100000-byte limit\n");
}

fn a_fixed_stack_is_full(test: Test) {
    let process = test.process(|| run(|| drop(go(|| recurse(0)).join())));
    let ended = process.end();
    ended.with("exit status: 2").says("fatal error: stack overflow\n\ngoroutine 2 [running]:\n");
    // The check has found it, not the guard page: 256 KiB, and what the home page has beside the G.
    let limit = (256 << 10) + page_size() - 2048;
    ended.says(&format!("runtime: goroutine stack exceeds {limit}-byte limit\n")).says("gosched_newstack");
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
    // From g0's stack to the goroutine's, and to its base.
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
    // SAFETY: a fatal error is all that comes of it.
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
        // Ours comes before it, and passes on what isn't its own, on gsignal.
        // SAFETY: a handler with one argument.
        unsafe { libc::signal(libc::SIGSEGV, handler as extern "C" fn(c_int) as usize) };
        // SAFETY: a field of a struct at null; the fault is what is tested.
        run(|| unsafe { ptr::without_provenance::<u64>(black_box(8)).read_volatile() });
    });
    process.end().with("exit status: 2").says("fatal: morestack on gsignal\n");
}

fn off_goroutines(test: Test) {
    let process = test.process(|| {
        // A thread of the program's checks nothing: its stack is as large as it is.
        assert_eq!(morestack_check!(1 << 40, usize::pow, 2, 3), 8);
        run(|| {});
        assert_eq!(morestack_check!(1 << 40, usize::pow, 2, 3), 8);
    });
    process.end().with("exit status: 0");
}

/// Names the word so far below the frame pointer.
struct Below(usize);

// SAFETY: for the tests, a wrong one is wrong.
unsafe impl FrameMap for Below {
    fn slots(&self, frame: &Frame, slot: &mut dyn FnMut(usize)) {
        slot(frame.fp - self.0);
    }
}

fn register(map: &'static Below) -> proc::FrameMapRegistration {
    let code = mapped as *const () as usize..mapped_end as *const () as usize;
    // SAFETY: nobody is in that code when it is dropped.
    unsafe { proc::register_frame_map(code, map) }
}

static MOVED: AtomicUsize = AtomicUsize::new(usize::MAX);

unsafe extern "C" fn call_mapped(_: *mut c_void) {
    // SAFETY: it checks its stack.
    MOVED.store(unsafe { mapped() }, Ordering::Relaxed);
}

/// Runs with a map that is wrong.
fn outside(test: Test, map: &'static Below) {
    let process = test.process(|| {
        run(|| {
            let _map = register(map);
            raw(call_mapped);
        });
    });
    let ended = process.end();
    ended.with("exit status: 2").says("runtime: slot 0x");
    ended.says("fatal error: frame map names a slot outside its frame\n");
}

fn a_slot_above_its_frame(test: Test) {
    outside(test, &Below(0));
}

fn a_slot_below_its_frame(test: Test) {
    outside(test, &Below(40));
}

fn a_slot_between_two_words(test: Test) {
    outside(test, &Below(12));
}

fn a_map_that_overlaps(test: Test) {
    let process = test.process(|| {
        run(|| {
            let map = register(&Below(8));
            let again = catch_unwind(|| register(&Below(8))).map(drop);
            assert!(again.is_err(), "two maps for the same code");
            drop(map);
            drop(register(&Below(8)));
        });
    });
    process.end().with("exit status: 0").says("a frame map's range must be its own and not empty");
}

fn a_map_that_forgets_a_slot(test: Test) {
    let body = || {
        run(|| {
            let map = register(&Below(8));
            raw(call_mapped);
            assert_eq!(MOVED.load(Ordering::Relaxed), 1, "the slot that is named, and not the other");
            drop(map);
        });
    };
    test.process(body).end().with("exit status: 0");
    let ended = test.process(body).env("GODEBUG", "stackverify=1").end();
    ended.with("exit status: 2").says("bytes from the end of its stack, is stale\n");
    ended.says("fatal error: stale stack pointer after a move\n");
}

/// A pointer to a local, where no move finds it.
static STALE: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());

fn keep_and_grow() {
    let mut local = black_box(7_u64);
    STALE.store(&raw mut local, Ordering::Relaxed);
    morestack_check!(1 << 20, nothing);
    // SAFETY: none: that is what the modes are to find.
    let read = unsafe { STALE.load(Ordering::Relaxed).read_volatile() };
    // SAFETY: the closure doesn't park.
    unsafe { proc::systemstack(|| eprintln!("read {read:#x} from a stack that has moved on")) };
    black_box(local);
}

fn a_stale_pointer_into_a_segment(test: Test) {
    unsafe extern "C" fn grown(_: *mut c_void) {
        morestack_check!(100_000, keep_and_grow);
    }
    let ended = test.process(|| run(|| raw(grown))).env("GODEBUG", "efence=1").end();
    ended.with("signal: 11");
    assert!(!ended.stderr.contains("moved on"), "{}", ended.stderr);
}

fn a_stale_pointer_into_the_home_page(test: Test) {
    unsafe extern "C" fn at_home(_: *mut c_void) {
        keep_and_grow();
    }
    let ended = test.process(|| run(|| raw(at_home))).env("GODEBUG", "efence=1").end();
    ended.with("exit status: 0").says("read 0xfcfcfcfcfcfcfcfc from a stack that has moved on\n");
}

fn shrinking_where_it_stands(test: Test) {
    unsafe extern "C" fn shrink(_: *mut c_void) {
        // SAFETY: none: it is on the stack that is to shrink.
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
        // One of these calls is the first that finds no room.
        for bytes in (0..1600_usize).step_by(16) {
            call_below(bytes, spawn);
        }
        // SAFETY: the running G.
        let stack = unsafe { (*proc::getg()).stack.get() };
        SIZE.store(stack.hi - stack.lo, Ordering::Relaxed);
    }

    let process = test.process(|| {
        run(|| raw(near_the_guard));
        // A linker that took the stub for code without checks would have it ask for 16 KiB.
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

/// How often stacks move when `f` runs ten times, one after the other on one P.
fn moves_of_ten(f: unsafe extern "C" fn(*mut c_void)) -> usize {
    // SAFETY: before the first run.
    unsafe { proc::set_hooks(Hooks { copystack: Some(count_moves), ..Hooks::default() }) };
    run(|| (0..10).for_each(|_| raw(f)));
    MOVES.load(Ordering::Relaxed)
}

fn a_stack_that_is_kept(test: Test) {
    let body = || {
        let begin = Instant::now();
        let moves = moves_of_ten(grow_once);
        // Once more for each time that it may have gone back to the system meanwhile, as it does after a second.
        let most = 2 + begin.elapsed().as_secs() as usize;
        assert!((1..=most).contains(&moves), "the others had the segment of the first: {moves} moves");
    };
    test.process(body).env("GOMAXPROCS", "1").end().with("exit status: 0");
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
        // SAFETY: the running G; the chain is an embedder's.
        unsafe { (*proc::getg())._defer.set((&raw mut second).cast()) };
        morestack_check!(100_000, nothing);
        // SAFETY: the chain's head, and the records, where they are now.
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
