//! Compiles the C code. Only the first flag is needed to link: the linker finds `__morestack` in
//! gosched. The second flag ensures that no half-written word is taken for an address of the stack
//! (docs/guide/copying-stacks.md).

fn main() {
    println!("cargo::rerun-if-changed=tree.c");
    let mut build = cc::Build::new();
    build.flag("-fsplit-stack").flag_if_supported("-ftrivial-auto-var-init=zero").opt_level(2);
    build.file("tree.c").compile("tree");
}
