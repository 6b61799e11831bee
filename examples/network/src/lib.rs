//! Code that the programs here share: an adapter to copy, and a server.

#![forbid(unsafe_code)]

pub mod server;
pub mod ureq_transport;

use std::error::Error;

use rustix::io;
use rustix::process::{Resource, getrlimit, setrlimit};

/// An error of any kind.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Raises this process's limit of descriptors as far as allowed. A shell's limit may be 1,024, too
/// low for a thousand connections with both ends here.
///
/// # Errors
/// The error of the kernel.
pub fn more_descriptors() -> io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)
}
