//! Compiles and runs programs of C.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns the command.
pub fn gosched_run() -> Command {
    let mut command = Command::new(installed());
    // Settings of the caller's, as of CI's.
    for name in ["GOMAXPROCS", "GODEBUG", "LD_PRELOAD"] {
        command.env_remove(name);
    }
    command
}

/// Puts the command and the library beside each other, as an installation does.
fn installed() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        const LIBRARY: &str = "libgosched_preload.so";
        let command = Path::new(env!("CARGO_BIN_EXE_gosched-run"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("installed-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let to = folder.join("gosched-run");
        fs::copy(command, &to).unwrap();
        fs::copy(command.with_file_name("deps").join(LIBRARY), folder.join(LIBRARY)).unwrap();
        to
    })
}

/// Runs a command to its end. A hang fails: the child is ended after ten minutes.
pub fn ends(command: &mut Command) -> Output {
    let mut limited = Command::new("timeout");
    limited.args(["-s", "KILL", "600"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited.output().expect("timeout")
}

/// Compiles a program of this folder.
pub fn compile(name: &str) -> PathBuf {
    compile_with(name, name, &[])
}

/// Compiles a program of this folder with these flags, to a file of this name.
pub fn compile_with(name: &str, to: &str, flags: &[&str]) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    // Tests run at once, and some compile the same program.
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{to}-{number}"));
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join(to);
    let library = sources.join(format!("{name}_dso.c"));
    if library.exists() {
        let output = folder.join(format!("{to}_dso.so"));
        run(Command::new("cc").args(["-O1", "-fPIC", "-shared", "-o"]).arg(output).arg(library));
    }
    let cpp = sources.join(format!("{name}.cpp"));
    let mut compiler = if cpp.exists() {
        let mut compiler = Command::new("c++");
        compiler.arg("-std=c++17").arg(cpp);
        compiler
    } else {
        let mut compiler = Command::new("cc");
        compiler.arg("-std=gnu11").arg(sources.join(format!("{name}.c")));
        compiler
    };
    run(compiler.args(["-O1", "-w", "-o"]).arg(&program).args(flags).args(["-lpthread", "-ldl"]));
    program
}

/// Makes a script of this text.
pub fn script(text: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("script-{number}"));
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

fn run(command: &mut Command) {
    let output = command.output().expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
