//! [`select!`](crate::select): the macro, the internal macro that parses its arms, the arms that
//! the macro makes, and waiting for one of them. [`Select`](crate::chan::Select) is for a set that
//! is made at run time.

use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};
use std::sync::mpsc::{RecvError, SendError};

use crate::chan::handles::Elem;
use crate::chan::{Receiver, Sender};
use crate::context::end_of_run;
use crate::runtime::{Block, Chosen, Hchan, How, Scase, end_with_run, must_wait, selectgo1, unwind_to_run};

/// Waits until one of several channel operations can be done, and does it.
///
/// - `recv(receiver) -> result => body` receives; the result is a `Result<T, RecvError>`. The
///   receiver of a ticker or a timer is `ticker.c()`, of signals `signals.c()`, and of a context's
///   end `ctx.done()`.
/// - `send(sender, value) -> result => body` sends; the result is a `Result<(),
///   SendError<T>>`. The value is evaluated before the wait, as all handles are, and dropped if
///   another arm is chosen.
/// - `default => body` is chosen if no other arm can be done at once. `default()` is the
///   same.
/// - `default(timeout) => body` is chosen if no other arm can be done before the timeout, a
///   [`Duration`](std::time::Duration), is over. The timeout is evaluated before the wait, too.
///
/// If several arms can be done, one of them is chosen at random, so that none starves. With
/// `biased;` before the arms, the first of them is chosen, in the order in which they stand. Then
/// the arms behind one that can always be done starve. (The syntax is tokio's.)
///
/// An arm whose channel is closed can be done: its result is an error. `select! {}` waits forever.
/// All bodies have one type, which is that of the whole expression. `break`, `return` and `?` in a
/// body act on the code around the `select!`. Go's `select` statement, `select.go`.
///
/// ```
/// use gosched::{chan::bounded, select};
///
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
///     assert!(idle);
/// });
/// ```
///
/// # Arms that are switched off
///
/// `recv(receiver) -> result, if condition => body`, and likewise for `send`: if the condition is
/// false, the arm takes no part. Unlike the guard of a `match` arm, the condition can't use the
/// received value: it stands behind a comma, as in tokio, and is evaluated before the wait. If it
/// is false, the value of a `send` isn't evaluated, so that value may rely on the condition. (The
/// value is evaluated in a block of its own, so it can't borrow from a temporary.)
///
/// A handle may also be an `Option` of a handle, or of a reference to one. With `None`, the arm
/// takes no part, as with Go's nil channel. [`never`](crate::chan::never) is such a receiver, too.
/// If no arm takes part and there is no `default`, the `select!` waits forever.
///
/// ```
/// use gosched::chan::{Receiver, Sender, bounded};
/// use gosched::select;
///
/// /// Passes on what comes, and keeps what nobody has taken yet, four at the most.
/// fn buffer(input: Receiver<u32>, output: Sender<u32>) {
///     let (mut input, mut kept) = (Some(input), Vec::new());
///     while input.is_some() || !kept.is_empty() {
///         select! {
///             biased; // rather empty than full
///             send(output, kept[0]) -> sent, if !kept.is_empty() => match sent {
///                 Ok(()) => drop(kept.remove(0)),
///                 Err(_) => return, // nobody is there any more
///             },
///             recv(input) -> value, if kept.len() < 4 => match value {
///                 Ok(value) => kept.push(value),
///                 Err(_) => input = None, // the end: from now on this arm takes no part
///             },
///         }
///     }
/// }
///
/// let (tx, input) = bounded(9);
/// (0..9).for_each(|i| tx.send(i).unwrap());
/// tx.close();
/// let (output, values) = bounded(9);
/// buffer(input, output);
/// assert_eq!(values.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
/// ```
///
/// # Panics
/// If it must wait inside [`blocking`](crate::blocking), or before the first [`run`](crate::run).
#[macro_export]
macro_rules! select {
    () => { $crate::chan::Select::new().wait_forever() };
    (biased; $($arms:tt)+) => { $crate::__select!(@in arms_in_order $($arms)+) };
    ($($arms:tt)+) => { $crate::__select!(@in arms $($arms)+) };
}

/// Implements `select!` in four steps:
/// - `@arm` and `@body` parse each arm, before and after its `=>`, into
///   `(recv (handle) (guard) (pattern) (body))` and the like.
/// - `@make` makes a [`RecvArm`](crate::chan::RecvArm) or a [`SendArm`](crate::chan::SendArm) of
///   each arm. The `match` of each arm is inside that of the arm before, so that temporaries of the
///   handles' expressions live until the end.
/// - The function whose name `@in` was given chooses an arm.
/// - `@ask` asks each arm whether it was chosen, and runs the body.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@in $arms:ident $($rest:tt)+) => {{
        // A handle is found through any type that dereferences to it, as a method's receiver is.
        #[allow(unused_imports)]
        use $crate::chan::{AsReceiver as _, AsSender as _};
        $crate::__select!(@arm $arms [] $($rest)+)
    }};

    (@arm $select:ident [$($arms:tt)*]) => {
        $crate::__select!(@make $select [] [] $($arms)*)
    };
    (@arm $select:ident $arms:tt recv($r:expr $(,)?) -> $p:pat => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (recv ($r) (true) ($p)) $($rest)+)
    };
    (@arm $select:ident $arms:tt recv($r:expr $(,)?) -> $p:pat, if $on:expr => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (recv ($r) ($on) ($p)) $($rest)+)
    };
    (@arm $select:ident $arms:tt send($s:expr, $v:expr $(,)?) -> $p:pat => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (send ($s) (::core::option::Option::Some($v)) ($p)) $($rest)+)
    };
    (@arm $select:ident $arms:tt send($s:expr, $v:expr $(,)?) -> $p:pat, if $on:expr => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (send ($s) (
            if $on { ::core::option::Option::Some($v) } else { ::core::option::Option::None }
        ) ($p)) $($rest)+)
    };
    (@arm $select:ident $arms:tt default => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (default) $($rest)+)
    };
    (@arm $select:ident $arms:tt default() => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (default) $($rest)+)
    };
    (@arm $select:ident $arms:tt default($t:expr $(,)?) => $($rest:tt)+) => {
        $crate::__select!(@body $select $arms (default ($t)) $($rest)+)
    };
    (@arm $select:ident $arms:tt $($rest:tt)+) => { $crate::__select!(@error $($rest)+) };

    (@body $select:ident [$($arms:tt)*] ($($arm:tt)+) $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@arm $select [$($arms)* ($($arm)+ ($body))] $($($rest)*)?)
    };
    (@body $select:ident [$($arms:tt)*] ($($arm:tt)+) $body:block $($rest:tt)+) => {
        $crate::__select!(@arm $select [$($arms)* ($($arm)+ ($body))] $($rest)+)
    };
    (@body $select:ident [$($arms:tt)*] ($($arm:tt)+) $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@arm $select [$($arms)* ($($arm)+ ($body))] $($($rest)*)?)
    };
    (@body $select:ident $arms:tt $arm:tt $($rest:tt)+) => { $crate::__select!(@error $($rest)+) };

    (@error $($rest:tt)+) => {
        ::core::compile_error!(::core::concat!(
            "select! takes arms of the form `recv(receiver) -> result => body`, ",
            "`send(sender, value) -> result => body`, each with `, if condition` before the `=>` or not, ",
            "and at most one `default => body` or `default(timeout) => body`; found: ",
            ::core::stringify!($($rest)+),
        ))
    };

    (@make $select:ident [$($made:tt)*] $default:tt (recv ($r:expr) ($on:expr) $p:tt $body:tt) $($arms:tt)*) => {
        match $crate::chan::RecvArm::new((&$r).__receiver(), $on, &mut $crate::chan::Place::empty()) {
            mut __arm => $crate::__select!(@make $select [$($made)* (__arm $p $body)] $default $($arms)*)
        }
    };
    (@make $select:ident [$($made:tt)*] $default:tt (send ($s:expr) ($v:expr) $p:tt $body:tt) $($arms:tt)*) => {
        match $crate::chan::SendArm::new((&$s).__sender(), &mut $crate::chan::Place::empty(), $v) {
            mut __arm => $crate::__select!(@make $select [$($made)* (__arm $p $body)] $default $($arms)*)
        }
    };
    (@make $select:ident $made:tt [] (default $($default:tt)+) $($arms:tt)*) => {
        $crate::__select!(@make $select $made [$($default)+] $($arms)*)
    };
    (@make $select:ident $made:tt $default:tt (default $($second:tt)+) $($arms:tt)*) => {
        $crate::__select!(@error a second default)
    };
    (@make $select:ident [] [($default:expr)]) => { $default };
    (@make $select:ident [] [($timeout:expr) ($default:expr)]) => {{
        $crate::time::sleep($timeout);
        $default
    }};
    (@make $select:ident [$(($arm:ident $p:tt $body:tt))+] [($timeout:expr) ($default:expr)]) => {{
        let __timeout = $timeout;
        if !$crate::chan::$select([$($arm.raw()),+], false) {
            let __deadline = $crate::chan::deadline(__timeout);
            let mut __place = $crate::chan::Place::empty();
            let mut __late = $crate::chan::RecvArm::new(__deadline.__receiver(), true, &mut __place);
            $crate::chan::$select([$($arm.raw(),)+ __late.raw()], true);
        }
        $crate::__select!(@ask [($default)] $(($arm $p $body))+)
    }};
    (@make $select:ident [$(($arm:ident $p:tt $body:tt))+] [$(($default:expr))?]) => {{
        $crate::chan::$select([$($arm.raw()),+], $crate::__select!(@waits $($default)?));
        $crate::__select!(@ask [$(($default))?] $(($arm $p $body))+)
    }};

    (@waits) => { true };
    (@waits $default:expr) => { false };

    // Every arm is asked before a body runs: a send that wasn't chosen has to drop its value.
    (@ask [$(($default:expr))?] $(($arm:ident ($p:pat) ($body:expr)))+) => {{
        $(let $arm = $arm.chosen();)+
        $(if let ::core::option::Option::Some(__result) = $arm { let ($p) = __result; $body } else)+ {
            $crate::__select!(@otherwise $($default)?)
        }
    }};
    (@otherwise) => { ::core::unreachable!("select! chose no arm") };
    (@otherwise $default:expr) => { $default };
}

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

    /// Puts a value there. (By its address: see [`Elem`].)
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
    let block = if wait { Block::UnlessInRun } else { Block::No };
    // SAFETY: the first `nsends` cases are sends, whose places hold a value if they have a channel;
    // the others are places for one, all of their channels' types. The arms borrow the handles,
    // which keep the channels.
    let mut chosen = unsafe { selectgo1(&scases, order.as_flattened_mut(), nsends, How { block, in_order }) };
    if wait && matches!(chosen, Chosen::None) {
        // SAFETY: as above. Nothing was done.
        chosen = unsafe { wait_to_choose(&scases, order.as_flattened_mut(), nsends, in_order) };
    }
    let (i, outcome) = match chosen {
        Chosen::Sent(i) | Chosen::Received(i) => (i, Outcome::Done),
        Chosen::SendClosed(i) | Chosen::RecvClosed(i) => (i, Outcome::Closed),
        Chosen::None => return false,
    };
    if wait && matches!(outcome, Outcome::Closed) {
        // Perhaps by the end of the run, which has ended the other side first.
        end_with_run();
    }
    if let Some(cell) = outcomes[i] {
        cell.set(outcome);
    }
    true
}

/// The wait of a select on a thread that isn't a goroutine's, or in a run of a context.
///
/// # Safety
/// As [`selectgo1`].
#[cold]
#[inline(never)]
#[track_caller]
pub(super) unsafe fn wait_to_choose(
    scases: &[Scase],
    order: &mut [u16],
    nsends: usize,
    in_order: bool,
) -> Chosen {
    let _guest = must_wait("select");
    let how = How { block: Block::until_end(), in_order };
    let Some(mut cases) = CasesInRun::new(scases, order) else {
        loop {
            // SAFETY: as the caller says.
            match unsafe { selectgo1(scases, order, nsends, how) } {
                Chosen::None => end_with_run(),
                chosen => return chosen,
            }
        }
    };
    // SAFETY: as the caller says, and as `CasesInRun` says.
    match unsafe { selectgo1(&cases.scases, &mut cases.order, nsends, how) } {
        Chosen::RecvClosed(i) if i == scases.len() => unwind_to_run(),
        Chosen::None => unwind_to_run(),
        chosen => chosen,
    }
}

/// The cases of a select, and a last one for the end of the run that the caller is in: a receive
/// from a channel without values.
pub(super) struct CasesInRun {
    pub(super) scases: Vec<Scase>,
    /// It has two numbers for each case.
    pub(super) order: Vec<u16>,
    /// Keeps the channel of the last case.
    _over: Receiver<()>,
}

impl CasesInRun {
    /// Returns none if the caller is in no run.
    pub(super) fn new(scases: &[Scase], order: &[u16]) -> Option<Self> {
        let over = end_of_run()?;
        let n = scases.len();
        let scases = [scases, &[Scase { c: over.c, elem: ptr::null_mut() }]].concat();
        let order = [&order[..n], &vec![n as u16; n + 2]].concat();
        Some(CasesInRun { scases, order, _over: over })
    }
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
