//! Guard pages: every stack has one, made either way; and what happens when no more guards are
//! possible.

use std::env;
use std::ffi::c_void;
use std::fs;
use std::hint::black_box;
use std::io::{self, ErrorKind};
use std::panic::catch_unwind;
use std::ptr;
use std::sync::Mutex;

use gosched::chan::{Receiver, Sender, bounded};
use gosched::metrics::{self, Value};
use gosched::runtime2::{Stack, TraceBlockReason, WaitReason};
use gosched::{Builder, JoinHandle, go, goid, proc, run, yield_now};

use crate::harness::goroutines::{go_until_it_waits, others_ended};
use crate::harness::pages::page_size;
use crate::harness::panics::text;
use crate::harness::probe::Probe;
use crate::harness::process::{Ended, Process};
use crate::harness::{Test, run_lean, tests};

tests! {
    below_every_stack
    regions_leave_mappings_whole
    of_stacks_that_were_given_back
    guards_in_locked_memory
    more_stacks_than_guards
    strict_about_more_stacks_than_guards
    mappings_used_up_by_the_program
    strict_about_mappings_used_up_by_the_program
    overflow_without_a_guard
    overflow_of_a_raw_goroutine_without_a_guard
}

/// Returns the running goroutine's stack.
fn stack() -> Stack {
    // SAFETY: the running G.
    unsafe { (*proc::getg()).stack.get() }
}

/// Returns how many mappings the process has.
fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps").expect("Linux has it").lines().count()
}

/// Returns how many mappings the process may have.
fn max_mappings() -> usize {
    let max = fs::read_to_string("/proc/sys/vm/max_map_count").expect("Linux has it");
    max.trim().parse().expect("a number")
}

/// Address space in many mappings.
struct Pieces {
    base: *mut c_void,
    len: usize,
}

impl Pieces {
    /// Makes `count` mappings, or as many as possible.
    fn new(count: usize) -> Self {
        let page = page_size();
        let len = (count + 1) * page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh mapping, of which every second page becomes readable.
        unsafe {
            let base = libc::mmap(ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(base, libc::MAP_FAILED);
            let pages = (1..count).step_by(2).map(|i| base.byte_add(i * page));
            let _ = pages.take_while(|&at| libc::mprotect(at, page, libc::PROT_READ) == 0).count();
            Pieces { base, len }
        }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        // SAFETY: as `new` mapped it, and nobody uses it.
        unsafe { libc::munmap(self.base, self.len) };
    }
}

/// Parks a goroutine of each kind, and checks for a guard below each stack.
fn check_guards() {
    static STACKS: Mutex<Vec<Stack>> = Mutex::new(Vec::new());

    fn enrol() {
        let stack = stack();
        // SAFETY: the closure on g0 doesn't park.
        unsafe { proc::systemstack(|| STACKS.lock().unwrap().push(stack)) };
        // SAFETY: nobody will make it ready.
        unsafe { proc::gopark(None, ptr::null_mut(), WaitReason::Zero, TraceBlockReason::Forever, 0) };
    }
    unsafe extern "C" fn enrol_raw(_: *mut c_void) {
        enrol();
    }

    run(|| {
        for _ in 0..300 {
            go(enrol);
            // SAFETY: `enrol_raw` fits on a copying stack and doesn't unwind.
            unsafe { proc::newproc(Some(enrol_raw), ptr::null_mut()) };
        }
        for size in [4096, 1 << 20, 1 << 30] {
            Builder::new().stack_size(size).go(enrol).unwrap();
        }
        while STACKS.lock().unwrap().len() < 603 {
            yield_now();
        }
        let mut probe = Probe::new();
        for &Stack { lo, hi } in &*STACKS.lock().unwrap() {
            let guard = [lo - page_size(), lo - 1];
            assert!(!guard.iter().any(|&addr| probe.readable(addr)), "[{lo:#x}, {hi:#x}] has no guard");
            assert!(probe.readable(lo) && probe.readable(hi - 1), "[{lo:#x}, {hi:#x}] is no stack");
        }
    });
}

fn below_every_stack(test: Test) {
    for setting in ["", "strict", "mprotect", "mprotect,strict"] {
        test.process(check_guards).env("GOSCHED_GUARD", setting).end().with("exit status: 0");
    }
}

/// Fails unless the process ended well, or said that there are no guard regions here.
#[track_caller]
fn well_with_regions(ended: &Ended) {
    if ended.status.code() == Some(101) {
        ended.says("gosched::run: can't start: GOSCHED_GUARD=region, but this kernel has no guard regions");
    } else {
        ended.with("exit status: 0");
    }
}

fn regions_leave_mappings_whole(test: Test) {
    let process = test.process(|| {
        check_guards();
        assert!(mappings() < 300, "{} mappings for some 600 stacks", mappings());
    });
    // Each thread has mappings, too.
    well_with_regions(&process.env("GOSCHED_GUARD", "region").env("GOMAXPROCS", "4").end());
}

/// A stack whose memory was given back, and that is used again, still has its guard.
fn of_stacks_that_were_given_back(test: Test) {
    for setting in ["", "mprotect", "mprotect,strict"] {
        let process = test.process(|| {
            run(|| {
                let (tx, rx) = bounded(0);
                for _ in 0..3 {
                    let (parked, error) = park(500, &rx);
                    assert!(error.is_none(), "{error:?}");
                    wake(parked, &tx);
                    (0..10).for_each(|_| proc::free_os_memory());
                }
            });
            check_guards();
            let unguarded = metrics::read("/gosched/stacks/unguarded:stacks");
            assert!(matches!(unguarded, Some(Value::Uint64(0))), "{unguarded:?}");
        });
        process.env("GOSCHED_GUARD", setting).end().with("exit status: 0");
    }
}

/// Locks all memory that is mapped from now on. Returns whether that is allowed, for much memory.
fn lock_memory() -> bool {
    // SAFETY: no memory is passed.
    let locked = unsafe { libc::mlockall(libc::MCL_FUTURE | libc::MCL_ONFAULT) } == 0;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh mapping, which nobody uses.
    locked
        && unsafe { libc::mmap(ptr::null_mut(), 4 << 30, libc::PROT_NONE, flags, -1, 0) } != libc::MAP_FAILED
}

fn guards_in_locked_memory(test: Test) {
    let process = test.process(|| {
        // The first run finds out how to make guards.
        run(|| ());
        if lock_memory() {
            check_guards();
        } else {
            eprintln!("not tested: memory can't be locked here");
        }
    });
    process.end().with("exit status: 0");
}

/// Parks up to `count` goroutines, until one can't be made. Each waits to receive a number. Returns
/// the goroutines, and the reason why there are no more.
fn park(count: usize, numbers: &Receiver<usize>) -> (Vec<JoinHandle<usize>>, Option<io::Error>) {
    let mut parked = Vec::new();
    while parked.len() < count {
        let numbers = numbers.clone();
        match Builder::new().go(move || numbers.recv().unwrap()) {
            Ok(handle) => parked.push(handle),
            Err(error) => return (parked, Some(error)),
        }
    }
    (parked, None)
}

/// Does the same for one goroutine, which has everything that it needs to wait.
fn park_one(numbers: &Receiver<usize>) -> Vec<JoinHandle<usize>> {
    let numbers = numbers.clone();
    vec![go_until_it_waits(move || numbers.recv().unwrap())]
}

/// Sends each of them a number, and waits until all have returned it.
fn wake(parked: Vec<JoinHandle<usize>>, numbers: &Sender<usize>) {
    let count = parked.len();
    (0..count).for_each(|i| numbers.send(i).unwrap());
    let sum: usize = parked.into_iter().map(|handle| handle.join().unwrap()).sum();
    assert_eq!(sum, count * (count - 1) / 2);
}

const WARNING: &str = "gosched: no mappings left for guard pages (";
const ERROR: &str = "no mapping left for a stack's guard page: raise vm.max_map_count";

/// Uses up mappings until `mprotect` can make about `guards` guards. Each guard takes two mappings,
/// and the runtime leaves a quarter of all possible mappings to the program.
fn leave(guards: usize) -> Pieces {
    let max = max_mappings();
    Pieces::new(max - max / 4 - 2 * guards)
}

const GUARDS: usize = 1_000;

fn more_stacks_than_guards(test: Test) {
    let process = test.process(|| {
        let _pieces = leave(GUARDS);
        run_lean(|| {
            let (tx, rx) = bounded(0);
            let (parked, error) = park(2 * GUARDS, &rx);
            assert!(error.is_none(), "{error:?}");
            wake(parked, &tx);
        });
    });
    let ended = process.env("GOSCHED_GUARD", "mprotect").end();
    ended.with("exit status: 0").says(WARNING);
    assert_eq!(ended.stderr.lines().count(), 1, "more than a line:\n{}", ended.stderr);
}

/// The settings under which each stack must have a guard. With `strict`, the test's goroutines
/// share thread-locals. Goroutines with their own thread-locals need guards without `strict`, too.
const STRICT: &[&str] =
    if cfg!(target_feature = "crt-static") { &["mprotect,strict"] } else { &["mprotect,strict", "mprotect"] };

fn run_strictly(main: impl FnOnce() + Send) {
    let is_set = env::var("GOSCHED_GUARD").is_ok_and(|setting| setting.contains("strict"));
    if is_set { run_lean(main) } else { run(main) }
}

fn strict_about_more_stacks_than_guards(test: Test) {
    let process = || {
        test.process(|| {
            let _pieces = leave(GUARDS);
            run_strictly(|| {
                let (tx, rx) = bounded(0);
                let (mut parked, error) = park(2 * GUARDS, &rx);
                assert!(parked.len() > GUARDS / 2, "{} goroutines", parked.len());
                let error = error.expect("there can't be so many guards");
                assert_eq!(error.kind(), ErrorKind::OutOfMemory);
                assert!(error.to_string().starts_with(ERROR), "{error}");
                // Mappings that the program had a moment ago may leave room for more.
                let panic = loop {
                    let rx = rx.clone();
                    match catch_unwind(|| go(move || rx.recv().unwrap())) {
                        Ok(handle) => parked.push(handle),
                        Err(payload) => break text(&*payload),
                    }
                };
                assert_eq!(panic, format!("gosched::go: can't make a goroutine: {error}"));
                wake(parked, &tx);
                // The goroutines' stacks can be used again.
                let (parked, error) = park(GUARDS / 2, &rx);
                assert!(error.is_none(), "{error:?}");
                wake(parked, &tx);
            });
        })
    };
    for setting in STRICT {
        let ended = process().env("GOSCHED_GUARD", setting).end();
        assert!(!ended.with("exit status: 0").stderr.contains(WARNING), "it is strict:\n{}", ended.stderr);
    }
}

/// For a process that makes no thread once it runs, because no mappings are left for one.
fn without_more_threads(process: Process) -> Process {
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0")
}

fn mappings_used_up_by_the_program(test: Test) {
    let process = test.process(|| {
        run_lean(|| {
            let (tx, rx) = bounded(0);
            let mut parked = park_one(&rx);
            let pieces = Pieces::new(max_mappings());
            parked.extend(park(5, &rx).0);
            drop(pieces);
            parked.extend(park(100, &rx).0);
            assert_eq!(parked.len(), 106);
            wake(parked, &tx);
        });
    });
    let ended = without_more_threads(process.env("GOSCHED_GUARD", "mprotect")).end();
    ended.with("exit status: 0").says(WARNING);
    assert_eq!(ended.stderr.lines().count(), 1, "more than a line:\n{}", ended.stderr);
}

fn strict_about_mappings_used_up_by_the_program(test: Test) {
    let process = || {
        test.process(|| {
            run_strictly(|| {
                let (tx, rx) = bounded(0);
                let parked = park_one(&rx);
                let pieces = Pieces::new(max_mappings());
                let (none, error) = park(1, &rx);
                assert!(none.is_empty());
                let error = error.expect("there can be no guard");
                assert_eq!(error.kind(), ErrorKind::OutOfMemory);
                assert!(error.to_string().starts_with(ERROR), "{error}");
                wake(parked, &tx);
                drop(pieces);
            });
        })
    };
    for setting in STRICT {
        without_more_threads(process().env("GOSCHED_GUARD", setting)).end().with("exit status: 0");
    }
}

/// Calls itself until it is below the running goroutine's stack, and lets others run there.
#[inline(never)]
fn yield_below(lo: usize) {
    let frame = black_box([0_u8; 64]);
    if frame.as_ptr().addr() < lo {
        yield_now()
    } else {
        yield_below(lo)
    }
    black_box(frame);
}

/// Overflows the stack. The next switch notices that the page below this stack is no guard.
fn overflow() {
    let (id, Stack { lo, .. }) = (goid(), stack());
    // SAFETY: the closure on g0 doesn't park.
    unsafe {
        proc::systemstack(|| {
            assert!(Probe::new().readable(lo - 1), "the stack has a guard");
            eprintln!("overflows: {id}");
        });
    }
    yield_below(lo);
}

unsafe extern "C" fn overflow_raw(_: *mut c_void) {
    overflow();
}

/// Runs `make`, which makes a goroutine that runs [`overflow`], when no guards are possible.
fn overflow_reported(test: Test, make: fn()) {
    let process = test.process(|| {
        run_lean(|| {
            go(|| ()).join().unwrap();
            // Waits until its stack, which has a guard, is free: that stack is used again first.
            others_ended();
            let (_tx, rx) = bounded(0);
            let pieces = Pieces::new(max_mappings());
            drop(park(2, &rx));
            drop(pieces);
            make();
            let _ = rx.recv();
        });
    });
    let ended = without_more_threads(process.env("GOSCHED_GUARD", "mprotect")).end();
    ended.with("exit status: 2").says(WARNING);
    let id = ended.stderr.split_once("overflows: ").and_then(|(_, rest)| rest.split_once('\n'));
    let id = id.expect("it has begun").0;
    ended.says(&format!("\nfatal error: stack overflow\n\ngoroutine {id} ["));
}

fn overflow_without_a_guard(test: Test) {
    overflow_reported(test, || drop(go(overflow)));
}

fn overflow_of_a_raw_goroutine_without_a_guard(test: Test) {
    // SAFETY: the call only leads to a fatal error.
    overflow_reported(test, || unsafe { proc::newproc(Some(overflow_raw), ptr::null_mut()) });
}
