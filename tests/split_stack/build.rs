//! Compiles the C of this package, at several levels of optimisation.

use std::env;
use std::path::{Path, PathBuf};

/// What the files are compiled with; src/cases.rs has the same names.
const LEVELS: [(&str, u32, bool); 3] = [("o0", 0, false), ("o2", 2, false), ("o2fp", 2, true)];

/// What the compiler must be told, besides: locals must be zero from the start. Whatever looks like an
/// address of the stack is adjusted when it moves, and a word of which only a part is written (two bytes
/// of text, a short in a struct) looks like one if the rest of it is what is left of an address.
const NEEDED: [&str; 2] = ["-fsplit-stack", "-ftrivial-auto-var-init=zero"];

/// A compiler for these files: nested functions are gcc's own.
fn gcc(folder: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build.std("gnu11").flags(NEEDED).flag("-Wno-psabi").extra_warnings(true).out_dir(folder);
    build
}

fn main() {
    println!("cargo::rerun-if-changed=c");
    println!("cargo::rustc-check-cfg=cfg(split_stack)");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let build = gcc(&out);
    let usable = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "gnu")
        && build.try_get_compiler().is_ok_and(|compiler| compiler.is_like_gnu())
        && NEEDED.iter().all(|flag| build.is_flag_supported(flag).unwrap_or(false));
    if !usable {
        return;
    }
    println!("cargo::rustc-cfg=split_stack");
    cc::Build::new().files(["c/at_depth.S", "c/registers.S"]).compile("split_stack_asm");
    for (name, level, frame_pointers) in LEVELS {
        for file in ["cases", "arrays", "avx", "unchecked"] {
            let mut build = gcc(&out.join(name));
            build.opt_level(level).force_frame_pointer(frame_pointers);
            match file {
                "arrays" => _ = build.flag("-fno-forward-propagate"),
                "avx" => _ = build.flag("-mavx"),
                _ => {}
            }
            build.define("CASES", &*format!("split_stack_{file}_{name}"));
            build.define("CALLS_LIBC", &*format!("split_stack_calls_libc_{name}"));
            build.file(format!("c/{file}.c")).compile(&format!("split_stack_{file}_{name}"));
        }
    }
}
