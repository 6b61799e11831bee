//! may: stackful coroutines that steal work. Its channels have no bound.

use gosched_benches::Args;
use may::sync::mpsc::{Sender, channel};
use may::{coroutine, go};
use std::time::Duration;

fn main() {
    let args = Args::parse();
    may::config().set_workers(args.procs);
    let main = go!(move || {
        args.timed("gosched", 2_000_000, gosched);
        args.timed("spawn", 500_000, spawn);
        args.timed("spawn_wait", 20_000, spawn_wait);
        args.timed("pingpong", 500_000, pingpong);
        args.timed("skynet", 1, skynet);
        args.timed("sleepers", 100_000, sleepers);
    });
    main.join().unwrap();
}

fn gosched(n: u64) {
    let yields = move || {
        for _ in 0..n / 2 {
            coroutine::yield_now();
        }
    };
    for pair in [go!(yields), go!(yields)] {
        pair.join().unwrap();
    }
}

fn spawn(n: u64) {
    let mut batch = Vec::with_capacity(100);
    for i in 0..n {
        batch.push(go!(|| ()));
        if i % 100 == 99 {
            batch.drain(..).for_each(|handle| handle.join().unwrap());
        }
    }
}

fn spawn_wait(n: u64) {
    for _ in 0..n {
        go!(|| ()).join().unwrap();
    }
}

fn pingpong(n: u64) {
    let (ping, pinged) = channel();
    let (pong, ponged) = channel();
    go!(move || {
        for value in pinged {
            pong.send(value).unwrap();
        }
    });
    for i in 0..n {
        ping.send(i).unwrap();
        assert_eq!(ponged.recv(), Ok(i));
    }
}

fn skynet(n: u64) {
    for _ in 0..n {
        let (out, sum) = channel();
        go!(move || node(out, 0, 1_000_000));
        assert_eq!(sum.recv(), Ok(499_999_500_000));
    }
}

fn sleepers(n: u64) {
    let handles: Vec<_> = (0..n).map(|_| go!(|| coroutine::sleep(Duration::from_millis(10)))).collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

fn node(out: Sender<u64>, first: u64, size: u64) {
    if size == 1 {
        out.send(first).unwrap();
        return;
    }
    let (part, parts) = channel();
    for i in 0..10 {
        let part = part.clone();
        go!(move || node(part, first + i * (size / 10), size / 10));
    }
    out.send(parts.iter().take(10).sum()).unwrap();
}
