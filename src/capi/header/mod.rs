//! What C programs see: `include/gosched.h` is made of the files of this folder, by `cbindgen.toml`.
//!
//! # Files
//!
//! | file | what it declares |
//! | --- | --- |
//! | `goroutine.rs` | goroutines, as programs use them |
//! | `port.rs` | goroutines, as a port uses them |
//! | `report.rs` | what a port says in reports |
//! | `chan.rs` | channels and select |

mod chan;
mod goroutine;
mod port;
mod report;

pub use chan::*;
pub use goroutine::*;
pub use port::*;
pub use report::*;
