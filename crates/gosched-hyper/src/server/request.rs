//! One request of a server: the goroutine of its handler, its limits, and its answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use gosched::context::{self, Canceler, ContextError};
use gosched::sync::Semaphore;
use gosched::{JoinFuture, block_on, go, time};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::service::Service;
use hyper::{Method, Request, Response, StatusCode, Version};
use pin_project_lite::pin_project;

use crate::BoxError;
use crate::server::Slot;
use crate::server::phase::{Answering, Phases};
use crate::timer::Alarm;

/// The limits of requests, and where their handlers run.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// Whether a handler of HTTP/1 has a goroutine of its own. One of HTTP/2 always has.
    pub(super) own_goroutine: bool,
    /// How long the handler and the answer's body may take.
    pub(super) timeout: Option<Duration>,
    /// The places of handlers.
    pub(super) slots: Option<Arc<Semaphore>>,
}

impl Rules {
    /// Whether the handler of a request runs on a goroutine that it shares with nothing, so that
    /// its waits can be ended.
    fn apart(&self, version: Version) -> bool {
        self.timeout.is_some() || self.slots.is_some() || self.own_goroutine && version != Version::HTTP_2
    }
}

/// A service that limits its requests, and reports them.
pub(super) struct Requests<S> {
    pub(super) service: S,
    pub(super) phases: Arc<Phases>,
    pub(super) rules: Rules,
}

impl<S, B> Service<Request<Incoming>> for Requests<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Future: Send + 'static, Error: Into<BoxError>>,
    B: Send + 'static,
{
    type Response = Response<Answer<B>>;
    type Error = BoxError;
    type Future = Answers<S::Future, B>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let version = request.version();
        let protocol = match *request.method() {
            _ if version == Version::HTTP_2 => Protocol::Http2,
            Method::CONNECT => Protocol::Tunnel,
            _ => Protocol::Http1,
        };
        let answering = self.phases.request_came(version);
        let clock = self.rules.timeout.and_then(Clock::new);
        let apart = self.rules.apart(version);
        Answers {
            // Made in place, as the future is large.
            handler: if apart {
                Handler::There { running: Running::new(self.service.call(request), self.rules.slots.clone()) }
            } else {
                Handler::Here { future: self.service.call(request) }
            },
            rest: Some(Rest { clock, answering, slot: None }),
            protocol,
        }
    }
}

/// The protocol of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http1,
    /// HTTP/1, with which an answer may end, and the connection goes on.
    Tunnel,
    Http2,
}

/// What lives as long as a request.
struct Rest {
    clock: Option<Box<Clock>>,
    answering: Answering,
    slot: Option<Slot>,
}

/// The time limit of a request.
struct Clock {
    deadline: Instant,
    alarm: Alarm,
}

impl Clock {
    /// Begins it. `None` if the time has no end.
    fn new(timeout: Duration) -> Option<Box<Self>> {
        Some(Box::new(Clock { deadline: time::now().checked_add(timeout)?, alarm: Alarm::default() }))
    }

    /// Is ready if the time is up. Otherwise it wakes the task then.
    fn poll(&mut self, context: &Context<'_>) -> Poll<()> {
        self.alarm.poll(self.deadline, context)
    }
}

/// A handler's outcome, with its place.
type Outcome<B> = (Result<Response<B>, BoxError>, Option<Slot>);

/// A handler on a goroutine of its own. Dropping it ends the handler at its next wait.
struct Running<B> {
    joining: JoinFuture<Result<Outcome<B>, ContextError>>,
    _cancel: Canceler,
}

impl<B: Send + 'static> Running<B> {
    fn new<F, E>(future: F, slots: Option<Arc<Semaphore>>) -> Self
    where
        F: Future<Output = Result<Response<B>, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let (ctx, cancel) = context::Context::background().with_cancel();
        let handle = go(move || {
            ctx.run(|| {
                let slot = slots.map(Slot::take);
                (block_on(future).map_err(Into::into), slot)
            })
        });
        Running { joining: handle.into_future(), _cancel: cancel }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Outcome<B>> {
        let joined = ready!(Pin::new(&mut self.joining).poll(context));
        let ended = joined.unwrap_or_else(|panicked| panicked.resume_panic());
        // Only a drop of this value ends the run.
        Poll::Ready(ended.unwrap_or_else(|error| (Err(error.into()), None)))
    }
}

pin_project! {
    #[project = HandlerProjection]
    enum Handler<F, B> {
        /// On the goroutine that polls.
        Here {
            #[pin]
            future: F,
        },
        There {
            running: Running<B>,
        },
        Ended,
    }
}

impl<F, B, E> Handler<F, B>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
    B: Send + 'static,
{
    /// Polls it. The place that it has goes to `slot`.
    fn poll(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slot: &mut Option<Slot>,
    ) -> Poll<Result<Response<B>, BoxError>> {
        match self.project() {
            HandlerProjection::Here { future } => future.poll(context).map_err(Into::into),
            HandlerProjection::There { running } => {
                let result;
                (result, *slot) = ready!(running.poll(context));
                Poll::Ready(result)
            }
            HandlerProjection::Ended => unreachable!("it isn't polled again"),
        }
    }
}

pin_project! {
    /// The future of an answer.
    pub(super) struct Answers<F, B> {
        #[pin]
        handler: Handler<F, B>,
        rest: Option<Rest>,
        protocol: Protocol,
    }
}

impl<F, B, E> Future for Answers<F, B>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
    B: Send + 'static,
{
    type Output = Result<Response<Answer<B>>, BoxError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let rest = this.rest.as_mut().expect("it isn't polled again");
        let Poll::Ready(result) = this.handler.as_mut().poll(context, &mut rest.slot) else {
            let Some(clock) = &mut rest.clock else { return Poll::Pending };
            ready!(clock.poll(context));
            // Ends the handler, which may take its time.
            this.handler.set(Handler::Ended);
            let body = Answer { body: None, rest: this.rest.take() };
            return Poll::Ready(Ok(too_late(body, *this.protocol)));
        };
        let mut response = result?;
        let closes = *this.protocol == Protocol::Http1 && rest.answering.closes();
        if closes && !response.status().is_informational() {
            close(&mut response);
        }
        let rest = this.rest.take();
        Poll::Ready(Ok(response.map(|body| Answer { body: Some(body), rest })))
    }
}

/// The answer if the handler has none in time.
fn too_late<B>(body: Answer<B>, protocol: Protocol) -> Response<Answer<B>> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    if protocol != Protocol::Http2 {
        // The handler may still have the request's body, behind which the next request comes.
        close(&mut response);
    }
    response
}

/// Closes an HTTP/1 connection after this answer.
fn close<B>(response: &mut Response<B>) {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
}

pin_project! {
    /// The body of an answer, which is answered when hyper has dropped it.
    pub(super) struct Answer<B> {
        #[pin]
        body: Option<B>,
        rest: Option<Rest>,
    }
}

impl<B: Body<Error: Into<BoxError>>> Body for Answer<B> {
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let this = self.project();
        let Some(body) = this.body.as_pin_mut() else { return Poll::Ready(None) };
        let clock = this.rest.as_mut().and_then(|rest| rest.clock.as_mut());
        match (body.poll_frame(context), clock) {
            (Poll::Ready(frame), _) => Poll::Ready(frame.map(|result| result.map_err(Into::into))),
            (Poll::Pending, None) => Poll::Pending,
            (Poll::Pending, Some(clock)) => {
                clock.poll(context).map(|()| Some(Err("the answer took too long".into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
