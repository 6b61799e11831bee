//! A supervisor: a goroutine for each process. A process that fails is started again, after a pause
//! that doubles each time, until it has failed too often. A context ends all processes and all
//! pauses. [The same in Go](go/supervisor/main.go).
//!
//! ```text
//! cargo run --release --example supervisor
//! ```

#![forbid(unsafe_code)]

use std::error::Error;
use std::time::Duration;

use gosched::chan::{Receiver, Sender, bounded};
use gosched::context::Context;
use gosched::go;
use gosched::process::Command;

/// The most times that a process is started.
const STARTS: u32 = 4;

type Failure = Box<dyn Error + Send + Sync>;

fn main() {
    gosched::run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let (ms, hour) = (Duration::from_millis(1), Duration::from_secs(3600));
        let server = start(&ctx, "server", "exec sleep 3600", ms);
        let patient = start(&ctx, "patient", "exit 1", hour);
        let flaky = start(&ctx, "flaky", "exit $((2 - $1))", ms);
        let broken = start(&ctx, "broken", "exit 3", ms);

        server.iter().take(1).chain(patient.iter().take(2)).for_each(|line| println!("{line}"));
        flaky.iter().chain(&broken).for_each(|line| println!("{line}"));
        cancel.cancel();
        server.iter().chain(&patient).for_each(|line| println!("{line}"));
        println!("all have ended");
    });
}

/// Begins to supervise a process. The receiver gets a line for each thing that happens to it.
fn start(ctx: &Context, name: &'static str, script: &'static str, pause: Duration) -> Receiver<String> {
    let (log, lines) = bounded(16);
    let ctx = ctx.clone();
    go(move || {
        let end = match supervise(&ctx, name, script, pause, &log) {
            Ok(()) => "ends well".to_owned(),
            Err(error) => error.to_string(),
        };
        log.send(format!("{name}: {end}"))
    });
    lines
}

/// Runs a process until it ends well, has failed too often, or the context ends.
fn supervise(
    ctx: &Context,
    name: &str,
    script: &str,
    mut pause: Duration,
    log: &Sender<String>,
) -> Result<(), Failure> {
    for n in 0..STARTS {
        log.send(format!("{name}: starts"))?;
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script, "sh", &n.to_string()]);
        // When the context ends, the shell is killed.
        let status = ctx.with_mut(&mut shell).status().map_err(|error| format!("is killed: {error}"))?;
        if status.success() {
            return Ok(());
        }
        // There is no code if a signal has ended the process.
        let code = status.code().unwrap_or(-1);
        log.send(format!("{name}: ends with {code}, and has a pause of {} ms", pause.as_millis()))?;
        ctx.sleep(pause).map_err(|error| format!("pauses no more: {error}"))?;
        pause *= 2;
    }
    Err(format!("has failed {STARTS} times, and is given up").into())
}
