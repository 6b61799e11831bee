//! Checks that goroutines that wait in std hold no threads.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use gosched::metrics::{self, Value};
use gosched::{go, gomaxprocs, park_std_waits, run, yield_now};

const WAITERS: usize = 200;

/// Makes goroutines that wait in std's channels and sockets. Panics if a wait fails, or if the
/// process gets a thread for each.
pub fn check() {
    park_std_waits().expect("std's waits can park");
    run(|| {
        let (tx, receivers): (Vec<_>, Vec<_>) = (0..WAITERS)
            .map(|_| {
                let (tx, rx) = mpsc::channel();
                (tx, go(move || rx.recv()))
            })
            .unzip();
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let at = listener.local_addr().expect("it has an address");
        let (mut servers, clients): (Vec<_>, Vec<_>) = (0..WAITERS)
            .map(|_| {
                let client = go(move || {
                    let mut byte = [0];
                    TcpStream::connect(at)?.read_exact(&mut byte).map(|()| byte)
                });
                (listener.accept().expect("a client comes").0, client)
            })
            .unzip();
        while parked("/gosched/std/futex:waits") < WAITERS as u64
            || parked("/gosched/std/descriptors:waits") < WAITERS as u64
        {
            yield_now();
        }
        let threads = fs::read_dir("/proc/self/task").expect("/proc is there").count();
        assert!(threads <= gomaxprocs() + 10, "{threads} threads");
        for (tx, server) in tx.iter().zip(&mut servers) {
            tx.send(7_u8).expect("it is received");
            server.write_all(&[7]).expect("it is read");
        }
        assert!(receivers.into_iter().all(|receiver| receiver.join().unwrap() == Ok(7)));
        assert!(clients.into_iter().all(|client| client.join().unwrap().unwrap() == [7]));
        thread::spawn(|| ()).join().unwrap();
    });
}

/// Returns how often goroutines have parked, by the metric's name.
fn parked(metric: &str) -> u64 {
    match metrics::read(metric) {
        Some(Value::Uint64(count)) => count,
        other => panic!("{metric}: {other:?}"),
    }
}

/// [`check`] for a program in C.
#[unsafe(no_mangle)]
pub extern "C" fn gosched_links_check() {
    check();
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn one() {
        check();
    }

    #[test]
    fn two() {
        check();
    }
}
