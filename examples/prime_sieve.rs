//! The prime sieve that comes with Go: a goroutine for each prime, which passes on the numbers that
//! its prime doesn't divide.
//!
//!     cargo run --release --example prime_sieve -- 20

#![forbid(unsafe_code)]

use gosched::chan::{Receiver, Sender, bounded};
use gosched::go;

/// Sends 2, 3, 4, ... for as long as somebody receives.
fn generate(to: Sender<u64>) {
    for i in 2.. {
        if to.send(i).is_err() {
            return;
        }
    }
}

/// Passes on the numbers that `prime` doesn't divide.
fn filter(from: Receiver<u64>, to: Sender<u64>, prime: u64) {
    for i in from {
        if i % prime != 0 && to.send(i).is_err() {
            return;
        }
    }
}

fn main() {
    let n = std::env::args().nth(1).map_or(20, |n| n.parse().expect("a number of primes"));
    gosched::run(|| {
        let (tx, mut numbers) = bounded(0);
        go(|| generate(tx));
        for _ in 0..n {
            let prime = numbers.recv().unwrap();
            println!("{prime}");
            let (tx, rx) = bounded(0);
            let from = std::mem::replace(&mut numbers, rx);
            go(move || filter(from, tx, prime));
        }
        // Nobody receives any more, so the filters end one after the other, and the generator last.
    });
}
