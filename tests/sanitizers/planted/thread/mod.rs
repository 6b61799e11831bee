//! For ThreadSanitizer. In each program two accesses race that both happen for certain, in whatever
//! order: nothing orders them, and the goroutines, whose memory others would get with an order,
//! live until both are done.

pub mod callbacks;
pub mod channels;
pub mod ends;
pub mod locks;

use gosched::scope;
use gosched::sync::Barrier;

/// Runs both, each on a goroutine that lives until both are done.
fn side_by_side(a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
    let both_done = Barrier::new(2);
    scope(|s| {
        s.go(|| {
            a();
            both_done.wait();
        });
        s.go(|| {
            b();
            both_done.wait();
        });
    });
}
