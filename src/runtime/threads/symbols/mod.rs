//! Functions that replace those of the C library in the program. Each does what the C library's
//! function does, to threads that are goroutines, too.
//!
//! Each function calls the C library's function while threads aren't goroutines, which costs one look
//! at a byte. The part for goroutines is a separate function, elsewhere in the room, so other callers
//! don't save registers for it.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `c11.rs` | `thrd_yield` |

mod c11;
