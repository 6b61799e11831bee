//! What C programs see: `include/gosched.h` is made of the files of this folder, by `cbindgen.toml`.
//!
//! # Files
//!
//! | file | what it declares |
//! | --- | --- |
//! | `goroutine.rs` | goroutines, as programs use them |
//! | `chan.rs` | channels and select |

mod chan;
mod goroutine;

pub use chan::*;
pub use goroutine::*;
