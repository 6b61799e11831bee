//! Redis-like servers: the protocol and the store, which the servers share, and their clients,
//! which `redis-benchmark` runs.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::process::Command;
use std::str;
use std::sync::{LazyLock, Mutex};

use crate::echo::more_descriptors;
use crate::{Args, cpu_time};

/// The workloads: each one's name, its number of clients, and the number of requests that a client
/// sends at once.
pub const WORKLOADS: [(&str, usize, usize); 4] =
    [("resp50", 50, 1), ("resp50_16", 50, 16), ("resp1000", 1_000, 1), ("resp1000_16", 1_000, 16)];

/// The number of bytes that a server reads at once.
pub const CHUNK: usize = 16 << 10;

/// The values that the clients have set.
static STORE: LazyLock<Mutex<HashMap<Vec<u8>, Vec<u8>>>> = LazyLock::new(Mutex::default);

/// Answers the requests at the front of `input`, as far as they are complete: takes them away, and
/// appends the answers to `output`.
pub fn answer(input: &mut Vec<u8>, output: &mut Vec<u8>) {
    let mut done = 0;
    while let Some((words, length)) = request(&input[done..]) {
        execute(&words, output);
        done += length;
    }
    input.drain(..done);
}

/// Returns the words of the request at the front of `bytes`, and its length in bytes, if it is
/// complete.
fn request(bytes: &[u8]) -> Option<(Vec<&[u8]>, usize)> {
    let (count, mut at) = number(bytes, 0, b'*')?;
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, start) = number(bytes, at, b'$')?;
        words.push(bytes.get(start..start + length)?);
        at = start + length + 2;
    }
    (at <= bytes.len()).then_some((words, at))
}

/// Returns the number in the line at `at`, which begins with `kind`, and the start of the next
/// line.
fn number(bytes: &[u8], at: usize, kind: u8) -> Option<(usize, usize)> {
    let line = bytes.get(at..)?;
    let end = line.iter().position(|&byte| byte == b'\r')?;
    assert_eq!(line[0], kind, "not what redis-benchmark sends");
    let number = str::from_utf8(&line[1..end]).unwrap().parse().unwrap();
    (line.len() > end + 1).then_some((number, at + end + 2))
}

fn execute(words: &[&[u8]], output: &mut Vec<u8>) {
    match words {
        [b"SET", key, value] => {
            STORE.lock().unwrap().insert(key.to_vec(), value.to_vec());
            output.extend(b"+OK\r\n");
        }
        [b"GET", key] => match STORE.lock().unwrap().get(*key) {
            Some(value) => {
                output.extend(format!("${}\r\n", value.len()).as_bytes());
                output.extend(value);
                output.extend(b"\r\n");
            }
            None => output.extend(b"$-1\r\n"),
        },
        _ => output.extend(b"-ERR unknown command\r\n"),
    }
}

/// Runs `redis-benchmark` against this process's server: SET, and then GET. Reports the time of a
/// request, the server's processor time for one, and the 99th percentile. It blocks its thread.
pub fn clients(args: &Args, workload: &str, server: SocketAddr, connections: usize, pipeline: usize) {
    more_descriptors();
    let requests = if pipeline == 1 { 200_000 } else { 2_000_000 };
    let mut command = Command::new("redis-benchmark");
    command.args(["-h", "127.0.0.1", "-t", "set,get", "--csv", "-r", "10000", "-p"]);
    command.arg(server.port().to_string()).arg("-c").arg(connections.to_string());
    command.arg("-P").arg(pipeline.to_string()).arg("-n").arg(requests.to_string());
    let before = cpu_time();
    let output = command.output().expect("redis-benchmark is installed");
    let cpu = cpu_time() - before;
    let text = String::from_utf8(output.stdout).unwrap();
    // Each line has: name, requests per second, and in milliseconds the average, the least, the
    // median, the 95th and the 99th percentile, and the most.
    let rows: Vec<Vec<f64>> = text.lines().filter_map(numbers).collect();
    assert_eq!(rows.len(), 2, "{text}");
    let mean = |of: fn(&[f64]) -> f64| rows.iter().map(|row| of(row)).sum::<f64>() / 2.0;
    args.report(workload, mean(|row| 1e9 / row[0]), "ns/op");
    args.report(&format!("{workload}_cpu"), cpu / (2 * requests) as f64, "ns/op");
    args.report(&format!("{workload}_p99"), mean(|row| row[5] * 1e6), "ns");
}

/// Returns the numbers in a line of the clients' output, without the request's name.
fn numbers(line: &str) -> Option<Vec<f64>> {
    line.split(',').skip(1).map(|cell| cell.trim_matches('"').parse().ok()).collect()
}
