//! `#[gosched::test]`, in std's harness.
//!
//! The ignored tests fail. Another test of this binary runs them.

#[path = "../../common/emulator.rs"]
mod emulator;

use std::error::Error;
use std::io;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::net::TcpListener;
use gosched::{go, goid};

#[gosched::test]
fn a_value_arrives() {
    let (tx, rx) = bounded(0);
    go(move || tx.send(goid()).unwrap());
    assert_ne!(rx.recv(), Ok(0));
}

#[gosched::test(timeout = "10m")]
fn there_is_a_port() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    assert_ne!(listener.local_addr()?.port(), 0);
    Ok(())
}

/// Attributes and a visibility stay, and the name may be a keyword.
#[gosched::test(leaks = true, timeout = "10m")]
#[should_panic(expected = "nobody sends")]
#[allow(clippy::needless_return)]
pub fn r#loop() {
    let (tx, rx) = bounded::<()>(0);
    drop(tx);
    return rx.recv().expect("nobody sends");
}

/// As with std's attribute.
#[gosched::test]
#[should_panic(expected = "nobody sends")]
#[allow(clippy::unused_unit)]
fn returns_nothing() -> () {
    panic!("nobody sends");
}

#[gosched::test(leaks = true)]
fn a_server_goes_on() {
    go(|| gosched::time::sleep(Duration::MAX));
}

#[gosched::test]
#[ignore = "fails"]
fn panics() {
    panic!("this is why");
}

#[gosched::test]
#[ignore = "fails"]
fn returns_an_error() -> Result<(), Box<dyn Error>> {
    let n: u32 = "seven".parse()?;
    unreachable!("{n}")
}

#[gosched::test(timeout = "50ms")]
#[ignore = "fails"]
fn hangs() {
    let (_tx, rx) = bounded::<()>(0);
    rx.recv().unwrap();
}

#[gosched::test(leaks = false)]
#[ignore = "fails"]
fn leaves_a_goroutine() {
    let (tx, rx) = bounded::<()>(0);
    go(move || rx.recv());
    std::mem::forget(tx);
}

/// Runs the ignored test, which must fail, and returns its output and the harness's. It waits for
/// late threads, but not for goroutines that are left behind.
fn failing(name: &str) -> String {
    let mut command = emulator::this_binary();
    command.args(["--exact", name, "--ignored"]).env("GODEBUG", "patience=2000,period=1");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(101));
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(out.contains("0 passed; 1 failed"), "{out}");
    out + &err
}

#[test]
fn what_fails_says_why() {
    for (name, texts) in [
        ("panics", ["---- panics stdout ----\ngoroutine panicked: this is why", "test.rs"]),
        ("returns_an_error", ["Error: ParseIntError", "returns_an_error"]),
        ("hangs", ["hasn't ended after 50ms", "test_attribute::hangs::hangs"]),
        ("leaves_a_goroutine", ["has left goroutines behind, 1 of them", "leaves_a_goroutine::{{closure}}"]),
    ] {
        let said = failing(name);
        for text in texts {
            assert!(said.contains(text), "{name}: expected {text:?} in:\n{said}");
        }
    }
}
