//! Compiles the workloads' C.

fn main() {
    println!("cargo::rerun-if-changed=src/foreign.c");
    cc::Build::new().file("src/foreign.c").compile("foreign");
}
