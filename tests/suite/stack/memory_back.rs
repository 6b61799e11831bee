//! Memory that was needed once goes back to the system.
//!
//! `MEMORY_BACK` sets the number of simultaneous goroutines in the tests that depend on it. 100,000
//! take 10 GiB.

use std::ffi::c_void;
use std::fs;
use std::hint::black_box;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::chan::hchan::{Hchan, Type, chanrecv1, closechan, freechan, makechan};
use gosched::metrics::{self, Value};
use gosched::sync::WaitGroup;
use gosched::time::sleep;
use gosched::{
    Builder, go, morestack_check, num_goroutine, proc, run, scope, set_default_stack_size, yield_now,
};

use crate::harness::emulator::emulator;
use crate::harness::goroutines::{others_ended, wait_until};
use crate::harness::pages::page_size;
use crate::harness::probe::Probe;
use crate::harness::rng::number;
use crate::harness::{Test, rounds, tests};

tests! {
    of_copying_stacks
    of_fixed_stacks
    of_goroutines_that_waited
    of_fixed_ones_that_waited
    by_itself
    by_itself_from_under_others
    of_large_segments
    of_all_kinds_at_once
    page_tables
    with_each_setting
    locked_memory_stays
    before_the_runtime_runs
}

/// Returns the number of simultaneous goroutines.
pub(super) fn many() -> usize {
    let usual = if emulator().is_some() { 500 } else { rounds(10_000) };
    number("MEMORY_BACK").map_or(usual, |many| many as usize)
}

/// Returns a field of `/proc/self/status` that counts kB, in bytes.
fn status(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find(|line| line.starts_with(name)).expect("a field");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<usize>().ok()).expect("a number") * 1024
}

/// Returns the memory of this process, page tables included. Pages of the program's file aren't:
/// the more of its code has run, the more there are.
fn memory() -> usize {
    status("RssAnon:") + status("VmPTE:")
}

/// Calls `try_it` until the process takes hardly more than `before`, a result of [`memory`].
fn until_back(before: usize, try_it: impl Fn()) {
    // An emulator keeps some bytes for each page that ever existed, and they count as this
    // process's.
    let emulators = if emulator().is_some() { (status("VmHWM:") - before) / 3 * 2 } else { 0 };
    let limit = before + (before / 5).max(16 << 20).max(emulators);
    eprintln!("{before} bytes before, {} at most; to come back to {limit}", status("VmHWM:"));
    while memory() > limit {
        try_it();
    }
}

/// Asks for memory to be given back.
pub(super) fn give_back() {
    proc::free_os_memory();
    // A P that still looks for work keeps its lists to itself.
    sleep(Duration::from_millis(1));
}

/// Calls `f`, which takes at least `least` bytes. Then asks for memory to be given back until those
/// bytes are back.
#[track_caller]
fn comes_back(least: usize, f: impl FnOnce()) {
    let before = memory();
    f();
    others_ended();
    let peak = status("VmHWM:");
    assert!(peak >= before + least, "it took {} bytes, and not {least}", peak.saturating_sub(before));
    until_back(before, give_back);
    others_ended();
}

/// Takes `frames` frames on the stack, writes values there that depend on `seed`, and checks them
/// after `then`.
pub(super) fn fill(frames: usize, seed: usize, then: &mut dyn FnMut()) {
    let frame: [usize; 100] = black_box(std::array::from_fn(|i| seed ^ i ^ frames));
    if frames == 0 {
        then();
    } else {
        morestack_check!(4_000, fill, frames - 1, seed, then);
    }
    if (0..frame.len()).any(|i| black_box(&frame)[i] != seed ^ i ^ frames) {
        proc::throw("a frame isn't as it was");
    }
}

/// The approximate size of a frame of `fill`.
const FRAME: usize = if cfg!(debug_assertions) { 2_400 } else { 900 };

/// The number of frames that fill most of 64 KiB.
pub(super) const FRAMES: usize = 54_000 / FRAME;

/// Goroutines that wait for each other.
struct Crowd {
    frames: usize,
    gate: NonNull<Hchan>,
    waiting: WaitGroup,
    left: AtomicUsize,
}

// SAFETY: any thread may use a channel.
unsafe impl Send for Crowd {}
// SAFETY: likewise.
unsafe impl Sync for Crowd {}

/// Runs `n` goroutines on copying stacks. They fill `frames` frames each, wait for each other, and
/// end.
pub(super) fn copying(n: usize, frames: usize) {
    static NOTHING: Type = Type { size_: 0, align_: 1 };

    unsafe extern "C" fn body(crowd: *mut c_void) {
        // SAFETY: an Arc's pointer, see below.
        let crowd = unsafe { Arc::from_raw(crowd.cast::<Crowd>()) };
        // The seed never looks like an address in the stack.
        fill(crowd.frames, proc::getg().addr() >> 12, &mut || {
            crowd.waiting.done();
            // SAFETY: a channel of nothing, which stays until all goroutines have ended.
            unsafe { chanrecv1(Some(crowd.gate), ptr::null_mut()) };
        });
        crowd.left.fetch_sub(1, Ordering::Release);
        // SAFETY: the closure on g0 doesn't park.
        unsafe { proc::systemstack(|| drop(crowd)) };
    }

    let gate = makechan(&NOTHING, 0).expect("memory for a channel");
    let crowd = Arc::new(Crowd { frames, gate, waiting: WaitGroup::new(), left: AtomicUsize::new(n) });
    crowd.waiting.add(n as u32);
    // SAFETY: the goroutines check their stacks and don't panic; then nobody uses the channel.
    unsafe {
        for _ in 0..n {
            proc::newproc(Some(body), Arc::into_raw(crowd.clone()).cast_mut().cast());
        }
        crowd.waiting.wait();
        closechan(gate);
        while crowd.left.load(Ordering::Acquire) > 0 {
            yield_now();
        }
        freechan(gate);
    }
}

/// Does the same on fixed stacks.
pub(super) fn fixed(n: usize, frames: usize) {
    let (gate, opened) = bounded::<()>(0);
    let waiting = WaitGroup::new();
    scope(|s| {
        waiting.add(n as u32);
        for seed in 0..n {
            let (opened, waiting) = (&opened, &waiting);
            s.go(move || {
                fill(frames, seed, &mut || {
                    waiting.done();
                    let _ = opened.recv();
                });
            });
        }
        waiting.wait();
        drop(gate);
    });
}

fn of_copying_stacks(test: Test) {
    for procs in ["1", "2", "8"] {
        let process =
            test.process(|| run(|| comes_back(many() * 40_000, || copying(many() / 2, 2 * FRAMES))));
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

fn of_fixed_stacks(test: Test) {
    for procs in ["1", "2", "8"] {
        let process = test.process(|| run(|| comes_back(many() * 40_000, || fixed(many() / 2, 2 * FRAMES))));
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

/// Returns how many goroutines wait near the base of their stacks, with a page each. An emulator
/// gives larger pages memory 4 KiB at a time.
fn waiting() -> usize {
    10 * many() * 4096 / page_size()
}

fn of_goroutines_that_waited(test: Test) {
    let n = waiting();
    test.process(|| run(|| comes_back(n * 4096, || copying(n, 0)))).end().with("exit status: 0");
}

fn of_fixed_ones_that_waited(test: Test) {
    let n = waiting();
    test.process(|| run(|| comes_back(n * 4096, || fixed(n, 0)))).end().with("exit status: 0");
}

/// With this setting, memory goes back that isn't needed for a tenth of a second, instead of a
/// second.
const SOON: &str = "period=10";

/// All memory goes back without a request, even if nothing runs any more.
fn by_itself(test: Test) {
    let process = test.process(|| {
        run(|| ());
        let before = memory();
        run(|| {
            copying(many(), FRAMES);
            fixed(many(), FRAMES);
            copying(2, (20 << 20) / FRAME);
        });
        let pause = || thread::sleep(Duration::from_millis(20));
        until_back(before, pause);
        while num_goroutine() > 0 {
            pause();
        }
    });
    process.env("GODEBUG", SOON).end().with("exit status: 0");
}

/// The same while each P has something to do that needs little memory.
fn by_itself_from_under_others(test: Test) {
    let process = test.process(|| {
        run(|| {
            let (done, before) = (AtomicBool::new(false), memory());
            copying(many(), FRAMES);
            fixed(many(), FRAMES);
            scope(|s| {
                for _ in 0..4 {
                    s.go(|| {
                        while !done.load(Ordering::Relaxed) {
                            go(|| ()).join().expect("it doesn't panic");
                        }
                    });
                }
                until_back(before, || sleep(Duration::from_millis(20)));
                done.store(true, Ordering::Relaxed);
            });
        });
    });
    process.env("GOMAXPROCS", "4").env("GODEBUG", SOON).end().with("exit status: 0");
}

fn of_large_segments(test: Test) {
    let process = test.process(|| run(|| comes_back(40 << 20, || copying(2, (20 << 20) / FRAME))));
    process.end().with("exit status: 0");
}

/// Returns the home pages, in bytes.
fn homes() -> u64 {
    match metrics::read("/gosched/stacks/home:bytes") {
        Some(Value::Uint64(bytes)) => bytes,
        other => panic!("{other:?}"),
    }
}

/// One request is enough if no other P has free memory.
fn of_all_kinds_at_once(test: Test) {
    let process = test.process(|| {
        run(|| {
            proc::set_detach(false);
            fixed(500, 0);
            copying(500, 0);
            others_ended();
            let peak = homes();
            proc::free_os_memory();
            assert!(homes() < peak / 10, "{} bytes of {peak} are left", homes());
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

/// Returns whether the kernel frees a page table that maps nothing any more (Linux 6.14 can).
fn page_tables_are_freed() -> bool {
    const LEN: usize = 64 << 20;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping, in which single bytes are written.
    unsafe {
        let base = libc::mmap(ptr::null_mut(), LEN, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(base, libc::MAP_FAILED);
        libc::madvise(base, LEN, libc::MADV_NOHUGEPAGE);
        (0..LEN).step_by(1 << 20).for_each(|at| base.cast::<u8>().add(at).write(1));
        let before = status("VmPTE:");
        libc::madvise(base, LEN, libc::MADV_DONTNEED);
        let freed = status("VmPTE:") < before;
        libc::munmap(base, LEN);
        freed
    }
}

/// 256 KiB of room, unused by the goroutines, are an eighth of a page table.
fn page_tables(test: Test) {
    if test.skipped_in_emulator("the page tables are the emulator's, too") {
        return;
    }
    let process = test.process(|| {
        // A debug build's default would be 1 MiB.
        set_default_stack_size(256 << 10).unwrap();
        run(|| {
            if !page_tables_are_freed() {
                return eprintln!("not tested: this kernel keeps page tables");
            }
            let before = status("VmPTE:");
            // Fewer goroutines would take less than what remains in the end.
            fixed(many().max(4_000), 0);
            others_ended();
            while status("VmPTE:") >= before + (1 << 20) {
                give_back();
            }
        });
    });
    process.end().with("exit status: 0");
}

fn with_each_setting(test: Test) {
    let settings = [
        ("", "mprotect"),
        ("", "mprotect,strict"),
        ("efence=1", ""),
        ("stackverify=1,stackkeep=0", ""),
        ("stackforcemove=1,efence=1", "mprotect"),
    ];
    for (godebug, guard) in settings {
        let process = test.process(|| {
            run(|| {
                for _ in 0..3 {
                    copying(30, FRAMES);
                    fixed(30, FRAMES);
                    others_ended();
                    proc::free_os_memory();
                    check_guards();
                }
            });
        });
        process.env("GODEBUG", godebug).env("GOSCHED_GUARD", guard).end().with("exit status: 0");
    }
}

fn locked_memory_stays(test: Test) {
    let process = test.process(|| {
        run(|| {
            copying(100, FRAMES);
            fixed(100, FRAMES);
            // SAFETY: no memory is passed.
            if unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT) } != 0 {
                eprintln!("not tested: memory can't be locked here");
            }
            for _ in 0..3 {
                proc::free_os_memory();
                copying(200, FRAMES);
                fixed(200, FRAMES);
                others_ended();
            }
        });
    });
    process.end().with("exit status: 0");
}

fn before_the_runtime_runs(test: Test) {
    test.process(|| {
        proc::free_os_memory();
        run(|| go(|| ()).join().expect("it doesn't panic"));
        proc::free_os_memory();
    })
    .end()
    .with("exit status: 0");
}

/// Checks that each stack of several goroutines has a guard page.
pub(super) fn check_guards() {
    static LOWS: [AtomicUsize; 40] = [const { AtomicUsize::new(0) }; 40];
    static SEEN: AtomicBool = AtomicBool::new(false);

    /// Notes the end of its stack, and keeps the stack until the check is done: a free stack loses
    /// its guard when its memory goes back.
    fn enrol(i: usize) {
        fill(i % FRAMES, i, &mut || {
            // SAFETY: the running G.
            LOWS[i].store(unsafe { (*proc::getg()).stack.get().lo }, Ordering::Release);
            while !SEEN.load(Ordering::Relaxed) {
                // SAFETY: on a goroutine without thread-locals.
                unsafe { proc::gosched() };
            }
        });
    }
    unsafe extern "C" fn enrol_raw(i: *mut c_void) {
        enrol(i.addr());
    }

    LOWS.iter().for_each(|low| low.store(0, Ordering::Relaxed));
    SEEN.store(false, Ordering::Relaxed);
    for i in 0..LOWS.len() {
        if i % 2 == 0 {
            Builder::new().stack_size(64 << 10 << (i % 4)).go(move || enrol(i)).expect("memory");
        } else {
            // SAFETY: it checks its stack and doesn't panic.
            unsafe { proc::newproc(Some(enrol_raw), ptr::without_provenance_mut(i)) };
        }
    }
    wait_until(|| LOWS.iter().all(|low| low.load(Ordering::Acquire) != 0));
    let mut probe = Probe::new();
    for low in LOWS.iter().map(|low| low.load(Ordering::Acquire)) {
        let guard = [low - page_size(), low - 1];
        assert!(!guard.iter().any(|&addr| probe.readable(addr)), "{low:#x} has no guard");
    }
    SEEN.store(true, Ordering::Relaxed);
    others_ended();
}
