//! Where a program enters the runtime.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::arch::getg;
use crate::current::Goexit;
use crate::join_handle::Outcome;
use crate::proc::main::run_main;

/// Runs `main` on a goroutine and returns what it returns. The first call starts the runtime.
///
/// The calling thread waits meanwhile; it is no goroutine. When this returns, other goroutines
/// go on, and it may be called again, by several threads at once too. A panic of `main` goes
/// on in the caller.
///
/// If `main` waits and every other goroutine does, and no thread is left that could wake one,
/// that is a deadlock: the process ends with Go's message and status 2.
///
/// ```
/// // SAFETY: nothing in this program keeps a thread-local across a point that can park.
/// let sum: u32 = unsafe {
///     gosched::run(|| {
///         let handles: Vec<_> = (1..=10).map(|i| gosched::go(move || i * i)).collect();
///         handles.into_iter().map(|handle| handle.join().unwrap()).sum()
///     })
/// };
/// assert_eq!(sum, 385);
/// ```
///
/// # Safety
/// This is a promise about the whole program that runs inside, which Rust can't check:
///
/// - **Nothing obtained from a `thread_local!` is kept across a point that can park.** A
///   goroutine that parks may go on on another thread. A point that can park is a channel
///   operation, a lock of [`sync`](crate::sync), a join, a yield: whatever waits in this
///   crate. (`std::sync::MutexGuard` isn't `Send` for a like reason: don't hold one across
///   such a point either. It also holds up the whole thread.) The end of [`blocking`](crate::blocking) is one, and
///   each instruction of what was declared [`preemptible!`](crate::preemptible).
/// - **Code that isn't Rust touches the pages of its stack in order**, as rustc's code does,
///   so that an overflow meets the guard page. Where the kernel has no guard regions (before
///   Linux 6.13) and the mappings have run out, a line on stderr says so; further stacks then
///   have no guard page, an overflow is noticed only at the next switch, and may have
///   overwritten anything by then. `GOSCHED_GUARD=strict` makes that an error when the
///   goroutine is made.
/// - Signal handlers that are installed while goroutines run use `SA_ONSTACK`. (Those that
///   were there before are changed to do so.)
///
/// # Panics
/// If it is called on a goroutine; if no thread or stack can be had to start with; as `main`
/// does; and if `main` ends by [`goexit`](crate::goexit), for then there is nothing to return.
#[track_caller]
pub unsafe fn run<F, T>(main: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    struct Call<F, T> {
        main: Option<F>,
        outcome: Option<Outcome<T>>,
    }

    unsafe fn call<F: FnOnce() -> T, T>(arg: *mut c_void) {
        // SAFETY: run passes a Call, and touches it again only when this has returned.
        let call = unsafe { &mut *arg.cast::<Call<F, T>>() };
        let main = call.main.take();
        call.outcome = main.map(|main| catch_unwind(AssertUnwindSafe(main)));
    }

    assert!(getg().is_none(), "gosched::run called on a goroutine: use gosched::go or gosched::scope there");
    let mut this = Call { main: Some(main), outcome: None };
    // SAFETY: the closure and its result may go to another thread and back; `call` catches.
    if let Err(error) = unsafe { run_main(call::<F, T>, (&raw mut this).cast()) } {
        panic!("gosched::run: can't start: {error}");
    }
    match this.outcome {
        Some(Ok(value)) => value,
        Some(Err(payload)) if payload.is::<Goexit>() => {
            panic!("gosched::run: main ended by goexit, so there is no value to return")
        }
        Some(Err(payload)) => resume_unwind(payload),
        None => unreachable!("main has run"),
    }
}
