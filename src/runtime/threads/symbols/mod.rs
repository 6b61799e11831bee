//! Functions that replace those of the C library in the program. Each does what the C library's
//! function does, to threads that are goroutines, too.
//!
//! Each function calls the C library's function while threads aren't goroutines, which costs one
//! look at a byte. The part for goroutines is a separate function, elsewhere in the room, so other
//! callers don't save registers for it.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `attributes.rs` | `pthread_getattr_np`, `pthread_setname_np`, `pthread_getname_np` |
//! | `c11.rs` | `thrd_create` and the like |
//! | `masks.rs` | `pthread_sigmask`, `sigprocmask`, `sigaltstack`, and waits for signals |
//! | `points.rs` | functions that may wait, as cancellation points |
//! | `scheduling.rs` | `pthread_setaffinity_np`, `pthread_setschedparam` and the like |
//! | `signals.rs` | `pthread_kill`, `raise`, `pthread_sigqueue` |
//! | `cancel.rs` | `pthread_cancel`, `pthread_testcancel`, and what a thread says of its cancellation |
//! | `life.rs` | `pthread_create`, `pthread_join`, `pthread_detach`, `pthread_exit` and the like |
//! | `locks.rs` | mutexes, conditions, read-write locks, barriers, semaphores, functions that are called once |
//! | `c11_locks.rs` | the same of `<threads.h>` |

mod attributes;
mod c11;
mod c11_locks;
mod cancel;
mod life;
mod locks;
mod masks;
mod points;
mod scheduling;
mod signals;
