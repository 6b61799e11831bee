//! `include/gosched.h` and `asm/stubs.h`, which are generated from the files in `src/capi`, are up
//! to date. C and C++ compilers accept the header.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An environment variable. If it is set, both files are written, and not compared.
const WRITE: &str = "GOSCHED_WRITE_HEADER";

const HEADER: &str = "include/gosched.h";
const STUBS: &str = "asm/stubs.h";

/// How [`STUBS`] begins.
const STUBS_HEAD: &str = "\
/*
 * The stubs of entry.S, on each architecture: what C calls, and, where a register is named, which
 * gets the address that it is called from.
 *
 * This file is made of the declarations in src/capi; edit those. To write it:
 *     (cd tests/header && GOSCHED_WRITE_HEADER=1 cargo test up_to_date)
 */
";

/// The folder that both files are generated from, and its files, in their order.
const SOURCE: &str = "src/capi";
const FILES: [&str; 12] = [
    "goroutine",
    "chan",
    "port",
    "fatal",
    "timer",
    "sema",
    "netpoll",
    "signal",
    "report",
    "world",
    "hooks",
    "trace",
];

/// Returns the absolute path of a file of the repository.
fn absolute(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../..", path].iter().collect()
}

fn source(file: &str) -> String {
    fs::read_to_string(absolute(&format!("{SOURCE}/{file}.rs"))).expect("a source file")
}

/// Compares a file with what is generated, or writes it.
fn compare_or_write(path: &str, made: &str) {
    if env::var_os(WRITE).is_some() {
        fs::write(absolute(path), made).expect("the file can be written");
        return;
    }
    let found = fs::read_to_string(absolute(path)).unwrap_or_default();
    let differs = made.lines().zip(found.lines()).position(|(made, found)| made != found);
    assert!(
        made == found,
        "{path} isn't what is generated, from line {} on. To write it:\n    \
         (cd tests/header && {WRITE}=1 cargo test up_to_date)",
        differs.unwrap_or(made.lines().count().min(found.lines().count())) + 1
    );
}

/// Copies a file without its `no_mangle` attributes, and returns the copy's path. cbindgen would
/// declare every function that has one: in these files, the functions that the stubs jump to.
fn without_exports(file: &str) -> PathBuf {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{file}.rs"));
    fs::write(&copy, source(file).replace("#[unsafe(no_mangle)]\n", "")).expect("the copy can be written");
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
    compare_or_write(HEADER, &String::from_utf8(made).expect("text"));
}

/// Returns the stubs of the functions that a file declares. A stub is `ENTRY`, or the macro named
/// by a comment `// stub:` before the declaration. The macro's first argument is the function's
/// name, and the comment has the others. A function marked `none;` has no stub.
fn stubs(file: &str) -> String {
    let mut made = String::new();
    let mut stub = "ENTRY";
    for line in source(file).lines().map(str::trim_start) {
        if let Some(marked) = line.strip_prefix("// stub: ") {
            stub = marked;
        } else if let Some((name, _)) = line.strip_prefix("pub fn ").and_then(|line| line.split_once('(')) {
            made += &match stub.split_once(' ') {
                None => format!("{stub} {name}\n"),
                Some(("none;", _)) => String::new(),
                Some((entry, arguments)) => format!("{entry} {name}, {arguments}\n"),
            };
            stub = "ENTRY";
        }
    }
    made
}

#[test]
fn the_stubs_are_up_to_date() {
    let made: String = FILES.iter().map(|file| format!("\n/* {file}.rs */\n{}", stubs(file))).collect();
    compare_or_write(STUBS, &format!("{STUBS_HEAD}{made}"));
}

/// Compiles the header by itself. Without the compiler, prints that this was skipped, or fails if
/// `GOSCHED_REQUIRE_TOOLS` is set.
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
