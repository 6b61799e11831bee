//! corosensei: stackful coroutines without a scheduler, for the lowest cost of a switch.

use std::hint::black_box;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use gosched_benches::Args;

fn main() {
    let args = Args::parse();
    args.timed("switch_pair", 50_000_000, switch_pair);
    args.timed("create_run_drop", 2_000_000, create_run_drop);
}

fn switch_pair(n: u64) {
    let mut echo = Coroutine::new(|yielder: &Yielder<Option<u64>, u64>, mut input: Option<u64>| {
        while let Some(value) = input {
            input = yielder.suspend(value);
        }
    });
    let mut sum = 0;
    for i in 0..n {
        if let CoroutineResult::Yield(value) = echo.resume(Some(i)) {
            sum += value;
        }
    }
    echo.resume(None);
    assert_eq!(sum, n * (n - 1) / 2);
}

fn create_run_drop(n: u64) {
    let mut stack = DefaultStack::new(16 * 1024).unwrap();
    for i in 0..n {
        let mut coroutine = Coroutine::with_stack(stack, move |_: &Yielder<(), ()>, ()| {
            black_box(i);
        });
        coroutine.resume(());
        stack = coroutine.into_stack();
    }
}
