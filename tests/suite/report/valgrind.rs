//! Valgrind, which runs a program on a simulated processor, and checks what the kernel reads.

use std::cell::RefCell;
use std::env;
use std::ffi::c_void;
use std::hint::black_box;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::{Sender, bounded};
use gosched::sync::{Mutex, WaitGroup};
use gosched::time::{Timer, sleep};
use gosched::{Builder, blocking, go, lock_os_thread, morestack_check, proc, run, select, yield_now};

use crate::harness::{Test, rounds, tests};

tests! {
    #[slow] finds_nothing_wrong
    #[slow] a_tree_is_silent
    #[slow] an_overstep_is_reported
    #[slow] an_uninitialised_value_is_reported
}

const MS: Duration = Duration::from_millis(1);

/// More than a frame takes in a debug build.
const FRAME: usize = 1024;

fn recurse(n: usize) -> usize {
    if n == 0 { 0 } else { black_box(morestack_check!(FRAME, recurse, n - 1)) + 1 }
}

static GROWN: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn grow(n: *mut c_void) {
    assert_eq!(recurse(n.addr()), n.addr());
    GROWN.store(true, Ordering::Release);
}

thread_local!(static SEEN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) });

/// Pushes to a list of the goroutine's own.
fn pushes() -> usize {
    for n in 0..10 {
        SEEN.with_borrow_mut(|seen| seen.push(n));
        yield_now();
    }
    SEEN.with_borrow(Vec::len)
}

fn works() {
    run(|| {
        let (tx, rx) = bounded(2);
        let makers: Vec<_> = (0..50)
            .map(|i| {
                let tx = tx.clone();
                go(move || {
                    sleep(MS);
                    tx.send(i).unwrap();
                })
            })
            .collect();
        drop(tx);
        assert_eq!(rx.iter().sum::<i32>(), (0..50).sum());
        makers.into_iter().for_each(|maker| maker.join().unwrap());
        // SAFETY: the goroutine checks before each frame, and doesn't panic.
        unsafe { proc::newproc(Some(grow), ptr::without_provenance_mut(1000)) };
        while !GROWN.load(Ordering::Acquire) {
            yield_now();
        }
        let own: Vec<_> = (0..10).map(|_| Builder::new().own_locals().go(pushes).unwrap()).collect();
        own.into_iter().for_each(|own| assert_eq!(own.join().unwrap(), 10));
        let locked = lock_os_thread();
        blocking(|| thread::sleep(20 * MS));
        assert!(Timer::new(MS).c().recv().is_ok());
        drop(locked);
        proc::free_os_memory();
    });
}

/// Returns the sum of what the leaves of a tree of goroutines send up.
fn tree(up: Sender<usize>, first: usize, leaves: usize) {
    if leaves == 1 {
        return up.send(first).unwrap();
    }
    let (tx, rx) = bounded(0);
    for child in 0..10 {
        let tx = tx.clone();
        go(move || tree(tx, first + child * leaves / 10, leaves / 10));
    }
    drop(tx);
    up.send(rx.iter().sum()).unwrap();
}

/// As examples/skynet does; then goroutines that use locks and selects.
fn makes_a_tree() {
    const LEAVES: usize = 100;
    run(|| {
        let (tx, rx) = bounded(0);
        go(|| tree(tx, 0, LEAVES));
        assert_eq!(rx.recv(), Ok(LEAVES * (LEAVES - 1) / 2));
        let (numbers, words) = (bounded(0), bounded(1));
        let (sum, all) = (Mutex::new(0), WaitGroup::new());
        gosched::scope(|s| {
            for n in 0..20 {
                let (all, sum, numbers, words) = (&all, &sum, &numbers.0, &words.0);
                all.add(1);
                s.go(move || {
                    *sum.lock() += n;
                    let _ =
                        if n % 2 == 0 { numbers.send(n).is_ok() } else { words.send(n.to_string()).is_ok() };
                    all.done();
                });
            }
            for _ in 0..20 {
                select! {
                    recv(numbers.1) -> n => assert_eq!(n.unwrap() % 2, 0),
                    recv(words.1) -> word => assert!(word.unwrap().parse::<usize>().is_ok()),
                }
            }
            all.wait();
        });
        assert_eq!(*sum.lock(), (0..20).sum());
    });
}

/// Returns valgrind, if it is installed. It ends with status 9 if it has found something.
fn valgrind(test: Test) -> Option<Command> {
    if test.skipped_in_emulator("another one can't run") {
        return None;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        assert!(env::var_os("GOSCHED_REQUIRE_TOOLS").is_none(), "valgrind is missing");
        test.skip("valgrind is missing");
        return None;
    }
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["-q", "--error-exitcode=9"]);
    Some(valgrind)
}

/// Fails unless valgrind finds nothing wrong, with guard regions, which it doesn't know, and
/// without.
fn is_silent(test: Test, body: impl Fn()) {
    let guards = ["", "mprotect"];
    for guard in &guards[..rounds(guards.len())] {
        let Some(valgrind) = valgrind(test) else { return };
        let process = test.process(&body).env("GOSCHED_GUARD", guard).env("GODEBUG", "asyncpreemptoff=1");
        let ended = process.started_by(valgrind).end();
        ended.with("exit status: 0");
        assert!(!ended.stderr.contains("switching stacks"), "GOSCHED_GUARD={guard}:\n{}", ended.stderr);
    }
}

fn finds_nothing_wrong(test: Test) {
    is_silent(test, works);
}

fn a_tree_is_silent(test: Test) {
    is_silent(test, makes_a_tree);
}

/// Fails unless valgrind reports `what` of a goroutine, with the goroutine's frames from there to
/// its end.
fn is_reported(test: Test, what: &str, careless: fn()) {
    let Some(valgrind) = valgrind(test) else { return };
    let process = test.process(|| run(move || go(move || calls(careless)).join().unwrap()));
    let ended = process.env("GODEBUG", "asyncpreemptoff=1").started_by(valgrind).end();
    ended.with("exit status: 9").says(what);
    let report = &ended.stderr[ended.stderr.find(what).expect("it is there")..];
    let frames: Vec<&str> = report.lines().skip(1).take_while(|line| line.contains("0x")).collect();
    let frame = |function: &str| {
        let at = frames.iter().position(|frame| frame.contains(function));
        at.unwrap_or_else(|| panic!("{function} isn't in:\n{}", ended.stderr))
    };
    assert!(frame("valgrind::careless_") < frame("valgrind::calls"), "{}", ended.stderr);
    assert!(frame("valgrind::calls") < frame("gosched_goexit"), "{}", ended.stderr);
}

#[inline(never)]
fn calls(careless: fn()) {
    yield_now();
    careless();
    black_box(());
}

/// Writes to the byte behind an allocation.
#[inline(never)]
fn careless_write() {
    // SAFETY: it is wrong, but malloc's blocks have at least 16 bytes.
    unsafe {
        let block = libc::malloc(9).cast::<u8>();
        block.add(9).write_volatile(1);
        libc::free(block.cast());
    }
}

/// Branches on memory that was never written.
#[inline(never)]
fn careless_read() {
    // SAFETY: it is wrong, but any content of the memory is a number.
    unsafe {
        let block = libc::malloc(8).cast::<u8>();
        if block.read_volatile() == 1 {
            black_box(block);
        }
        libc::free(block.cast());
    }
}

fn an_overstep_is_reported(test: Test) {
    is_reported(test, "Invalid write of size 1", careless_write);
}

fn an_uninitialised_value_is_reported(test: Test) {
    is_reported(test, "Conditional jump or move depends on uninitialised value(s)", careless_read);
}
