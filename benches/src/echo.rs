//! Echo servers: the part that the servers and their clients share.

use std::env;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::{Args, cpu_time, memory, threads};

/// The number of bytes that a client sends, and gets back.
pub const MESSAGE: usize = 64;

/// The workloads, and each one's number of clients.
pub const WORKLOADS: [(&str, usize); 4] =
    [("echo100", 100), ("echo2000", 2_000), ("echo5000", 5_000), ("echo9000", 9_000)];

/// The workload of connections on which nothing is sent.
pub const IDLE: &str = "idle_connections";

/// The number of these connections: a little less than the limit of descriptors on many systems.
const SILENT: usize = 19_900;

/// How long a workload is measured, in milliseconds.
const LENGTH: &str = "3000";

/// Raises this process's limit of descriptors to the hard limit, as Go does.
pub fn more_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// Runs `connections` clients of this process's server, in a process of their own, whose program
/// the environment variable `ECHO_CLIENT` names. Reports the time of a round trip, the server's
/// processor time for one, and the 99th percentile. It blocks its thread.
pub fn clients(args: &Args, workload: &str, server: SocketAddr, connections: usize) {
    measure(args, workload, client_program("ECHO_CLIENT", server, connections, LENGTH));
}

/// Runs the program of this process's clients. It prints a line when the measurement begins, and at
/// the end a line with the number of ops, the nanoseconds that they took, and the 99th percentile.
/// Reports these, and this process's processor time.
pub(crate) fn measure(args: &Args, workload: &str, mut command: Command) {
    more_descriptors();
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!(next(), "begun");
    let before = cpu_time();
    let result = next();
    let cpu = cpu_time() - before;
    assert!(process.wait().unwrap().success());
    let numbers: Vec<f64> = result.split(' ').map(|number| number.parse().unwrap()).collect();
    let [trips, took, p99] = numbers[..] else { panic!("not what clients print: {result}") };
    args.report(workload, took / trips, "ns/op");
    args.report(&format!("{workload}_cpu"), cpu / trips, "ns/op");
    args.report(&format!("{workload}_p99"), p99, "ns");
}

/// Makes clients connect to this process's server and send nothing, for `workload`, which is
/// [`IDLE`] or a similar one. Reports the server's memory for each client, its number of threads,
/// and its processor time in five seconds. It blocks its thread.
pub fn silent_clients(args: &Args, workload: &str, server: SocketAddr) {
    more_descriptors();
    let before = memory("VmRSS");
    let mut process =
        client_program("ECHO_CLIENT", server, SILENT, "0").stdin(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    args.report(workload, (memory("VmRSS") - before) / SILENT as f64, "bytes");
    args.report(&format!("{workload}_threads"), threads(), "threads");
    sleep(Duration::from_secs(1));
    let cpu = cpu_time();
    sleep(Duration::from_secs(5));
    args.report(&format!("{workload}_cpu"), cpu_time() - cpu, "ns");
    drop(process.stdin.take());
    assert!(process.wait().unwrap().success());
}

/// Returns the command that runs the clients' program, which an environment variable names.
pub(crate) fn client_program(
    variable: &str,
    server: SocketAddr,
    connections: usize,
    milliseconds: &str,
) -> Command {
    let program = env::var(variable).unwrap_or_else(|_| panic!("{variable} names the clients' program"));
    let mut command = Command::new(program);
    command.arg(server.to_string()).arg(connections.to_string()).arg(milliseconds).stdout(Stdio::piped());
    command
}
