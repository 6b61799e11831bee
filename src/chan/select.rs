//! Waiting for one of several channel operations that are known at compile time:
//! [`select!`](crate::select). [`Select`](crate::chan::Select) is for a set that is made at run time.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};
use std::sync::mpsc::{RecvError, SendError};

use crate::chan::hchan::Hchan;
use crate::chan::{Elem, Receiver, Sender};
use crate::select::{Chosen, Scase, selectgo};
use crate::wait::as_goroutine;

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
    pub(super) fn empty() -> Self {
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
    pub(super) unsafe fn take(&self) -> T {
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
    pub(super) fn sent(&self) -> Result<(), (bool, T)> {
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

/// Waits until one of several channel operations can be done, and does it.
///
/// - `recv(receiver) -> result => body` receives; the result is a `Result<T, RecvError>`.
/// - `send(sender, value) -> result => body` sends; the result is a `Result<(),
///   SendError<T>>`. The value is evaluated before the wait, as all handles are, and dropped if
///   another arm is chosen.
/// - `default => body` is chosen if no other arm can be done at once.
/// - `default(timeout) => body` is chosen if no other arm can be done before the timeout, a
///   [`Duration`](std::time::Duration), is over. The timeout is evaluated before the wait, too.
///
/// If several arms can be done, one of them is chosen at random, so that none starves. An arm
/// whose channel is closed can be done: its result is an error. `select! {}` waits forever. All
/// bodies have one type, which is that of the whole expression; `break`, `return` and `?` in a body
/// act on what surrounds the `select!`. Go's `select` statement, `select.go`.
///
/// ```
/// use gosched::{chan::bounded, select};
///
/// # // SAFETY: no thread-local is kept across a point that can park.
/// # unsafe {
/// gosched::run(|| {
///     let (tx, rx) = bounded(1);
///     let (stop, stopped) = bounded::<()>(0);
///     let mut seen = Vec::new();
///     for i in 0.. {
///         select! {
///             send(tx, i) -> sent => sent.unwrap(),
///             recv(rx) -> value => seen.push(value.unwrap()),
///             recv(stopped) -> _ => break,
///         }
///         if seen.len() == 3 {
///             stop.close();
///         }
///     }
///     assert!(seen.len() >= 3);
///
///     let idle = select! {
///         recv(bounded::<()>(0).1) -> _ => false,
///         default => true,
///     };
///     # let _ = idle;
/// })
/// # };
/// ```
///
/// # Panics
/// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
#[macro_export]
macro_rules! select {
    () => { $crate::chan::Select::new().wait_forever() };
    ($($arms:tt)+) => { $crate::__select!(@parse [] [] $($arms)+) };
}

/// Parses the arms of `select!` into `(recv (handle) (pattern) (body))` and the like (`@parse`); makes
/// a [`RecvArm`](crate::chan::RecvArm) or a [`SendArm`](crate::chan::SendArm) of each (`@make`), one
/// `match` inside the other, so that temporaries of the handles' expressions live until the end; chooses;
/// and asks each arm in turn (`@ask`).
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@parse [$($arms:tt)*] [$($default:tt)*]) => {
        $crate::__select!(@make [] [$($default)*] $($arms)*)
    };
    (@parse [$($arms:tt)*] $default:tt recv($r:expr) -> $p:pat => $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse [$($arms)* (recv ($r) ($p) ($body))] $default $($($rest)*)?)
    };
    (@parse [$($arms:tt)*] $default:tt recv($r:expr) -> $p:pat => $body:block $($rest:tt)+) => {
        $crate::__select!(@parse [$($arms)* (recv ($r) ($p) ($body))] $default $($rest)+)
    };
    (@parse [$($arms:tt)*] $default:tt recv($r:expr) -> $p:pat => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse [$($arms)* (recv ($r) ($p) ($body))] $default $($($rest)*)?)
    };
    (@parse [$($arms:tt)*] $default:tt send($s:expr, $v:expr) -> $p:pat => $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse [$($arms)* (send ($s) ($v) ($p) ($body))] $default $($($rest)*)?)
    };
    (@parse [$($arms:tt)*] $default:tt send($s:expr, $v:expr) -> $p:pat => $body:block $($rest:tt)+) => {
        $crate::__select!(@parse [$($arms)* (send ($s) ($v) ($p) ($body))] $default $($rest)+)
    };
    (@parse [$($arms:tt)*] $default:tt send($s:expr, $v:expr) -> $p:pat => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse [$($arms)* (send ($s) ($v) ($p) ($body))] $default $($($rest)*)?)
    };
    (@parse $arms:tt [] default => $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $arms [($body)] $($($rest)*)?)
    };
    (@parse $arms:tt [] default => $body:block $($rest:tt)+) => {
        $crate::__select!(@parse $arms [($body)] $($rest)+)
    };
    (@parse $arms:tt [] default => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $arms [($body)] $($($rest)*)?)
    };
    (@parse $arms:tt [] default($t:expr) => $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $arms [($t) ($body)] $($($rest)*)?)
    };
    (@parse $arms:tt [] default($t:expr) => $body:block $($rest:tt)+) => {
        $crate::__select!(@parse $arms [($t) ($body)] $($rest)+)
    };
    (@parse $arms:tt [] default($t:expr) => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $arms [($t) ($body)] $($($rest)*)?)
    };
    (@parse $arms:tt $default:tt $($rest:tt)+) => {
        compile_error!(concat!(
            "select! takes arms of the form `recv(receiver) -> result => body`, ",
            "`send(sender, value) -> result => body`, and at most one `default => body` or ",
            "`default(timeout) => body`; found: ",
            stringify!($($rest)+),
        ))
    };

    (@make [$($made:tt)*] $default:tt (recv ($r:expr) $p:tt $body:tt) $($arms:tt)*) => {
        match $crate::chan::RecvArm::new(&$r) {
            mut arm => $crate::__select!(@make [$($made)* (arm $p $body)] $default $($arms)*)
        }
    };
    (@make [$($made:tt)*] $default:tt (send ($s:expr) ($v:expr) $p:tt $body:tt) $($arms:tt)*) => {
        match $crate::chan::SendArm::new(&$s, $v) {
            mut arm => $crate::__select!(@make [$($made)* (arm $p $body)] $default $($arms)*)
        }
    };
    (@make [] [($default:expr)]) => { $default };
    (@make [] [($timeout:expr) ($default:expr)]) => {{
        $crate::time::sleep($timeout);
        $default
    }};
    (@make [$(($arm:ident $p:tt $body:tt))+] [($timeout:expr) ($default:expr)]) => {{
        let timeout = $timeout;
        if !$crate::chan::arms([$($arm.raw()),+], false) {
            let deadline = $crate::chan::deadline(timeout);
            let mut late = $crate::chan::RecvArm::new(&deadline);
            $crate::chan::arms([$($arm.raw(),)+ late.raw()], true);
        }
        $crate::__select!(@body [($default)] $(($arm $p $body))+)
    }};
    (@make [$(($arm:ident $p:tt $body:tt))+] [$(($default:expr))?]) => {{
        $crate::chan::arms([$($arm.raw()),+], $crate::__select!(@waits $($default)?));
        $crate::__select!(@body [$(($default))?] $(($arm $p $body))+)
    }};

    (@waits) => { true };
    (@waits $default:expr) => { false };

    // Every arm is asked: a send that wasn't chosen has to drop its value.
    (@body [$(($default:expr))?] $(($arm:ident ($p:pat) ($body:expr)))+) => {
        $crate::__select!(@ask [$(($default))?] [] $(($arm ($p) ($body)))+)
    };
    (@ask $default:tt [$($asked:tt)*] ($arm:ident $p:tt $body:tt) $($arms:tt)*) => {{
        let result = $arm.chosen();
        $crate::__select!(@ask $default [$($asked)* (result $p $body)] $($arms)*)
    }};
    (@ask [$(($default:expr))?] [$(($result:ident ($p:pat) ($body:expr)))+]) => {
        $(if let Some(result) = $result { let $p = result; $body } else)+ {
            $crate::__select!(@otherwise $($default)?)
        }
    };
    (@otherwise) => { unreachable!("select! chose no arm") };
    (@otherwise $default:expr) => { $default };
}
