//! Threads of std that wait: the time to make all and to end them, and what one takes. The program
//! knows nothing of goroutines. `gosched-run threads` measures them, `threads` the system's.
//!
//!     threads [NUMBER [STACK_SIZE]]

use std::env;
use std::fs;
use std::sync::mpsc;
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

const PAIRS: u32 = 20_000;

fn main() {
    let mut arguments = env::args().skip(1).map(|text| text.parse::<usize>().expect("a number"));
    let number = arguments.next().unwrap_or(5_000);
    let stack_size = arguments.next();
    // `main` itself runs on a thread of the system.
    thread::spawn(move || {
        let pair = spawn_and_join();
        println!("spawn and join: {:.1} µs", pair.as_secs_f64() * 1e6);
        wait_together(number, stack_size);
    })
    .join()
    .expect("it doesn't panic");
}

/// Returns the time to make a thread that ends at once, and to join it.
fn spawn_and_join() -> Duration {
    let begun = Instant::now();
    (0..PAIRS).for_each(|_| thread::spawn(|| ()).join().expect("it doesn't panic"));
    begun.elapsed() / PAIRS
}

/// Makes threads that wait in `recv`, each for a value of its own.
fn wait_together(number: usize, stack_size: Option<usize>) {
    let before = ["RssAnon:", "VmPTE:"].map(status);
    let begun = Instant::now();
    let threads: Vec<_> = (0..number)
        .map(|_| {
            let (sender, receiver) = mpsc::channel::<usize>();
            let builder = stack_size.map_or(Builder::new(), |size| Builder::new().stack_size(size));
            let thread = builder.spawn(move || receiver.recv());
            (sender, thread.expect("the system has threads enough"))
        })
        .collect();
    println!("{number} made: {:.2} s", begun.elapsed().as_secs_f64());
    // The last ones begin to wait.
    thread::sleep(Duration::from_millis(500));
    let [memory, tables] = ["RssAnon:", "VmPTE:"].map(status);
    println!(
        "{:.1} KiB each, page tables {:.1} KiB",
        per(memory - before[0], number),
        per(tables - before[1], number)
    );
    println!("{} threads of the system", status("Threads:"));
    let begun = Instant::now();
    for (value, (sender, thread)) in threads.into_iter().enumerate() {
        sender.send(value).expect("it waits");
        assert_eq!(thread.join().expect("it doesn't panic"), Ok(value));
    }
    println!("{number} ended: {:.2} s", begun.elapsed().as_secs_f64());
}

fn per(kilobytes: u64, number: usize) -> f64 {
    kilobytes as f64 / number as f64
}

/// Returns a number of `/proc/self/status`.
fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("Linux has the line");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}
