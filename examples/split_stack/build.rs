//! Compiles the C code. All that it takes is the flag: the linker finds `__morestack` in gosched.

fn main() {
    println!("cargo::rerun-if-changed=tree.c");
    cc::Build::new().file("tree.c").flag("-fsplit-stack").opt_level(2).compile("tree");
}
