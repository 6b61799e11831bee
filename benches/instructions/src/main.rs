//! Runs one benchmark row: `gosched-instructions ROW KIND N`. `KIND` is `default` or `lean`.
//!
//! Goroutines of the kind `lean` share the thread-locals of their threads. `.ci/instructions`
//! counts the instructions.

#[path = "../../src/bin/gosched/workloads.rs"]
mod workloads;

use std::env::args;
use std::process::exit;

use workloads::{bufchan, coroswitch, fib, gosched, mutex, pingpong, select4, skynet, spawn, spawn_wait};

fn usage() -> ! {
    eprintln!("usage: gosched-instructions ROW default|lean N");
    exit(2)
}

fn main() {
    let words: Vec<String> = args().skip(1).collect();
    let [row, kind, n] = &words[..] else { usage() };
    let Ok(n) = n.parse() else { usage() };
    let run: fn(u64) = match row.as_str() {
        "gosched" => gosched,
        "spawn" => spawn,
        "spawn_wait" => spawn_wait,
        "pingpong" => pingpong,
        "bufchan" => bufchan,
        "select4" => select4,
        "skynet" => |n| skynet(n, 100),
        "fib" => |n| (0..n).for_each(|_| assert_eq!(fib(17), 1_597)),
        "mutex" => mutex,
        "coroswitch" => coroswitch,
        _ => usage(),
    };
    match kind.as_str() {
        "default" => {}
        // SAFETY: no workload has a thread-local, and what prints doesn't park.
        "lean" => unsafe { gosched::set_default_shared_locals() }.expect("it comes first"),
        _ => usage(),
    }
    gosched::run(|| run(n));
}
