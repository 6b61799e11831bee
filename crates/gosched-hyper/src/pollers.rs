//! Few goroutines that poll many futures: a server's connections.
//!
//! A future that waits has no goroutine. When its socket has something to read, or its waker was
//! called, it goes to a queue, and a poller takes it from there. As the poller that has waited
//! shortest goes on first, the futures are polled on stacks that are in the processor's cache. A
//! goroutine for each connection has a stack of its own, to which hyper writes 10 KB at each
//! request.
//!
//! A poll may wait as goroutines do, for instance in a handler, and then the poller waits in the
//! middle of the poll. So a poller polls only while there is another one that doesn't: that one
//! goes on with the queue. If there is none, the poller first makes one.

use std::mem::replace;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use gosched::net::ReadyQueue;
use gosched::{Builder, go, yield_now};
use pin_project_lite::pin_project;

use crate::drive::{self, Current, Source, lock};

/// The most pollers that may be out of a poll. Others end. They are as many as handlers have waited
/// at a time, and the next handlers that wait need them.
const IDLE: usize = 100;

/// How often a poller polls before it lets other goroutines go first.
const POLLS: usize = 64;

/// Pollers, and the futures that they poll. They end with the last of these handles and of the
/// futures.
#[derive(Clone)]
pub(crate) struct Pollers(Arc<Handle>);

struct Handle(Arc<Queue>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Pollers {
    /// Makes the first poller. All of them inherit what a goroutine would that is made here.
    pub(crate) fn new() -> Self {
        let queue = Arc::new(ReadyQueue::new());
        let poller = Poller { queue: queue.clone(), idle: Arc::new(AtomicUsize::new(1)) };
        go(move || poller.run());
        Pollers(Arc::new(Handle(queue)))
    }

    /// Polls a future to its end. `kept` is dropped after the future.
    pub(crate) fn spawn<F, K>(&self, future: F, kept: K)
    where
        F: Future + Send + 'static,
        K: Send + 'static,
    {
        let future = Box::pin(Keeping { future, _kept: (kept, self.clone()) });
        let task = Task { state: Mutex::new(State::Queued(future)), queue: self.0.0.clone() };
        Arc::new(task).enqueue();
    }
}

/// The tasks that are to be polled.
pub(crate) type Queue = ReadyQueue<Due>;

/// A task that is to be polled, and the source that has something to read, if that is why.
pub(crate) struct Due {
    task: Arc<Task>,
    source: Option<Arc<dyn Source>>,
}

/// A goroutine that polls.
#[derive(Clone)]
struct Poller {
    queue: Arc<Queue>,
    /// The number of pollers that aren't in a poll. Only the count itself matters, so every access
    /// is relaxed.
    idle: Arc<AtomicUsize>,
}

impl Poller {
    /// Makes another one. Without memory for it, the other futures wait until this poller is out of
    /// its poll.
    fn add(&self) {
        self.idle.fetch_add(1, Ordering::Relaxed);
        let other = self.clone();
        if Builder::new().go(move || other.run()).is_err() {
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn run(self) {
        let mut polls = 0;
        while let Some(due) = self.queue.pop() {
            if self.idle.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.add();
            }
            // If it panics, this poller ends, and isn't counted.
            due.poll();
            if self.idle.fetch_add(1, Ordering::Relaxed) >= IDLE {
                self.idle.fetch_sub(1, Ordering::Relaxed);
                return;
            }
            polls += 1;
            if polls % POLLS == 0 {
                yield_now();
            }
        }
    }
}

impl Due {
    fn poll(mut self) {
        let waker = Waker::from(self.task.clone());
        if let Some(source) = self.source.take() {
            source.readable(drive::Task::of(&waker));
            if !self.task.note_wake() {
                return;
            }
        }
        self.task.poll(&waker);
    }
}

impl Drop for Due {
    /// Comes here with a source if the queue was closed meanwhile: no future is left, but what has
    /// got the source by an upgrade still reads it.
    fn drop(&mut self) {
        if let Some(source) = self.source.take() {
            source.readable(drive::Task::of(&Waker::from(self.task.clone())));
        }
    }
}

pin_project! {
    /// A future, and what is dropped after it.
    struct Keeping<F, K> {
        #[pin]
        future: F,
        _kept: K,
    }
}

impl<F: Future, K> Future for Keeping<F, K> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.project().future.poll(context).map(drop)
    }
}

/// A future that pollers poll.
struct Task {
    state: Mutex<State>,
    queue: Arc<Queue>,
}

/// The state of a task. A poll takes the future out.
enum State {
    /// It waits for its waker, or its source.
    Waiting(Pin<Box<dyn Future<Output = ()> + Send>>),
    /// It is in the queue, or a poller has just taken it from there.
    Queued(Pin<Box<dyn Future<Output = ()> + Send>>),
    Polling,
    /// Its waker was called during the poll.
    Woken,
    Ended,
}

impl Task {
    /// Notes that the future can go on. Returns whether the caller is to enqueue or poll it.
    fn note_wake(&self) -> bool {
        let mut state = lock(&self.state);
        match replace(&mut *state, State::Woken) {
            State::Waiting(future) => {
                *state = State::Queued(future);
                return true;
            }
            State::Polling => {}
            unchanged => *state = unchanged,
        }
        false
    }

    fn enqueue(self: Arc<Self>) {
        let queue = self.queue.clone();
        // It is closed only when no future is left.
        let pushed = queue.push(Due { task: self, source: None });
        assert!(pushed.is_ok(), "a future has no pollers");
    }

    /// Polls the future once.
    fn poll(self: &Arc<Self>, waker: &Waker) {
        let State::Queued(mut future) = replace(&mut *lock(&self.state), State::Polling) else {
            unreachable!("a task is in the queue once")
        };
        // Dropped before the future, which may own the source.
        let mut current = Current::new(drive::Task::of(waker));
        if current.poll(future.as_mut(), &mut Context::from_waker(waker)).is_ready() {
            *lock(&self.state) = State::Ended;
            return;
        }
        if let Some(source) = current.source.take() {
            source
                .clone()
                .enqueue_when_readable(&self.queue, Due { task: self.clone(), source: Some(source) });
        }
        let mut state = lock(&self.state);
        if let State::Polling = *state {
            *state = State::Waiting(future);
        } else {
            *state = State::Queued(future);
            drop(state);
            self.clone().enqueue();
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if self.note_wake() {
            self.enqueue();
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.note_wake() {
            self.clone().enqueue();
        }
    }
}
