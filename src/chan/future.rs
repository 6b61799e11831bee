//! Channels in `async` code: futures that wait in the same queues as goroutines.

use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use crate::chan::handles::Elem;
use crate::chan::{Receiver, RecvError, SendError, Sender, TryRecvError, TrySendError};
use crate::goroutine::wake;
use crate::runtime::{
    Hchan, Waiting, enqueue_future, give_back, leave_future, poll_future, release_future, tsan,
};

/// The heap part of a future that waits: a value, or a place for one, in the form in which the
/// channel carries it.
#[repr(C)]
struct Node<R> {
    /// The first field: the node is found by the address of this.
    waiting: Waiting,
    place: UnsafeCell<MaybeUninit<R>>,
}

impl<R> Node<R> {
    fn make() -> NonNull<Waiting> {
        let node = Box::into_raw(Box::<Node<R>>::new_uninit());
        // SAFETY: a new box, of which both fields are written: the place may be uninitialised. It
        // isn't null.
        unsafe {
            let node = (*node).as_mut_ptr();
            let place = (&raw mut (*node).place).cast();
            (&raw mut (*node).waiting).write(Waiting::new(place, wake, Self::free));
            NonNull::new_unchecked(node.cast())
        }
    }

    /// Frees the result of [`make`](Self::make). A value in the place isn't dropped.
    unsafe fn free(w: NonNull<Waiting>) {
        // SAFETY: it is the first field of the node that make has boxed, and nobody has a share of
        // it.
        drop(unsafe { Box::from_raw(w.cast::<Node<R>>().as_ptr()) });
    }
}

/// The wait of a future at a channel of `T`s. `w` is `None` if it isn't in a queue.
pub(super) struct Wait<T> {
    w: Option<NonNull<Waiting>>,
    /// Variant as for a receiver: values only come out. A sender's future is invariant by the
    /// sender.
    values: PhantomData<fn() -> T>,
}

impl<T> Wait<T> {
    pub(super) const NONE: Self = Wait { w: None, values: PhantomData };

    /// A place for a value, in no queue.
    fn place() -> NonNull<Waiting> {
        if Elem::<T>::BOXED { Node::<Box<T>>::make() } else { Node::<T>::make() }
    }

    /// Moves a value to the place of `w`.
    ///
    /// # Safety
    /// [`place`](Self::place) made `w`, and it is in no queue.
    unsafe fn put_value(w: NonNull<Waiting>, value: T) {
        // SAFETY: the place is one for a T, or for a box of one, and nobody else's now.
        unsafe {
            let place = w.as_ref().place();
            if Elem::<T>::BOXED {
                place.cast::<Box<T>>().write(Box::new(value));
            } else {
                place.cast::<T>().write(value);
            }
        }
    }

    /// Moves the value out of the place of `w`, and gives up the share.
    ///
    /// # Safety
    /// As [`put_value`](Self::put_value); there is a value.
    unsafe fn take_value(w: NonNull<Waiting>) -> T {
        // SAFETY: as in put_value. The value is moved, and isn't dropped with the node.
        unsafe {
            let place = w.as_ref().place();
            let value =
                if Elem::<T>::BOXED { *place.cast::<Box<T>>().read() } else { place.cast::<T>().read() };
            release_future(w);
            value
        }
    }

    /// Receives a value.
    pub(super) fn recv(&mut self, rx: &Receiver<T>, context: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        let Some(c) = rx.c else { return Poll::Pending };
        if let Some(w) = self.w {
            // SAFETY: rx keeps the channel; w was queued there below, and is this future's.
            let Some(moved) = (unsafe { poll_future(c, w, context.waker()) }) else {
                return Poll::Pending;
            };
            self.w = None;
            // SAFETY: the wait is over, so w is this future's alone; if a value was moved, it is in
            // its place.
            return Poll::Ready(unsafe {
                if moved {
                    Ok(Self::take_value(w))
                } else {
                    release_future(w);
                    Err(RecvError)
                }
            });
        }
        let (mut place, mut waker) = (None, None);
        let outcome = loop {
            match rx.try_recv() {
                Ok(value) => break Ok(value),
                Err(TryRecvError::Disconnected) => break Err(RecvError),
                Err(TryRecvError::Empty) => {
                    // Keep the waker before there is a place: its code may panic.
                    let own = waker.take().unwrap_or_else(|| tsan::clone_waker(context.waker()));
                    let w = *place.get_or_insert_with(Self::place);
                    // SAFETY: rx keeps the channel; w is in no queue, and has a place for what that
                    // carries. It leaves the queue before this future's handle goes, or stays for
                    // ever.
                    waker = unsafe { enqueue_future(c, w, false, own) };
                    if waker.is_none() {
                        self.w = Some(w);
                        return Poll::Pending;
                    }
                }
            }
        };
        if let Some(w) = place {
            // SAFETY: it is in no queue, and has no value.
            unsafe { release_future(w) };
        }
        Poll::Ready(outcome)
    }

    /// Sends `value`, which is `Some` as long as this isn't in the queue.
    fn send(
        &mut self,
        tx: &Sender<T>,
        value: &mut Option<T>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        let c: NonNull<Hchan> = tx.c;
        if let Some(w) = self.w {
            // SAFETY: as in recv.
            let Some(moved) = (unsafe { poll_future(c, w, context.waker()) }) else {
                return Poll::Pending;
            };
            self.w = None;
            // SAFETY: the wait is over, so w is this future's alone; if the value wasn't moved, it
            // is in its place.
            return Poll::Ready(unsafe {
                if moved {
                    release_future(w);
                    Ok(())
                } else {
                    Err(SendError(Self::take_value(w)))
                }
            });
        }
        let mut waker = None;
        loop {
            let Some(to_send) = value.take() else { panic!("`send_async` polled after completion") };
            match tx.try_send(to_send) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(TrySendError::Disconnected(back)) => return Poll::Ready(Err(SendError(back))),
                Err(TrySendError::Full(back)) => {
                    // The value is there: the waker's code may panic.
                    *value = Some(back);
                    let own = waker.take().unwrap_or_else(|| tsan::clone_waker(context.waker()));
                    let Some(back) = value.take() else { unreachable!("it was there") };
                    let w = Self::place();
                    // SAFETY: w is new; it is in no queue, and has a value. tx keeps the channel.
                    // If it isn't queued up, the value is still there.
                    unsafe {
                        Self::put_value(w, back);
                        waker = enqueue_future(c, w, true, own);
                        if waker.is_none() {
                            self.w = Some(w);
                            return Poll::Pending;
                        }
                        *value = Some(Self::take_value(w));
                    }
                }
            }
        }
    }

    /// Called when the future of a receiver is dropped. A value that was sent to it goes back.
    pub(super) fn leave_recv(&mut self, c: Option<NonNull<Hchan>>) {
        let (Some(c), Some(w)) = (c, self.w.take()) else { return };
        // SAFETY: the caller keeps the channel; w was queued there, and its share is given up here.
        unsafe {
            match leave_future(c, w, false) {
                Ok(true) => give_back(c, w),
                // Its waker is dropped after that, which may panic.
                Ok(false) | Err(_) => release_future(w),
            }
        }
    }

    /// Called when the future of a sender is dropped. Drops the value, unless it was sent.
    fn leave_send(&mut self, c: NonNull<Hchan>) {
        let Some(w) = self.w.take() else { return };
        // SAFETY: as in leave_recv; where the value wasn't moved, it is in its place, and is this
        // future's.
        unsafe {
            match leave_future(c, w, true) {
                Ok(true) => release_future(w),
                // Its waker is dropped after that, which may panic.
                Ok(false) | Err(_) => drop(Self::take_value(w)),
            }
        }
    }
}

/// The future that [`Receiver::recv_async`] returns.
///
/// ```
/// use gosched::chan::{RecvFuture, bounded};
///
/// gosched::run(|| {
///     let (tx, rx) = bounded(0);
///     let next: RecvFuture<'_, u32> = rx.recv_async();
///     gosched::go(move || tx.send(7));
///     assert_eq!(gosched::block_on(next), Ok(7));
/// });
/// ```
#[must_use = "futures do nothing unless they are polled"]
pub struct RecvFuture<'a, T> {
    rx: &'a Receiver<T>,
    wait: Wait<T>,
}

/// The future that [`Sender::send_async`] returns.
///
/// ```
/// use gosched::chan::{SendFuture, bounded};
///
/// gosched::run(|| {
///     let (tx, rx) = bounded(1);
///     let sends: SendFuture<'_, u32> = tx.send_async(7);
///     assert!(rx.is_empty(), "it does nothing until it is polled");
///     gosched::block_on(sends).unwrap();
///     assert_eq!(rx.recv(), Ok(7));
/// });
/// ```
#[must_use = "futures do nothing unless they are polled"]
pub struct SendFuture<'a, T> {
    tx: &'a Sender<T>,
    value: Option<T>,
    wait: Wait<T>,
}

// SAFETY: it is a handle of the channel's, with a place in its queue, which the channel's lock
// protects. A value that goes to another thread is Send.
unsafe impl<T: Send> Send for RecvFuture<'_, T> {}
// SAFETY: a shared RecvFuture does nothing.
unsafe impl<T: Send> Sync for RecvFuture<'_, T> {}
// SAFETY: as for RecvFuture.
unsafe impl<T: Send> Send for SendFuture<'_, T> {}
// SAFETY: as for RecvFuture. A shared SendFuture gives no access to the value.
unsafe impl<T: Send> Sync for SendFuture<'_, T> {}
// The value is moved out when it is sent, and isn't polled itself.
impl<T> Unpin for SendFuture<'_, T> {}

impl<T> Receiver<T> {
    /// [`recv`](Self::recv) for `async` code. The future waits in the same queue as goroutines that
    /// receive, and gets a value when its turn comes. No thread and no goroutine waits for it. It
    /// can be polled anywhere, on the threads of any runtime.
    ///
    /// It may be dropped at any time, as `select!` of other crates does. Then a value that was sent
    /// to it goes to the next caller that receives. (A receiver that found the channel empty and
    /// closed before that isn't notified.)
    ///
    /// ```
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded(0);
    ///     gosched::go(move || tx.send(7));
    ///     assert_eq!(gosched::block_on(rx.recv_async()), Ok(7));
    /// });
    /// ```
    ///
    /// # Errors
    /// If the channel is empty and closed.
    pub fn recv_async(&self) -> RecvFuture<'_, T> {
        RecvFuture { rx: self, wait: Wait::NONE }
    }
}

impl<T> Sender<T> {
    /// [`send`](Self::send) for `async` code, as [`recv_async`](Receiver::recv_async) is
    /// [`recv`](Receiver::recv). If the future is dropped before it is ready, either the value has
    /// been sent, or it is dropped with the future.
    ///
    /// ```
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded(0);
    ///     let sum = gosched::go(move || rx.iter().sum::<u32>());
    ///     gosched::block_on(async {
    ///         for i in 0..10 {
    ///             tx.send_async(i).await?;
    ///         }
    ///         Ok::<(), gosched::chan::SendError<u32>>(())
    ///     })
    ///     .unwrap();
    ///     drop(tx);
    ///     assert_eq!(sum.join().unwrap(), 45);
    /// });
    /// ```
    ///
    /// # Errors
    /// If the channel is closed, or is closed while this waits; the value is in the error.
    pub fn send_async(&self, value: T) -> SendFuture<'_, T> {
        SendFuture { tx: self, value: Some(value), wait: Wait::NONE }
    }
}

impl<T> Future for RecvFuture<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let rx = self.rx;
        self.wait.recv(rx, context)
    }
}

impl<T> Future for SendFuture<'_, T> {
    type Output = Result<(), SendError<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let SendFuture { tx, value, wait } = &mut *self;
        wait.send(tx, value, context)
    }
}

impl<T> Drop for RecvFuture<'_, T> {
    fn drop(&mut self) {
        self.wait.leave_recv(self.rx.c);
    }
}

impl<T> Drop for SendFuture<'_, T> {
    fn drop(&mut self) {
        self.wait.leave_send(self.tx.c);
    }
}

impl<T> fmt::Debug for RecvFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("RecvFuture { .. }")
    }
}

impl<T> fmt::Debug for SendFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SendFuture { .. }")
    }
}
