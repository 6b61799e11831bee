//! Gdb shows a goroutine's own thread-locals.

use std::cell::Cell;
use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::chan::bounded;
use gosched::{check, run};

use super::own;
use crate::harness::{Test, tests};
use crate::report::debuggers::{SCRIPT, gdb, output, skipped_without_script, stop_here};

tests! {
    #[slow]
    gdb_shows_thread_locals
}

thread_local!(static LOCAL: Cell<u32> = const { Cell::new(7) });

/// Two goroutines wait, and a third one stops the debugger.
fn debuggee() {
    static WAITING: AtomicUsize = AtomicUsize::new(0);
    let (tx, rx) = bounded::<()>(0);
    let waiting = [100, 200].map(|value| {
        let rx = rx.clone();
        own(move || {
            LOCAL.set(value);
            WAITING.fetch_add(1, Ordering::Relaxed);
            _ = rx.recv();
        })
    });
    // On one P, sysmon makes the others run, so sysmon exists afterwards.
    while WAITING.load(Ordering::Relaxed) < 2 {
        check();
    }
    let stops = own(|| {
        LOCAL.set(300);
        stop_here();
    });
    stops.join().unwrap();
    drop(tx);
    waiting.into_iter().for_each(|waits| waits.join().unwrap());
}

fn gdb_shows_thread_locals(test: Test) {
    // By default the build leaves out the types of the tests: with them it takes longer.
    if env::var_os("GOSCHED_TYPES").is_none() {
        return test.skip("the tests' types aren't in the debug information; `.ci/full debug` has them");
    }
    if skipped_without_script(test) {
        return;
    }
    let print = [2, 3, 4].map(|n| format!("goroutine {n} print suite::locals::debugged::LOCAL.value.value"));
    let process = test.process(|| run(debuggee)).env("GOMAXPROCS", "1").env("GODEBUG", "detach=0");
    let output =
        output(process.under(gdb(&[SCRIPT, "break stop_here", "run", &print[0], &print[1], &print[2]])));
    for (goid, value) in [(2, 100), (3, 200), (4, 300)] {
        let shown = output.split(&format!("\ngoroutine {goid} [")).nth(1).expect(&output);
        let line = shown.lines().nth(1).unwrap_or_default();
        assert!(line.ends_with(&format!(" = {value}")), "goroutine {goid} in:\n{output}");
    }
}
