//! Support for the crate `tracing`: spans that new goroutines begin in, and the scheduler's events
//! beside the program's own. It needs the feature `tracing`.
//!
//! A program's own spans and events work without this module: a goroutine with [thread-locals of
//! its own](crate#thread-locals) has its own current span wherever it goes on.

// | file | what it holds |
// | --- | --- |
// | `events.rs` | `scheduler_events`: a tracer that makes events of the crate |
// | `spans.rs` | `inherit_spans`: the span that a goroutine begins in |

mod events;
mod spans;

pub use events::scheduler_events;
pub use spans::inherit_spans;
