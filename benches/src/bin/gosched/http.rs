//! The HTTP server of `examples/http.rs`.

use gosched::blocking;
use gosched_benches::Args;
use gosched_benches::http::{WORKLOADS, clients};

use crate::echo::serve;

#[allow(dead_code, reason = "its main")]
#[path = "../../../../examples/http.rs"]
mod example;

pub fn run(args: &Args) {
    for (workload, connections) in WORKLOADS {
        if args.names(workload) {
            let server = serve(example::converse);
            blocking(|| clients(args, workload, server, connections));
        }
    }
}
