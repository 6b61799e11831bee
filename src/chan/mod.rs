//! Channels: goroutines that pass values to each other.
//!
//! The names and meanings are those of crossbeam-channel: any number of senders and
//! receivers, an error when the other side is gone. To that comes Go's
//! [`close`](Sender::close), and [`select!`](crate::select).
//!
//! A channel has room for as many values as [`bounded`] is told. With none, a send waits for
//! its receive, and the value goes straight from one goroutine's stack to the other's. There
//! is no unbounded channel: Go has none, and what it hides is a queue that grows until the
//! memory is gone.
//!
//! ```
//! use gosched::chan::bounded;
//!
//! # // SAFETY: no thread-local is kept across a point that can park.
//! # unsafe {
//! gosched::run(|| {
//!     let (tx, rx) = bounded(0);
//!     gosched::go(move || {
//!         for i in 0..3 {
//!             tx.send(i).unwrap();
//!         }
//!     });
//!     assert_eq!(rx.iter().collect::<Vec<_>>(), [0, 1, 2]);
//! })
//! # };
//! ```
//!
//! What waits, waits on a goroutine. A thread that isn't one may clone, drop, close, and use
//! the `try_` functions; `send` and `recv` panic there if they would have to wait.
//!
//! Underneath is Go's [`hchan`], without types.

mod entry;
pub mod hchan;
mod iter;
pub(crate) mod make;
pub(crate) mod ops;
pub(crate) mod pool;
mod select;
mod select_set;
mod timed;

pub use std::sync::mpsc::{RecvError, SendError, TryRecvError, TrySendError};

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::process::abort;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use hchan::{Hchan, Received, Sent, Type};
pub use iter::{IntoIter, Iter, TryIter};
use make::{MAX_ALIGN, closechan, freechan, makechan};
use ops::{chanrecv, chansend};

use crate::wait::as_goroutine;
#[doc(hidden)]
pub use select::{RecvArm, SendArm, arms};
pub use select_set::{Select, Selected};
#[doc(hidden)]
pub use timed::deadline;
pub use timed::{RecvTimeoutError, SendTimeoutError};

/// How a `T` travels through an [`Hchan`]: as it is, or in a box if it is too large or too
/// aligned for one.
struct Elem<T>(PhantomData<T>);

impl<T> Elem<T> {
    const BOXED: bool = size_of::<T>() > u16::MAX as usize || align_of::<T>() > MAX_ALIGN;

    const TYPE: Type = if Self::BOXED {
        Type { size_: size_of::<Box<T>>(), align_: align_of::<Box<T>>() }
    } else {
        Type { size_: size_of::<T>(), align_: align_of::<T>() }
    };

    /// Passes to `send` the address of the value as it travels; takes it back unless it was
    /// sent.
    #[inline(always)]
    fn send(value: T, send: impl FnOnce(*const c_void) -> Sent) -> Result<(), (Sent, T)> {
        if Self::BOXED {
            let value = ManuallyDrop::new(Box::new(value));
            match send((&raw const value).cast()) {
                Sent::Done => Ok(()),
                sent => Err((sent, *ManuallyDrop::into_inner(value))),
            }
        } else {
            let value = ManuallyDrop::new(value);
            match send((&raw const value).cast()) {
                Sent::Done => Ok(()),
                sent => Err((sent, ManuallyDrop::into_inner(value))),
            }
        }
    }

    /// Passes to `recv` a place for a value as it travels; takes the value if there is one.
    #[inline(always)]
    fn recv(recv: impl FnOnce(*mut c_void) -> Received) -> Result<T, Received> {
        if Self::BOXED {
            let mut place = MaybeUninit::<Box<T>>::uninit();
            match recv(place.as_mut_ptr().cast()) {
                // SAFETY: a value was received.
                Received::Done => Ok(*unsafe { place.assume_init() }),
                received => Err(received),
            }
        } else {
            let mut place = MaybeUninit::<T>::uninit();
            match recv(place.as_mut_ptr().cast()) {
                // SAFETY: a value was received.
                Received::Done => Ok(unsafe { place.assume_init() }),
                received => Err(received),
            }
        }
    }
}

/// A channel with room for `cap` values; with none, a send waits for its receive. Go's
/// `make(chan T, cap)`.
///
/// # Panics
/// If there is no memory for it.
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    // SAFETY: the constant has no lifetime in it, whatever T has.
    let elem: &'static Type = const { &Elem::<T>::TYPE };
    let Some(c) = makechan(elem, cap) else { panic!("gosched: no memory for a channel of {cap} values") };
    (Sender { c, values: PhantomData }, Receiver { c: Some(c), values: PhantomData })
}

/// A channel that never has a value, and is never closed: Go's nil channel. Good for
/// switching off a case of a select.
pub const fn never<T>() -> Receiver<T> {
    Receiver { c: None, values: PhantomData }
}

/// The sending side of a channel. When the last one is dropped, the channel is closed.
pub struct Sender<T> {
    c: NonNull<Hchan>,
    values: PhantomData<T>,
}

/// The receiving side of a channel. When the last one is dropped, sends fail, and the values
/// that nobody will receive are dropped.
pub struct Receiver<T> {
    /// None if there will never be a value.
    c: Option<NonNull<Hchan>>,
    values: PhantomData<T>,
}

// SAFETY: the channel is made for sharing, and passes on T's, which are Send.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: likewise.
unsafe impl<T: Send> Sync for Sender<T> {}
// SAFETY: likewise.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: likewise.
unsafe impl<T: Send> Sync for Receiver<T> {}

// Values in a channel are whole: none is shown to anyone while it is being changed.
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Sender<T> {
    #[inline(always)]
    fn hchan(&self) -> &Hchan {
        // SAFETY: the channel stays as long as a handle.
        unsafe { self.c.as_ref() }
    }

    /// Sends a value; waits while there is no room, or, without a buffer, no receiver. Fails
    /// if the channel is closed, or is closed meanwhile.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[inline]
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        // SAFETY: the value is of the channel's type, and the channel stays.
        match Elem::send(value, |elem| unsafe { chansend(Some(self.c), elem, true) }) {
            Ok(()) => Ok(()),
            Err((Sent::Closed, value)) => Err(SendError(value)),
            Err((_, value)) => as_goroutine("send", || self.send(value)),
        }
    }

    /// Sends a value if it can be done at once.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        // SAFETY: as in send.
        Elem::send(value, |elem| unsafe { chansend(Some(self.c), elem, false) }).map_err(|(sent, value)| {
            match sent {
                Sent::Closed => TrySendError::Disconnected(value),
                _ => TrySendError::Full(value),
            }
        })
    }

    /// Closes the channel: what is in it can still be received, sends fail, those that wait
    /// too. If it is closed already, does nothing. Go's `close`.
    pub fn close(&self) {
        // SAFETY: the channel stays.
        unsafe { closechan(self.c) };
    }

    /// Whether both are handles of one channel.
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        self.c == other.c
    }
}

impl<T> Receiver<T> {
    #[inline(always)]
    fn hchan(&self) -> Option<&Hchan> {
        // SAFETY: the channel stays as long as a handle.
        self.c.map(|c| unsafe { c.as_ref() })
    }

    /// Receives a value; waits until there is one. Fails if the channel is empty and closed.
    ///
    /// # Panics
    /// If it would have to wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
    #[inline]
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        // SAFETY: the place is for a value of the channel's type, and the channel stays.
        match Elem::recv(|elem| unsafe { chanrecv(self.c, elem, true) }) {
            Ok(value) => Ok(value),
            Err(Received::Closed) => Err(RecvError),
            Err(_) => as_goroutine("recv", || self.recv()),
        }
    }

    /// Receives a value if there is one.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        // SAFETY: as in recv.
        Elem::recv(|elem| unsafe { chanrecv(self.c, elem, false) }).map_err(|received| match received {
            Received::Closed => TryRecvError::Disconnected,
            _ => TryRecvError::Empty,
        })
    }

    /// The values that come, until the channel is empty and closed. It waits for each.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self)
    }

    /// The values that there are now. It waits for none.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter::new(self)
    }

    /// Whether both are handles of one channel.
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        self.c == other.c
    }
}

macro_rules! buffer {
    ($handle:ident, $this:ident => $hchan:expr) => {
        impl<T> $handle<T> {
            /// How many values are in the buffer.
            pub fn len(&self) -> usize {
                let $this = self;
                $hchan.map_or(0, |c| c.qcount.load(Ordering::Relaxed))
            }

            /// Whether there is none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Whether there is no room: always so without a buffer.
            pub fn is_full(&self) -> bool {
                self.len() == self.capacity()
            }

            /// How many values there is room for.
            pub fn capacity(&self) -> usize {
                let $this = self;
                $hchan.map_or(0, |c| c.dataqsiz)
            }
        }
    };
}

buffer!(Sender, this => Some(this.hchan()));
buffer!(Receiver, this => this.hchan());

/// One handle more.
fn grab(handles: &AtomicU32) {
    // Relaxed: the new handle is made from one that there is. A count that wraps would free
    // the channel under its users, so it ends here, as an Arc's does.
    if handles.fetch_add(1, Ordering::Relaxed) > u32::MAX / 2 {
        abort();
    }
}

/// One handle less; if it was the last of its side, `disconnect` is called, and if the other
/// side was gone, the channel is freed.
#[inline(always)]
fn release(c: NonNull<Hchan>, handles: &AtomicU32, disconnect: impl FnOnce()) {
    // Release: what was done with this handle comes before what the last one does. Acquire:
    // for that one.
    if handles.fetch_sub(1, Ordering::AcqRel) == 1 {
        release_side(c, disconnect);
    }
}

/// The rest of [`release`], for the last handle. Not inlined: whoever drops a handle would save registers
/// for it from its first instruction on.
#[inline(never)]
fn release_side(c: NonNull<Hchan>, disconnect: impl FnOnce()) {
    disconnect();
    // SAFETY: the other side's count is 0 and its disconnect done, which its release and our
    // acquire order before this; no handle is left.
    unsafe {
        if c.as_ref().ext.sides.fetch_sub(1, Ordering::AcqRel) == 1 {
            freechan(c);
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        grab(&self.hchan().ext.senders);
        Sender { c: self.c, values: PhantomData }
    }
}

impl<T> Drop for Sender<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the channel stays until release frees it.
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

impl<T> Drop for Receiver<T> {
    #[inline]
    fn drop(&mut self) {
        let Some(c) = self.c else { return };
        // SAFETY: the channel stays until release frees it.
        release(c, unsafe { &c.as_ref().ext.receivers }, || {
            // Nobody will receive: senders need not wait, and what they sent is dropped.
            // SAFETY: the channel stays.
            unsafe { closechan(c) };
            while self.try_recv().is_ok() {}
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
