//! Futures on goroutines.

use std::mem;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::goroutine::{Builder, OsThreadLock, lock_os_thread};
use crate::runtime::print::eprintln;
use crate::runtime::{Inherited, Parker, acquire_waker, any_code_may_run, getg, on_goroutine, throw};

/// Runs a future to its end on this goroutine, which waits while that does: what `async` code of other crates needs
/// to be called from here. It is no runtime for them: a future that wants tokio's timers or sockets wants tokio's
/// context, too, which `tokio::block_on` has, with the feature `tokio`.
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
/// Others run while the goroutine waits, and it may go on on another thread. Wakers may be kept, cloned, sent anywhere and
/// called at any time, also when the goroutine is long gone. The future itself doesn't have to be `Send`: it stays on
/// its goroutine, which to it is a thread. One that shares thread-locals
/// ([`Builder::shared_locals`](crate::Builder::shared_locals)) is locked to its thread while it polls, so that what the
/// future waits for by this crate's means keeps it there; between two polls it isn't.
///
/// While a goroutine waits in here, nobody takes it for [deadlocked](crate::DeadlockMode), unless there is no other thread
/// that could wake it.
///
/// On a thread that isn't a goroutine's it blocks that.
///
/// # Panics
/// As the future does; and if it would have to wait inside [`blocking`](crate::blocking), or before the first
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
        wakes.0.park("block_on");
    }
}

/// Polls once. Not inlined into the loop around it: what the compiler has of a thread-local is of one poll.
#[inline(never)]
fn poll<F: Future>(future: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
    let _stays = stay();
    future.poll(context)
}

/// While what it returns lives, this goroutine's thread-locals are the same, also where it parks: one that shares its
/// thread's stays on that.
pub(crate) fn stay() -> Option<OsThreadLock> {
    let shares = on_goroutine() && getg().is_some_and(|gp| gp.ext.tp.get() == 0);
    shares.then(lock_os_thread)
}

/// Wakes a future whose wait is over, on behalf of who has ended that, whatever the waker does. Where no code of the
/// program's may run, as where a timer fires, a goroutine does it.
///
/// A panic of the waker is printed by std's hook, and ends here: who has ended the wait has nothing to do with it.
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

/// Calls it; a panic ends here, whatever the [mode](crate::PanicMode).
fn wake_here(waker: Waker) {
    acquire_waker(&waker);
    let _panicked = catch_unwind(AssertUnwindSafe(|| waker.wake())).map_err(mem::forget);
}

/// What a waker is.
struct Wakes(Parker);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake();
    }
}
