//! The `std_` workloads: std's channels and sockets, as on threads.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::sync_channel;

use gosched::{blocking, go, park_std_waits};
use gosched_benches::Args;
use gosched_benches::echo::{MESSAGE, WORKLOADS, clients};

pub fn run(args: &Args) {
    if args.names(PINGPONG) {
        park_std_waits().unwrap();
        args.timed(PINGPONG, 1_000_000, pingpong);
    }
    for (workload, connections) in WORKLOADS {
        let workload = format!("std_{workload}");
        if args.names(&workload) {
            park_std_waits().unwrap();
            let server = serve_echo();
            blocking(|| clients(args, &workload, server, connections));
        }
    }
}

const PINGPONG: &str = "std_pingpong";

fn pingpong(n: u64) {
    let (ping, pinged) = sync_channel(0);
    let (pong, ponged) = sync_channel(0);
    go(move || {
        for value in pinged {
            pong.send(value).unwrap();
        }
    });
    for i in 0..n {
        ping.send(i).unwrap();
        assert_eq!(ponged.recv(), Ok(i));
    }
}

/// Starts a server that runs until the process ends.
fn serve_echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    go(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            go(move || echo(stream));
        }
    });
    address
}

fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut buf = [0; MESSAGE];
    while stream.read_exact(&mut buf).is_ok() && stream.write_all(&buf).is_ok() {}
}
