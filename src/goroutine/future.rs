//! Futures on goroutines.

use std::mem;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::goroutine::{Builder, OsThreadLock, lock_os_thread};
use crate::runtime::print::eprintln;
use crate::runtime::{
    Inherited, Parker, any_code_may_run, end_with_run, getg, on_goroutine, outside_of_run, throw, tsan,
    with_limit_in_run,
};

/// Runs a future to its end on this goroutine, which waits meanwhile. It is for `async` code of
/// other crates. It isn't a runtime for such crates: a future that needs tokio's timers or sockets
/// also needs tokio's context, which `tokio::block_on` provides, with the feature `tokio`.
///
/// ```
/// use std::future::poll_fn;
/// use std::task::Poll;
/// use gosched::block_on;
///
/// gosched::run(|| {
///     let mut polls = 0;
///     let n = block_on(async {
///         poll_fn(|context| {
///             polls += 1;
///             context.waker().wake_by_ref();
///             if polls < 3 { Poll::Pending } else { Poll::Ready(()) }
///         })
///         .await;
///         7
///     });
///     assert_eq!((n, polls), (7, 3));
/// });
/// ```
///
/// Other goroutines run while this one waits, and it may go on on another thread. Wakers may be
/// kept, cloned, sent anywhere and called at any time, also when the goroutine has ended. The
/// future doesn't have to be `Send`: it stays on its goroutine, which it can't tell from a thread.
/// A goroutine that shares thread-locals
/// ([`Builder::shared_locals`](crate::Builder::shared_locals)) is locked to its thread while it
/// polls. So it stays there if the future waits with an operation of this crate. Between two polls
/// it isn't locked.
///
/// While a goroutine waits in here, it isn't reported as [deadlocked](crate::DeadlockMode), unless
/// no other thread could wake it.
///
/// On a thread that isn't a goroutine's, this blocks the thread.
///
/// # Panics
/// If the future panics. If it must wait inside [`blocking`](crate::blocking), or before the first
/// [`run`](crate::run).
#[track_caller]
pub fn block_on<F: IntoFuture>(future: F) -> F::Output {
    let mut future = pin!(future.into_future());
    let wakes = Arc::new(Wakes(Parker::new()));
    let waker = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = poll(future.as_mut(), &mut context) {
            return output;
        }
        end_with_run();
        let give_up = || {
            let wakes = wakes.clone();
            Some(move || wakes.0.wake())
        };
        // SAFETY: what give_up returns owns what it uses. A wake ends a wait at any time.
        unsafe { with_limit_in_run(None, &give_up, || wakes.0.park("block_on")) };
    }
}

/// Polls once. It isn't inlined into the loop around it, so that the compiler keeps no address of a
/// thread-local from one poll to the next.
#[inline(never)]
fn poll<F: Future>(future: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
    let _stays = stay();
    future.poll(context)
}

/// Keeps this goroutine's thread-locals the same while the result lives, also where it parks: a
/// goroutine that shares its thread's thread-locals stays on the thread.
pub(crate) fn stay() -> Option<OsThreadLock> {
    let shares = on_goroutine() && getg().is_some_and(|gp| gp.ext.tp.get() == 0);
    shares.then(lock_os_thread)
}

/// Wakes a future whose wait is over. A failure of the waker doesn't affect the caller, which has
/// ended the wait. Where the program's code mustn't run, for example where a timer fires, a new
/// goroutine calls the waker.
///
/// std's hook prints a panic of the waker, and the panic ends here, because the caller isn't its
/// cause.
pub(crate) fn wake(waker: Waker) {
    if any_code_may_run() {
        wake_here(waker);
    } else {
        wake_elsewhere(waker);
    }
}

/// [`wake`] by a goroutine of its own.
pub(crate) fn wake_elsewhere(waker: Waker) {
    if let Err(error) =
        Builder::new().make(Location::caller(), &mut Some(|| wake_here(waker)), Inherited::NONE)
    {
        eprintln!("gosched: a future can't be woken: {error}");
        throw("out of memory for a goroutine");
    }
}

/// Calls the waker. A panic ends here, whatever the [mode](crate::PanicMode).
fn wake_here(waker: Waker) {
    tsan::acquire_waker(&waker);
    // The run that the caller is in isn't the waker's.
    let _panicked = catch_unwind(AssertUnwindSafe(|| outside_of_run(|| waker.wake()))).map_err(mem::forget);
}

/// The type of the wakers.
struct Wakes(Parker);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake();
    }
}
