//! Compiles the C of this package, with gcc and with clang, in several *flavours*: optimisation
//! levels, each with the kinds of control-flow protection that the compiler knows. `src/cases.rs`
//! finds the compiled cases in the program.

use std::env;
use std::path::{Path, PathBuf};

/// The optimisation levels: a name, the number, and whether frame pointers are kept.
const LEVELS: [(&str, u32, bool); 5] =
    [("o0", 0, false), ("o1", 1, false), ("o2", 2, false), ("o2fp", 2, true), ("o3", 3, false)];

/// The levels and kinds of `-fcf-protection` that a debug build has; a release build has all. In a
/// debug build each flavour takes long to test, and its code is the same as in a release build.
const IN_DEBUG: ([&str; 3], [&str; 2]) = (["o0", "o2", "o2fp"], ["none", "full"]);

/// The other flags that the compiler needs. Locals must be zero from the start. A move adjusts
/// every word that looks like an address of the stack. A word of which only a part is written (two
/// bytes of text, a short in a struct) looks like one if its other part is left over from an
/// address.
const NEEDED: [&str; 2] = ["-fsplit-stack", "-ftrivial-auto-var-init=zero"];

/// Another flag that clang up to version 15 requires with `-ftrivial-auto-var-init=zero`.
const KNOWING: &str = "-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang";

/// The files, each with an additional flag, which compilers that don't know it don't get.
const FILES: [(&str, Option<&str>); 6] = [
    ("cases", None),
    ("arrays", Some("-fno-forward-propagate")),
    ("outgoing", Some("-maccumulate-outgoing-args")),
    ("long_double", Some("-mlong-double-64")),
    ("avx", Some("-mavx")),
    ("unchecked", None),
];

/// A compiler for these files.
struct Compiler {
    /// The prefix of its flavours' names.
    prefix: &'static str,
    build: cc::Build,
    /// The kinds of `-fcf-protection`. Without the flag, Ubuntu's gcc has `full`.
    protections: &'static [&'static str],
}

impl Compiler {
    /// The compiler that cargo is configured to use. It must be a gcc: nested functions are gcc's
    /// own.
    fn gcc() -> Option<Self> {
        let mut build = cc::Build::new();
        build.flag("-Wno-psabi");
        Self::able("", build, &["none", "branch", "return", "full"], cc::Tool::is_like_gnu)
    }

    fn clang() -> Option<Self> {
        let mut build = cc::Build::new();
        build.compiler("clang").flag("-Wno-unknown-attributes").flag_if_supported(KNOWING);
        Self::able("clang-", build, &["none", "full"], cc::Tool::is_like_clang)
    }

    /// Returns the compiler, if it is installed, passes `is_it`, and knows the flags in [`NEEDED`].
    fn able(
        prefix: &'static str,
        mut build: cc::Build,
        protections: &'static [&'static str],
        is_it: fn(&cc::Tool) -> bool,
    ) -> Option<Self> {
        build.std("gnu11").flags(NEEDED).extra_warnings(true).cargo_warnings(false).cargo_metadata(false);
        // The flags are tried together: clang 14 accepts the one only with `KNOWING`.
        let able = build.try_get_compiler().is_ok_and(|tool| is_it(&tool))
            && build.clone().file("c/empty.c").try_compile_intermediates().is_ok();
        able.then_some(Compiler { prefix, build, protections })
    }

    /// Compiles all files in all flavours, and returns the object files.
    fn objects(&self, out: &Path) -> Vec<PathBuf> {
        let mut objects = Vec::new();
        let debug = env::var("PROFILE").is_ok_and(|profile| profile == "debug");
        for (level, number, frame_pointers) in LEVELS {
            for protection in self.protections {
                if debug && !(IN_DEBUG.0.contains(&level) && IN_DEBUG.1.contains(protection)) {
                    continue;
                }
                let name = match *protection {
                    "none" => format!("{}{level}", self.prefix),
                    protection => format!("{}{level}-{protection}", self.prefix),
                };
                let mut build = self.build.clone();
                build.opt_level(number).force_frame_pointer(frame_pointers);
                build.flag(format!("-fcf-protection={protection}"));
                build.define("FLAVOUR", &*format!("\"{name}\""));
                build.define("CALLS_LIBC", &*format!("split_stack_calls_libc_{}", name.replace('-', "_")));
                for (file, flag) in FILES {
                    let mut build = build.clone();
                    flag.map(|flag| build.flag_if_supported(flag));
                    build.out_dir(out.join(&name)).file(format!("c/{file}.c"));
                    objects.extend(build.compile_intermediates());
                }
            }
        }
        objects
    }
}

fn main() {
    println!("cargo::rerun-if-changed=c");
    println!("cargo::rustc-check-cfg=cfg(split_stack)");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    if env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "gnu")
        && let Some(gcc) = Compiler::gcc()
    {
        println!("cargo::rustc-cfg=split_stack");
        let mut build = cc::Build::new();
        build.files(["c/at_depth.S", "c/registers.S"]).objects(gcc.objects(&out));
        if let Some(clang) = Compiler::clang() {
            build.objects(clang.objects(&out));
        }
        // Nothing refers to the tables of cases by name, so the linker would leave them out.
        build.link_lib_modifier("+whole-archive").compile("split_stack");
    }
}
