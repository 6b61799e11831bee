//! Waiting for a descriptor.

#[path = "../../../../../../src/runtime/pollwait/block.rs"]
mod block;
#[path = "../../../../../../src/runtime/pollwait/deadline.rs"]
pub(crate) mod deadline;
mod models_later;
mod models_reuse;
mod models_wait;
#[path = "../../../../../../src/runtime/pollwait/ops.rs"]
pub(crate) mod ops;
