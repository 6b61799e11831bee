//! Builds the library that is loaded before the program.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=preload.c");
    let library = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("preload.so");
    let mut compile = cc::Build::new().opt_level(1).get_compiler().to_command();
    compile.args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&library).arg("preload.c");
    let compiled = compile.arg("-ldl").status().expect("there is a C compiler");
    assert!(compiled.success(), "preload.c doesn't compile");
    println!("cargo::rustc-env=PRELOAD={}", library.display());
}
