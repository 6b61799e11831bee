//! [`ReadyQueue`]: values that wait for descriptors, and then for a goroutine.
//!
//! The poller itself puts a value into the queue, mostly on g0, where no code of the program's may
//! run. So a value waits in a [`Node`], and the poller only links the node into the queue's list
//! (`ready_list.rs`). A goroutine takes the value out, and drops what the node had besides.

use std::cell::Cell;
use std::fmt;
use std::mem;
use std::os::fd::AsFd;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::Arc;

use crate::goroutine::Builder;
use crate::net::Pollable;
use crate::net::ready_list::{Linked, ReadyList};
use crate::runtime::print::eprintln;
use crate::runtime::runtime2::G;
use crate::runtime::{Inherited, Later, Mode, goready, point, poll_runtime_poll_later, throw, tsan};

/// A queue of values that goroutines take, and in which a value may first wait for a socket: few
/// goroutines serve many sockets. Go has no counterpart; it is what others use `epoll` for.
///
/// [`push`](Self::push) adds a value. [`push_when_readable`](Self::push_when_readable) adds it as
/// soon as a socket has something to read; until then no goroutine waits. [`pop`](Self::pop) waits
/// for a value. Values are taken in the order in which they came. Of the goroutines that wait, the
/// one that has waited shortest goes on first, as its stack is in the processor's cache still. The
/// others stay asleep while few are fast enough.
///
/// ```
/// use std::io::{Read, Write};
/// use std::sync::Arc;
///
/// use gosched::go;
/// use gosched::net::{ReadyQueue, UnixStream};
///
/// gosched::run(|| {
///     let queue = Arc::new(ReadyQueue::new());
///     let echo = {
///         let queue = queue.clone();
///         // Serves any number of connections.
///         go(move || {
///             while let Some(stream) = queue.pop() {
///                 let mut buf = [0; 64];
///                 let stream: Arc<UnixStream> = stream;
///                 let Ok(n @ 1..) = (&*stream).read(&mut buf) else { continue };
///                 if (&*stream).write_all(&buf[..n]).is_ok() {
///                     queue.push_when_readable(&stream, stream.clone());
///                 }
///             }
///         })
///     };
///     for message in [b"one", b"two"] {
///         let (mut ours, theirs) = UnixStream::pair()?;
///         let theirs = Arc::new(theirs);
///         queue.push_when_readable(&theirs, theirs.clone());
///         ours.write_all(message)?;
///         let mut answer = [0; 3];
///         ours.read_exact(&mut answer)?;
///         assert_eq!(&answer, message);
///     }
///     queue.close();
///     echo.join().unwrap();
///     Ok::<(), std::io::Error>(())
/// })
/// .unwrap();
/// ```
///
/// Dropping the queue drops its values. A value that waits for a socket is dropped when the wait
/// ends, on a goroutine.
pub struct ReadyQueue<T>(Arc<ReadyList<Node<T>>>);

impl<T: Send + 'static> ReadyQueue<T> {
    /// Makes an empty queue.
    ///
    /// ```
    /// let queue = gosched::net::ReadyQueue::<u32>::new();
    /// queue.close();
    /// assert_eq!(queue.pop(), None);
    /// ```
    pub fn new() -> Self {
        ReadyQueue(Arc::new(ReadyList::new()))
    }

    /// Adds a value. Never waits, and may be called on any thread.
    ///
    /// ```
    /// let queue = gosched::net::ReadyQueue::new();
    /// assert_eq!(queue.push(1), Ok(()));
    /// queue.close();
    /// assert_eq!(queue.push(2), Err(2));
    /// assert_eq!((queue.pop(), queue.pop()), (Some(1), None));
    /// ```
    ///
    /// # Errors
    /// If the queue is closed. It returns the value.
    pub fn push(&self, value: T) -> Result<(), T> {
        point("push");
        match self.0.add(Node::boxed(value, None)) {
            Ok(woken) => {
                if let Some(gp) = woken {
                    goready(gp);
                }
                Ok(())
            }
            Err(node) => Err(Node::open(node)),
        }
    }

    /// Adds a value as soon as `stream` has something to read, or its end, an error, a
    /// [deadline](Pollable::set_read_deadline) or a [`close`](Pollable::close) has come, which the
    /// next read returns. If that holds already, adds the value at once. Now and then a value is
    /// added without a cause.
    ///
    /// From now on until `pop` has returned the value, it is this call's turn to read: a read by
    /// another goroutine waits. A [`try_read`](Pollable::try_read) before this call saves a system
    /// call here.
    ///
    /// It can be called on any thread. It waits only for its turn, while another goroutine reads.
    ///
    /// # Panics
    /// If it must wait for its turn inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run). If the queue is closed when the wait ends, and there is no memory for
    /// the goroutine that drops the value, the process ends.
    pub fn push_when_readable<S>(&self, stream: &Arc<Pollable<S>>, value: T)
    where
        S: AsFd + Send + Sync + 'static,
    {
        let wait = {
            let mut drained = stream.registration.turn_to_read().lock();
            let wait = stream.registration.before_read(&mut drained, stream.as_fd());
            // It stays this node's turn to read until a goroutine has taken the node.
            mem::forget(drained);
            wait
        };
        let waits = Waits { list: self.0.clone(), turn: stream.clone() };
        let later = Box::into_raw(Node::boxed(value, Some(waits))).cast::<Later>();
        match wait {
            // SAFETY: `come` takes the node, once. The stream is in it, with its registration.
            Some(pd) => unsafe { poll_runtime_poll_later(pd, Mode::Read, later) },
            None => {
                // SAFETY: nobody else has the node.
                if let Some(gp) = unsafe { Node::<T>::come(later) } {
                    goready(gp);
                }
            }
        }
    }

    /// Takes the first value; waits for one if there is none. Returns `None` once the queue is
    /// closed and empty.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn pop(&self) -> Option<T> {
        point("pop");
        self.0.take("a pop").map(Node::open)
    }

    /// Ends all waits of [`pop`](Self::pop), once the values that there are have been taken. Later
    /// values aren't added.
    pub fn close(&self) {
        point("close");
        self.0.close();
    }
}

impl<T: Send + 'static> Default for ReadyQueue<T> {
    fn default() -> Self {
        ReadyQueue::new()
    }
}

impl<T> Drop for ReadyQueue<T> {
    fn drop(&mut self) {
        // A node that comes later isn't added.
        self.0.close();
        Rest(&self.0).drop_values();
    }
}

/// The values of a queue that is dropped. If a destructor panics, the values behind it are dropped
/// while that unwinds, and their turns to read end.
struct Rest<'a, T>(&'a ReadyList<Node<T>>);

impl<T> Rest<'_, T> {
    fn drop_values(&self) {
        while let Some(node) = self.0.try_take() {
            drop(Node::open(node));
        }
    }
}

impl<T> Drop for Rest<'_, T> {
    fn drop(&mut self) {
        self.drop_values();
    }
}

impl<T> fmt::Debug for ReadyQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("ReadyQueue { .. }")
    }
}

// Nothing panics while the state is changed.
impl<T> UnwindSafe for ReadyQueue<T> {}
impl<T> RefUnwindSafe for ReadyQueue<T> {}

/// A value in a queue, or on its way there.
#[repr(C)]
struct Node<T> {
    /// The first field, so that its address is that of the whole struct.
    later: Later,
    next: Cell<*mut Node<T>>,
    /// Is there if the value waits, or has waited.
    waits: Option<Waits<T>>,
    value: T,
}

/// What a value has that waits for a stream.
struct Waits<T> {
    /// Outlives its nodes. So dropping the last of these drops no value.
    list: Arc<ReadyList<Node<T>>>,
    turn: Arc<dyn Turn>,
}

/// A stream at which it is a node's turn to read.
trait Turn: Send + Sync {
    /// Ends the turn.
    ///
    /// # Safety
    /// It is the caller's.
    unsafe fn end(&self);
}

impl<S: Send + Sync> Turn for Pollable<S> {
    unsafe fn end(&self) {
        // SAFETY: the caller has the turn, whose guard was forgotten.
        unsafe { self.registration.turn_to_read().force_unlock() };
    }
}

// SAFETY: the value may be sent, and the list protects the link.
unsafe impl<T: Send> Send for Node<T> {}

impl<T> Linked for Node<T> {
    fn next(&self) -> &Cell<*mut Self> {
        &self.next
    }
}

impl<T: Send + 'static> Node<T> {
    fn boxed(value: T, waits: Option<Waits<T>>) -> Box<Self> {
        let later = Later { make: Self::come };
        let node = Box::new(Node { later, next: Cell::new(ptr::null_mut()), waits, value });
        // ThreadSanitizer sees nothing of what g0 does.
        tsan::release(&raw const *node);
        node
    }

    /// Puts the node on its list when the wait is over. Returns the goroutine that the caller
    /// makes ready. It may be called on g0.
    ///
    /// # Safety
    /// `later` is a boxed node that waits, and this is called once with it.
    unsafe fn come(later: *mut Later) -> Option<&'static G> {
        // SAFETY: `later` is the first field of a box that nobody else has.
        let node = unsafe { Box::from_raw(later.cast::<Self>()) };
        // Keeps the list until its lock is released.
        let list = node.waits.as_ref().expect("the caller says so").list.clone();
        match list.add(node) {
            Ok(woken) => woken,
            Err(node) => Some(Self::drop_elsewhere(node)),
        }
    }

    /// Makes a goroutine that drops the node of a closed list.
    #[cold]
    fn drop_elsewhere(node: Box<Self>) -> &'static G {
        let drops = move || drop(Node::open(node));
        let made = Builder::new().make_waiting(Location::caller(), &mut Some(drops), Inherited::NONE);
        made.unwrap_or_else(|error| {
            eprintln!("gosched::net::ReadyQueue: {error}");
            throw("out of memory for a goroutine")
        })
    }
}

impl<T> Node<T> {
    /// Takes the value out, and ends the turn to read. Called on a goroutine, or on a thread of the
    /// program's.
    #[expect(clippy::boxed_local, reason = "the address is that of the release")]
    fn open(node: Box<Self>) -> T {
        tsan::acquire(&raw const *node);
        let Node { waits, value, .. } = *node;
        if let Some(Waits { turn, .. }) = waits {
            // SAFETY: it is this node's turn, which the push has taken.
            unsafe { turn.end() };
        }
        value
    }
}
