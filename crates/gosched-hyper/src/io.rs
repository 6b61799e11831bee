//! [`GoschedIo`]: a socket that hyper reads and writes.

use std::fmt;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::mem::take;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use gosched::context::{self, ContextError};
use gosched::net::{Pollable, go_when_readable};
use gosched::{go, time};
use hyper::rt;
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};

use crate::drive::{self, Source, Task, lock};
#[cfg(feature = "server")]
use crate::pollers::{Due, Queue};

/// The most bytes that one read takes.
const CHUNK: usize = 8 << 10;

/// The most bytes that are copied into one buffer rather than written from several, as the kernel
/// takes longer for those: a head, and a short body.
const FLAT: usize = 512;

/// The owner of a socket's descriptor: std's `TcpStream`, `UnixStream`, and whatever else has a
/// descriptor and is read and written by reference. `GoschedIo<TcpStream>` is made from a
/// [`gosched::net::TcpStream`], a `Pollable` of std's type.
pub trait Socket: AsFd + Send + Sync + 'static {
    /// Reads what there is.
    #[doc(hidden)]
    fn read_now(stream: &Pollable<Self>, buf: &mut [u8]) -> io::Result<usize>
    where
        Self: Sized;

    /// Writes what there is room for.
    #[doc(hidden)]
    fn write_now(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Reads, and waits until it can.
    #[doc(hidden)]
    fn read_waiting(stream: &Pollable<Self>, ctx: &context::Context, buf: &mut [u8]) -> io::Result<usize>
    where
        Self: Sized;
}

impl<T> Socket for T
where
    T: AsFd + Send + Sync + 'static,
    for<'a> &'a T: Read + Write,
{
    fn read_now(stream: &Pollable<T>, buf: &mut [u8]) -> io::Result<usize> {
        stream.try_read(buf)
    }

    fn write_now(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut this = self;
        if let [buf] = bufs {
            return retried(|| this.write(buf));
        }
        let mut flat = [0; FLAT];
        let mut left = &mut flat[..];
        // Fails if they are too long together.
        match bufs.iter().try_for_each(|buf| left.write_all(buf)) {
            Ok(()) => {
                let len = FLAT - left.len();
                retried(|| this.write(&flat[..len]))
            }
            Err(_) => retried(|| this.write_vectored(bufs)),
        }
    }

    fn read_waiting(stream: &Pollable<T>, ctx: &context::Context, buf: &mut [u8]) -> io::Result<usize> {
        ctx.with(stream).read(buf)
    }
}

/// Calls `f` again while signals interrupt it.
fn retried(mut f: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match f() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// A socket of gosched's with hyper's traits [`Read`](rt::Read) and [`Write`](rt::Write), as
/// hyper-util's `TokioIo` for tokio.
///
/// ```
/// use std::io::{Read, Write};
///
/// use gosched::net::UnixStream;
/// use gosched::{block_on, go};
/// use gosched_hyper::{GoschedExecutor, GoschedIo};
/// use http_body_util::{BodyExt, Empty};
/// use hyper::Request;
/// use hyper::body::Bytes;
/// use hyper::rt::Executor;
///
/// gosched::run(|| {
///     let (ours, mut theirs) = UnixStream::pair()?;
///     go(move || {
///         let mut request = [0; 18];
///         theirs.read_exact(&mut request)?;
///         theirs.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
///     });
///     let body = block_on(async {
///         let (mut sender, connection) = hyper::client::conn::http1::handshake(GoschedIo::new(ours)).await?;
///         GoschedExecutor::new().execute(async { connection.await.unwrap() });
///         let answer = sender.send_request(Request::new(Empty::<Bytes>::new())).await?;
///         hyper::Result::Ok(answer.into_body().collect().await?.to_bytes())
///     });
///     assert_eq!(body?, "hello");
///     Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// })
/// .unwrap();
/// ```
///
/// Any executor can poll it. It takes least in a task of a
/// [`GoschedExecutor`](crate::GoschedExecutor), whose goroutine itself waits in the socket, or in a
/// `server::Server`. Elsewhere a new goroutine wakes the task each time that it may read again.
///
/// A [timeout](Pollable::set_write_timeout) or deadline of the stream's writes fails a write that
/// waits for so long. A `server::Server` limits reads by timers of its own.
///
/// Dropping it closes the socket.
pub struct GoschedIo<T: Socket> {
    reading: Arc<Reading<T>>,
    /// Made when a write first has to wait.
    writing: Option<Arc<Writing<T>>>,
    /// Whether the socket is closed when this is dropped.
    closes: bool,
}

impl<T: Socket> GoschedIo<T> {
    /// Wraps a socket, which nothing else may read.
    pub fn new(stream: Pollable<T>) -> Self {
        let reading = Reading { stream: Arc::new(stream), inbox: Mutex::new(Inbox::new()) };
        GoschedIo { reading: Arc::new(reading), writing: None, closes: true }
    }

    /// The socket. A read from it takes bytes that hyper would have read.
    pub fn stream(&self) -> &Pollable<T> {
        &self.reading.stream
    }

    /// Returns the socket, and the bytes that were read ahead. No task may use it meanwhile.
    pub fn into_parts(mut self) -> (Arc<Pollable<T>>, Vec<u8>) {
        self.closes = false;
        let inbox = lock(&self.reading.inbox);
        if inbox.waiting {
            // What waits has the turn to read, and nobody needs its result.
            self.stream().set_read_deadline(Some(time::now()));
            self.stream().set_read_deadline(None);
        }
        (self.reading.stream.clone(), inbox.bytes[inbox.start..inbox.end].to_vec())
    }

    /// Writes, or registers the task's waker.
    fn write(&mut self, context: &Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if let Some(error) = self.writing.as_ref().and_then(|writing| lock(&writing.state).failed.take()) {
            return Poll::Ready(Err(error));
        }
        match self.stream().get_ref().write_now(bufs) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            result => return Poll::Ready(result),
        }
        let writing = self.writing.get_or_insert_with(|| {
            Arc::new(Writing { stream: self.reading.stream.clone(), state: Mutex::default() })
        });
        if lock(&writing.state).waker.replace(context.waker().clone()).is_none() {
            let writing = writing.clone();
            go(move || writing.wake_when_ready());
        }
        Poll::Pending
    }
}

impl<T: Socket> From<Pollable<T>> for GoschedIo<T> {
    fn from(stream: Pollable<T>) -> Self {
        GoschedIo::new(stream)
    }
}

impl<T: Socket> Drop for GoschedIo<T> {
    /// Ends the waits of goroutines that still have the stream: nobody needs their results.
    fn drop(&mut self) {
        if self.closes {
            self.reading.stream.close();
        }
    }
}

impl<T: Socket + fmt::Debug> fmt::Debug for GoschedIo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GoschedIo").field(self.stream()).finish()
    }
}

/// The reading half of a socket, shared with the goroutine that waits for bytes.
struct Reading<T> {
    stream: Arc<Pollable<T>>,
    inbox: Mutex<Inbox>,
}

/// The bytes that were read ahead.
struct Inbox {
    /// Empty before the first read, and while the goroutine that waits has it.
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
    /// The stream has ended.
    ended: bool,
    /// An error that the next read returns.
    failed: Option<io::Error>,
    /// Whether another read would probably find nothing, as the last one has taken all.
    drained: bool,
    /// Whether a goroutine waits, or is about to.
    waiting: bool,
    /// Wakes the task that has last found nothing to read.
    waker: Option<Waker>,
}

impl Inbox {
    fn new() -> Self {
        Inbox {
            bytes: Box::default(),
            start: 0,
            end: 0,
            ended: false,
            failed: None,
            drained: true,
            waiting: false,
            waker: None,
        }
    }

    /// Stores the result of a read.
    fn store(&mut self, result: io::Result<usize>) {
        match result {
            Ok(0) => self.ended = true,
            Ok(n) => {
                (self.start, self.end) = (0, n);
                self.drained = n < self.bytes.len();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.drained = true,
            Err(error) => self.failed = Some(error),
        }
    }

    /// Moves bytes to `buf`, if there are any. Returns the result of a read, or `None` if the task
    /// has to wait.
    fn deliver(&mut self, buf: &mut rt::ReadBufCursor<'_>) -> Option<io::Result<()>> {
        if self.start < self.end {
            let n = (self.end - self.start).min(buf.remaining());
            buf.put_slice(&self.bytes[self.start..self.start + n]);
            self.start += n;
            return Some(Ok(()));
        }
        match self.failed.take() {
            Some(error) => Some(Err(error)),
            None => self.ended.then_some(Ok(())),
        }
    }
}

/// Makes the buffer at the first read.
fn allocate(bytes: &mut Box<[u8]>) {
    if bytes.is_empty() {
        *bytes = vec![0; CHUNK].into();
    }
}

impl<T: Socket> Reading<T> {
    fn poll(self: &Arc<Self>, waker: &Waker, mut buf: rt::ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut inbox = lock(&self.inbox);
        if let Some(result) = inbox.deliver(&mut buf) {
            return Poll::Ready(result);
        }
        if !inbox.waiting && !inbox.drained {
            let this = &mut *inbox;
            allocate(&mut this.bytes);
            let result = T::read_now(&self.stream, &mut this.bytes);
            inbox.store(result);
            if let Some(result) = inbox.deliver(&mut buf) {
                return Poll::Ready(result);
            }
        }
        if !inbox.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            inbox.waker = Some(waker.clone());
        }
        if !inbox.waiting {
            inbox.waiting = true;
            drop(inbox);
            if !drive::wait_in(self.clone(), waker) {
                let this = self.clone();
                go_when_readable(self.stream.clone(), move |_| {
                    let mut inbox = lock(&this.inbox);
                    inbox.drained = false;
                    end_wait(inbox, None);
                });
            }
        }
        Poll::Pending
    }
}

/// Wakes the task that waits for bytes, unless it is `task`, which knows.
fn end_wait(mut inbox: MutexGuard<'_, Inbox>, task: Option<Task>) {
    inbox.waiting = false;
    let waker = inbox.waker.take_if(|waker| task != Some(Task::of(waker)));
    // Unlocked before, as a waker may run any code.
    drop(inbox);
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl<T: Socket> Source for Reading<T> {
    fn fill(&self, ctx: &context::Context, task: Task) -> bool {
        let mut bytes = take(&mut lock(&self.inbox).bytes);
        allocate(&mut bytes);
        let result = T::read_waiting(&self.stream, ctx, &mut bytes);
        let mut inbox = lock(&self.inbox);
        inbox.bytes = bytes;
        if result.as_ref().is_err_and(|error| ContextError::of(error).is_some()) {
            return false;
        }
        inbox.store(result);
        end_wait(inbox, Some(task));
        true
    }

    #[cfg(feature = "server")]
    fn enqueue_when_readable(self: Arc<Self>, queue: &Queue, due: Due) {
        queue.push_when_readable(&self.stream, due);
    }

    #[cfg(feature = "server")]
    fn readable(&self, task: Task) {
        let mut inbox = lock(&self.inbox);
        inbox.drained = false;
        end_wait(inbox, Some(task));
    }

    fn release(&self, task: Task) {
        // Another task that has polled since has to find another goroutine that waits.
        end_wait(lock(&self.inbox), Some(task));
    }
}

/// The writing half of a socket, shared with the goroutine that waits for room.
struct Writing<T> {
    stream: Arc<Pollable<T>>,
    state: Mutex<Wait>,
}

#[derive(Default)]
struct Wait {
    /// Is `Some` while a goroutine waits: wakes the task that has last found no room.
    waker: Option<Waker>,
    /// The error of the wait, for the next write.
    failed: Option<io::Error>,
}

impl<T: Socket> Writing<T> {
    /// Waits for room, and wakes the task.
    fn wake_when_ready(&self) {
        let result = self.stream.writable();
        let mut state = lock(&self.state);
        state.failed = result.err();
        let waker = state.waker.take();
        drop(state);
        waker.expect("only this goroutine takes it").wake();
    }
}

impl<T: Socket> rt::Read for GoschedIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.reading.poll(context.waker(), buf)
    }
}

impl<T: Socket> rt::Write for GoschedIo<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(context, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(context, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Ends the writing half. A descriptor that isn't a socket's has no halves, and stays open.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match shutdown(self.stream().get_ref().as_fd(), Shutdown::Write) {
            Err(Errno::NOTSOCK) => Ok(()),
            result => Ok(result?),
        })
    }
}
