//! Running a future on a goroutine that itself waits for the future's socket.
//!
//! A future that can't go on has registered its waker wherever it waits, and its goroutine parks.
//! If it waits for a socket, no other goroutine or thread has to wait there and call the waker: the
//! goroutine that runs the future parks in the socket's read, and a waker ends that read. So a
//! connection that waits for its next request costs no more than a goroutine that reads.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{self, Poll, Wake, Waker};

use gosched::context::{Canceler, Context};

/// What a future on this goroutine waits for by reading it.
pub(crate) trait Source: Send + Sync {
    /// Waits until something was read, and keeps that for the future. Returns false if the context
    /// has ended the wait.
    fn fill(&self, ctx: &Context, task: Task) -> bool;

    /// Ends the duty to call [`fill`](Self::fill).
    fn release(&self, task: Task);
}

/// Names a future that [`block_on`] polls: the data of its waker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Task(*const ());

impl Task {
    /// The task that a waker wakes.
    pub(crate) fn of(waker: &Waker) -> Self {
        Task(waker.data())
    }
}

thread_local! {
    /// The driver of the future that this goroutine polls.
    static CURRENT: RefCell<Option<Arc<Driver>>> = const { RefCell::new(None) };
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
    /// The source to wait in. Only the goroutine itself changes it.
    source: Mutex<Option<Arc<dyn Source>>>,
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
    /// Polls once, as the current driver of this goroutine.
    fn poll<F: Future>(
        self: &Arc<Self>,
        future: Pin<&mut F>,
        context: &mut task::Context<'_>,
    ) -> Poll<F::Output> {
        let _outer = Outer(CURRENT.replace(Some(self.clone())));
        future.poll(context)
    }

    /// Enters a state of waiting. Fails if a waker was called meanwhile.
    fn begin_wait(&self, state: u8) -> bool {
        // Release: a waker that finds the state sees what was stored for the wait.
        self.state.compare_exchange(POLLING, state, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    fn task(self: &Arc<Self>) -> Task {
        Task(Arc::as_ptr(self).cast())
    }

    /// Makes a context that a waker ends.
    fn interruptible(&self) -> Context {
        let (ctx, cancel) = Context::background().with_cancel();
        *lock(&self.interrupt) = Some(cancel);
        ctx
    }
}

/// The driver that polls around this poll, which is current again after it.
struct Outer(Option<Arc<Driver>>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Releases a driver's source when its future has ended.
struct Release<'a>(&'a Arc<Driver>);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        let source = lock(&self.0.source).take();
        if let Some(source) = source {
            source.release(self.0.task());
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
        source: Mutex::new(None),
    });
    let waker = Waker::from(driver.clone());
    let mut context = task::Context::from_waker(&waker);
    let mut future = pin!(future);
    // Dropped before the future, which may own the source.
    let _release = Release(&driver);
    let mut interruptible = None;
    gosched::block_on(poll_fn(|outer| {
        driver.unpark.get_or_init(|| outer.waker().clone());
        loop {
            // Acquire: pairs with the release of a waker.
            driver.state.swap(POLLING, Ordering::Acquire);
            if let Poll::Ready(output) = driver.poll(future.as_mut(), &mut context) {
                return Poll::Ready(output);
            }
            let source = lock(&driver.source).clone();
            let Some(source) = source else {
                if driver.begin_wait(PARKED) {
                    return Poll::Pending;
                }
                continue;
            };
            let ctx = interruptible.get_or_insert_with(|| driver.interruptible());
            if !driver.begin_wait(READING) {
                continue;
            }
            if source.fill(ctx, driver.task()) {
                *lock(&driver.source) = None;
            } else {
                interruptible = None;
            }
        }
    }))
}

/// Asks the goroutine to wait in `source` as soon as its future can't go on. Returns false if the
/// waker isn't that of a future that [`block_on`] polls here: then the goroutine may wait
/// elsewhere, for instance in another function of that name. It can wait for one source at a time.
pub(crate) fn wait_in(source: Arc<dyn Source>, waker: &Waker) -> bool {
    CURRENT.with_borrow(|current| {
        let Some(driver) = current.as_ref().filter(|driver| driver.task() == Task::of(waker)) else {
            return false;
        };
        let mut wanted = lock(&driver.source);
        let free = wanted.is_none();
        if free {
            *wanted = Some(source);
        }
        free
    })
}

/// Locks a mutex, which nobody holds for long, nor while it waits.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
