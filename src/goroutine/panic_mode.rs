//! [`set_panic_mode`]: the effect of a panic that no caller takes.

use crate::runtime::runtime2::G;
use crate::runtime::{die_on_panic, explored_number, fatalpanic, set_die_on_panic};

/// The effect of a goroutine's panic that no caller takes: the goroutine's handle was dropped, and
/// no scope waits for the goroutine.
///
/// ```
/// use gosched::PanicMode;
///
/// // As in Go, while it is developed; in production the requests that others make go on.
/// gosched::set_panic_mode(if cfg!(debug_assertions) { PanicMode::Die } else { PanicMode::GoOn });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PanicMode {
    /// The program goes on. Only the output of the panic hook remains.
    #[default]
    GoOn,
    /// The process ends, with a report and status 2, when the goroutine has unwound, or when its
    /// handle is dropped, as in Go.
    Die,
}

/// Sets the effect of a panic that no caller takes. `GODEBUG=dieonpanic=1` sets it to
/// [`PanicMode::Die`] when the runtime starts, and `dieonpanic=0` to [`PanicMode::GoOn`]. The last
/// setting counts.
///
/// The report names the goroutine. The goroutine's stack is unwound by then; the message of the
/// panic, before the report, shows it with `RUST_BACKTRACE=1`. The stacks of the other goroutines
/// follow if `GOTRACEBACK` asks for them ([`Traceback::All`](crate::Traceback)).
///
/// A panic is taken by a join of the goroutine, even if the caller ignores the error. It is also
/// taken by the [`scope`](crate::scope) of a scoped goroutine, which panics, and by a
/// `catch_unwind` in the goroutine.
///
/// ```
/// gosched::set_panic_mode(gosched::PanicMode::Die);
/// gosched::run(|| {
///     let handle = gosched::go(|| assert_eq!(6 * 9, 42));
///     assert!(handle.join().is_err()); // now it is taken; a dropped handle would have ended the process
/// });
/// ```
pub fn set_panic_mode(mode: PanicMode) {
    set_die_on_panic(mode == PanicMode::Die);
}

/// Records that the result of `gp` is lost. `panicked` says whether the result was a panic, which
/// nobody took.
#[inline(always)]
pub(crate) fn lose(gp: &'static G, panicked: bool) {
    if panicked {
        lose_panic(gp);
    }
}

#[cold]
#[inline(never)]
fn lose_panic(gp: &'static G) {
    if die_on_panic() && explored_number().is_none() {
        fatalpanic(gp);
    }
}
