//! For ThreadSanitizer. In each program two accesses race. Both are certain to happen, in any
//! order, because nothing orders them. The goroutines live until both are done: if one ended,
//! another would get its memory, and that would order the accesses.

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
