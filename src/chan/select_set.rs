//! [`Select`]: waiting for one of a set of channel operations that is made at run time.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::mpsc::{RecvError, SendError};
use std::time::{Duration, Instant};

use crate::chan::select_macro::{CasesInRun, Outcome, Slot, wait_to_choose};
use crate::chan::{Receiver, Sender, deadline};
use crate::runtime::{
    Awaited, Block, Chosen, Hchan, How, Scase, block, end_with_run, in_run, is_closed, must_wait, selectgo1,
    selectready, until, unwind_to_run,
};

/// A set of channel operations that is made at run time. Each call does one of them. Go's
/// `reflect.Select`.
///
/// ```
/// use gosched::chan::{Select, bounded};
///
/// gosched::run(|| {
///     let channels: Vec<_> = (0..3).map(|_| bounded(1)).collect();
///     channels[1].0.send("hello").unwrap();
///     let mut select = Select::new();
///     for (_, rx) in &channels {
///         select.recv(rx);
///     }
///     let selected = select.select();
///     assert_eq!(selected.index(), 1);
///     assert_eq!(selected.recv(&channels[1].1), Ok("hello"));
/// });
/// ```
///
/// It may hold values, and drops them. So the data that the values borrow must outlive it:
///
/// ```compile_fail,E0597
/// use gosched::chan::{Select, bounded};
///
/// let (tx, _rx) = bounded(0);
/// let mut select = Select::new();
/// let text = String::from("gone first");
/// select.send(&tx, &text);
/// ```
#[derive(Default)]
pub struct Select<'a> {
    arms: Vec<DynArm<'a>>,
    /// Whether the first of several that can be done is done, and not one at random.
    biased: bool,
}

/// An operation of a [`Select`].
struct DynArm<'a> {
    /// None for a receive from [`never`](crate::chan::never), where there is no handle, and for
    /// an operation that was removed.
    c: Option<NonNull<Hchan>>,
    removed: bool,
    /// A send that was chosen: it takes no part any more.
    done: bool,
    /// A send without a value, which is never chosen.
    only_ready: bool,
    /// The `Box<Slot<T>>` that `new` leaked.
    place: *mut c_void,
    sends: bool,
    /// Whether `place` holds a value.
    full: bool,
    /// Drops the value that `place` holds.
    drop_value: unsafe fn(*mut c_void),
    /// Frees `place`, and drops the value if it holds one.
    free: unsafe fn(*mut c_void, bool),
    /// Borrowed by the handle and by the value. The field is in this type because it has the
    /// `Drop`: the borrow must last until then. Covariant, because a shorter `'a` only limits the
    /// set.
    borrowed: PhantomData<&'a ()>,
}

impl DynArm<'_> {
    fn new<T>(c: Option<NonNull<Hchan>>, value: Option<T>) -> Self {
        /// # Safety
        /// `place` is a leaked `Box<Slot<T>>` that holds a value, which nobody uses after this.
        unsafe fn drop_value<T>(place: *mut c_void) {
            // SAFETY: the caller gives a Slot<T> that has a value, which nobody takes again.
            drop(unsafe { (*place.cast::<Slot<T>>()).take() });
        }

        /// # Safety
        /// `place` is a leaked `Box<Slot<T>>`, which nobody uses after this; it holds a value if
        /// `full`.
        unsafe fn free<T>(place: *mut c_void, full: bool) {
            // SAFETY: the caller gives a Slot<T> that Box::into_raw has leaked, and nobody uses it
            // again. A panic of the value's drop frees it, too.
            let place = unsafe { Box::from_raw(place.cast::<Slot<T>>()) };
            // SAFETY: it holds a value, as the caller says.
            drop(full.then(|| unsafe { place.take() }));
        }

        let (sends, full) = (value.is_some(), value.is_some());
        let mut place = Box::new(Slot::empty());
        if let Some(value) = value {
            place.put(value);
        }
        DynArm {
            c,
            removed: false,
            done: false,
            only_ready: false,
            place: Box::into_raw(place).cast(),
            sends,
            full,
            drop_value: drop_value::<T>,
            free: free::<T>,
            borrowed: PhantomData,
        }
    }

    /// Takes the value from the place.
    ///
    /// # Safety
    /// `new` made it for values of type `T`, and it is full.
    unsafe fn take<T>(&mut self) -> T {
        self.full = false;
        // SAFETY: the place is a Slot<T> with a value, which `full` says is taken now.
        unsafe { (*self.place.cast::<Slot<T>>()).take() }
    }

    /// Drops the value, if there is one.
    fn clear(&mut self) {
        if std::mem::take(&mut self.full) {
            // SAFETY: both are of the T of `new`, and the place held a value until `full` was
            // taken.
            unsafe { (self.drop_value)(self.place) }
        }
    }
}

impl Drop for DynArm<'_> {
    fn drop(&mut self) {
        // SAFETY: both are of the T of `new`, `full` says what the place holds, and nothing uses it
        // after this.
        unsafe { (self.free)(self.place, self.full) }
    }
}

impl<'a> Select<'a> {
    /// An empty set. If several of its operations can be done, one of them is done at random.
    #[must_use = "a set does nothing until one of its operations is selected"]
    pub fn new() -> Self {
        Select::default()
    }

    /// An empty set. If several of its operations can be done, the one that was added first is
    /// done: if that one can always be done, the others starve. `select!` calls that `biased`.
    ///
    /// ```
    /// use gosched::chan::{Select, bounded};
    ///
    /// let (stop_tx, stop) = bounded(1);
    /// let (tx, input) = bounded(1);
    /// stop_tx.send(()).unwrap();
    /// tx.send(7).unwrap();
    /// let mut select = Select::new_biased();
    /// let stops = select.recv(&stop);
    /// select.recv(&input);
    /// assert_eq!(select.select().index(), stops);
    /// ```
    #[must_use = "a set does nothing until one of its operations is selected"]
    pub fn new_biased() -> Self {
        Select { biased: true, ..Select::default() }
    }

    #[track_caller]
    fn add(&mut self, arm: DynArm<'a>) -> usize {
        assert!(self.arms.len() < usize::from(u16::MAX), "gosched: a select has at most 65,535 operations");
        self.arms.push(arm);
        self.arms.len() - 1
    }

    /// Adds a receive; returns its index. It takes an `Option` as well: with `None`, the operation
    /// has an index, and is never chosen, like Go's nil channel.
    ///
    /// ```
    /// use gosched::chan::{Receiver, Select, bounded};
    ///
    /// let (tx, input) = bounded(1);
    /// let commands: Option<Receiver<&str>> = None;
    /// let mut select = Select::new();
    /// assert_eq!(select.recv(&commands), 0);
    /// assert_eq!(select.recv(&input), 1);
    /// tx.send("hello").unwrap();
    /// assert_eq!(select.select().recv(&input), Ok("hello"));
    /// assert!(select.try_select().is_none());
    /// ```
    ///
    /// # Panics
    /// If the set has 65,535 operations already.
    #[track_caller]
    pub fn recv<T: 'a>(&mut self, receiver: impl Into<Option<&'a Receiver<T>>>) -> usize {
        let c = receiver.into().and_then(|receiver| receiver.c);
        self.add(DynArm::new::<T>(c, None))
    }

    /// Adds a send; returns its index. The set keeps the value until it is sent. It takes an
    /// `Option` as well, as [`recv`](Self::recv) does.
    ///
    /// ```
    /// use gosched::chan::{Select, bounded};
    ///
    /// let (full, _full_rx) = bounded(0);
    /// let (free, rx) = bounded(1);
    /// let mut select = Select::new();
    /// select.send(&full, 1);
    /// let sends = select.send(&free, 2);
    /// let selected = select.select();
    /// assert_eq!(selected.index(), sends);
    /// assert_eq!(selected.send(&free), Ok(()));
    /// assert_eq!(rx.recv(), Ok(2));
    /// ```
    ///
    /// # Panics
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn send<T>(&mut self, sender: impl Into<Option<&'a Sender<T>>>, value: T) -> usize
    where
        T: 'a,
    {
        let c = sender.into().map(|sender| sender.c);
        self.add(DynArm::new(c, Some(value)))
    }

    /// Adds a send without a value; returns its index. It takes part in [`ready`](Self::ready) and
    /// its like, and is never selected. For a value that is made, or taken from elsewhere, only
    /// once it can be sent. It takes an `Option` as well, as [`recv`](Self::recv) does.
    ///
    /// ```
    /// use gosched::chan::{Select, bounded};
    ///
    /// let (full, _full_rx) = bounded::<u32>(0);
    /// let (free, rx) = bounded(1);
    /// let mut select = Select::new();
    /// select.ready_to_send(&full);
    /// let has_room = select.ready_to_send(&free);
    /// assert_eq!(select.ready(), has_room);
    /// free.try_send("made now").unwrap();
    /// assert_eq!(rx.recv(), Ok("made now"));
    /// ```
    ///
    /// # Panics
    /// As [`recv`](Self::recv).
    #[track_caller]
    pub fn ready_to_send<T: 'a>(&mut self, sender: impl Into<Option<&'a Sender<T>>>) -> usize {
        let c = sender.into().map(|sender| sender.c);
        let mut arm = DynArm::new::<T>(c, None);
        (arm.sends, arm.only_ready) = (true, true);
        self.add(arm)
    }

    /// Removes an operation, which is never chosen again. A value that it would have sent is
    /// dropped. The other operations keep their indices, and no later one gets this index. For
    /// example, a receive is removed when its channel was closed, because it would be chosen again
    /// and again.
    ///
    /// ```
    /// use gosched::chan::{Receiver, Select, bounded};
    ///
    /// /// All values, until each channel is closed.
    /// fn merge(inputs: &[Receiver<u32>]) -> Vec<u32> {
    ///     let (mut select, mut values) = (Select::new(), Vec::new());
    ///     inputs.iter().for_each(|rx| _ = select.recv(rx));
    ///     let mut open = inputs.len();
    ///     while open > 0 {
    ///         let selected = select.select();
    ///         let index = selected.index();
    ///         match selected.recv(&inputs[index]) {
    ///             Ok(value) => values.push(value),
    ///             Err(_) => {
    ///                 select.remove(index);
    ///                 open -= 1;
    ///             }
    ///         }
    ///     }
    ///     values
    /// }
    ///
    /// let (txs, rxs): (Vec<_>, Vec<_>) = (0..3).map(|_| bounded(1)).unzip();
    /// txs.iter().for_each(|tx| tx.send(7).unwrap());
    /// drop(txs);
    /// assert_eq!(merge(&rxs), [7, 7, 7]);
    /// ```
    ///
    /// # Panics
    /// If no operation has this index, or it was removed.
    #[track_caller]
    pub fn remove(&mut self, index: usize) {
        let arm = self.arms.get_mut(index).filter(|arm| !arm.removed);
        let arm = arm.expect("gosched: a select has no operation with this index");
        arm.removed = true;
        arm.c = None;
        arm.clear();
    }

    /// Waits until one of the operations can be done, and does it: one at random if several can,
    /// unless the set is [biased](Self::new_biased). A send that was chosen takes no part in later
    /// calls.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn select(&mut self) -> Selected<'_, 'a> {
        let Some((index, outcome)) = self.choose(true, None) else { unreachable!("a goroutine waits") };
        Selected { select: self, index, outcome }
    }

    /// Does one of the operations if one can be done without waiting.
    pub fn try_select(&mut self) -> Option<Selected<'_, 'a>> {
        let (index, outcome) = self.choose(false, None)?;
        Some(Selected { select: self, index, outcome })
    }

    /// [`select`](Self::select) with a time limit; `None` if `timeout` is over before an operation
    /// can be done.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::{Select, bounded};
    ///
    /// gosched::run(|| {
    ///     let (_tx, rx) = bounded::<u32>(0);
    ///     let mut select = Select::new();
    ///     select.recv(&rx);
    ///     assert!(select.select_timeout(Duration::from_millis(1)).is_none());
    /// });
    /// ```
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn select_timeout(&mut self, timeout: Duration) -> Option<Selected<'_, 'a>> {
        let (index, outcome) = match self.choose(false, None) {
            Some(chosen) => chosen,
            None if timeout.is_zero() => return None,
            None => self.choose(true, Some(&deadline(timeout)))?,
        };
        Some(Selected { select: self, index, outcome })
    }

    /// [`select_timeout`](Self::select_timeout) with a point in time.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn select_deadline(&mut self, deadline: Instant) -> Option<Selected<'_, 'a>> {
        self.select_timeout(until(deadline))
    }

    /// Waits until one of the operations can be done, doesn't do it, and returns its index: one at
    /// random if several can, unless the set is [biased](Self::new_biased). An operation whose
    /// channel is closed can be done. A send that was chosen takes no part.
    ///
    /// Another goroutine may do the operation before the caller does. So the caller tries, and
    /// calls `ready` again if that fails. For example, this waits for the first channel from which
    /// somebody could receive, and leaves the value to others:
    ///
    /// ```
    /// use gosched::chan::{Select, bounded};
    ///
    /// gosched::run(|| {
    ///     let channels: Vec<_> = (0..3).map(|_| bounded(0)).collect();
    ///     let tx = channels[1].0.clone();
    ///     gosched::go(move || tx.send("hello"));
    ///     let mut select = Select::new();
    ///     for (_, rx) in &channels {
    ///         select.recv(rx);
    ///     }
    ///     assert_eq!(select.ready(), 1);
    ///     assert_eq!(channels[1].1.try_recv(), Ok("hello"));
    /// });
    /// ```
    ///
    /// A value that the set has for a send stays in the set: [`try_select`](Self::try_select) sends
    /// it. [`ready_to_send`](Self::ready_to_send) adds a send without a value.
    ///
    /// Without a buffer, a send can be done when a receiver waits, and the other way round. A
    /// goroutine in `ready` isn't such a receiver or sender. So two of them don't end each other's
    /// wait.
    ///
    /// It is crossbeam's. Go has no such function.
    ///
    /// # Panics
    /// If it must wait inside [`blocking`](crate::blocking), or before the first
    /// [`run`](crate::run).
    #[track_caller]
    pub fn ready(&mut self) -> usize {
        let Some(index) = self.look(true, None) else { unreachable!("a goroutine waits") };
        index
    }

    /// The index of an operation that can be done without waiting, as [`ready`](Self::ready)
    /// returns it.
    ///
    /// ```
    /// use gosched::chan::{Select, bounded};
    ///
    /// let (tx, rx) = bounded(1);
    /// let mut select = Select::new();
    /// let receives = select.recv(&rx);
    /// assert_eq!(select.try_ready(), None);
    /// tx.send(7).unwrap();
    /// assert_eq!(select.try_ready(), Some(receives));
    /// assert_eq!(rx.len(), 1); // nothing was received
    /// ```
    pub fn try_ready(&mut self) -> Option<usize> {
        self.look(false, None)
    }

    /// [`ready`](Self::ready) with a time limit; `None` if `timeout` is over before an operation
    /// can be done.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gosched::chan::{Select, bounded};
    ///
    /// gosched::run(|| {
    ///     let (_tx, rx) = bounded::<u32>(0);
    ///     let mut select = Select::new();
    ///     select.recv(&rx);
    ///     assert_eq!(select.ready_timeout(Duration::from_millis(1)), None);
    /// });
    /// ```
    ///
    /// # Panics
    /// As [`ready`](Self::ready).
    #[track_caller]
    pub fn ready_timeout(&mut self, timeout: Duration) -> Option<usize> {
        match self.look(false, None) {
            None if !timeout.is_zero() => self.look(true, Some(&deadline(timeout))),
            index => index,
        }
    }

    /// [`ready_timeout`](Self::ready_timeout) with a point in time.
    ///
    /// # Panics
    /// As [`ready`](Self::ready).
    #[track_caller]
    pub fn ready_deadline(&mut self, deadline: Instant) -> Option<usize> {
        self.ready_timeout(until(deadline))
    }

    #[doc(hidden)]
    #[track_caller]
    pub fn wait_forever(self) -> ! {
        let _guest = must_wait("select");
        if in_run() {
            // SAFETY: no case has a place.
            let _ = unsafe { wait_to_choose(&[], &mut [], 0, false) };
        }
        loop {
            // SAFETY: must_wait has returned, so this is a goroutine.
            unsafe { block(Block::until_end()) };
            end_with_run();
        }
    }

    /// Does one of the operations; if `wait` is set, waits until one can be done, or `deadline` has
    /// a value.
    #[track_caller]
    fn choose(&mut self, wait: bool, deadline: Option<&Receiver<()>>) -> Option<(usize, Outcome)> {
        // A `Selected` that was forgotten may have left a value: no receive may write over it.
        self.arms.iter_mut().filter(|arm| !arm.sends).for_each(DynArm::clear);
        let Cases { indices, nsends, scases, mut order } =
            self.cases(deadline, |arm| !arm.done && !arm.only_ready);
        let block = if wait { Block::UnlessInRun } else { Block::No };
        // SAFETY: the first `nsends` cases are sends, and each that has a channel has a value; the
        // others are places, or null, for values of their channels' types. The handles are borrowed
        // for 'a, and keep the channels. `order` has two numbers for each case.
        let mut chosen =
            unsafe { selectgo1(&scases, &mut order, nsends, How { block, in_order: self.biased }) };
        if wait && chosen == Chosen::None {
            // SAFETY: as above. Nothing was done.
            chosen = unsafe { wait_to_choose(&scases, &mut order, nsends, self.biased) };
        }
        let (i, outcome) = match chosen {
            Chosen::Sent(i) | Chosen::Received(i) => (i, Outcome::Done),
            Chosen::SendClosed(i) | Chosen::RecvClosed(i) => (i, Outcome::Closed),
            Chosen::None => return None,
        };
        if wait && outcome == Outcome::Closed {
            // Perhaps by the end of the run, which has ended the other side first.
            end_with_run();
        }
        if i == indices.len() {
            return None; // the deadline
        }
        let arm = &mut self.arms[indices[i]];
        if outcome == Outcome::Done {
            arm.full = !arm.sends;
        }
        arm.done = arm.sends;
        Some((indices[i], outcome))
    }

    /// Finds an operation that can be done; if `wait` is set, waits until one can be done, or
    /// `deadline` has a value.
    #[track_caller]
    fn look(&mut self, wait: bool, deadline: Option<&Receiver<()>>) -> Option<usize> {
        let Cases { indices, nsends, scases, mut order } = self.cases(deadline, |arm| !arm.done);
        let block = if wait { Block::UnlessInRun } else { Block::No };
        // SAFETY: the handles are borrowed for 'a, and keep the channels. `order` has two numbers
        // for each case.
        let mut ready = unsafe {
            selectready(&scases, &mut order, nsends, Awaited::Send, How { block, in_order: self.biased })
        };
        if wait && ready.is_none() {
            let first = Awaited::Send;
            // SAFETY: as above.
            ready =
                Some(unsafe { wait_until_ready("select", &scases, &mut order, nsends, first, self.biased) });
        }
        let i = ready?;
        // SAFETY: the handles keep the channels.
        if wait && scases[i].c.is_some_and(|c| is_closed(unsafe { c.as_ref() })) {
            // As in `choose`.
            end_with_run();
        }
        indices.get(i).copied() // none for the deadline
    }

    /// The cases of the operations that take part, and of `deadline`.
    fn cases(&self, deadline: Option<&Receiver<()>>, takes_part: impl Fn(&DynArm<'a>) -> bool) -> Cases {
        // selectgo takes the sends first.
        let mut indices: Vec<usize> = (0..self.arms.len()).collect();
        indices.sort_by_key(|&i| !self.arms[i].sends);
        let nsends = self.arms.iter().filter(|arm| arm.sends).count();
        let arms = indices.iter().map(|&i| &self.arms[i]);
        let scases: Vec<Scase> = arms
            .map(|arm| Scase { c: arm.c.filter(|_| takes_part(arm)), elem: arm.place })
            .chain(deadline.map(|deadline| Scase { c: deadline.c, elem: std::ptr::null_mut() }))
            .collect();
        let mut order = vec![0; 2 * scases.len()];
        if self.biased {
            indices.iter().enumerate().for_each(|(case, &i)| order[i] = case as u16);
            if deadline.is_some() {
                order[indices.len()] = indices.len() as u16;
            }
        }
        Cases { indices, nsends, scases, order }
    }
}

/// What [`selectgo1`] and [`selectready`] take.
struct Cases {
    /// The index of each case's operation, the sends first. The deadline has none.
    indices: Vec<usize>,
    nsends: usize,
    scases: Vec<Scase>,
    order: Vec<u16>,
}

/// The wait of [`selectready`] on a thread that isn't a goroutine's, or in a run of a context, for
/// the function that `what` names. Returns the case that can be done.
///
/// # Safety
/// As [`selectready`].
#[cold]
#[inline(never)]
#[track_caller]
pub(super) unsafe fn wait_until_ready(
    what: &str,
    scases: &[Scase],
    order: &mut [u16],
    nsends: usize,
    first: Awaited,
    in_order: bool,
) -> usize {
    let _guest = must_wait(what);
    let how = How { block: Block::until_end(), in_order };
    let ready = match CasesInRun::new(scases, order) {
        // SAFETY: as the caller says.
        None => unsafe { selectready(scases, order, nsends, first, how) },
        // SAFETY: as the caller says, and as `CasesInRun` says.
        Some(mut cases) => unsafe { selectready(&cases.scases, &mut cases.order, nsends, first, how) },
    };
    // None if an abort has ended the wait.
    ready.filter(|&i| i < scases.len()).unwrap_or_else(|| unwind_to_run())
}

/// The operation that a [`Select`] chose and did. Dropping it drops a value that was received, or
/// that couldn't be sent, unless [`recv`](Self::recv) or [`send`](Self::send) has returned it.
///
/// ```
/// use gosched::chan::{Select, bounded};
///
/// let (tx, rx) = bounded(1);
/// let mut select = Select::new();
/// select.send(&tx, 7);
/// let selected = select.try_select().unwrap();
/// assert_eq!(selected.index(), 0);
/// assert_eq!(selected.send(&tx), Ok(()));
/// assert_eq!(rx.recv(), Ok(7));
/// ```
#[must_use = "the operation is done, and what was received is dropped with this"]
pub struct Selected<'s, 'a> {
    select: &'s mut Select<'a>,
    index: usize,
    outcome: Outcome,
}

impl<'a> Selected<'_, 'a> {
    /// The index that [`Select::recv`] or [`Select::send`] returned for it.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The value that was received.
    ///
    /// # Errors
    /// If the channel is empty and closed.
    ///
    /// # Panics
    /// If the operation is not a receive from this channel.
    #[track_caller]
    pub fn recv<T>(self, receiver: &Receiver<T>) -> Result<T, RecvError> {
        let arm = &mut self.select.arms[self.index];
        assert!(
            !arm.sends && arm.c == receiver.c,
            "gosched: the select chose another operation than this receive"
        );
        match self.outcome {
            // SAFETY: Done says that the place has a value; it is of the same channel, so of type
            // T.
            Outcome::Done => Ok(unsafe { arm.take() }),
            _ => Err(RecvError),
        }
    }

    /// How the send ended.
    ///
    /// # Errors
    /// If the channel is closed; the value is in the error.
    ///
    /// # Panics
    /// If the operation is not a send to this channel.
    #[track_caller]
    pub fn send<T>(self, sender: &Sender<T>) -> Result<(), SendError<T>> {
        let arm = &mut self.select.arms[self.index];
        assert!(
            arm.sends && arm.c == Some(sender.c),
            "gosched: the select chose another operation than this send"
        );
        match self.outcome {
            Outcome::Done => Ok(()),
            // SAFETY: the value wasn't sent, so the place has it; it is for the same channel, so of
            // type T.
            _ => Err(SendError(unsafe { arm.take() })),
        }
    }
}

impl Drop for Selected<'_, '_> {
    fn drop(&mut self) {
        self.select.arms[self.index].clear();
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select").field("operations", &self.arms.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Selected<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selected").field("index", &self.index).finish_non_exhaustive()
    }
}
