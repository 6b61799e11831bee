//! WebSocket servers that send each message to all their clients: what the servers and their
//! clients share.

use std::net::SocketAddr;

use tungstenite::protocol::WebSocketConfig;

use crate::Args;
use crate::echo::{client_program, measure};

/// The workload, and its number of clients.
pub const WORKLOAD: (&str, usize) = ("fanout2000", 2_000);

/// The number of bytes in a message.
pub const MESSAGE: usize = 64;

/// The number of messages that wait for one client at most.
pub const QUEUE: usize = 16;

/// Returns a configuration with a small buffer for each connection, as messages are small.
pub fn config() -> WebSocketConfig {
    WebSocketConfig::default().read_buffer_size(4 << 10).write_buffer_size(0)
}

/// Runs the clients of this process's server, in a process of their own, whose program the
/// environment variable `FANOUT_CLIENT` names. Reports as [`echo::clients`](crate::echo::clients)
/// does, for one message to one client. It blocks its thread.
pub fn clients(args: &Args, server: SocketAddr) {
    let (workload, clients) = WORKLOAD;
    measure(args, workload, client_program("FANOUT_CLIENT", server, clients, "3000"));
}
