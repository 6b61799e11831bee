//! Timers and timeouts. Shuttle has no clock, so these end at any moment.

use std::sync::Arc;
use std::time::Duration;

use crate::chan::{Receiver, bounded};
use crate::sync::Mutex;

pub use shuttle::thread::sleep;

/// Returns a channel that is closed when the timeout is over.
pub fn deadline(timeout: Duration) -> Receiver<()> {
    let (tx, rx) = bounded(0);
    crate::go(move || {
        sleep(timeout);
        drop(tx);
    });
    rx
}

pub struct Timer {
    /// Whether the function may still be called.
    set: Arc<Mutex<bool>>,
}

impl Timer {
    pub fn after_func(d: Duration, f: impl Fn() + Send + Sync + 'static) -> Self {
        let set = Arc::new(Mutex::new(true));
        let theirs = set.clone();
        crate::go(move || {
            sleep(d);
            let set = std::mem::take(&mut *theirs.lock());
            if set {
                f();
            }
        });
        Timer { set }
    }

    pub fn stop(&self) -> bool {
        std::mem::take(&mut *self.set.lock())
    }
}
