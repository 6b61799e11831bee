//! `#[gosched::main]`: this program's own `main`, and the effect of its result.

#[path = "../../common/emulator.rs"]
mod emulator;

use std::env;
use std::error::Error;
use std::process::{ExitCode, Output};
use std::sync::mpsc::channel;
use std::thread;

use gosched::metrics::Value;

/// The environment variable that selects how the program ends.
const END: &str = "GOSCHED_TEST_END";

#[gosched::main(procs = 3, std = true, threads = true)]
fn main() -> Result<ExitCode, Box<dyn Error>> {
    match env::var(END).as_deref() {
        Ok("a status") => return Ok(ExitCode::from(7)),
        Ok(text) => return Ok(ExitCode::from(text.parse::<u8>()?)),
        Err(_) => {}
    }
    assert_ne!(gosched::goid(), 0);
    assert_eq!(gosched::gomaxprocs(), 3);
    std_parks();
    // The thread is a goroutine.
    assert_ne!(thread::spawn(gosched::goid).join().expect("it has a goid"), 0);
    assert_eq!(ending("a status")?.status.code(), Some(7));
    let failed = ending("an error")?;
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(String::from_utf8(failed.stderr)?, "Error: ParseIntError { kind: InvalidDigit }\n");
    Ok(ExitCode::SUCCESS)
}

fn std_parks() {
    let (tx, rx) = channel();
    let receives = gosched::go(move || rx.recv());
    let waits = || gosched::metrics::read("/gosched/std/futex:waits");
    while waits() == Some(Value::Uint64(0)) {
        gosched::yield_now();
    }
    tx.send(7).unwrap();
    assert_eq!(receives.join().unwrap(), Ok(7));
}

/// Runs this program so that it ends as `how` says.
fn ending(how: &str) -> Result<Output, Box<dyn Error>> {
    // `GOMAXPROCS` of the environment yields to the attribute.
    Ok(emulator::this_binary().env(END, how).env("GOMAXPROCS", "1").output()?)
}
