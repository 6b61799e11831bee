//! One connection of a server, of any protocol.

use std::future::poll_fn;
use std::mem::replace;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Poll, Waker, ready};

use gosched::context::{self, AfterFunc};
use http_body::Body;
use hyper::body::Incoming;
use hyper::rt::bounds::Http2ServerConnExec;
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::server::conn::auto;

use crate::drive::block_on;
use crate::server::phase::{Clock, Late, Phases};
use crate::{BoxError, GoschedExecutor};

/// A connection of hyper's.
pub(super) trait Connection: Future<Output = Result<(), Self::Failure>> {
    /// The type of its errors.
    type Failure: Into<BoxError>;

    /// Ends it after the requests that have come.
    fn end(self: Pin<&mut Self>);
}

impl<I, S, B> Connection for http1::UpgradeableConnection<I, S>
where
    I: Read + Write + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<B>, Error: Into<BoxError>>,
    B: Body<Error: Into<BoxError>> + 'static,
{
    type Failure = hyper::Error;

    fn end(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<I, S, B> Connection for http2::Connection<I, S, GoschedExecutor>
where
    I: Read + Write + Unpin + 'static,
    S: Service<Request<Incoming>, Response = Response<B>, Future: Send + 'static, Error: Into<BoxError>>,
    B: Body<Error: Into<BoxError>> + 'static,
    GoschedExecutor: Http2ServerConnExec<S::Future, B>,
{
    type Failure = hyper::Error;

    fn end(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<I, S, B> Connection for auto::UpgradeableConnection<'_, I, S, GoschedExecutor>
where
    I: Read + Write + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<B>, Future: Send + 'static, Error: Into<BoxError>>,
    B: Body<Error: Into<BoxError>> + 'static,
    GoschedExecutor: Http2ServerConnExec<S::Future, B>,
{
    type Failure = BoxError;

    fn end(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// The two contexts that end a connection.
pub(super) struct Ends<'a> {
    /// Ends it after the requests that have come.
    pub(super) graceful: &'a context::Context,
    /// Ends it at once.
    pub(super) now: &'a context::Context,
}

pub(super) fn run<C: Connection>(connection: C, ends: &Ends<'_>, phases: &Phases) -> Result<(), BoxError> {
    let mut connection = pin!(connection);
    let (mut clock, mut stops) = (Clock::default(), None);
    let mut ending = false;
    block_on(poll_fn(|task| {
        let stops = stops.get_or_insert_with(|| Stops::new(ends, task.waker()));
        match stops.came.load(Ordering::Acquire) {
            NONE => {}
            GRACEFUL if replace(&mut ending, true) => {}
            GRACEFUL => connection.as_mut().end(),
            _ => return Poll::Ready(Err("the server has ended".into())),
        }
        loop {
            if let Poll::Ready(result) = connection.as_mut().poll(task) {
                return Poll::Ready(result.map_err(Into::into));
            }
            match ready!(phases.poll(&mut clock, task)) {
                Late::Idle if !replace(&mut ending, true) => {
                    // If a request comes meanwhile, it is answered. HTTP/2 waits for an
                    // acknowledgement, which has the same limit.
                    connection.as_mut().end();
                    phases.begin_idle();
                }
                late => return Poll::Ready(Err(late.into())),
            }
        }
    }))
}

const NONE: u8 = 0;
/// The context that ends the connection after its requests has ended.
const GRACEFUL: u8 = 1;
/// The context that ends it at once has.
const NOW: u8 = 2;

/// Wakes a task at the end of each of two contexts.
struct Stops {
    /// The greatest of the constants that holds.
    came: Arc<AtomicU8>,
    _wakes: [AfterFunc; 2],
}

impl Stops {
    fn new(ends: &Ends<'_>, waker: &Waker) -> Self {
        let came = Arc::new(AtomicU8::new(NONE));
        let wakes = [(ends.graceful, GRACEFUL), (ends.now, NOW)].map(|(ctx, stop)| {
            if ctx.err().is_some() {
                came.fetch_max(stop, Ordering::Relaxed);
            }
            let (sets, waker) = (came.clone(), waker.clone());
            ctx.after_func(move || {
                // Pairs with the load before the next poll.
                sets.fetch_max(stop, Ordering::Release);
                waker.wake();
            })
        });
        Stops { came, _wakes: wakes }
    }
}
