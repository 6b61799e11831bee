//! Thread-locals of a goroutine's own. Each goroutine has a thread's control block and TLS block,
//! and a switch makes them those of the thread that runs the goroutine.
//!
//! Compiled code finds everything about its thread by the thread pointer (`fs` on x86-64,
//! `tpidr_el0` on aarch64): thread-locals, `pthread_self`, `errno`. To such code, a goroutine that
//! has its own thread pointer *is* a thread, and stays the same thread on any thread of the system.
//! So it may keep the address of a thread-local as long as it lives, as compilers do.
//!
//! ```text
//!     x86-64     stack | ..., TLS of the modules | struct pthread | G
//!                                                ^ thread pointer
//!     aarch64    stack | struct pthread | TLS of the modules, ... | G
//!                                       ^ thread pointer
//! ```
//!
//! - The block lies above the stack, in the same pages. glibc's own functions make it, once for
//!   each home. Between two goroutines it is reset by copying the modules' images.
//! - The runtime on g0 has the thread pointer of its M. Only `mcall` and `gogo` change it:
//!   `systemstack` changes only the stack, so its callees see the goroutine's thread-locals.
//! - glibc's malloc keeps two words for each thread. A switch moves them with the thread pointer,
//!   from M to goroutine and back. So a parked goroutine has no cache of malloc's that could leak.
//!   (This relies on goroutines being switched only in the runtime, never in the middle of malloc.
//!   A goroutine that loses its P in malloc keeps its thread.)
//! - The kernel's data for a thread stays with the M: the signal stack, rseq, the list of robust
//!   mutexes, credentials.
//! - When the goroutine ends, it runs the destructors of its thread-locals.
//!
//! glibc's parts are looked up by name ([`glibc`]), and a block that they make is tried out once,
//! when the runtime starts ([`check`]). If a part is missing, or something isn't as expected,
//! goroutines can't have thread-locals of their own, and an error says why.
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
//! | `forked.rs` | a forked child leaves the M's thread |
//! | `setxid.rs` | the signal by which all threads change their credentials |

mod block;
mod check;
mod forked;
mod glibc;
mod keys;
pub(in crate::runtime) mod setxid;

pub(in crate::runtime) use block::{block_size, free, renew, run_destructors_of};
#[cfg(pthreads)]
pub(in crate::runtime) use block::{g_of_thread, number_thread, thread_of_g};

use std::io;
use std::sync::OnceLock;

use crate::runtime::arch::sanitizer::SANITIZED;
#[cfg(pthreads)]
use crate::runtime::data::runtime2::{G, M};
use crate::runtime::tls::glibc::Glibc;

/// glibc, or the reason why it can't be used.
static GLIBC: OnceLock<Result<Glibc, String>> = OnceLock::new();

/// Why a block can't be made.
enum Failure {
    /// No later attempt can succeed.
    Unsupported(String),
    /// A later attempt may succeed.
    Error(io::Error),
}

/// Finds out whether goroutines can have thread-locals of their own here, unless that is known.
/// Called on a thread that isn't ours, with room on its stack, by one thread at a time. Fails if
/// there is too little memory to find out.
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
    forked::leave_m_in_children();
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

/// Returns the offset from the thread pointer of the number by which glibc knows a thread.
#[cfg(pthreads)]
pub(in crate::runtime) fn thread_number_offset() -> io::Result<isize> {
    works()?;
    Ok(glibc().map_or(0, Glibc::thread_number_offset))
}

/// Makes a robust mutex one of `mp`'s thread, if `gp`, which runs there, has locked it since the
/// last call. The kernel knows the list of the thread, and looks there when the thread ends.
///
/// # Safety
/// `gp` has thread-locals of its own, and is locked to `mp` until it has unlocked the mutex.
#[cfg(pthreads)]
pub(in crate::runtime) unsafe fn give_robust_mutex_to_thread(gp: &G, mp: &M) {
    if let Some(glibc) = glibc() {
        // SAFETY: as the caller says, both blocks are the running thread's.
        unsafe { glibc.move_robust_mutex(gp.ext.tp.get(), mp.ext.tp.get()) };
    }
}

/// Returns glibc, if it can be used.
fn glibc() -> Option<&'static Glibc> {
    GLIBC.get()?.as_ref().ok()
}

/// Makes the C library's malloc give back memory that blocks have freed.
pub(in crate::runtime) fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no pointers are passed.
    unsafe {
        libc::malloc_trim(0)
    };
}
