//! The arms that [`select!`](crate::select) makes, and waiting for one of them.
//! [`Select`](crate::chan::Select) is for a set that is made at run time.

use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};
use std::sync::mpsc::{RecvError, SendError};

use crate::chan::elem::Elem;
use crate::chan::{Receiver, Sender};
use crate::runtime::{Chosen, Hchan, How, Scase, as_goroutine, selectgo1};

/// The outcome of a select for an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The arm has no value to send.
    Off,
    /// Another arm was chosen, or none.
    Passed,
    /// The value was sent or received.
    Done,
    /// The channel is closed.
    Closed,
}

/// Memory for a value as a channel carries it: a `T`, or its box (see [`Elem`]). It doesn't know
/// whether it holds a value, and never drops one.
pub(super) union Slot<T> {
    plain: ManuallyDrop<MaybeUninit<T>>,
    boxed: ManuallyDrop<MaybeUninit<Box<T>>>,
}

impl<T> Slot<T> {
    pub(super) fn empty() -> Self {
        Slot { boxed: ManuallyDrop::new(MaybeUninit::uninit()) }
    }

    /// Puts a value there. (By its address: see `elem.rs`.)
    pub(super) fn put(&mut self, value: T) {
        if Elem::<T>::BOXED {
            self.boxed = ManuallyDrop::new(MaybeUninit::new(Box::new(value)));
        } else {
            // SAFETY: the field is a place for a value.
            unsafe { (&raw mut self.plain).cast::<T>().write(value) };
        }
    }

    /// Moves the value out.
    ///
    /// # Safety
    /// The slot holds a value, which nobody uses or takes after this.
    pub(super) unsafe fn take(&self) -> T {
        // SAFETY: there is a value, in the field that BOXED names, as in `put`; it is read once.
        unsafe {
            if Elem::<T>::BOXED {
                *self.boxed.assume_init_read()
            } else {
                (&raw const self.plain).cast::<T>().read()
            }
        }
    }
}

/// The memory of an arm. The macro owns it, because an arm is moved when it is asked. Without an
/// arm it holds no value.
#[doc(hidden)]
pub struct Place<T> {
    slot: Slot<T>,
    outcome: Cell<Outcome>,
}

impl<T> Place<T> {
    #[inline]
    pub fn empty() -> Self {
        Place { slot: Slot::empty(), outcome: Cell::new(Outcome::Off) }
    }
}

/// A `recv` arm of [`select!`](crate::select). It is asked by value, so once; until then it owns
/// the received value.
#[doc(hidden)]
pub struct RecvArm<'a, T> {
    c: Option<NonNull<Hchan>>,
    /// Holds a value as long as its outcome is `Done`. Invariant in `T`, as everything behind a
    /// `&mut`.
    place: &'a mut Place<T>,
    receiver: PhantomData<&'a Receiver<T>>,
}

/// A `send` arm of [`select!`](crate::select). It is asked by value, so once; until then it owns
/// its value, unless the value was sent.
#[doc(hidden)]
pub struct SendArm<'a, T> {
    c: Option<NonNull<Hchan>>,
    /// Holds a value as long as its outcome is `Passed` or `Closed`.
    place: &'a mut Place<T>,
    sender: PhantomData<&'a Sender<T>>,
}

/// An arm without the type of its values.
#[doc(hidden)]
pub struct RawArm<'a> {
    scase: Scase,
    sends: bool,
    outcome: &'a Cell<Outcome>,
}

impl<'a> RawArm<'a> {
    /// Makes an arm. It is switched off if it was chosen already, because then its place isn't
    /// ready for a select.
    #[inline]
    fn new<T>(c: Option<NonNull<Hchan>>, place: &'a mut Place<T>, sends: bool) -> Self {
        let c = c.filter(|_| place.outcome.get() == Outcome::Passed);
        // SAFETY: the slot holds a value, or has room for one, as the channel carries it. It is
        // borrowed as long as the outcome.
        unsafe { RawArm::at(c, (&raw mut place.slot).cast(), sends, &place.outcome) }
    }

    /// Makes an arm without a [`Place`]: its value, or the room for one, is at `elem`. `outcome` is
    /// `Passed`.
    ///
    /// # Safety
    /// The value or the room at `elem` has the form in which the channel carries values, and stays
    /// until the arm was chosen or is gone.
    #[inline(always)]
    pub(super) unsafe fn at(
        c: Option<NonNull<Hchan>>,
        elem: *mut c_void,
        sends: bool,
        outcome: &'a Cell<Outcome>,
    ) -> Self {
        RawArm { scase: Scase { c, elem }, sends, outcome }
    }
}

impl<'a, T> RecvArm<'a, T> {
    /// Makes an arm, which is switched off if there is no receiver, or `on` is false.
    #[inline]
    pub fn new(receiver: Option<&'a Receiver<T>>, on: bool, place: &'a mut Place<T>) -> Self {
        place.outcome.set(Outcome::Passed);
        let c = receiver.filter(|_| on).and_then(|receiver| receiver.c);
        RecvArm { c, place, receiver: PhantomData }
    }

    /// For [`arms`]. `mut`, as the select writes to the place.
    #[inline]
    pub fn raw(&mut self) -> RawArm<'_> {
        RawArm::new(self.c, self.place, false)
    }

    /// Returns the received value, if this arm was chosen.
    #[inline]
    pub fn chosen(self) -> Option<Result<T, RecvError>> {
        // SAFETY: the arm ends here, without a drop.
        unsafe { ManuallyDrop::new(self).ask() }
    }

    /// # Safety
    /// The arm ends with this.
    #[inline]
    unsafe fn ask(&self) -> Option<Result<T, RecvError>> {
        match self.place.outcome.get() {
            // SAFETY: Done says that a value was received, and an arm is asked once.
            Outcome::Done => Some(Ok(unsafe { self.place.slot.take() })),
            Outcome::Closed => Some(Err(RecvError)),
            Outcome::Passed | Outcome::Off => None,
        }
    }
}

impl<'a, T> SendArm<'a, T> {
    /// Makes an arm, which is switched off if there is no sender, or no value.
    #[inline]
    pub fn new(sender: Option<&'a Sender<T>>, place: &'a mut Place<T>, value: Option<T>) -> Self {
        place.outcome.set(Outcome::Off);
        if let Some(value) = value {
            place.slot.put(value);
            place.outcome.set(Outcome::Passed);
        }
        SendArm { c: sender.map(|sender| sender.c), place, sender: PhantomData }
    }

    /// For [`arms`].
    #[inline]
    pub fn raw(&mut self) -> RawArm<'_> {
        RawArm::new(self.c, self.place, true)
    }

    /// How the send ended, if this arm was chosen; otherwise drops the value.
    #[inline]
    pub fn chosen(self) -> Option<Result<(), SendError<T>>> {
        match self.sent() {
            (Outcome::Done, _) => Some(Ok(())),
            (Outcome::Closed, Some(value)) => Some(Err(SendError(value))),
            _ => None,
        }
    }

    /// How the send ended, and the value unless it was sent.
    #[inline]
    pub(super) fn sent(self) -> (Outcome, Option<T>) {
        // SAFETY: the arm ends here, without a drop.
        unsafe { ManuallyDrop::new(self).ask() }
    }

    /// # Safety
    /// The arm ends with this.
    #[inline]
    unsafe fn ask(&self) -> (Outcome, Option<T>) {
        let outcome = self.place.outcome.get();
        let here = matches!(outcome, Outcome::Passed | Outcome::Closed);
        // SAFETY: it was put there and not sent, and an arm is asked once.
        (outcome, here.then(|| unsafe { self.place.slot.take() }))
    }
}

// A panic between the choice and the question drops the arms, for example a panic in the drop of
// another arm's value.
impl<T> Drop for RecvArm<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this is the arm's end.
        drop(unsafe { self.ask() });
    }
}

impl<T> Drop for SendArm<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this is the arm's end.
        drop(unsafe { self.ask() });
    }
}

/// Does one of the operations, at random if several can be done, and notes the outcome in its arm.
/// If `wait` is set, waits until one can be done. Returns false if none was done.
#[doc(hidden)]
#[inline]
#[track_caller]
pub fn arms<const N: usize>(arms: [RawArm<'_>; N], wait: bool) -> bool {
    choose(arms, wait, false)
}

/// [`arms`] that does the first of several that can be done.
#[doc(hidden)]
#[inline]
#[track_caller]
pub fn arms_in_order<const N: usize>(arms: [RawArm<'_>; N], wait: bool) -> bool {
    choose(arms, wait, true)
}

#[inline(always)]
#[track_caller]
fn choose<const N: usize>(arms: [RawArm<'_>; N], wait: bool, in_order: bool) -> bool {
    let mut scases = [Scase { c: None, elem: ptr::null_mut() }; N];
    let mut outcomes = [const { None }; N];
    // selectgo takes the sends first.
    let nsends = arms.iter().filter(|arm| arm.sends).count();
    let (mut send, mut recv) = (0, nsends);
    let mut order = [[0; N]; 2];
    for (arm, place_in_order) in arms.iter().zip(&mut order[0]) {
        let i = if arm.sends { &mut send } else { &mut recv };
        scases[*i] = arm.scase;
        outcomes[*i] = Some(arm.outcome);
        if in_order {
            *place_in_order = *i as u16;
        }
        *i += 1;
    }
    // SAFETY: the first `nsends` cases are sends, whose places hold a value if they have a channel;
    // the others are places for one, all of their channels' types. The arms borrow the handles,
    // which keep the channels.
    let mut select =
        || unsafe { selectgo1(&scases, order.as_flattened_mut(), nsends, How::new(wait, in_order)) };
    let mut chosen = select();
    if wait && matches!(chosen, Chosen::None) {
        chosen = as_goroutine("select", select);
    }
    let (i, outcome) = match chosen {
        Chosen::Sent(i) | Chosen::Received(i) => (i, Outcome::Done),
        Chosen::SendClosed(i) | Chosen::RecvClosed(i) => (i, Outcome::Closed),
        Chosen::None => return false,
    };
    if let Some(cell) = outcomes[i] {
        cell.set(outcome);
    }
    true
}

/// The argument of `recv` in a [`select!`](crate::select): a receiver, or an `Option` of one.
#[doc(hidden)]
pub trait AsReceiver {
    type Value;
    fn __receiver(&self) -> Option<&Receiver<Self::Value>>;
}

/// The argument of `send` in a [`select!`](crate::select): a sender, or an `Option` of one.
#[doc(hidden)]
pub trait AsSender {
    type Value;
    fn __sender(&self) -> Option<&Sender<Self::Value>>;
}

macro_rules! handles {
    ($trait:ident, $handle:ident, $method:ident) => {
        impl<T> $trait for $handle<T> {
            type Value = T;
            #[inline(always)]
            fn $method(&self) -> Option<&$handle<T>> {
                Some(self)
            }
        }

        impl<T> $trait for Option<$handle<T>> {
            type Value = T;
            #[inline(always)]
            fn $method(&self) -> Option<&$handle<T>> {
                self.as_ref()
            }
        }

        impl<T> $trait for Option<&$handle<T>> {
            type Value = T;
            #[inline(always)]
            fn $method(&self) -> Option<&$handle<T>> {
                *self
            }
        }
    };
}

handles!(AsReceiver, Receiver, __receiver);
handles!(AsSender, Sender, __sender);
