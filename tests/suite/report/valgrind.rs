//! Valgrind, which runs a program on a processor of its own, and looks at what the kernel reads.

use std::cell::RefCell;
use std::env;
use std::ffi::c_void;
use std::hint::black_box;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::time::{Timer, sleep};
use gosched::{Builder, blocking, go, lock_os_thread, morestack_check, proc, run, yield_now};

use crate::harness::{Test, tests};

tests! {
    finds_nothing_wrong
}

const MS: Duration = Duration::from_millis(1);

/// What a frame takes in a debug build, and more.
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

/// With guard regions, of which it knows nothing, and without. In a debug build there are frames that it takes for
/// changes of stacks.
fn finds_nothing_wrong(test: Test) {
    if test.skipped_in_emulator("another one can't run") {
        return;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        assert!(env::var_os("GOSCHED_REQUIRE_TOOLS").is_none(), "valgrind is missing");
        return test.skip("valgrind is missing");
    }
    for guard in ["", "mprotect"] {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["-q", "--max-stackframe=8000"]);
        if !cfg!(debug_assertions) {
            valgrind.arg("--error-exitcode=9");
        }
        let process = test.process(works).env("GOSCHED_GUARD", guard).env("GODEBUG", "asyncpreemptoff=1");
        let ended = process.started_by(valgrind).end();
        assert!(ended.status.success(), "GOSCHED_GUARD={guard}: {}:\n{}", ended.status, ended.stderr);
    }
}
