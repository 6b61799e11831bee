//! Compiles the C of this package, with gcc and with clang, in several *flavours*: optimisation
//! levels, each with the kinds of control-flow protection that the compiler knows. `src/cases.rs`
//! finds them in the program.

use std::env;
use std::path::{Path, PathBuf};

/// The levels; `o2fp` keeps frame pointers.
const LEVELS: [(&str, u32, bool); 5] =
    [("o0", 0, false), ("o1", 1, false), ("o2", 2, false), ("o2fp", 2, true), ("o3", 3, false)];

/// The levels and kinds of `-fcf-protection` that stand for all in a debug build. Each takes long
/// there, and the compilers make the same code as in a release build, where all are tried.
const IN_DEBUG: ([&str; 3], [&str; 2]) = (["o0", "o2", "o2fp"], ["none", "full"]);

/// The other flags that the compiler needs. Locals must be zero from the start. A move adjusts
/// every word that looks like an address of the stack. A word of which only a part is written (two
/// bytes of text, a short in a struct) looks like one if its other part is left over from an
/// address.
const NEEDED: [&str; 2] = ["-fsplit-stack", "-ftrivial-auto-var-init=zero"];

/// The flag without which clang up to version 15 refuses that.
const KNOWING: &str = "-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang";

/// The files, and the additional flag of each, for compilers that know it.
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
    /// How its flavours' names begin.
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

    /// Returns the compiler, if it is there and knows the flags that are needed.
    fn able(
        prefix: &'static str,
        mut build: cc::Build,
        protections: &'static [&'static str],
        is_it: fn(&cc::Tool) -> bool,
    ) -> Option<Self> {
        build.std("gnu11").flags(NEEDED).extra_warnings(true).cargo_warnings(false).cargo_metadata(false);
        // None of its own flags is tried alone: clang 14 knows the one only with the other.
        let able = build.try_get_compiler().is_ok_and(|tool| is_it(&tool))
            && build.clone().file("c/empty.c").try_compile_intermediates().is_ok();
        able.then_some(Compiler { prefix, build, protections })
    }

    /// The objects of all files, in all flavours.
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
        // Nobody refers to the tables of cases by name.
        build.link_lib_modifier("+whole-archive").compile("split_stack");
    }
}
