//! Assembles the context switches of the target architecture.

use std::env;
use std::path::Path;

/// The architectures that have a folder under `asm/`.
const ARCHS: [&str; 2] = ["x86_64", "aarch64"];
const SUPPORTED: &str = "gosched supports x86_64 and aarch64 Linux and no other target";

fn main() {
    println!("cargo::rerun-if-changed=asm");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    println!("cargo::rustc-check-cfg=cfg(unoptimized)");
    println!("cargo::rustc-check-cfg=cfg(asan)");
    println!("cargo::rustc-check-cfg=cfg(tsan)");
    println!("cargo::rustc-check-cfg=cfg(pthreads)");
    println!("cargo::rerun-if-env-changed=GOSCHED_SANITIZE");
    // Frames are several times as large without optimisation: src/runtime/mem/sizes.rs makes room.
    if env::var("OPT_LEVEL").is_ok_and(|level| level == "0") {
        println!("cargo::rustc-cfg=unoptimized");
    }
    // Set by docs.rs: documentation needs no machine code.
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let os = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let pointer = env::var("CARGO_CFG_TARGET_POINTER_WIDTH").unwrap_or_default();
    if !ARCHS.contains(&arch.as_str()) || os != "linux" || pointer != "64" {
        println!("cargo::error={SUPPORTED}; this build is for {arch}-{os}");
        return;
    }
    let folder = Path::new("asm").join(&arch);
    let mut build = cc::Build::new();
    for (sanitizer, cfg) in [("address", "asan"), ("thread", "tsan")] {
        if !is_sanitized_by(sanitizer) {
            continue;
        }
        if arch != "x86_64" {
            println!(
                "cargo::warning=gosched tells sanitizers of its switches on x86_64 only: don't rely on their reports"
            );
            continue;
        }
        println!("cargo::rustc-cfg={cfg}");
        build.define(&cfg.to_uppercase(), None);
    }
    if arch == "x86_64" {
        // Compilers' stack checks (-fsplit-stack) read a word of the thread's control block that
        // only glibc has.
        if env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "gnu") {
            build.define("SPLIT_STACK", None);
        }
        build.file(folder.join("wrap.S")).file(folder.join("sanitizers.S"));
    }
    if defines_pthreads() {
        println!("cargo::rustc-cfg=pthreads");
        build.file("asm/call_thread.c");
    }
    let built = build
        .include("asm")
        .file(folder.join("asm.S"))
        .file(folder.join("entry.S"))
        .file(folder.join("morestack.S"))
        .file(folder.join("mstart.S"))
        .file(folder.join("preempt.S"))
        .file(folder.join("syscall.S"))
        .file(folder.join("traceback.S"))
        .cargo_warnings(false)
        .try_compile("gosched_asm");
    if let Err(error) = built {
        let why = error.to_string().replace('\n', " ");
        println!(
            "cargo::error=gosched needs a C compiler to assemble its context switches: install gcc or clang \
             (Debian: apt-get install gcc), or name one in CC ({why})"
        );
    }
}

/// Whether the program's functions of threads are the crate's: `src/runtime/threads`. A sanitizer
/// has such functions itself, and a static program can't find the C library's behind ours.
fn defines_pthreads() -> bool {
    let is_static = env::var("CARGO_CFG_TARGET_FEATURE")
        .is_ok_and(|features| features.split(',').any(|feature| feature == "crt-static"));
    env::var_os("CARGO_FEATURE_THREADS").is_some()
        && env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "gnu")
        && !is_static
        && !["address", "thread"].into_iter().any(is_sanitized_by)
}

/// Whether the program is built with this sanitizer: as rustc says, or, where a C program is and
/// links the library, GOSCHED_SANITIZE.
fn is_sanitized_by(sanitizer: &str) -> bool {
    ["CARGO_CFG_SANITIZE", "GOSCHED_SANITIZE"]
        .iter()
        .any(|name| env::var(name).is_ok_and(|names| names.split(',').any(|name| name == sanitizer)))
}
