//! Selects: a wait for one of several channel operations.

use std::sync::{Arc, Mutex};

use shuttle::rand::{Rng, thread_rng};
use shuttle_engine::runtime::execution::ExecutionState;
use shuttle_engine::runtime::task::TaskId;
use shuttle_engine::runtime::thread;

use crate::chan::{Channel, Place, Receiver, RecvError, SendError, Sender, TrySendError, Waiter};

/// An arm of a thread that waits in a select. `woken` is the arm that has woken the thread.
#[derive(Clone)]
pub struct Waits {
    task: TaskId,
    arm: usize,
    woken: Arc<Mutex<Option<usize>>>,
}

impl Waits {
    /// Wakes the thread. Returns false if another arm has woken it before.
    pub fn wake(&self) -> bool {
        let mut woken = self.woken.lock().unwrap();
        if woken.is_some() {
            return false;
        }
        *woken = Some(self.arm);
        ExecutionState::with(|state| state.get_mut(self.task).unblock());
        true
    }
}

/// A channel operation.
pub trait Arm {
    /// Does the operation, if it needn't wait. Returns whether it did.
    fn tries(&mut self) -> bool;
    /// Puts the waiting thread into the channel's queue.
    fn waits(&mut self, waits: Waits);
    /// Notes the result of the operation, which the thread that woke this one has done.
    fn was_done(&mut self);
}

/// Does one of the operations, and returns its index.
pub fn select_arms(arms: &mut [&mut dyn Arm]) -> usize {
    thread::switch();
    let first = if arms.len() > 1 { thread_rng().gen_range(0..arms.len()) } else { 0 };
    for i in (first..arms.len()).chain(0..first) {
        if arms[i].tries() {
            return i;
        }
    }
    let woken = Arc::new(Mutex::new(None));
    for (i, arm) in arms.iter_mut().enumerate() {
        arm.waits(Waits { task: ExecutionState::me(), arm: i, woken: woken.clone() });
    }
    loop {
        ExecutionState::with(|state| state.current_mut().block(false));
        thread::switch();
        // If no arm is noted, the last thread of a scope has woken the thread that made the scope:
        // it does so whatever that thread waits for.
        if let Some(i) = *woken.lock().unwrap() {
            arms[i].was_done();
            return i;
        }
    }
}

fn taken_from<T>(place: &Option<Place<T>>) -> Option<T> {
    place.as_ref()?.lock().unwrap().take()
}

pub struct RecvArm<'a, T> {
    /// If None, the arm is switched off.
    channel: Option<&'a Channel<T>>,
    place: Option<Place<T>>,
    result: Option<Result<T, RecvError>>,
}

pub struct SendArm<'a, T> {
    channel: &'a Channel<T>,
    value: Option<T>,
    place: Option<Place<T>>,
    result: Option<Result<(), SendError<T>>>,
}

/// A receiver, or an Option of one.
pub trait AsReceiver {
    type Value;
    fn channel(&self) -> Option<&Channel<Self::Value>>;
}

impl<T> AsReceiver for Receiver<T> {
    type Value = T;

    fn channel(&self) -> Option<&Channel<T>> {
        Some(&self.0)
    }
}

impl<R: AsReceiver> AsReceiver for &R {
    type Value = R::Value;

    fn channel(&self) -> Option<&Channel<R::Value>> {
        (*self).channel()
    }
}

impl<R: AsReceiver> AsReceiver for Option<R> {
    type Value = R::Value;

    fn channel(&self) -> Option<&Channel<R::Value>> {
        self.as_ref()?.channel()
    }
}

pub fn recv<R: AsReceiver>(receiver: &R) -> RecvArm<'_, R::Value> {
    RecvArm { channel: receiver.channel(), place: None, result: None }
}

pub fn send<T>(sender: &Sender<T>, value: T) -> SendArm<'_, T> {
    SendArm { channel: &sender.0, value: Some(value), place: None, result: None }
}

impl<T> RecvArm<'_, T> {
    pub fn done(self) -> Result<T, RecvError> {
        self.result.expect("it was done")
    }
}

impl<T> Arm for RecvArm<'_, T> {
    fn tries(&mut self) -> bool {
        self.result = self.channel.and_then(|channel| channel.state().try_recv());
        self.result.is_some()
    }

    fn waits(&mut self, waits: Waits) {
        if let Some(channel) = self.channel {
            let place = self.place.insert(Place::default());
            channel.state().receivers.push_back(Waiter { waits, place: place.clone() });
        }
    }

    fn was_done(&mut self) {
        self.result = Some(taken_from(&self.place).ok_or(RecvError));
    }
}

impl<T> SendArm<'_, T> {
    pub fn done(self) -> Result<(), SendError<T>> {
        self.result.expect("it was done")
    }
}

impl<T> Arm for SendArm<'_, T> {
    fn tries(&mut self) -> bool {
        let value = self.value.take().expect("it hasn't been sent");
        self.result = match self.channel.state().try_send(value) {
            Ok(()) => Some(Ok(())),
            Err(TrySendError::Disconnected(value)) => Some(Err(SendError(value))),
            Err(TrySendError::Full(value)) => {
                self.value = Some(value);
                None
            }
        };
        self.result.is_some()
    }

    fn waits(&mut self, waits: Waits) {
        let place = self.place.insert(Arc::new(Mutex::new(self.value.take())));
        self.channel.state().senders.push_back(Waiter { waits, place: place.clone() });
    }

    fn was_done(&mut self) {
        self.result = Some(taken_from(&self.place).map_or(Ok(()), |value| Err(SendError(value))));
    }
}
