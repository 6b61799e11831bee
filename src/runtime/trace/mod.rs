//! The execution trace: Go's `trace.go` and `trace2*.go`, in its format of Go 1.23.
//!
//! Go's tracer writes events as they happen, each thread into a buffer of its own, and its reader finds out in which
//! order they were: so what a thread writes has to say enough for that, and to begin a generation takes a round of all
//! threads. Here the two are apart. Where something happens, 32 bytes say what (`recorder.rs`), in the buffer of the
//! thread, without a lock, an allocation, or a look at anything else; a thread of the trace's own puts the records of
//! all threads in order (`order.rs`), and writes Go's events (`encoder.rs`). It knows at each moment who does what, so
//! a generation begins wherever it likes, and no thread has to take part in it.
//!
//! ```text
//!     goroutines, P's, M's          the thread gosched-trace             who wants it
//!     trace(|| Event)               each 5 ms
//!        record --> TraceBuffer -->  order --> events --> generation --> a writer of the program's
//!                   of each M        |                    each second    the flight recorder
//!        stack  --> table ----------------> symbols
//! ```
//!
//! - What is recorded is without gaps: else no order would be found. If the thread is so far behind that 64 MiB wait,
//!   who records waits for it a while (`pool.rs`). If that doesn't help, as the program's writer is slow, the trace ends
//!   with an error.
//! - The recorder takes nothing that a goroutine might hold: memory comes from the kernel.
//! - The writer is under a lock, which its thread has as long as it works, and others for a moment.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `session.rs` | `StartTrace`, `StopTrace`; the flight recorder's start and stop |
//! | `env.rs` | `GODEBUG=tracefile=PATH` and `GODEBUG=tracecrash=PATH` |
//! | `recorder.rs` | from an event to a record |
//! | `buffer.rs` | where threads record |
//! | `pool.rs` | memory for that |
//! | `stack.rs` | the stack of a goroutine, as a number |
//! | `stack_table.rs` | all stacks that were seen |
//! | `note.rs` | what the program says: tasks, regions, messages, labels |
//! | `writer.rs` | the thread that reads what was recorded, and generations |
//! | `order.rs` | who has what, and which record may come next |
//! | `tell.rs` | from records to events |
//! | `says.rs` | what the program says, and stops of the world |
//! | `clock.rs` | from ticks to nanoseconds |
//! | `encoder.rs` | events, batches and tables as bytes |
//! | `symbols.rs` | what a trace says of a stack |
//! | `flight.rs` | the flight recorder's memory |
//! | `hash.rs` | a fast hash function |

mod buffer;
mod clock;
mod encoder;
pub(super) mod env;
pub(super) mod flight;
mod hash;
pub(super) mod note;
mod order;
mod pool;
mod recorder;
mod says;
pub(super) mod session;
mod stack;
mod stack_table;
mod symbols;
mod tell;
pub(super) mod writer;
