//! A worker pool: a channel carries jobs to four workers, and all workers end together. The pool
//! runs three times: until a job fails, which ends the other workers; until the time is over; and
//! until all jobs are done. [The same in Go](go/worker_pool/main.go).
//!
//! ```text
//! cargo run --release --example worker_pool
//! ```

#![forbid(unsafe_code)]

use std::error::Error;
use std::iter;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::context::Context;
use gosched::sync::{ErrGroup, err_group};

type Failure = Box<dyn Error + Send + Sync>;

fn main() {
    gosched::run(|| {
        let ctx = Context::background();
        // The jobs never end, so only the failure ends the generator and the other workers.
        report(longest(&ctx, (1..).map(|n| n % 1000)));

        let (soon, _cancel) = ctx.with_timeout(Duration::from_millis(20));
        report(longest(&soon, iter::repeat(27)));

        report(longest(&ctx, 1..=1000));
    });
}

fn report(result: Result<(u32, u64), Failure>) {
    match result {
        Ok((steps, n)) => println!("{n} takes the most steps, {steps}"),
        Err(error) => println!("failed: {error}"),
    }
}

/// Returns the most steps that one of the numbers takes to 1, and that number.
fn longest(ctx: &Context, numbers: impl Iterator<Item = u64> + Send) -> Result<(u32, u64), Failure> {
    err_group(ctx, |group: &ErrGroup<'_, '_, Failure>| {
        let (jobs, queue) = bounded(0);
        group.go(move |ctx| {
            for n in numbers {
                ctx.with(&jobs).send(n)?;
            }
            Ok(())
        });
        let (results, done) = bounded(0);
        for _ in 0..4 {
            let (queue, results) = (queue.clone(), results.clone());
            group.go(move |ctx| {
                for n in &queue {
                    ctx.with(&results).send((steps(n)?, n))?;
                }
                Ok(())
            });
        }
        // The workers keep their own senders. When the last worker ends, the results end.
        drop(results);
        Ok(done.iter().max().unwrap_or_default())
    })
}

/// Returns the number of steps that Collatz's rule takes from a number to 1.
fn steps(mut n: u64) -> Result<u32, Failure> {
    if n == 0 {
        return Err("from 0 no step leads to 1".into());
    }
    let mut steps = 0;
    while n != 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    Ok(steps)
}
