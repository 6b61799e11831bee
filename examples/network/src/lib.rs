//! What the programs here share: two adapters to copy, and a server.

#![forbid(unsafe_code)]

pub mod hyper;
pub mod server;
pub mod ureq_transport;

use std::error::Error;

use rustix::io;
use rustix::process::{Resource, getrlimit, setrlimit};

/// Whatever goes wrong.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Lets this process have as many descriptors as it may: where a shell's limit is 1,024, a thousand
/// connections with both ends here are too many.
///
/// # Errors
/// The kernel's.
pub fn more_descriptors() -> io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)
}
