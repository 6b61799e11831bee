//! Contexts.

use std::sync::{Arc, Mutex};

use shuttle_engine::runtime::thread::switch;

use crate::chan::{Receiver, Sender, bounded};
use crate::go;
use crate::select::{recv, select_arms};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextError {
    Canceled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvContextError {
    Ended,
    Disconnected,
}

type Func = Box<dyn FnOnce() + Send>;

struct Shared {
    ended: Mutex<bool>,
    done: (Sender<()>, Receiver<()>),
    func: Mutex<Option<Func>>,
}

/// A context that can be canceled, or the background, which is None.
#[derive(Clone)]
pub struct Context(Option<Arc<Shared>>);

pub struct Canceler(Arc<Shared>);

pub struct With<'a, T> {
    ctx: &'a Context,
    on: &'a T,
}

pub struct AfterFunc(Arc<Shared>);

impl Context {
    pub const fn background() -> Self {
        Context(None)
    }

    /// Returns a context that can be canceled. `self` must be the background: no program needs
    /// more.
    pub fn with_cancel(&self) -> (Self, Canceler) {
        assert!(self.0.is_none());
        let shared = Arc::new(Shared { ended: Mutex::new(false), done: bounded(0), func: Mutex::new(None) });
        (Context(Some(shared.clone())), Canceler(shared))
    }

    pub fn done(&self) -> Option<&Receiver<()>> {
        self.0.as_ref().map(|shared| &shared.done.1)
    }

    pub fn err(&self) -> Option<ContextError> {
        switch();
        self.has_ended().then_some(ContextError::Canceled)
    }

    fn has_ended(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| *shared.ended.lock().unwrap())
    }

    pub fn with<'a, T>(&'a self, on: &'a T) -> With<'a, T> {
        With { ctx: self, on }
    }

    /// Calls `f` on a goroutine when the context ends. A context has at most one such function.
    pub fn after_func(&self, f: impl FnOnce() + Send + 'static) -> AfterFunc {
        let shared = self.0.as_ref().expect("it may end");
        *shared.func.lock().unwrap() = Some(Box::new(f));
        AfterFunc(shared.clone())
    }
}

impl Canceler {
    pub fn cancel(&self) {
        self.0.done.0.close();
        *self.0.ended.lock().unwrap() = true;
        let func = self.0.func.lock().unwrap().take();
        if let Some(func) = func {
            go(func);
        }
    }
}

impl Drop for Canceler {
    fn drop(&mut self) {
        let ended = *self.0.ended.lock().unwrap();
        if !ended && !std::thread::panicking() {
            self.cancel();
        }
    }
}

impl AfterFunc {
    pub fn stop(&self) -> bool {
        switch();
        self.0.func.lock().unwrap().take().is_some()
    }
}

impl<T> With<'_, Receiver<T>> {
    pub fn recv(&self) -> Result<T, RecvContextError> {
        let done = self.ctx.done();
        let (mut value, mut ended) = (recv(self.on), recv(&done));
        if !self.ctx.has_ended() && select_arms(&mut [&mut value, &mut ended]) == 0 {
            value.done().map_err(|_| RecvContextError::Disconnected)
        } else {
            Err(RecvContextError::Ended)
        }
    }
}
