//! Profiles that `go tool pprof` reads, with the feature `pprof`: what goroutines do, where they
//! wait for each other, and where the program's time goes. Go's `runtime/pprof`.
//!
//! ```no_run
//! use gosched::fs::File;
//! use gosched::pprof::{self, Profile};
//!
//! fn serve() {
//!     // ... what is measured
//! }
//!
//! gosched::run(|| -> std::io::Result<()> {
//!     pprof::set_block_profile_rate(10_000);
//!     pprof::start_cpu_profile()?;
//!     serve();
//!     pprof::stop_cpu_profile(&mut File::create("cpu.pb.gz")?)?;
//!     Profile::Block.write_to(&mut File::create("block.pb.gz")?)
//! })
//! .unwrap();
//! ```
//!
//! ```text
//!     go tool pprof -top cpu.pb.gz
//!     go tool pprof -http=:8000 block.pb.gz
//! ```
//!
//! A server can offer profiles at `/debug/pprof/`, as Go's servers do, with a module to copy from
//! `examples/http.rs`. Then `go tool pprof http://localhost:8080/debug/pprof/profile` fetches one
//! by itself.
//!
//! The files have the format of `profile.proto`, compressed; pprof, speedscope and others read it.
//! Functions have names if the program has symbols. They have files, lines and inlined functions if
//! it has debug information (`debug = "limited"` in its Cargo profile). Samples of goroutines have
//! their [labels](crate::labels): `go tool pprof -tags`, `-tagfocus=request=17`.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `profile.rs` | `Profile`: the profiles that can be read at any time |
//! | `cpu.rs` | `start_cpu_profile`, `stop_cpu_profile` |
//! | `builder.rs` | `Builder`: samples, locations, functions, the files whose code is in memory; messages as bytes |

mod builder;
mod cpu;
mod profile;

use std::io;
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};

use crate::goroutine::blocking;
use crate::runtime::{Contention, set_contention_rate, with_system_threads};

pub use cpu::{set_cpu_profile_rate, start_cpu_profile, stop_cpu_profile};
pub use profile::Profile;

/// Enables [`Profile::Block`]. Waits of at least `nanoseconds` are always recorded; shorter ones
/// are sampled, on average one per `nanoseconds` blocked. 0, the default, disables it. Go's
/// `runtime.SetBlockProfileRate`.
///
/// The profile has waits for a channel, in a [`select!`](crate::select!), of [`sync`](crate::sync),
/// and for a goroutine's end. It doesn't have waits for the network or for a time. A wait is
/// recorded when it is over, with the stack of the goroutine that waited. A recorded wait costs
/// some microseconds, and any other wait two readings of the clock.
///
/// ```
/// use gosched::pprof::set_block_profile_rate;
///
/// set_block_profile_rate(1); // every wait
/// set_block_profile_rate(10_000); // few of those below 10 µs
/// set_block_profile_rate(0);
/// ```
pub fn set_block_profile_rate(nanoseconds: u64) {
    set_contention_rate(Contention::Block, i64::try_from(nanoseconds).unwrap_or(i64::MAX));
}

/// Enables [`Profile::Mutex`]: on average one in `rate` unlocks that others have waited for is
/// recorded. 0, the default, disables it. Returns the former rate. Go's
/// `runtime.SetMutexProfileFraction`.
///
/// The recorded stack is that of the goroutine that has held the lock, when it unlocks it. The
/// recorded time is that of all goroutines that have waited for the lock meanwhile. So this profile
/// has the functions that make others wait, and [`Profile::Block`] has the functions that wait. It
/// covers [`Mutex`](crate::sync::Mutex) and [`RwLock`](crate::sync::RwLock).
///
/// ```
/// use gosched::pprof::set_mutex_profile_fraction;
///
/// assert_eq!(set_mutex_profile_fraction(5), 0);
/// assert_eq!(set_mutex_profile_fraction(0), 5);
/// ```
pub fn set_mutex_profile_fraction(rate: u32) -> u32 {
    set_contention_rate(Contention::Mutex, rate.into()) as u32
}

/// Calls `f` on a thread that isn't a goroutine's: its stack has room, and it holds no lock that a
/// goroutine might hold.
fn spawn<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> io::Result<JoinHandle<R>> {
    with_system_threads(|| thread::Builder::new().name("gosched-pprof".into()).spawn(f))
}

/// The result of a thread that [`spawn`] has made, once the thread has ended.
fn joined<R>(thread: JoinHandle<R>) -> R {
    blocking(|| thread.join()).unwrap_or_else(|panic| resume_unwind(panic))
}

/// Returns the result of `f`, which a thread calls that isn't a goroutine's, while the goroutine
/// waits.
pub(crate) fn on_a_thread<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> io::Result<R> {
    spawn(f).map(joined)
}
