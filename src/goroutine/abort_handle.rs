//! [`AbortHandle`]: ends a goroutine.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::runtime::runtime2::G;
use crate::runtime::{abort, is_alive, point};

/// Aborts a goroutine. tokio's `AbortHandle`. If it is dropped, the goroutine goes on.
///
/// ```
/// use gosched::AbortHandle;
/// use gosched::chan::never;
///
/// gosched::run(|| {
///     let hangs = gosched::go(|| never::<u32>().recv());
///     let abort: AbortHandle = hangs.abort_handle();
///     abort.abort();
///     assert!(hangs.join().is_err());
///     assert!(abort.is_finished());
/// });
/// ```
#[derive(Clone)]
pub struct AbortHandle {
    /// The goroutine's G, which may be another's once the goroutine has ended.
    gp: &'static G,
    goid: u64,
}

// SAFETY: any thread may abort a goroutine, at any time.
unsafe impl Send for AbortHandle {}
// SAFETY: as above.
unsafe impl Sync for AbortHandle {}

// As of a `JoinHandle`.
impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// A handle of `gp`, which the caller has a handle of.
    pub(super) fn new(gp: &'static G) -> Self {
        AbortHandle { gp, goid: gp.goid.get() }
    }

    /// Aborts the goroutine, as [`JoinHandle::abort`](crate::JoinHandle::abort) does. Has no effect
    /// on a goroutine that has ended.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::{go, time};
    ///
    /// gosched::run(|| {
    ///     let sleeps = go(|| time::sleep(Duration::from_secs(3600)));
    ///     sleeps.abort_handle().abort();
    ///     assert!(sleeps.join().unwrap_err().is_aborted());
    /// });
    /// ```
    pub fn abort(&self) {
        point("abort");
        abort(self.gp, self.goid);
    }

    /// The goroutine's id, as [`goid`](crate::goid) returns it in the goroutine. tokio's `id`.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let handle = gosched::go(gosched::goid);
    ///     let id = handle.abort_handle().goid();
    ///     assert_eq!(handle.join().unwrap(), id);
    /// });
    /// ```
    #[must_use]
    pub fn goid(&self) -> u64 {
        self.goid
    }

    /// Whether the goroutine has ended, or is about to.
    ///
    /// ```
    /// gosched::run(|| {
    ///     let handle = gosched::go(|| 7);
    ///     let abort = handle.abort_handle();
    ///     assert_eq!(handle.join().unwrap(), 7);
    ///     assert!(abort.is_finished());
    /// });
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        !is_alive(self.gp, self.goid)
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("goid", &self.goid).finish_non_exhaustive()
    }
}
