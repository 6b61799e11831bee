//! What a report says where the program has no debug information, or no symbols.

use std::path::PathBuf;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{env, fs};

use gosched::chan::{Receiver, bounded};
use gosched::runtime2::G;
use gosched::{go, proc, run};

use crate::harness::goroutines::until_it_waits;
use crate::harness::process::{Ended, Process};
use crate::harness::{Test, tests};

tests! {
    with_debug_information
    without_debug_information
    without_symbols
}

static WAITER: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());

/// The binary without some of its parts, if there is a tool that removes them.
struct Stripped(PathBuf);

impl Stripped {
    fn new(test: Test, what: &str) -> Option<Stripped> {
        let name = format!("gosched-{}-{}", test.name().replace(':', "-"), std::process::id());
        let path = env::temp_dir().join(name);
        let mut strip = Command::new("strip");
        strip.args([what, "-o"]).arg(&path).arg(env::current_exe().expect("this binary has a path"));
        match strip.status() {
            Ok(status) if status.success() => Some(Stripped(path)),
            _ => {
                test.skip("strip is missing");
                None
            }
        }
    }
}

impl Drop for Stripped {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[inline(never)]
fn waits(rx: &Receiver<()>) -> bool {
    std::hint::black_box(rx.recv().is_ok())
}

/// Returns a process that ends with a report, while a goroutine waits.
fn reports(test: Test) -> Process {
    test.process(|| {
        run(|| {
            let (_tx, rx) = bounded::<()>(0);
            go(move || {
                WAITER.store(proc::getg(), Ordering::Relaxed);
                waits(&rx)
            });
            until_it_waits(&WAITER);
            proc::fatal("over");
        });
    })
}

/// Returns how often a report explains why something is missing.
fn explained(ended: &Ended, why: &str) -> usize {
    ended.stderr.lines().filter(|line| line.starts_with("(no ") && line.contains(why)).count()
}

fn with_debug_information(test: Test) {
    let ended = reports(test).end();
    ended.fatal("over").says(&format!("{}:", file!()));
    assert_eq!(explained(&ended, ""), 0, "{}", ended.stderr);
}

/// Fails unless the report of a binary that `strip` has stripped contains `says`, and `why` once.
fn without(test: Test, strip: &str, says: &str, why: &str) {
    let process = reports(test);
    if test.skipped_in_emulator("strip knows the other processor's binaries only") {
        return;
    }
    let Some(stripped) = Stripped::new(test, strip) else { return };
    let ended = process.of_copy(&stripped.0).end();
    ended.fatal("over").says(says);
    assert_eq!(explained(&ended, why), 1, "{}", ended.stderr);
}

fn without_debug_information(test: Test) {
    without(test, "--strip-debug", "names::waits(...)\n\tpc=0x", "debug = \"limited\"");
}

fn without_symbols(test: Test) {
    without(test, "--strip-all", "??(...)\n\tpc=0x", "stripped");
}
