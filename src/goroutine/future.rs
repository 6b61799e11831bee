//! Futures on goroutines.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::goroutine::lock_os_thread;
use crate::runtime::{Parker, getg, on_goroutine};

/// Runs a future to its end on this goroutine, which waits while that does: what `async` code of other crates needs
/// to be called from here. It is no runtime for them: a future that wants tokio's timers or sockets wants tokio's
/// context, too.
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

/// Polls once. A goroutine on its thread's thread-locals stays on that.
fn poll<F: Future>(future: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
    let shares = on_goroutine() && getg().is_some_and(|gp| gp.ext.tp.get() == 0);
    let _stays = shares.then(lock_os_thread);
    future.poll(context)
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
