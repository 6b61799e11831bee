//! Processes of `std::process`.

use std::io::Write;
use std::process::{Command, Stdio};

use gosched::{scope, yield_now};

use crate::settings::bytes;

crate::tests! { outputs }

fn outputs() {
    scope(|s| {
        for n in 0..4 {
            s.go(move || {
                for turn in 0..8 {
                    one(n * 100 + turn);
                    yield_now();
                }
            });
        }
    });
}

/// Runs a process that sleeps, and writes to both outputs, to stderr more than a pipe has room for.
/// Then runs one that writes what it reads.
fn one(n: usize) {
    let script = format!("sleep 0.01; head -c 100000 /dev/zero >&2; head -c {n}00 /dev/zero; exit {}", n % 7);
    let output = Command::new("sh").args(["-c", &script]).output().expect("it can be run");
    assert_eq!(output.status.code(), Some((n % 7) as i32));
    assert_eq!((output.stderr.len(), output.stdout.len()), (100_000, n * 100));
    yield_now();
    // A pipe has room for all of the data.
    let data = bytes(n, 30_000);
    let mut cat = Command::new("cat");
    let mut child = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it can be run");
    child.stdin.take().expect("it is piped").write_all(&data).expect("it can be written");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stdout == data, "another output");
}
