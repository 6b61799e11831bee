//! A program that uses what the runtime has, and ends well, or says which part went wrong and why.
//!
//! `program` runs all parts, each after the other; `program PART` one of them; `program start` says
//! the kind of the error if the runtime can't start. With `FOREIGN` in its environment it has a
//! thread of its own that sleeps.

mod parts;

use std::env;
use std::mem::transmute;
use std::process::ExitCode;
use std::thread;

/// Calls count from here on, if the library that makes them fail is loaded.
fn begin() {
    // SAFETY: the name ends in a zero byte. The function, if there is one, takes nothing and
    // returns nothing.
    unsafe {
        let begin = libc::dlsym(libc::RTLD_DEFAULT, c"faults_begin".as_ptr());
        if let Some(begin) = transmute::<*mut libc::c_void, Option<extern "C" fn()>>(begin) {
            begin();
        }
    }
}

fn main() -> ExitCode {
    let wanted = env::args().nth(1);
    if env::var_os("FOREIGN").is_some() {
        thread::spawn(thread::park);
    }
    begin();
    if wanted.as_deref() == Some("start")
        && let Err(error) = gosched::Builder::new().run(|| ())
    {
        eprintln!("program: {:?}", error.kind());
    }
    let failed = gosched::run(|| {
        let mut failed = false;
        // The crowd takes as long as all other parts together, and these run many times.
        let crowd = (wanted.as_deref() == Some("crowd")).then_some(("crowd", parts::crowd as _));
        for (name, part) in parts::PARTS.into_iter().chain(crowd) {
            if wanted.as_ref().is_none_or(|wanted| wanted == name)
                && let Err(error) = part()
            {
                eprintln!("program: {name}: {error}");
                failed = true;
            }
        }
        failed
    });
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
