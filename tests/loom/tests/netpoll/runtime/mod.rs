//! The rooms that are checked, or used by checked ones, and the exports for the face `net`.

mod base;
pub(crate) mod data;
mod explore;
mod lock;
mod mem;
mod models_later;
mod models_reuse;
mod models_wait;
pub(crate) mod netpoll;
#[path = "../../../../../src/runtime/pollwait.rs"]
mod pollwait;
mod sched;
mod time;

pub(crate) use base::this::on_goroutine;
pub(crate) use explore::explored_number;
pub(crate) use netpoll::poll_desc::{Mode, PollDesc, PollError};
pub(crate) use pollwait::{
    poll_runtime_poll_close, poll_runtime_poll_end, poll_runtime_poll_go_on, poll_runtime_poll_later,
    poll_runtime_poll_open, poll_runtime_poll_reset, poll_runtime_poll_server_init,
    poll_runtime_poll_set_deadline, poll_runtime_poll_unblock, poll_runtime_poll_wait,
};
pub(crate) use sched::mstart::must_wait;
pub(crate) use time::sleep::{nanos, until};
