//! hyper on goroutines, as a module to copy. hyper's connections read and write a [`Socket`];
//! [`Goroutines`] runs hyper's tasks and timers.
//!
//! HTTP/2 has one task for a connection. The task both reads and writes, so it may wait for
//! neither: it tries, and asks to be woken when another try makes sense. Here a goroutine does that
//! waiting. Each request to a server has a task of its own, which is a goroutine. It may wait as
//! goroutines do, also in the middle of `async` code.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{self, Shutdown};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use gosched::net::TcpStream;
use gosched::sync::Mutex;
use gosched::time::Timer;
use gosched::{block_on, go};
use hyper::rt::{Executor, Read, ReadBufCursor, Sleep, Timer as HyperTimer, Write};

/// The most bytes that one read takes.
const CHUNK: usize = 16 << 10;

/// A socket that hyper reads and writes.
pub struct Socket {
    stream: Arc<TcpStream>,
    reading: Arc<Direction>,
    writing: Arc<Direction>,
}

/// One direction of a socket.
struct Direction {
    stream: Arc<TcpStream>,
    wait: fn(&TcpStream) -> io::Result<()>,
    /// Is `Some` while a goroutine waits.
    waker: Mutex<Option<Waker>>,
}

impl Socket {
    /// Wraps the socket of a connection.
    pub fn new(stream: TcpStream) -> Self {
        let stream = Arc::new(stream);
        let direction = |wait| Arc::new(Direction { stream: stream.clone(), wait, waker: Mutex::new(None) });
        Socket { reading: direction(TcpStream::readable), writing: direction(TcpStream::writable), stream }
    }
}

impl Drop for Socket {
    /// Ends the waits of goroutines that still have the stream: nobody needs their results.
    fn drop(&mut self) {
        self.stream.close();
    }
}

impl Direction {
    /// Tries an operation. If it would have to wait, a goroutine waits instead, and wakes the task
    /// when another try makes sense.
    fn poll<R>(
        self: &Arc<Self>,
        context: &Context<'_>,
        mut operation: impl FnMut(&net::TcpStream) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            match operation(self.stream.get_ref()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                result => return Poll::Ready(result),
            }
        }
        if self.waker.lock().replace(context.waker().clone()).is_none() {
            let this = self.clone();
            go(move || this.wake_when_ready());
        }
        Poll::Pending
    }

    fn wake_when_ready(&self) {
        // If there is an error, the next try returns it.
        let _ = (self.wait)(&self.stream);
        let waker = self.waker.lock().take();
        waker.expect("only this goroutine takes it").wake();
    }
}

impl Read for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // Filling hyper's buffer in place would be unsafe.
        let mut chunk = [0; CHUNK];
        let chunk = &mut chunk[..CHUNK.min(buf.remaining())];
        let n = ready!(self.reading.poll(context, |mut stream| stream.read(chunk)))?;
        buf.put_slice(&chunk[..n]);
        Poll::Ready(Ok(()))
    }
}

impl Write for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.writing.poll(context, |mut stream| stream.write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.writing.poll(context, |mut stream| stream.write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown(Shutdown::Write))
    }
}

/// Runs each task on a goroutine, and sleeps by the runtime's timers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Goroutines;

impl<F> Executor<F> for Goroutines
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        go(|| block_on(task));
    }
}

impl HyperTimer for Goroutines {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Sleeping { deadline, timer: None })
    }
}

/// A task that waits for a time.
struct Sleeping {
    deadline: Instant,
    /// Wakes the task that has polled last.
    timer: Option<Timer>,
}

impl Future for Sleeping {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        self.timer = Some(Timer::after_func(left, move || waker.wake_by_ref()));
        Poll::Pending
    }
}

impl Sleep for Sleeping {}
