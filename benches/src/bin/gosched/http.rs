//! The example's HTTP server.

use gosched::blocking;
use gosched::go;
use gosched::net::TcpListener;
use gosched_benches::Args;
use gosched_benches::echo::more_descriptors;
use gosched_benches::http::{WORKLOADS, clients};

#[allow(dead_code, reason = "its main")]
#[path = "../../../../examples/http.rs"]
mod example;

pub fn run(args: &Args) {
    for (workload, connections) in WORKLOADS {
        if args.names(workload) {
            more_descriptors();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let server = listener.local_addr().unwrap();
            go(move || {
                for stream in listener.incoming() {
                    let stream = stream.unwrap();
                    go(move || example::converse(stream));
                }
            });
            blocking(|| clients(args, workload, server, connections));
        }
    }
}
