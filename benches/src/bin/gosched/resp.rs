//! A Redis-like server: a goroutine for each connection.

use std::io::{Read, Write};

use gosched::blocking;
use gosched::net::TcpStream;
use gosched_benches::Args;
use gosched_benches::resp::{CHUNK, WORKLOADS, answer, clients};

use crate::echo::serve;

pub fn run(args: &Args) {
    for (workload, connections, pipeline) in WORKLOADS {
        if args.names(workload) {
            let server = serve(converse);
            blocking(|| clients(args, workload, server, connections, pipeline));
        }
    }
}

fn converse(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let (mut chunk, mut input, mut output) = (vec![0; CHUNK], Vec::new(), Vec::new());
    loop {
        let Ok(1..) = stream.read(&mut chunk).inspect(|&n| input.extend(&chunk[..n])) else { return };
        answer(&mut input, &mut output);
        if stream.write_all(&output).is_err() {
            return;
        }
        output.clear();
    }
}
