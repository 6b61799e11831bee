//! The phases of a connection, which have time limits: it waits for a request's head, answers, or
//! is idle.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use gosched::{context, time};
use hyper::Version;
use hyper::rt::{Read, ReadBufCursor, Write};

use crate::BoxError;
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
    /// `BEGUN`, `IN_HEADER` and `MULTIPLEXED`, and `REQUEST` for each request that isn't answered
    /// yet. The connection's task changes everything. The end of a request takes away one and sets
    /// `BEGUN`, anywhere. A word tells of nothing else, so every access is relaxed.
    state: AtomicUsize,
    /// Once it has ended, answers close their connection.
    graceful: context::Context,
}

/// Whether a phase has begun since the clock was read.
const BEGUN: usize = 1;
/// With no requests: whether a part of a request's head may have come.
const IN_HEADER: usize = 2;
/// Whether it is HTTP/2: then bytes needn't be those of a request.
const MULTIPLEXED: usize = 4;
const REQUEST: usize = 8;

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
    /// The phases of a new connection.
    pub(super) fn new(limits: Limits, graceful: context::Context) -> Arc<Self> {
        Arc::new(Phases { limits, state: AtomicUsize::new(BEGUN | IN_HEADER), graceful })
    }

    /// Is ready if the present phase has taken too long. Otherwise the clock wakes the task then.
    pub(super) fn poll(&self, clock: &mut Clock, context: &Context<'_>) -> Poll<Late> {
        let mut state = self.state.load(Ordering::Relaxed);
        if state & BEGUN != 0 {
            state = self.state.fetch_and(!BEGUN, Ordering::Relaxed);
        }
        let (limit, late) = match (state / REQUEST, state & IN_HEADER) {
            (0, 0) => (self.limits.idle, Late::Idle),
            (0, _) => (self.limits.header, Late::Header),
            _ => (None, Late::Idle),
        };
        if state & BEGUN != 0 {
            clock.deadline = limit.and_then(|limit| time::now().checked_add(limit));
        }
        match clock.deadline {
            Some(deadline) => clock.alarm.poll(deadline, context).map(|()| late),
            None => Poll::Pending,
        }
    }

    /// Begins the limit of an idle connection anew.
    pub(super) fn begin_idle(&self) {
        self.state.fetch_or(BEGUN, Ordering::Relaxed);
    }

    fn bytes_came(&self) {
        let state = self.state.load(Ordering::Relaxed);
        if state & (IN_HEADER | MULTIPLEXED) == 0 && state < REQUEST {
            self.state.fetch_or(IN_HEADER | BEGUN, Ordering::Relaxed);
        }
    }

    pub(super) fn request_came(self: &Arc<Self>, version: Version) -> Answering {
        let multiplexed = if version == Version::HTTP_2 { MULTIPLEXED } else { 0 };
        self.change(|state| (state + REQUEST) & !IN_HEADER | BEGUN | multiplexed);
        Answering(self.clone())
    }

    fn change(&self, change: impl Fn(usize) -> usize) {
        let changed =
            self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| Some(change(state)));
        debug_assert!(changed.is_ok());
    }
}

/// Lives until a request is answered.
pub(super) struct Answering(Arc<Phases>);

impl Answering {
    /// Whether the answer is to close its connection.
    pub(super) fn closes(&self) -> bool {
        self.0.graceful.err().is_some()
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.change(|state| (state - REQUEST) | BEGUN);
    }
}

/// A socket that reports that bytes have come.
pub(super) struct Watched<I> {
    pub(super) io: I,
    pub(super) phases: Arc<Phases>,
}

impl<I: Read + Unpin> Read for Watched<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.io).poll_read(context, buf);
        if matches!(result, Poll::Ready(Ok(()))) {
            self.phases.bytes_came();
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
