//! [`set_panic_mode`]: what becomes of a panic that nobody takes.

use crate::runtime::runtime2::G;
use crate::runtime::{die_on_panic, explored_number, fatalpanic, set_die_on_panic};

/// What becomes of a goroutine's panic that nobody takes: there is no handle to join it any more, and no
/// scope that waits for it.
///
/// ```
/// use gosched::PanicMode;
///
/// // As in Go, while it is developed; in production the requests that others make go on.
/// gosched::set_panic_mode(if cfg!(debug_assertions) { PanicMode::Die } else { PanicMode::GoOn });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PanicMode {
    /// The program goes on. All that is left is what the panic hook has printed.
    #[default]
    GoOn,
    /// The process ends, with a report and status 2, when the goroutine has unwound, or when its handle is
    /// dropped. Go's way.
    Die,
}

/// Sets what becomes of a panic that nobody takes. `GODEBUG=dieonpanic=1` sets it to [`PanicMode::Die`] when
/// the runtime starts, and `dieonpanic=0` to [`PanicMode::GoOn`]; the last one counts.
///
/// The report says which goroutine it was. Its stack is unwound by then: the message of the panic, before
/// that, has it with `RUST_BACKTRACE=1`. The stacks of the others follow if `GOTRACEBACK` asks for them
/// ([`Traceback::All`](crate::Traceback)).
///
/// A panic is taken by who joins the goroutine, whatever is done with the error then; by the
/// [`scope`](crate::scope) of a scoped goroutine, which panics; and by a `catch_unwind` in the goroutine.
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

/// Notes that the result of `gp` is gone, and whether that was a panic, which nobody took.
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
