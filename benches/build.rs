//! Compiles the workloads' C.

fn main() {
    println!("cargo::rerun-if-changed=src/foreign.c");
    println!("cargo::rerun-if-changed=src/wakes.c");
    cc::Build::new().file("src/foreign.c").file("src/wakes.c").compile("foreign");
}
