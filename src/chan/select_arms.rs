//! The arms that [`select!`](crate::select) makes, and waiting for one of them.
//! [`Select`](crate::chan::Select) is for a set that is made at run time.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};
use std::sync::mpsc::{RecvError, SendError};

use crate::chan::elem::Elem;
use crate::chan::{Receiver, Sender};
use crate::runtime::{Chosen, Hchan, Scase, as_goroutine, selectgo};

/// What a select did with an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Another arm was chosen, or none.
    Passed,
    /// The value was sent or received.
    Done,
    /// The channel is closed.
    Closed,
}

/// A place for a value as a channel carries it: a `T`, or its box (see [`Elem`]).
pub(super) union Place<T> {
    plain: ManuallyDrop<MaybeUninit<T>>,
    boxed: ManuallyDrop<MaybeUninit<Box<T>>>,
}

impl<T> Place<T> {
    pub(crate) fn empty() -> Self {
        Place { boxed: ManuallyDrop::new(MaybeUninit::uninit()) }
    }

    pub(super) fn holding(value: T) -> Self {
        if Elem::<T>::BOXED {
            Place { boxed: ManuallyDrop::new(MaybeUninit::new(Box::new(value))) }
        } else {
            Place { plain: ManuallyDrop::new(MaybeUninit::new(value)) }
        }
    }

    /// Moves the value out.
    ///
    /// # Safety
    /// The place holds a value, which nobody uses or takes after this.
    pub(crate) unsafe fn take(&self) -> T {
        // SAFETY: there is a value, in the field that BOXED says, as in `holding`; it is read once.
        unsafe {
            if Elem::<T>::BOXED { *self.boxed.assume_init_read() } else { self.plain.assume_init_read() }
        }
    }
}

/// A `recv` arm of [`select!`](crate::select).
#[doc(hidden)]
pub struct RecvArm<'a, T> {
    c: Option<NonNull<Hchan>>,
    place: Place<T>,
    outcome: Cell<Outcome>,
    receiver: PhantomData<&'a Receiver<T>>,
}

/// A `send` arm of [`select!`](crate::select).
#[doc(hidden)]
pub struct SendArm<'a, T> {
    c: NonNull<Hchan>,
    place: Place<T>,
    /// Nobody has asked yet what became of the value.
    full: Cell<bool>,
    outcome: Cell<Outcome>,
    sender: PhantomData<&'a Sender<T>>,
}

/// An arm without the type of its values.
#[doc(hidden)]
pub struct RawArm<'a> {
    scase: Scase,
    sends: bool,
    outcome: &'a Cell<Outcome>,
}

impl<'a, T> RecvArm<'a, T> {
    pub fn new(receiver: &'a Receiver<T>) -> Self {
        RecvArm {
            c: receiver.c,
            place: Place::empty(),
            outcome: Cell::new(Outcome::Passed),
            receiver: PhantomData,
        }
    }

    /// For [`arms`]. `mut`, as the select writes to the place.
    pub fn raw(&mut self) -> RawArm<'_> {
        let scase = Scase { c: self.c, elem: (&raw mut self.place).cast() };
        RawArm { scase, sends: false, outcome: &self.outcome }
    }

    /// What was received, if this arm was chosen.
    pub fn chosen(&self) -> Option<Result<T, RecvError>> {
        match self.outcome.replace(Outcome::Passed) {
            Outcome::Passed => None,
            // SAFETY: Done says that a value was received; after `replace` nobody finds Done again.
            Outcome::Done => Some(Ok(unsafe { self.place.take() })),
            Outcome::Closed => Some(Err(RecvError)),
        }
    }
}

impl<'a, T> SendArm<'a, T> {
    pub fn new(sender: &'a Sender<T>, value: T) -> Self {
        let (place, outcome) = (Place::holding(value), Cell::new(Outcome::Passed));
        SendArm { c: sender.c, place, full: Cell::new(true), outcome, sender: PhantomData }
    }

    /// For [`arms`].
    pub fn raw(&mut self) -> RawArm<'_> {
        let scase = Scase { c: Some(self.c), elem: (&raw mut self.place).cast() };
        RawArm { scase, sends: true, outcome: &self.outcome }
    }

    /// How the send ended, if this arm was chosen; otherwise drops the value. To be called once.
    pub fn chosen(&self) -> Option<Result<(), SendError<T>>> {
        match self.sent() {
            Ok(()) => Some(Ok(())),
            Err((true, value)) => Some(Err(SendError(value))),
            Err((false, _)) => None,
        }
    }

    /// Ok if the value was sent; otherwise the value, and whether the channel is closed. To be called once.
    pub(crate) fn sent(&self) -> Result<(), (bool, T)> {
        self.full.set(false);
        match self.outcome.get() {
            Outcome::Done => Ok(()),
            // SAFETY: the value wasn't sent, so it is here; callers ask once, and drop sees `full` false.
            outcome => Err((outcome == Outcome::Closed, unsafe { self.place.take() })),
        }
    }
}

impl<T> Drop for SendArm<'_, T> {
    fn drop(&mut self) {
        // Nobody has asked: something panicked before, as a value of another arm may when it is dropped.
        if self.full.get() {
            drop(self.sent());
        }
    }
}

/// Does one of the operations, and notes the outcome in its arm; if `wait` is set, waits until one can be
/// done. False if none was.
#[doc(hidden)]
#[inline]
#[track_caller]
pub fn arms<const N: usize>(arms: [RawArm<'_>; N], wait: bool) -> bool {
    let mut scases = [Scase { c: None, elem: ptr::null_mut() }; N];
    let mut outcomes = [const { None }; N];
    // selectgo takes the sends first.
    let nsends = arms.iter().filter(|arm| arm.sends).count();
    let (mut send, mut recv) = (0, nsends);
    for arm in &arms {
        let i = if arm.sends { &mut send } else { &mut recv };
        scases[*i] = arm.scase;
        outcomes[*i] = Some(arm.outcome);
        *i += 1;
    }
    let mut order = [[0; N]; 2];
    // SAFETY: the first `nsends` cases are sends, whose places hold a value; the others are places for
    // one, all of their channels' types. The arms borrow the handles, which keep the channels.
    let mut choose = || unsafe { selectgo(&scases, order.as_flattened_mut(), nsends, wait) };
    let mut chosen = choose();
    if wait && matches!(chosen, Chosen::None) {
        chosen = as_goroutine("select", choose);
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
