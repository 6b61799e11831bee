//! `include/gosched.h` is what cbindgen makes of the files in `src/capi`, and C and C++ compilers
//! take it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that has the header written instead of compared.
const WRITE: &str = "GOSCHED_WRITE_HEADER";

const HEADER: &str = "include/gosched.h";

/// What cbindgen makes it of: files of this folder, in this order.
const SOURCE: &str = "src/capi";
const FILES: [&str; 15] = [
    "goroutine",
    "chan",
    "port",
    "fatal",
    "timer",
    "note",
    "sema",
    "netpoll",
    "signal",
    "report",
    "gstatus",
    "world",
    "hooks",
    "code",
    "trace",
];

/// Where a file of the repository is.
fn absolute(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../..", path].iter().collect()
}

/// Copies a file without its attributes `no_mangle`. cbindgen declares every function that has one,
/// and in these files those are the functions that the stubs jump to.
fn without_exports(file: &str) -> PathBuf {
    let text = fs::read_to_string(absolute(&format!("{SOURCE}/{file}.rs"))).expect("a source file");
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{file}.rs"));
    fs::write(&copy, text.replace("#[unsafe(no_mangle)]\n", "")).expect("the copy can be written");
    copy
}

#[test]
fn the_header_is_up_to_date() {
    let config = cbindgen::Config::from_file(absolute("cbindgen.toml")).expect("a configuration");
    let sources = FILES.map(without_exports);
    let builder = sources
        .into_iter()
        .fold(cbindgen::Builder::new().with_config(config), |builder, source| builder.with_src(source));
    let bindings = builder.generate();
    let mut made = Vec::new();
    bindings.expect("bindings").write(&mut made);
    let made = String::from_utf8(made).expect("text");
    let path = absolute(HEADER);
    if env::var_os(WRITE).is_some() {
        fs::write(path, made).expect("the header can be written");
        return;
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    let differs = made.lines().zip(found.lines()).position(|(made, found)| made != found);
    assert!(
        made == found,
        "{HEADER} isn't what {SOURCE} and cbindgen.toml make it, from line {} on. To write it:\n    \
         (cd tests/header && {WRITE}=1 cargo test up_to_date)",
        differs.unwrap_or(made.lines().count().min(found.lines().count())) + 1
    );
}

/// Compiles the header and nothing else. Without the compiler, says that this was skipped, or
/// fails where all tools must be there.
fn compiles(compiler: &str, language: &str, standard: &str) {
    let arguments = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", language, standard];
    match Command::new(compiler).args(arguments).arg(absolute(HEADER)).output() {
        Ok(output) => {
            assert!(output.status.success(), "{compiler}:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        Err(error) => {
            assert!(env::var_os("GOSCHED_REQUIRE_TOOLS").is_none(), "{compiler}: {error}");
            eprintln!("skipped: {compiler} is missing");
        }
    }
}

#[test]
fn the_header_is_c11() {
    compiles("gcc", "c", "-std=c11");
}

#[test]
fn the_header_is_cpp17() {
    compiles("g++", "c++", "-std=c++17");
}
