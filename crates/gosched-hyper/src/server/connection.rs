//! One connection of a server, of any protocol.

use std::mem::replace;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Waker, ready};

use gosched::context::{self, AfterFunc};
use http_body::Body;
use hyper::body::Incoming;
use hyper::rt::bounds::Http2ServerConnExec;
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::server::conn::auto;
use pin_project_lite::pin_project;

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
pub(super) struct Ends {
    /// Ends it after the requests that have come.
    pub(super) graceful: context::Context,
    /// Ends it at once.
    pub(super) now: context::Context,
}

pin_project! {
    /// Serves a connection to its end.
    pub(super) struct Serving<C> {
        #[pin]
        connection: C,
        ends: Ends,
        phases: Arc<Phases>,
        clock: Clock,
        stops: Option<Stops>,
        // Whether it ends after the requests that have come.
        ending: bool,
    }
}

impl<C> Serving<C> {
    pub(super) fn new(connection: C, ends: Ends, phases: Arc<Phases>) -> Self {
        Serving { connection, ends, phases, clock: Clock::default(), stops: None, ending: false }
    }
}

impl<C: Connection> Future for Serving<C> {
    type Output = Result<(), BoxError>;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let stops = this.stops.get_or_insert_with(|| Stops::new(this.ends, task.waker()));
        match stops.came.load(Ordering::Acquire) {
            NONE => {}
            GRACEFUL if replace(this.ending, true) => {}
            GRACEFUL => this.connection.as_mut().end(),
            _ => return Poll::Ready(Err("the server has ended".into())),
        }
        loop {
            if let Poll::Ready(result) = this.connection.as_mut().poll(task) {
                return Poll::Ready(result.map_err(Into::into));
            }
            match ready!(this.phases.poll(this.clock, task)) {
                Late::Idle if !replace(this.ending, true) => {
                    // If a request comes meanwhile, it is answered. HTTP/2 waits for an
                    // acknowledgement, which has the same limit.
                    this.connection.as_mut().end();
                    this.phases.begin_idle();
                }
                late => return Poll::Ready(Err(late.into())),
            }
        }
    }
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
    fn new(ends: &Ends, waker: &Waker) -> Self {
        let came = Arc::new(AtomicU8::new(NONE));
        let wakes = [(&ends.graceful, GRACEFUL), (&ends.now, NOW)].map(|(ctx, stop)| {
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
