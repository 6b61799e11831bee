//! The C parts of the workloads: the functions of `foreign.c`.

use std::net::UdpSocket;

unsafe extern "C" {
    /// Computes forever.
    pub safe fn spin_in_c() -> !;
    /// Sets a handler of `SIGUSR1` that computes for 200 ms.
    pub safe fn handle_by_computing();
    /// Runs that handler on this thread at once.
    pub safe fn raise_sigusr1();
    safe fn look_up_at(port: u16);
}

/// A name server that never answers.
pub struct SilentServer(UdpSocket);

impl SilentServer {
    /// Starts one on this machine.
    pub fn start() -> Self {
        SilentServer(UdpSocket::bind("127.0.0.1:0").unwrap())
    }

    /// Makes this the name server for this thread's lookups. A lookup then takes a second.
    pub fn ask(&self) {
        look_up_at(self.0.local_addr().unwrap().port());
    }
}
