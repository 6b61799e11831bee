//! `gosched-run PROGRAM ARGUMENTS...`: runs a program whose threads are goroutines. Before that, it
//! checks whether that can work, and says why not in one line.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `main.rs` | the command |
//! | `check.rs` | whether the library can be loaded into a program |
//! | `elf.rs` | the parts of an ELF file that this needs |

mod check;
mod elf;
#[path = "../../notes.rs"]
mod notes;

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

const USAGE: &str = "\
Usage: gosched-run PROGRAM ARGUMENTS...

Runs a program. Its threads are goroutines of gosched.

Environment:
  GOMAXPROCS                  how many threads of the program run at once
  GOSCHED_PRELOAD_CHILDREN=0  programs that it starts have threads
  GOSCHED_PRELOAD_LEAVE       names of programs that keep their threads, with commas between
  GOSCHED_PRELOAD_REPORT=1    a report goes to stderr at exit
  GOSCHED_PRELOAD_STACK_SIZE  bytes of a thread's stack, if its maker doesn't say

Exit status: the program's; 125 if the program's threads can't be goroutines, 126 if it can't be
run, 127 if it isn't found.
";

/// The exit statuses of `env` and `timeout`, for the same cases.
const CANNOT: i32 = 125;
const NOT_RUN: i32 = 126;
const NOT_FOUND: i32 = 127;

const LIST: &str = "LD_PRELOAD";

fn main() {
    let mut arguments = env::args_os().skip(1);
    let program = match arguments.next() {
        Some(program) if program == "--help" => {
            print!("{USAGE}");
            return;
        }
        Some(program) if !program.as_encoded_bytes().starts_with(b"-") => program,
        _ => {
            eprint!("{USAGE}");
            exit(CANNOT);
        }
    };
    let Some(path) = find(&program) else {
        end(NOT_FOUND, &program, "there is no such program");
    };
    let library = match library() {
        Ok(library) => library,
        Err(why) => end(CANNOT, &program, &why),
    };
    match check::check(&path) {
        Ok(()) => {}
        Err(check::Failure::Cannot(why)) => end(CANNOT, &program, &why),
        Err(check::Failure::Io(error)) => end(NOT_RUN, &program, &error.to_string()),
    }
    let mut list = OsString::from(library);
    if let Some(others) = env::var_os(LIST).filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    let error = Command::new(&path).arg0(&program).args(arguments).env(LIST, list).exec();
    end(NOT_RUN, &program, &error.to_string())
}

/// Ends, with a line that says why.
fn end(status: i32, program: &OsString, why: &str) -> ! {
    eprintln!("gosched-run: {}: {why}", program.display());
    exit(status)
}

/// Finds the file of a program as `execvp` does.
fn find(program: &OsString) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|path| path.exists());
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| check::is_executable(path))
}

/// Returns the path of the library: beside this command, or in the folder `lib` beside the
/// command's.
fn library() -> Result<PathBuf, String> {
    const NAME: &str = "libgosched_preload.so";
    let here = env::current_exe().and_then(|path| path.canonicalize()).map_err(|error| error.to_string())?;
    let folder = here.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(NAME), folder.join("../lib").join(NAME)];
    let found = places.iter().find(|place| place.exists());
    let found = found.ok_or_else(|| format!("{NAME} is missing in {} and ../lib", folder.display()))?;
    // The dynamic linker splits the list there.
    if found.as_os_str().as_encoded_bytes().iter().any(|byte| b": ".contains(byte)) {
        return Err(format!("the path {} has a space or a colon", found.display()));
    }
    found.canonicalize().map_err(|error: io::Error| error.to_string())
}
