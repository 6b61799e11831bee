//! Running a future on a goroutine that itself waits for the future's socket.
//!
//! A future that can't go on has registered its waker wherever it waits, and its goroutine parks.
//! If it waits for a socket, no other goroutine or thread has to wait there and call the waker: the
//! goroutine that runs the future parks in the socket's read, and a waker ends that read. So a
//! connection that waits for its next request costs no more than a goroutine that reads.

use std::cell::Cell;
use std::future::poll_fn;
use std::mem::{ManuallyDrop, take};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{self, Poll, Wake, Waker};

use gosched::context::{Canceler, Context};

#[cfg(feature = "server")]
use crate::pollers::{Due, Queue};

/// What a future on this goroutine waits for by reading it.
pub(crate) trait Source: Send + Sync {
    /// Waits until something was read, and keeps that for the future. Returns false if the context
    /// has ended the wait.
    fn fill(&self, ctx: &Context, task: Task) -> bool;

    /// Enqueues `due`, with this source in it, as soon as there is something to read. Called
    /// instead of [`fill`](Self::fill).
    #[cfg(feature = "server")]
    fn enqueue_when_readable(self: Arc<Self>, queue: &Queue, due: Due);

    /// Notes that there is something to read, after
    /// [`enqueue_when_readable`](Self::enqueue_when_readable).
    #[cfg(feature = "server")]
    fn readable(&self, task: Task);

    /// Ends the duty to call [`fill`](Self::fill).
    fn release(&self, task: Task);
}

/// Names a future that [`block_on`] or a poller polls: the data of its waker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Task(*const ());

impl Task {
    /// The task that a waker wakes.
    pub(crate) fn of(waker: &Waker) -> Self {
        Task(waker.data())
    }
}

/// The future that this goroutine polls, and what it wants to wait for.
#[derive(Default)]
pub(crate) struct Current {
    task: Option<Task>,
    pub(crate) source: Option<Arc<dyn Source>>,
}

thread_local! {
    /// Nothing is in it outside of a poll. So it needs no destructor, which each access would ask
    /// for.
    static CURRENT: Cell<ManuallyDrop<Current>> =
        const { Cell::new(ManuallyDrop::new(Current { task: None, source: None })) };
}

/// The goroutine polls, or is about to.
const POLLING: u8 = 0;
/// A waker was called since the last poll began.
const WOKEN: u8 = 1;
/// The goroutine waits in the source.
const READING: u8 = 2;
/// The goroutine waits for a waker only.
const PARKED: u8 = 3;

/// A goroutine that runs a future, as its wakers see it.
struct Driver {
    state: AtomicU8,
    /// Ends the wait in `PARKED`.
    unpark: OnceLock<Waker>,
    /// Ends the wait in `READING`.
    interrupt: Mutex<Option<Canceler>>,
}

impl Wake for Driver {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Release: the goroutine, which acquires before it polls, sees what the caller has done.
        // Acquire: what the goroutine has stored for the wait that this ends.
        match self.state.swap(WOKEN, Ordering::AcqRel) {
            READING => {
                let canceler = lock(&self.interrupt).take();
                // Cancels, with the mutex unlocked.
                drop(canceler);
            }
            PARKED => self.unpark.get().expect("it is set before the goroutine parks").wake_by_ref(),
            _ => {}
        }
    }
}

impl Driver {
    /// Enters a state of waiting. Fails if a waker was called meanwhile.
    fn begin_wait(&self, state: u8) -> bool {
        // Release: a waker that finds the state sees what was stored for the wait.
        self.state.compare_exchange(POLLING, state, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Makes a context that a waker ends.
    fn interruptible(&self) -> Context {
        let (ctx, cancel) = Context::background().with_cancel();
        *lock(&self.interrupt) = Some(cancel);
        ctx
    }
}

impl Current {
    /// A future that wants nothing yet.
    pub(crate) fn new(task: Task) -> Self {
        Current { task: Some(task), source: None }
    }

    /// Polls once, as the current future of this goroutine.
    pub(crate) fn poll<F: Future + ?Sized>(
        &mut self,
        future: Pin<&mut F>,
        context: &mut task::Context<'_>,
    ) -> Poll<F::Output> {
        let _entered = Entered::new(self);
        future.poll(context)
    }

    /// Makes this the current one, and returns the one that was.
    fn replace(self) -> Self {
        ManuallyDrop::into_inner(CURRENT.replace(ManuallyDrop::new(self)))
    }
}

/// Lives during a poll. The value has what is current around the poll, and gets back what is
/// current in it.
struct Entered<'a>(&'a mut Current);

impl<'a> Entered<'a> {
    fn new(current: &'a mut Current) -> Self {
        *current = take(current).replace();
        Entered(current)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        *self.0 = take(self.0).replace();
    }
}

impl Drop for Current {
    /// Releases the source when the future has ended.
    fn drop(&mut self) {
        if let (Some(source), Some(task)) = (self.source.take(), self.task) {
            source.release(task);
        }
    }
}

/// [`gosched::block_on`] for a future that reads a [`GoschedIo`](crate::GoschedIo), such as a
/// connection of hyper's: the goroutine itself waits in the socket. With `gosched::block_on` a new
/// goroutine wakes it each time that it may read again. [`GoschedExecutor`](crate::GoschedExecutor)
/// runs its tasks by this function, too.
///
/// ```
/// use gosched::go;
/// use gosched::net::UnixStream;
/// use gosched_hyper::{GoschedIo, block_on};
/// use hyper::body::Incoming;
/// use hyper::server::conn::http1;
/// use hyper::service::service_fn;
/// use hyper::{Request, Response};
///
/// async fn hello(_: Request<Incoming>) -> hyper::http::Result<Response<String>> {
///     Response::builder().body("hello".to_owned())
/// }
///
/// gosched::run(|| {
///     let (ours, theirs) = UnixStream::pair()?;
///     let connection = http1::Builder::new().serve_connection(GoschedIo::new(ours), service_fn(hello));
///     let server = go(move || block_on(connection));
///     drop(theirs);
///     server.join().unwrap().map_err(std::io::Error::other)
/// })
/// .unwrap();
/// ```
///
/// # Panics
/// As [`gosched::block_on`].
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let driver = Arc::new(Driver {
        state: AtomicU8::new(POLLING),
        unpark: OnceLock::new(),
        interrupt: Mutex::new(None),
    });
    let waker = Waker::from(driver.clone());
    let mut context = task::Context::from_waker(&waker);
    let mut future = pin!(future);
    // Dropped before the future, which may own the source.
    let mut current = Current::new(Task::of(&waker));
    let mut interruptible = None;
    gosched::block_on(poll_fn(|outer| {
        driver.unpark.get_or_init(|| outer.waker().clone());
        loop {
            // Acquire: pairs with the release of a waker.
            driver.state.swap(POLLING, Ordering::Acquire);
            if let Poll::Ready(output) = current.poll(future.as_mut(), &mut context) {
                return Poll::Ready(output);
            }
            let Some(source) = &current.source else {
                if driver.begin_wait(PARKED) {
                    return Poll::Pending;
                }
                continue;
            };
            let ctx = interruptible.get_or_insert_with(|| driver.interruptible());
            if !driver.begin_wait(READING) {
                continue;
            }
            if source.fill(ctx, Task::of(&waker)) {
                current.source = None;
            } else {
                interruptible = None;
            }
        }
    }))
}

/// Asks the goroutine to wait in `source` as soon as its future can't go on, or to enqueue the
/// future when the source can. Returns false if the waker isn't that of a future that [`block_on`]
/// or a poller polls here. Then the goroutine may wait elsewhere, for instance in another function
/// of that name. It can wait for one source at a time.
pub(crate) fn wait_in(source: Arc<dyn Source>, waker: &Waker) -> bool {
    let mut current = Current::default().replace();
    let waits = current.source.is_none() && current.task == Some(Task::of(waker));
    if waits {
        current.source = Some(source);
    }
    let _none = current.replace();
    waits
}

/// Locks a mutex, which nobody holds for long, nor while it waits.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
