//! The skynet benchmark: a tree of 1,111,111 goroutines, ten children each. Every leaf sends its
//! number up. Every other goroutine sends up the sum of what its children sent.
//!
//!     cargo run --release --example skynet
//!     cargo run --release --example skynet -- 1000         a tree with fewer leaves, a power of ten

use std::env;
use std::time::Instant;

use gosched::chan::{Sender, bounded};
use gosched::go;

fn skynet(up: Sender<u64>, first: u64, leaves: u64) {
    if leaves == 1 {
        return up.send(first).unwrap();
    }
    let (tx, rx) = bounded(0);
    let leaves = leaves / 10;
    for child in 0..10 {
        let tx = tx.clone();
        go(move || skynet(tx, first + child * leaves, leaves));
    }
    drop(tx);
    up.send(rx.iter().sum()).unwrap();
}

fn main() {
    let leaves: u64 = env::args().nth(1).map_or(1_000_000, |arg| arg.parse().expect("a number of leaves"));
    assert_eq!(leaves, 10u64.pow(leaves.ilog10()), "a power of ten");
    // There are a million goroutines at once. With shared thread-locals each takes half the memory,
    // and needs no guard page where the kernel has few of them.
    // SAFETY: no goroutine here uses a thread-local.
    unsafe { gosched::set_default_shared_locals() }.expect("nothing has started");
    let start = Instant::now();
    let sum = gosched::run(|| {
        let (tx, rx) = bounded(0);
        go(move || skynet(tx, 0, leaves));
        rx.recv().unwrap()
    });
    let elapsed = start.elapsed();
    assert_eq!(sum, leaves * (leaves - 1) / 2);
    let goroutines = leaves * 10 / 9;
    println!("{sum} from {goroutines} goroutines on {} P's in {elapsed:.2?}", gosched::gomaxprocs());
}
