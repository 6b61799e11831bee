//! The phases of a connection, which have time limits: it waits for a request's head, answers, or
//! is idle.

use std::io;
use std::mem::replace;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use gosched::time;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::service::Service;
use hyper::{Request, Response, Version};
use pin_project_lite::pin_project;

use crate::BoxError;
use crate::drive::lock;
use crate::timer::Alarm;

/// The time limits of a connection's phases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) header: Option<Duration>,
    pub(super) idle: Option<Duration>,
}

/// The phases of one connection, which its socket and its service report.
pub(super) struct Phases {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Clone, Copy)]
struct State {
    /// The number of requests that aren't answered yet.
    requests: usize,
    /// With no requests: whether a part of a request's head may have come.
    in_header: bool,
    /// Whether it is HTTP/2: then bytes needn't be those of a request.
    multiplexed: bool,
    /// Whether a phase has begun since the clock was read.
    begun: bool,
}

/// The clock of the phases, which the connection's task has.
#[derive(Default)]
pub(super) struct Clock {
    /// The end of the present phase, if it is limited.
    deadline: Option<Instant>,
    alarm: Alarm,
}

/// The end of a phase by its limit.
pub(super) enum Late {
    /// No head of a request came in time.
    Header,
    /// No request came in time.
    Idle,
}

impl From<Late> for BoxError {
    fn from(late: Late) -> Self {
        match late {
            Late::Header => "no head of a request came in time".into(),
            Late::Idle => "no request came in time".into(),
        }
    }
}

impl Phases {
    /// The phases of a new connection. None if nothing is limited.
    pub(super) fn new(limits: Limits) -> Option<Arc<Self>> {
        (limits.header.is_some() || limits.idle.is_some()).then(|| {
            let state = State { requests: 0, in_header: true, multiplexed: false, begun: true };
            Arc::new(Phases { limits, state: Mutex::new(state) })
        })
    }

    /// Is ready if the present phase has taken too long. Otherwise the clock wakes the task then.
    pub(super) fn poll(&self, clock: &mut Clock, context: &Context<'_>) -> Poll<Late> {
        let mut state = lock(&self.state);
        let (begun, State { requests, in_header, .. }) = (replace(&mut state.begun, false), *state);
        drop(state);
        let (limit, late) = match (requests, in_header) {
            (0, true) => (self.limits.header, Late::Header),
            (0, false) => (self.limits.idle, Late::Idle),
            _ => (None, Late::Idle),
        };
        if begun {
            clock.deadline = limit.and_then(|limit| time::now().checked_add(limit));
        }
        match clock.deadline {
            Some(deadline) => clock.alarm.poll(deadline, context).map(|()| late),
            None => Poll::Pending,
        }
    }

    /// Begins the limit of an idle connection anew.
    pub(super) fn begin_idle(&self) {
        lock(&self.state).begun = true;
    }

    fn bytes_came(&self) {
        let mut state = lock(&self.state);
        if state.requests == 0 && !state.in_header && !state.multiplexed {
            (state.in_header, state.begun) = (true, true);
        }
    }

    fn request_came(self: &Arc<Self>, version: Version) -> Answering {
        let mut state = lock(&self.state);
        state.requests += 1;
        (state.in_header, state.begun) = (false, true);
        state.multiplexed |= version == Version::HTTP_2;
        Answering(self.clone())
    }
}

/// Lives until a request is answered.
pub(super) struct Answering(Arc<Phases>);

impl Drop for Answering {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.requests -= 1;
        state.begun = true;
    }
}

/// A socket that reports that bytes have come.
pub(super) struct Watched<I> {
    pub(super) io: I,
    pub(super) phases: Option<Arc<Phases>>,
}

impl<I: Read + Unpin> Read for Watched<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.io).poll_read(context, buf);
        if let (Some(phases), Poll::Ready(Ok(()))) = (&self.phases, &result) {
            phases.bytes_came();
        }
        result
    }
}

impl<I: Write + Unpin> Write for Watched<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

/// A service that reports its requests.
pub(super) struct Reporting<S> {
    pub(super) service: S,
    pub(super) phases: Option<Arc<Phases>>,
}

impl<S, B> Service<Request<Incoming>> for Reporting<S>
where
    S: Service<Request<Incoming>, Response = Response<B>>,
{
    type Response = Response<Answer<B>>;
    type Error = S::Error;
    type Future = Answers<S::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let answering = self.phases.as_ref().map(|phases| phases.request_came(request.version()));
        Answers { future: self.service.call(request), answering }
    }
}

pin_project! {
    /// The future of an answer.
    pub(super) struct Answers<F> {
        #[pin]
        future: F,
        answering: Option<Answering>,
    }
}

impl<F, B, E> Future for Answers<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<Answer<B>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        this.future.poll(context).map_ok(|response| {
            let answering = this.answering.take();
            response.map(|body| Answer { body, _answering: answering })
        })
    }
}

pin_project! {
    /// The body of an answer, which is answered when hyper has dropped it.
    pub(super) struct Answer<B> {
        #[pin]
        body: B,
        _answering: Option<Answering>,
    }
}

impl<B: Body> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
