//! Thread-locals of a goroutine's own: a thread's control block and TLS block for each, which the
//! switch makes those of the thread that runs it.
//!
//! All that compiled code knows of its thread it finds by the thread pointer (`fs` on x86-64,
//! `tpidr_el0` on aarch64): thread-locals, `pthread_self`, `errno`. A goroutine that has its own
//! value there *is* a thread to such code, and the same one on whatever thread of the system it
//! goes on after a park. So it may keep the address of a thread-local as long as it lives, as
//! compilers do.
//!
//! ```text
//!     x86-64     stack | ..., TLS of the modules | struct pthread | G
//!                                                ^ thread pointer
//!     aarch64    stack | struct pthread | TLS of the modules, ... | G
//!                                       ^ thread pointer
//! ```
//!
//! - The block lies above the stack, in the same pages. It is made by glibc's own functions, once
//!   for each home; what follows from one goroutine to the next is reset by copying the modules'
//!   images.
//! - The runtime on g0 has the thread pointer of its M. `mcall` and `gogo` change it, and nothing
//!   else does: `systemstack` changes the stack alone, so what it calls sees the goroutine's
//!   thread-locals.
//! - glibc's malloc keeps two words for each thread. They go along with the thread pointer, from M
//!   to goroutine and back: so a parked goroutine has no cache of its own, and nothing of it leaks.
//!   (This relies on goroutines being switched in the runtime only, never in the middle of malloc.
//!   One that loses its P there keeps its thread.)
//! - What the kernel keeps for a thread stays with the M: the signal stack, rseq, the list of
//!   robust mutexes, credentials.
//! - When the goroutine ends, the destructors of its thread-locals run, on it.
//!
//! glibc's parts are looked up by name ([`glibc`]), and what they make is tried out once, when the
//! runtime starts ([`check`]). Where one is missing, or something isn't as expected, there are no
//! such goroutines, and an error says why.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mod.rs` | `init`, and whether it works here |
//! | `glibc.rs` | the parts of glibc that make a thread, by name; where the modules' TLS is |
//! | `block.rs` | a goroutine's block: made, reset, and what runs at its end |
//! | `keys.rs` | what it has for keys: destructors, and an end |
//! | `check.rs` | a block is tried out; where malloc keeps its words |
//! | `setxid.rs` | the signal by which all threads change their credentials |

mod block;
mod check;
mod glibc;
mod keys;
pub(in crate::runtime) mod setxid;

pub(in crate::runtime) use block::{block_size, free, renew, run_destructors_of};

use std::io;
use std::sync::OnceLock;

use crate::runtime::arch::sanitizer::SANITIZED;
use crate::runtime::tls::glibc::Glibc;

/// glibc, or why it can't be used.
static GLIBC: OnceLock<Result<Glibc, String>> = OnceLock::new();

/// Why a block can't be made.
enum Failure {
    /// It never can.
    Unsupported(String),
    /// It may be possible later.
    Error(io::Error),
}

/// Finds out whether goroutines can have thread-locals of their own here, unless that is known. On
/// a thread that isn't ours, with room, one at a time. Fails if there is too little memory to find
/// out.
pub(in crate::runtime) fn init() -> io::Result<()> {
    if GLIBC.get().is_none() {
        let found = match find() {
            Ok(glibc) => Ok(glibc),
            Err(Failure::Unsupported(why)) => Err(why),
            Err(Failure::Error(error)) => return Err(error),
        };
        GLIBC.get_or_init(|| found);
    }
    Ok(())
}

fn find() -> Result<Glibc, Failure> {
    if cfg!(any(not(target_env = "gnu"), target_feature = "crt-static")) {
        return Err(Failure::Unsupported("this takes glibc, and not in a static program".to_owned()));
    }
    if SANITIZED {
        return Err(Failure::Unsupported(
            "the sanitizer keeps what it knows of a thread in its thread-locals".to_owned(),
        ));
    }
    let mut glibc = Glibc::find().map_err(Failure::Unsupported)?;
    check::check(&mut glibc)?;
    Ok(glibc)
}

/// Fails with the reason if goroutines can't have thread-locals of their own here.
pub(in crate::runtime) fn works() -> io::Result<()> {
    match GLIBC.get() {
        Some(Ok(_)) => Ok(()),
        Some(Err(why)) => {
            let error = format!(
                "goroutines can't have thread-locals of their own here: {why} (gosched::set_default_shared_locals)"
            );
            Err(io::Error::new(io::ErrorKind::Unsupported, error))
        }
        None => Err(io::Error::other("the runtime hasn't started")),
    }
}

/// glibc, where it works.
fn glibc() -> Option<&'static Glibc> {
    GLIBC.get()?.as_ref().ok()
}

/// Has the C library's malloc give back what blocks had there, and have freed.
pub(in crate::runtime) fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers are passed.
    unsafe {
        libc::malloc_trim(0)
    };
}
