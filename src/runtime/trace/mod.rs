//! The execution trace, as in Go's `trace.go` and `trace2*.go`. Its file format is that of Go 1.23.
//!
//! In Go each thread writes events as they happen into a buffer of its own, and the reader of the
//! trace finds their order. So the events must contain enough to order them, and all threads must
//! take part in the start of a generation. Here recording and writing are separate. A thread on
//! which an event happens writes a record of 32 bytes to its buffer (`recorder.rs`). It takes no
//! lock, allocates nothing, and reads nothing of other threads. The trace's own thread puts the
//! records of all threads in order (`order.rs`) and writes Go's events (`encoder.rs`). That thread
//! knows at each moment the state of each goroutine, P and M, so it can begin a generation at any
//! record, and no other thread takes part.
//!
//! ```text
//!     goroutines, P's, M's          the thread gosched-trace             consumers
//!     trace(|| Event)               each 5 ms
//!        record --> TraceBuffer -->  order --> events --> generation --> a writer of the program's
//!                   of each M        |                    each second    the flight recorder
//!        stack  --> table ----------------> symbols
//! ```
//!
//! - The records have no gaps, because with gaps no order could be found. If the trace's thread is
//!   so far behind that 64 MiB of records wait, threads that record wait for the trace's thread for
//!   a while (`buffer.rs`). If that doesn't help, because the program's writer is slow, the trace
//!   ends with an error.
//! - The recorder takes no lock that a goroutine might hold, and no memory from the allocator: its
//!   memory comes from the kernel.
//! - A lock protects the writer. The trace's thread holds the lock as long as it works; other
//!   threads hold it briefly.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `session.rs` | `StartTrace`, `StopTrace`; the flight recorder's start and stop; `GODEBUG=tracefile=PATH` and `tracecrash=PATH` |
//! | `recorder.rs` | from an event to a record; annotations of the program: tasks, regions, messages, labels |
//! | `buffer.rs` | the buffers of records, one for each M, and their memory |
//! | `stack.rs` | the stack of a goroutine, as a number; the table of all stacks |
//! | `writer.rs` | the thread that reads the records, generations, and the flight recorder's memory |
//! | `order.rs` | the states of goroutines, P's and M's, and which record may come next |
//! | `tell.rs` | from records to events |
//! | `encoder.rs` | events, batches and tables as bytes; a stack's function names and lines; from ticks to nanoseconds |
//! | `hash.rs` | a fast hash function |

mod buffer;
mod encoder;
mod hash;
mod order;
pub(super) mod recorder;
pub(super) mod session;
mod stack;
mod tell;
pub(super) mod writer;
