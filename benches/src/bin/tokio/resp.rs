//! A Redis-like server: a task for each connection.

use gosched_benches::Args;
use gosched_benches::resp::{CHUNK, WORKLOADS, answer, clients};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::serve;

pub fn run(args: &Args, runtime: &Runtime) {
    for (workload, connections, pipeline) in WORKLOADS {
        if args.names(workload) {
            clients(args, workload, runtime.block_on(serve(converse)), connections, pipeline);
        }
    }
}

async fn converse(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let (mut chunk, mut input, mut output) = (vec![0; CHUNK], Vec::new(), Vec::new());
    loop {
        let Ok(1..) = stream.read(&mut chunk).await.inspect(|&n| input.extend(&chunk[..n])) else { return };
        answer(&mut input, &mut output);
        if stream.write_all(&output).await.is_err() {
            return;
        }
        output.clear();
    }
}
