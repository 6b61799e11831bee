//! What the workloads do in C: the functions of `foreign.c`.

use std::net::UdpSocket;

unsafe extern "C" {
    /// Computes for ever.
    pub safe fn spin_in_c() -> !;
    /// Has `SIGUSR1`'s handler compute for 200 ms.
    pub safe fn handle_by_computing();
    /// Has this thread run that handler, now.
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

    /// Has this thread's next lookups of names ask it, which takes a second.
    pub fn ask(&self) {
        look_up_at(self.0.local_addr().unwrap().port());
    }
}
