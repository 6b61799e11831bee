//! HTTP servers: the part that the servers share, and their clients, which `wrk` runs.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use crate::echo::more_descriptors;
use crate::{Args, cpu_time};

/// The workloads, and each one's number of connections.
pub const WORKLOADS: [(&str, usize); 2] = [("http100", 100), ("http5000", 5_000)];

/// The workloads of servers that are made with hyper: each one's name, its number of connections,
/// and how long the handler waits.
pub const HYPER: [(&str, usize, Duration); 4] = [
    ("hyper50", 50, Duration::ZERO),
    ("hyper500", 500, Duration::ZERO),
    ("hyper50_wait", 50, Duration::from_millis(5)),
    ("hyper500_wait", 500, Duration::from_millis(5)),
];

/// What these servers answer.
pub const HELLO: &[u8] = b"Hello, world!\n";

/// Runs `wrk` against this process's server for three seconds. Reports the time of a request, the
/// server's processor time for one, and the 99th percentile. It blocks its thread.
pub fn clients(args: &Args, workload: &str, server: SocketAddr, connections: usize) {
    more_descriptors();
    let before = cpu_time();
    let mut command = Command::new("wrk");
    command.args(["--threads", "1", "--duration", "3s", "--latency", "--connections"]);
    let output = command.arg(connections.to_string()).arg(format!("http://{server}/")).output();
    let output = output.expect("wrk is installed");
    let cpu = cpu_time() - before;
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && !text.contains("Non-2xx"), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    let after = |word: &str| words[words.iter().position(|&w| w == word).unwrap() + 1];
    let requests: f64 = words[words.iter().position(|&w| w == "requests").unwrap() - 1].parse().unwrap();
    let per_second: f64 = after("Requests/sec:").parse().unwrap();
    args.report(workload, 1e9 / per_second, "ns/op");
    args.report(&format!("{workload}_cpu"), cpu / requests, "ns/op");
    args.report(&format!("{workload}_p99"), nanoseconds(after("99%")), "ns");
}

/// The nanoseconds of a time as `wrk` writes it: `1.23ms`.
fn nanoseconds(time: &str) -> f64 {
    for (unit, ns) in [("us", 1e3), ("ms", 1e6), ("s", 1e9)] {
        if let Some(number) = time.strip_suffix(unit).and_then(|number| number.parse::<f64>().ok()) {
            return number * ns;
        }
    }
    panic!("not a time: {time}")
}
