//! The crate `tracing` beside goroutines: spans that new ones begin in, and the scheduler's own
//! events among those of the program. It takes the feature `tracing`.
//!
//! Spans and events of a program need nothing of this: a goroutine with [thread-locals of its
//! own](crate#thread-locals) has its own current span wherever it goes on.

// | file | what it holds |
// | --- | --- |
// | `events.rs` | `scheduler_events`: a tracer whose events are those of the crate |
// | `spans.rs` | `inherit_spans`: what a goroutine begins in |

mod events;
mod spans;

pub use events::scheduler_events;
pub use spans::inherit_spans;
