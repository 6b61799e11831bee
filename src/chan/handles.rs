//! [`Sender`] and [`Receiver`]: the typed handles of a channel, and the iterators over what is
//! received. The handles are counted, because there is no collector. [`bounded`] and [`unbounded`]
//! make them.
//!
//! Values travel through the untyped channel by their address: see [`Elem`]. Without optimisation
//! each function that gets a value would have a copy of it on its stack, and goroutines' stacks are
//! small.

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::process::abort;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::chan::select_set::wait_until_ready;
use crate::chan::{RecvError, SendError, TryRecvError, TrySendError};
use crate::runtime::{
    Awaited, Block, Hchan, MAX_ALIGN, Received, Scase, Sent, Type, Woken, chancap, chanlen, chanrecv,
    chansend, chansend_unwoken, closechan, end_with_run, freechan, in_run, is_closed, makechan,
    makechan_growing, must_wait, point,
};

/// Makes a channel with room for `cap` values; with 0, each send waits for its receive. Go's
/// `make(chan T, cap)`.
///
/// ```
/// use gosched::chan::bounded;
///
/// let (tx, rx) = bounded(2);
/// tx.send("one").unwrap();
/// tx.send("two").unwrap(); // a third would wait
/// assert_eq!((rx.recv(), rx.recv()), (Ok("one"), Ok("two")));
/// ```
///
/// # Panics
/// If there is no memory for it.
#[track_caller]
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    // 'static, whatever T borrows, because a Type has no lifetime.
    let elem: &'static Type = const { &Elem::<T>::TYPE };
    let Some(c) = makechan(elem, cap) else { panic!("gosched: no memory for a channel of {cap} values") };
    (Sender { c, values: PhantomData }, Receiver { c: Some(c), values: PhantomData })
}

/// Makes a channel whose buffer grows, so that a send never waits. [`send`](Sender::send) fails
/// only if the channel is closed, and `try_send` never returns `Full`. Everything else is as with
/// [`bounded`]. Go has no such channel.
///
/// **Nothing slows down senders that are faster than the receivers.** The buffer grows until there
/// is no memory left, and then the process is aborted, as with a `Vec`. A send fails if the
/// receivers are gone, but not if they hang. Use [`bounded`] unless something else limits the
/// number of values, such as the number of requests that are under way.
///
/// A buffer of more than 4 KiB goes back to the allocator when a receive finds it empty.
///
/// ```
/// use gosched::chan::unbounded;
///
/// let (tx, rx) = unbounded();
/// for i in 0..1000 {
///     tx.send(i).unwrap(); // no goroutine receives yet
/// }
/// assert_eq!((tx.len(), tx.capacity()), (1000, None));
/// drop(tx);
/// assert!(rx.iter().eq(0..1000));
/// ```
///
/// # Panics
/// If there is no memory for it.
#[track_caller]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    // 'static as in `bounded`.
    let elem: &'static Type = const { &Elem::<T>::TYPE };
    let Some(c) = makechan_growing(elem) else { panic!("gosched: no memory for a channel") };
    (Sender { c, values: PhantomData }, Receiver { c: Some(c), values: PhantomData })
}

/// The receiver of a channel that never has a value and is never closed: Go's nil channel. It is
/// used to switch off an arm of a select.
///
/// ```
/// let input: gosched::chan::Receiver<u32> = gosched::chan::never();
/// assert!(input.try_recv().is_err());
/// ```
pub const fn never<T>() -> Receiver<T> {
    Receiver { c: None, values: PhantomData }
}

/// The sending side of a channel. When the last one is dropped, the channel is closed.
///
/// It takes values of exactly the channel's type, and none with a shorter lifetime:
///
/// ```compile_fail,E0597
/// use gosched::chan::{Sender, bounded};
///
/// fn send<'a>(tx: &Sender<&'a str>, text: &'a str) {
///     tx.try_send(text).unwrap();
/// }
///
/// let (tx, rx) = bounded::<&'static str>(1);
/// let text = String::from("gone soon");
/// send(&tx, &text);
/// ```
pub struct Sender<T> {
    pub(crate) c: NonNull<Hchan>,
    /// A cell is invariant in `T`. If senders were covariant, a receiver could get dangling
    /// references.
    values: PhantomData<Cell<T>>,
}

/// The receiving side of a channel. When the last one is dropped, sends fail, and the values in the
/// buffer are dropped. If the drop of one value panics, the others are dropped, too, and the panic
/// goes on; a second panic aborts, as with a `Vec`.
///
/// ```
/// let (tx, rx) = gosched::chan::bounded(3);
/// assert!(rx.is_empty() && rx.capacity() == Some(3));
/// tx.try_send(1).unwrap();
/// assert_eq!((rx.len(), rx.is_full(), rx.try_recv()), (1, false, Ok(1)));
/// drop(tx);
/// assert_eq!(rx.iter().next(), None);
/// ```
pub struct Receiver<T> {
    /// None for [`never()`].
    pub(crate) c: Option<NonNull<Hchan>>,
    /// Covariant in `T`: values only come out.
    pub(super) values: PhantomData<T>,
}

// SAFETY: a channel's lock and atomics let any thread use it; a value that goes to another thread
// is Send.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: as for Send.
unsafe impl<T: Send> Sync for Sender<T> {}
// SAFETY: as for Sender.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: as for Sender.
unsafe impl<T: Send> Sync for Receiver<T> {}

// A panic leaves no half-changed value behind: values are only moved in and out as a whole.
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Sender<T> {
    #[inline(always)]
    fn hchan(&self) -> &Hchan {
        // SAFETY: the channel isn't freed before its last handle is dropped.
        unsafe { self.c.as_ref() }
    }

    /// Sends a value; waits while the buffer is full or, without a buffer, until a receiver comes.
    /// Go's `ch <- value`, in `chan.go`.
    ///
    /// ```
    /// let (tx, rx) = gosched::chan::bounded(1);
    /// assert_eq!(tx.send(7), Ok(()));
    /// drop(rx);
    /// assert_eq!(tx.send(8).unwrap_err().0, 8);
    /// ```
    ///
    /// # Errors
    /// If the channel is closed, or is closed while this waits; the value is in the error.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[inline]
    #[track_caller]
    pub fn send(&self, mut value: T) -> Result<(), SendError<T>> {
        let at = &raw mut value;
        // SAFETY: there is a value, which is forgotten below if it was sent.
        let mut sent = unsafe { self.send_at(at, Block::UnlessInRun) };
        if sent == Sent::Full {
            // SAFETY: there is a value, which is forgotten below if it was sent.
            sent = unsafe { self.wait_to_send(at) };
        }
        if sent == Sent::Closed {
            // Perhaps by the end of the run, which has ended the receivers first.
            end_with_run();
        }
        if sent == Sent::Done {
            mem::forget(value);
            return Ok(());
        }
        Err(SendError(value))
    }

    /// Sends the value at `value`, and waits if `wait` is set and this is a goroutine.
    ///
    /// # Safety
    /// There is a value; if the result is `Done`, it is gone.
    #[inline(always)]
    pub(crate) unsafe fn send_at(&self, value: *mut T, block: Block) -> Sent {
        // SAFETY: elem is a T as the channel carries it; self keeps the channel.
        unsafe { Elem::send(value, |elem| chansend(Some(self.c), elem, block)) }
    }

    /// The wait of a send on a thread that isn't a goroutine's, or in a run of a context, or of a
    /// goroutine that has values or was aborted.
    ///
    /// # Safety
    /// As [`send_at`](Self::send_at).
    #[cold]
    #[inline(never)]
    #[track_caller]
    unsafe fn wait_to_send(&self, value: *mut T) -> Sent {
        let _guest = must_wait("send");
        loop {
            // SAFETY: as the caller says.
            let sent = unsafe {
                if in_run() {
                    self.send_at_unless(value, &never())
                } else {
                    self.send_at(value, Block::until_end())
                }
            };
            if sent != Sent::Full {
                return sent;
            }
            end_with_run();
        }
    }

    /// Sends a value if that needs no wait. Go's `select` with a send and a `default`.
    ///
    /// # Errors
    /// If the channel is full, or closed; the value is in the error.
    pub fn try_send(&self, mut value: T) -> Result<(), TrySendError<T>> {
        // SAFETY: as in send.
        match unsafe { self.send_at(&raw mut value, Block::No) } {
            Sent::Done => {
                mem::forget(value);
                Ok(())
            }
            Sent::Closed => Err(TrySendError::Disconnected(value)),
            Sent::Full => Err(TrySendError::Full(value)),
        }
    }

    /// [`try_send`](Self::try_send), but the caller must wake the future that gets the value.
    pub(crate) fn try_send_unwoken(&self, mut value: T) -> (Result<(), TrySendError<T>>, Option<Woken>) {
        let mut woken = None;
        // SAFETY: elem is a T as the channel carries it; self keeps the channel; there is a value,
        // which is forgotten if it was sent.
        let sent = unsafe {
            Elem::send(&raw mut value, |elem| {
                let sent;
                (sent, woken) = chansend_unwoken(self.c, elem);
                sent
            })
        };
        let result = match sent {
            Sent::Done => {
                mem::forget(value);
                Ok(())
            }
            Sent::Closed => Err(TrySendError::Disconnected(value)),
            Sent::Full => Err(TrySendError::Full(value)),
        };
        (result, woken)
    }

    /// Closes the channel: values in the buffer can still be received; sends fail from now on,
    /// waiting ones included. A second call does nothing, where Go panics. Go's `close`.
    ///
    /// ```
    /// let (tx, rx) = gosched::chan::bounded(1);
    /// tx.close();
    /// assert!(tx.send(7).is_err() && rx.recv().is_err());
    /// ```
    pub fn close(&self) {
        // SAFETY: this handle keeps the channel.
        unsafe { closechan(self.c) };
    }

    /// Whether the channel is closed at this moment, so that a send would fail: by
    /// [`close`](Self::close), or because there is no receiver any more.
    ///
    /// ```
    /// let (tx, rx) = gosched::chan::bounded::<u32>(1);
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        is_closed(self.hchan())
    }

    /// Waits until the channel is closed, so that a send would fail: by [`close`](Self::close), or
    /// because there is no receiver any more. Meanwhile each operation on the channel takes a
    /// little longer. Go has no such function: there a receiver closes another channel, to tell.
    ///
    /// ```
    /// use gosched::chan::bounded;
    ///
    /// gosched::run(|| {
    ///     let (tx, rx) = bounded::<u32>(1);
    ///     gosched::go(move || drop(rx));
    ///     tx.closed();
    ///     assert!(tx.send(7).is_err());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn closed(&self) {
        if !self.is_closed() {
            let case = [Scase { c: Some(self.c), elem: ptr::null_mut() }];
            // SAFETY: this handle keeps the channel, and there are two numbers for the case.
            unsafe { wait_until_ready("Sender::closed", &case, &mut [0; 2], 1, Awaited::Close, true) };
        }
    }

    /// How many senders there are. At 0 the channel is closed.
    ///
    /// ```
    /// let (tx, rx) = gosched::chan::bounded::<u32>(1);
    /// let other = tx.clone();
    /// assert_eq!((tx.sender_count(), rx.sender_count()), (2, 2));
    /// drop((tx, other));
    /// assert_eq!(rx.sender_count(), 0);
    /// ```
    pub fn sender_count(&self) -> usize {
        sender_count(self.hchan())
    }

    /// Whether both are handles of one channel.
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        self.c == other.c
    }
}

impl<T> Receiver<T> {
    #[inline(always)]
    fn hchan(&self) -> Option<&Hchan> {
        // SAFETY: the channel isn't freed before its last handle is dropped.
        self.c.map(|c| unsafe { c.as_ref() })
    }

    /// Receives a value; waits until there is one. Go's `<-ch`, in `chan.go`.
    ///
    /// # Errors
    /// If the channel is empty and closed.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[inline]
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut place = MaybeUninit::<T>::uninit();
        let at = place.as_mut_ptr();
        // SAFETY: a place for a value.
        let mut received = unsafe { self.recv_at(at, Block::UnlessInRun) };
        if received == Received::Empty {
            // SAFETY: `at` is a place for a value.
            received = unsafe { self.wait_to_receive(at) };
        }
        if received == Received::Closed {
            // Perhaps by the end of the run, which has ended the senders first.
            end_with_run();
        }
        // SAFETY: Done says that there is a value, which is moved out.
        if received == Received::Done { Ok(unsafe { at.read() }) } else { Err(RecvError) }
    }

    /// Receives into `place`, and waits if `wait` is set and this is a goroutine.
    ///
    /// # Safety
    /// `place` is a place for a value; if the result is `Done`, it holds one.
    #[inline(always)]
    pub(crate) unsafe fn recv_at(&self, place: *mut T, block: Block) -> Received {
        // SAFETY: elem is a place for a T as the channel carries it; this handle keeps the channel.
        unsafe { Elem::recv(place, |elem| chanrecv(self.c, elem, block)) }
    }

    /// The wait of a receive on a thread that isn't a goroutine's, or in a run of a context, or of
    /// a goroutine that has values or was aborted.
    ///
    /// # Safety
    /// As [`recv_at`](Self::recv_at).
    #[cold]
    #[inline(never)]
    #[track_caller]
    unsafe fn wait_to_receive(&self, place: *mut T) -> Received {
        let _guest = must_wait("recv");
        loop {
            // SAFETY: as the caller says.
            let received = unsafe {
                if in_run() {
                    self.recv_at_unless(place, &never())
                } else {
                    self.recv_at(place, Block::until_end())
                }
            };
            if received != Received::Empty {
                return received;
            }
            end_with_run();
        }
    }

    /// Receives a value if that needs no wait. Go's `select` with a receive and a `default`.
    ///
    /// # Errors
    /// If the channel is empty; and if it is empty and closed.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut place = MaybeUninit::<T>::uninit();
        // SAFETY: a place for a value.
        match unsafe { self.recv_at(place.as_mut_ptr(), Block::No) } {
            // SAFETY: Done says that there is a value, which is moved out.
            Received::Done => Ok(unsafe { place.as_ptr().read() }),
            Received::Closed => Err(TryRecvError::Disconnected),
            Received::Empty => Err(TryRecvError::Empty),
        }
    }

    /// An iterator that receives, and waits for each value, until the channel is empty and closed.
    /// Go's `range ch`.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self)
    }

    /// An iterator that receives without waiting: it ends when there is no value at the moment.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter::new(self)
    }

    /// Closes the channel, as [`Sender::close`] does.
    pub(super) fn close(&self) {
        if let Some(c) = self.c {
            // SAFETY: this handle keeps the channel.
            unsafe { closechan(c) };
        }
    }

    /// Whether the channel is closed at this moment: by [`close`](Sender::close), or because there
    /// is no sender any more. Values in the buffer can still be received.
    ///
    /// ```
    /// let (tx, rx) = gosched::chan::bounded(1);
    /// tx.send(7).unwrap();
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// assert_eq!(rx.recv(), Ok(7));
    /// ```
    pub fn is_closed(&self) -> bool {
        self.hchan().is_some_and(is_closed)
    }

    /// How many senders there are, as [`Sender::sender_count`] says. A timer isn't counted.
    pub fn sender_count(&self) -> usize {
        self.hchan().map_or(0, sender_count)
    }

    /// Whether both are handles of one channel.
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        self.c == other.c
    }
}

macro_rules! buffer {
    ($handle:ident, $this:ident => $hchan:expr) => {
        impl<T> $handle<T> {
            /// The number of values in the buffer at this moment; 0 for the channel of a timer.
            /// Go's `len`.
            pub fn len(&self) -> usize {
                let $this = self;
                $hchan.map_or(0, chanlen)
            }

            /// Whether the buffer is empty at this moment: always so with capacity 0.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Whether the buffer is full at this moment: always so with capacity 0, and never if
            /// the channel is [unbounded()].
            pub fn is_full(&self) -> bool {
                self.capacity() == Some(self.len())
            }

            /// How many values the buffer has room for. `Some(0)` for the channel of a timer, and
            /// `None` if the channel is [unbounded()]. Go's `cap`.
            pub fn capacity(&self) -> Option<usize> {
                let $this = self;
                $hchan.map_or(Some(0), chancap)
            }
        }
    };
}

buffer!(Sender, this => Some(this.hchan()));
buffer!(Receiver, this => this.hchan());

/// Counts one handle more.
fn grab(handles: &AtomicU32) {
    // Relaxed: the handle that is cloned keeps the channel meanwhile. A count that wraps around
    // would free a channel in use, so there is a limit: Arc's, half of the range.
    if handles.fetch_add(1, Ordering::Relaxed) > u32::MAX / 2 {
        abort();
    }
}

/// Counts one handle less. After the last one of a side, calls `disconnect`, and frees the channel
/// if the other side has no handle either.
#[inline(always)]
fn release(c: NonNull<Hchan>, handles: &AtomicU32, disconnect: impl FnOnce()) {
    // As in an Arc, the release of each drop pairs with the acquire of the last one. So the last
    // drop comes after all uses of the other handles.
    if handles.fetch_sub(1, Ordering::AcqRel) == 1 {
        release_side(c, disconnect);
    }
}

/// The rest of [`release`], for the last handle. Not inlined, because otherwise every drop of a
/// handle would save registers for this rare part.
#[inline(never)]
fn release_side(c: NonNull<Hchan>, disconnect: impl FnOnce()) {
    /// Counts when it is dropped, so also after a panic in the drop of a value by `disconnect`.
    struct Side(NonNull<Hchan>);
    impl Drop for Side {
        fn drop(&mut self) {
            // SAFETY: the channel stays until both sides have counted here. The second count
            // acquires what the first released after its disconnect. So no handle is left, and
            // nobody uses the channel.
            unsafe {
                if self.0.as_ref().ext.sides.fetch_sub(1, Ordering::AcqRel) == 1 {
                    freechan(self.0);
                }
            }
        }
    }

    let _side = Side(c);
    disconnect();
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        grab(&self.hchan().ext.senders);
        Sender { c: self.c, values: PhantomData }
    }
}

fn sender_count(c: &Hchan) -> usize {
    point("sender_count");
    // Relaxed: the number may be another one by the time the caller looks at it.
    c.ext.senders.load(Ordering::Relaxed) as usize
}

impl<T> Drop for Sender<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this handle is still counted: the channel stays until `release` has counted it
        // off.
        release(self.c, unsafe { &self.c.as_ref().ext.senders }, || self.close());
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        if let Some(c) = self.hchan() {
            grab(&c.ext.receivers);
        }
        Receiver { c: self.c, values: PhantomData }
    }
}

/// Drops the values in the buffer when it is dropped.
struct Unread<'a, T>(&'a Receiver<T>);

impl<T> Drop for Unread<'_, T> {
    fn drop(&mut self) {
        while self.0.try_recv().is_ok() {}
    }
}

impl<T> Drop for Receiver<T> {
    #[inline]
    fn drop(&mut self) {
        let Some(c) = self.c else { return };
        // SAFETY: as for a Sender.
        release(c, unsafe { &c.as_ref().ext.receivers }, || {
            // No value will be received any more: senders that wait fail, and values in the buffer
            // are dropped. SAFETY: the channel isn't freed before this closure has returned.
            unsafe { closechan(c) };
            // Two of them: if the drop of a value panics, the second drops the others while the
            // first unwinds, as with a Vec.
            let _others = Unread(self);
            drop(Unread(self));
        });
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Receiver { .. }")
    }
}

/// Receives and waits for each value: made by [`Receiver::iter`].
///
/// ```
/// use gosched::chan::bounded;
///
/// gosched::run(|| {
///     let (tx, rx) = bounded(0);
///     gosched::go(move || (1..=3).for_each(|n| tx.send(n).unwrap()));
///     let mut sum = 0;
///     for n in &rx {
///         sum += n;
///     }
///     assert_eq!(sum, 6);
/// });
/// ```
#[must_use = "an iterator receives nothing until it is asked for a value"]
pub struct Iter<'a, T>(&'a Receiver<T>);

/// Receives and waits for no value: made by [`Receiver::try_iter`].
///
/// ```
/// use gosched::chan::bounded;
///
/// let (tx, rx) = bounded(3);
/// tx.send(1).unwrap();
/// tx.send(2).unwrap();
/// assert_eq!(rx.try_iter().collect::<Vec<_>>(), [1, 2]); // the channel is still open
/// ```
#[must_use = "an iterator receives nothing until it is asked for a value"]
pub struct TryIter<'a, T>(&'a Receiver<T>);

/// [`Iter`] that owns its receiver.
///
/// ```
/// use gosched::chan::{Receiver, bounded};
///
/// fn numbers() -> impl Iterator<Item = u32> {
///     let (tx, rx): (_, Receiver<u32>) = bounded(0);
///     gosched::go(move || (1..=3).for_each(|n| tx.send(n).unwrap()));
///     rx.into_iter()
/// }
///
/// gosched::run(|| assert_eq!(numbers().sum::<u32>(), 6));
/// ```
#[must_use = "an iterator receives nothing until it is asked for a value"]
pub struct IntoIter<T>(Receiver<T>);

impl<'a, T> Iter<'a, T> {
    fn new(receiver: &'a Receiver<T>) -> Self {
        Iter(receiver)
    }
}

impl<'a, T> TryIter<'a, T> {
    fn new(receiver: &'a Receiver<T>) -> Self {
        TryIter(receiver)
    }
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Iter { .. }")
    }
}

impl<T> fmt::Debug for TryIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("TryIter { .. }")
    }
}

impl<T> fmt::Debug for IntoIter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("IntoIter { .. }")
    }
}

/// How an [`Hchan`](crate::chan::hchan::Hchan) carries a `T`: as it is, or in a box if its size or
/// its alignment is more than an `Hchan` can have.
pub(super) struct Elem<T>(PhantomData<T>);

impl<T> Elem<T> {
    pub(crate) const BOXED: bool = size_of::<T>() > u16::MAX as usize || align_of::<T>() > MAX_ALIGN;

    pub(crate) const TYPE: Type = if Self::BOXED {
        Type { size_: size_of::<Box<T>>(), align_: align_of::<Box<T>>() }
    } else {
        Type { size_: size_of::<T>(), align_: align_of::<T>() }
    };

    /// Calls `send` with `value`, or with the address of a box that has the value meanwhile.
    ///
    /// # Safety
    /// There is a value. `send` moves it if it returns `Done`, and then it is gone.
    #[inline(always)]
    pub(super) unsafe fn send(value: *mut T, send: impl FnOnce(*const c_void) -> Sent) -> Sent {
        if !Self::BOXED {
            return send(value.cast());
        }
        let mut boxed = ManuallyDrop::new(Box::<T>::new_uninit());
        // SAFETY: there is a value, as the caller says, and room for one; it is back there unless
        // it was sent.
        unsafe { ptr::copy_nonoverlapping(value, boxed.as_mut_ptr(), 1) };
        let sent = send((&raw const boxed).cast());
        if sent != Sent::Done {
            // SAFETY: the value wasn't sent, so it is still in the box, and `value` has room for
            // it.
            unsafe { ptr::copy_nonoverlapping(boxed.as_ptr(), value, 1) };
            drop(ManuallyDrop::into_inner(boxed));
        }
        sent
    }

    /// Calls `recv` with `place`, or with a place for a box, whose value is moved to `place`.
    ///
    /// # Safety
    /// `place` is a place for a value. If `recv` returns `Done`, it has written a value of the type
    /// [`TYPE`](Self::TYPE).
    #[inline(always)]
    pub(super) unsafe fn recv(place: *mut T, recv: impl FnOnce(*mut c_void) -> Received) -> Received {
        if !Self::BOXED {
            return recv(place.cast());
        }
        let mut boxed = MaybeUninit::<Box<MaybeUninit<T>>>::uninit();
        let received = recv(boxed.as_mut_ptr().cast());
        if received == Received::Done {
            // SAFETY: Done says that a box was written, with a value, which is moved out. The box
            // ends here.
            unsafe { ptr::copy_nonoverlapping(boxed.assume_init().as_ptr(), place, 1) };
        }
        received
    }
}
