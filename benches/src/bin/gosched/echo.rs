//! Echo servers: a goroutine for each connection.

use std::io::{Read, Write};
use std::net::SocketAddr;

use gosched::net::{TcpListener, TcpStream};
use gosched::{blocking, go};
use gosched_benches::Args;
use gosched_benches::echo::{IDLE, MESSAGE, WORKLOADS, clients, silent_clients};

pub fn run(args: &Args) {
    for (workload, connections) in WORKLOADS {
        if args.names(workload) {
            let server = serve(echo);
            blocking(|| clients(args, workload, server, connections));
        }
    }
    if args.names(IDLE) {
        let server = serve(echo);
        blocking(|| silent_clients(args, server));
    }
}

/// Starts a server that runs until the process ends.
pub fn serve<R: Send + 'static>(answer: fn(TcpStream) -> R) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    go(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            go(move || answer(stream));
        }
    });
    address
}

fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut buf = [0; MESSAGE];
    while stream.read_exact(&mut buf).is_ok() && stream.write_all(&buf).is_ok() {}
}
