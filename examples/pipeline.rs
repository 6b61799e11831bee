//! A pipeline: one goroutine counts, two square the numbers, and one channel carries the squares of
//! both. The reader of that channel stops early, and every stage ends. [The same in
//! Go](go/pipeline/main.go).
//!
//! ```text
//! cargo run --release --example pipeline
//! ```

#![forbid(unsafe_code)]

use std::collections::BTreeSet;

use gosched::chan::{Receiver, bounded};
use gosched::context::Context;
use gosched::{Scope, scope};

fn main() {
    gosched::run(|| {
        let (ctx, cancel) = Context::background().with_cancel();
        let ctx = &ctx;
        let sum: u64 = scope(|s| Pipeline { s, ctx }.squares(1..=100).iter().sum());
        println!("the squares of 1 to 100 add up to {sum}");

        scope(|s| {
            let squares = Pipeline { s, ctx }.squares(1..);
            let mut first = BTreeSet::new();
            while first.len() < 10 {
                first.extend(squares.recv().ok().filter(|&square| square <= 100));
            }
            let first = Vec::from_iter(first.iter().map(u64::to_string)).join(" ");
            println!("the first ten are [{first}]: enough");
            // Dropping the receiver would do, too: a send that nobody can receive is an error.
            cancel.cancel();
        });
        println!("all goroutines have ended");
    });
}

/// The scope and the context that all stages share. The maker of the scope waits for the stages.
struct Pipeline<'scope, 'env> {
    s: &'scope Scope<'scope, 'env>,
    ctx: &'scope Context,
}

impl<'scope> Pipeline<'scope, '_> {
    /// Returns the squares of the numbers, in any order.
    fn squares(&self, numbers: impl Iterator<Item = u64> + Send + 'scope) -> Receiver<u64> {
        let numbers = self.generate(numbers);
        self.merge([self.square(numbers.clone()), self.square(numbers)])
    }

    /// The first stage.
    fn generate(&self, mut numbers: impl Iterator<Item = u64> + Send + 'scope) -> Receiver<u64> {
        let (ctx, (send, out)) = (self.ctx, bounded(0));
        self.s.go(move || numbers.try_for_each(|n| ctx.with(&send).send(n)));
        out
    }

    /// A middle stage: it ends when the stage before it does, or when the context does.
    fn square(&self, numbers: Receiver<u64>) -> Receiver<u64> {
        let (ctx, (send, out)) = (self.ctx, bounded(0));
        self.s.go(move || numbers.iter().try_for_each(|n| ctx.with(&send).send(n * n)));
        out
    }

    /// The last stage. The last goroutine that sends to its channel closes the channel.
    fn merge(&self, inputs: impl IntoIterator<Item = Receiver<u64>>) -> Receiver<u64> {
        let (ctx, (send, out)) = (self.ctx, bounded(0));
        for input in inputs {
            let send = send.clone();
            self.s.go(move || input.iter().try_for_each(|n| ctx.with(&send).send(n)));
        }
        out
    }
}
