//! Whether the library can be loaded into a program, and works there.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::elf::{Elf, MACHINE};

/// The first version of glibc that has all parts that a goroutine's thread-locals need.
const GLIBC: (u32, u32) = (2, 34);
/// How many interpreters of scripts the kernel follows.
const SCRIPTS: u32 = 5;

/// Why a program can't be run.
pub(crate) enum Failure {
    /// Its threads can't be goroutines.
    Cannot(String),
    /// It can't be read.
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Io(error)
    }
}

/// Whether the kernel would run this file for the caller.
pub(crate) fn is_executable(path: &Path) -> bool {
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the name is a C string.
    path.is_file() && unsafe { libc::access(name.as_ptr(), libc::X_OK) == 0 }
}

/// Fails with the reason if the threads of this program can't be goroutines.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    let mut path = path.to_owned();
    for _ in 0..SCRIPTS {
        let why = match why_not(&path)? {
            Answer::Can => return Ok(()),
            Answer::Cannot(why) => why,
            Answer::Script(interpreter) => {
                path = interpreter;
                continue;
            }
        };
        return Err(Failure::Cannot(why));
    }
    Err(Failure::Cannot("too many interpreters of scripts".to_owned()))
}

enum Answer {
    Can,
    Cannot(String),
    /// The file is a script, for this interpreter.
    Script(PathBuf),
}

fn why_not(path: &Path) -> Result<Answer, Failure> {
    let metadata = fs::metadata(path)?;
    if is_privileged(path, &metadata) {
        return Ok(Answer::Cannot(
            "it gets other privileges than its caller's, so the dynamic linker loads no such library"
                .to_owned(),
        ));
    }
    if let Some(interpreter) = interpreter_of_script(path)? {
        return Ok(Answer::Script(interpreter));
    }
    let Some(elf) = Elf::read(path)? else {
        return Ok(Answer::Cannot(
            "it is neither an ELF file of 64 bits nor a script that begins with #!".to_owned(),
        ));
    };
    let why = match why_not_elf(&elf) {
        None => why_not_with_linker(&elf)?,
        why => why,
    };
    Ok(why.map_or(Answer::Can, Answer::Cannot))
}

/// Returns why the threads of this program can't be goroutines, as far as its file says.
fn why_not_elf(elf: &Elf) -> Option<String> {
    if elf.machine != MACHINE {
        return Some("it is for another architecture than gosched-run".to_owned());
    }
    if elf.interpreter.is_none() {
        return Some("it is linked statically, so no library can be loaded before it".to_owned());
    }
    if let Some(library) = elf.needed.iter().find(|name| is_sanitizer(name)) {
        return Some(format!("it is linked with {library}, which keeps state of its own for each thread"));
    }
    if elf.symbols.iter().any(|name| SANITIZERS.contains(&name.as_str())) {
        return Some(
            "it is compiled with a sanitizer, which keeps state of its own for each thread".to_owned(),
        );
    }
    if elf.has_go {
        return Some("it contains Go's runtime, which makes its threads itself".to_owned());
    }
    None
}

/// Returns why the threads of this program can't be goroutines, by the version of its C library.
fn why_not_with_linker(elf: &Elf) -> io::Result<Option<String>> {
    let Some(linker) = &elf.interpreter else { return Ok(None) };
    Ok(match version_of(linker)? {
        Some(version) if version >= GLIBC => None,
        Some((major, minor)) => {
            Some(format!("its C library is glibc {major}.{minor}; 2.34 is the first one that will do"))
        }
        None => Some(format!("its C library isn't glibc: {}", linker.display())),
    })
}

const SANITIZERS: [&str; 5] = ["__asan_init", "__hwasan_init", "__msan_init", "__tsan_init", "__dfsan_init"];

/// Whether a library of this name is the runtime of a sanitizer.
fn is_sanitizer(library: &str) -> bool {
    ["libasan.so", "libtsan.so", "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan"]
        .iter()
        .any(|name| library.starts_with(name))
}

/// Whether the program would run with other privileges than the caller's.
fn is_privileged(path: &Path, metadata: &fs::Metadata) -> bool {
    let mode = metadata.permissions().mode();
    // SAFETY: takes no pointer.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    mode & libc::S_ISUID != 0 && metadata.uid() != user
        || mode & libc::S_ISGID != 0 && metadata.gid() != group
        || user != 0 && has_capabilities(path)
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the names are C strings; with a size of 0 nothing is stored.
    unsafe { libc::getxattr(name.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

/// Returns the interpreter in the first line of a script, if the file is a script.
fn interpreter_of_script(path: &Path) -> io::Result<Option<PathBuf>> {
    /// The kernel reads this many bytes of a script.
    const LINE: u64 = 256;
    let mut line = Vec::new();
    File::open(path)?.take(LINE).read_to_end(&mut line)?;
    let Some(rest) = line.strip_prefix(b"#!") else { return Ok(None) };
    let mut words = rest.split(|byte| *byte == b'\n').next().unwrap_or(rest);
    words = words.trim_ascii_start();
    let mut words = words.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let path_of = |word: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(word.to_vec()));
    let Some(interpreter) = words.next().map(path_of) else { return Ok(None) };
    // `env` runs the program that is named next.
    if interpreter.file_name().is_some_and(|name| name == "env") {
        let named = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'=')).map(path_of);
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let found = named.and_then(|name| {
            std::env::split_paths(&folders).map(|folder| folder.join(&name)).find(|path| is_executable(path))
        });
        return Ok(Some(found.unwrap_or(interpreter)));
    }
    Ok(Some(interpreter))
}

/// Returns the version of glibc that a dynamic linker belongs to, or none if it isn't glibc's.
fn version_of(linker: &Path) -> io::Result<Option<(u32, u32)>> {
    let output = Command::new(linker).arg("--version").output()?;
    Ok(version_in(&String::from_utf8_lossy(&output.stdout)))
}

fn version_in(text: &str) -> Option<(u32, u32)> {
    // It is "ld.so (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36."
    let line = text.lines().next().filter(|line| line.starts_with("ld.so"))?;
    let version = line.rsplit("version ").next()?.trim_end_matches('.');
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
