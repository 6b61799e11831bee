//! Echo servers: a goroutine for each connection.

use std::io::{Read, Write};
use std::net::SocketAddr;

use gosched::net::{TcpListener, TcpStream, go_when_readable};
use gosched::{blocking, go};
use gosched_benches::Args;
use gosched_benches::echo::{IDLE, MESSAGE, WORKLOADS, clients, silent_clients};

pub fn run(args: &Args) {
    for (suffix, serve) in [("", serve_echo as fn() -> SocketAddr), ("_later", serve_later)] {
        for (workload, connections) in WORKLOADS {
            let workload = format!("{workload}{suffix}");
            if args.names(&workload) {
                let server = serve();
                blocking(|| clients(args, &workload, server, connections));
            }
        }
        let workload = format!("{IDLE}{suffix}");
        if args.names(&workload) {
            let server = serve();
            blocking(|| silent_clients(args, &workload, server));
        }
    }
}

/// Starts a server that runs until the process ends.
pub fn serve<R: Send + 'static>(answer: impl Fn(TcpStream) -> R + Copy + Send + 'static) -> SocketAddr {
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

fn serve_echo() -> SocketAddr {
    serve(echo)
}

/// [`serve_echo`] whose goroutines begin when there is a message, and end with the answer.
fn serve_later() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    go(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            go_when_readable(stream, echo_once);
        }
    });
    address
}

fn echo_once(mut stream: TcpStream) {
    let mut buf = [0; MESSAGE];
    if stream.read_exact(&mut buf).is_ok() && stream.write_all(&buf).is_ok() {
        go_when_readable(stream, echo_once);
    }
}

fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut buf = [0; MESSAGE];
    while stream.read_exact(&mut buf).is_ok() && stream.write_all(&buf).is_ok() {}
}
