//! The tree of contexts that can end. Each has a [`Scope`], which knows the scopes that were
//! derived from it.

use std::collections::BTreeMap;
use std::iter;
use std::mem::take;
use std::panic::Location;
use std::ptr;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use crate::chan::{Receiver, Sender, bounded};
use crate::context::{Cause, ContextError};
use crate::goroutine::Builder;
use crate::runtime::instant_now;
use crate::runtime::print::eprintln;
use crate::runtime::{Cancellation, EndsWaits, Inherited, throw, until};
use crate::sync::short_mutex::{ShortMutex, ShortMutexGuard};
use crate::time::Timer;

/// The part of a context that can end.
pub(super) struct Scope {
    /// Its place in the scope that it was derived from.
    place: OnceLock<Place>,
    deadline: Option<Instant>,
    /// Ends it at its deadline. Not set if the scope that it was derived from ends by then.
    timer: OnceLock<Timer>,
    /// Set once: then it has ended.
    ended: OnceLock<Ended>,
    /// Ends the waits under it. It comes after `ended` is set.
    waits: Cancellation,
    /// Closed after that. Made when it is first asked for.
    done: OnceLock<Receiver<()>>,
    state: ShortMutex<State>,
}

/// Why it has ended.
#[derive(Clone)]
pub(super) struct Ended {
    pub(super) error: ContextError,
    pub(super) cause: Option<Cause>,
}

/// The dependents that the end concerns; empty after the end.
#[derive(Default)]
struct State {
    dependents: BTreeMap<u64, Dependent>,
    next: u64,
    /// Keeps `done` open.
    open: Option<Sender<()>>,
}

/// A thing that ends, or begins, with the end of a scope.
pub(super) enum Dependent {
    Scope(Weak<Scope>),
    Func(Func),
}

/// A function, and the place in the program that asked for it.
pub(super) struct Func {
    pub(super) f: Box<dyn FnOnce() + Send>,
    pub(super) created_at: &'static Location<'static>,
}

/// The place of a dependent in its scope.
pub(super) struct Place {
    scope: Arc<Scope>,
    key: u64,
}

impl Place {
    /// Removes the dependent. Returns whether it was there.
    pub(super) fn remove(&self) -> bool {
        let removed = self.scope.state().dependents.remove(&self.key);
        // Dropped after the unlock, because a function's values may run any code when they are
        // dropped.
        removed.is_some()
    }
}

impl Scope {
    /// Makes a scope that ends with its `parent`, or at the deadline if that is earlier.
    #[track_caller]
    pub(super) fn new(parent: Option<&Arc<Scope>>, deadline: Option<Instant>) -> Arc<Self> {
        let inherited = parent.and_then(|parent| parent.deadline);
        let own = deadline.filter(|&own| inherited.is_none_or(|inherited| own < inherited));
        let scope = Arc::new(Scope {
            place: OnceLock::new(),
            deadline: own.or(inherited),
            timer: OnceLock::new(),
            ended: OnceLock::new(),
            waits: Cancellation::new(),
            done: OnceLock::new(),
            state: ShortMutex::new(State::default()),
        });
        if let Some(parent) = parent {
            match parent.add(Dependent::Scope(Arc::downgrade(&scope))) {
                Ok(place) => drop(scope.place.set(place)),
                Err((_, ended)) => scope.end(ended),
            }
        }
        match own {
            Some(deadline) if deadline <= instant_now() => scope.end_at_deadline(),
            Some(deadline) if scope.ended().is_none() => {
                let this = Arc::downgrade(&scope);
                let end = move || {
                    if let Some(scope) = this.upgrade() {
                        scope.end_at_deadline();
                    }
                };
                let _ = scope.timer.set(Timer::after_func(until(deadline), end));
            }
            _ => {}
        }
        scope
    }

    /// Makes a scope that ends when `this` or `other` does. The caller removes the second place.
    pub(super) fn of_two(this: &Arc<Scope>, other: &Arc<Scope>) -> (Arc<Self>, Option<Place>) {
        let scope = Scope::new(Some(this), None);
        let place = other.add(Dependent::Scope(Arc::downgrade(&scope)));
        (scope.clone(), place.map_err(|(_, ended)| scope.end(ended)).ok())
    }

    /// Whether it ends when `other` does.
    pub(super) fn ends_with(&self, other: &Scope) -> bool {
        iter::successors(Some(self), |scope| Some(&*scope.place.get()?.scope))
            .any(|scope| ptr::eq(scope, other))
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Why it has ended, if it has.
    pub(super) fn ended(&self) -> Option<&Ended> {
        self.ended.get()
    }

    /// A channel that is closed at the end.
    pub(super) fn done(&self) -> &Receiver<()> {
        // Dropped after the initialisation: a close is a point of an exploration, and others may
        // want the channel meanwhile.
        let mut closed = None;
        self.done.get_or_init(|| {
            let (tx, rx) = bounded(0);
            let mut state = self.state();
            // Checked with the lock held: otherwise the end may pass before the sender is stored.
            if self.ended().is_none() {
                state.open = Some(tx);
            } else {
                closed = Some(tx);
            }
            rx
        })
    }

    /// Adds a dependent, which shares the end. If the scope has ended, returns `dependent` with the
    /// reason.
    pub(super) fn add(self: &Arc<Self>, dependent: Dependent) -> Result<Place, (Dependent, Ended)> {
        let mut state = self.state();
        // With the lock held, as in `done`.
        if let Some(ended) = self.ended() {
            return Err((dependent, ended.clone()));
        }
        let key = state.next;
        state.next += 1;
        state.dependents.insert(key, dependent);
        Ok(Place { scope: self.clone(), key })
    }

    /// Ends the scope and all its dependents, unless it has ended.
    pub(super) fn end(self: &Arc<Self>, why: Ended) {
        // No recursion: a tree may be deeper than there is stack.
        let (mut scopes, mut funcs, mut channels) = (vec![self.clone()], Vec::new(), Vec::new());
        while let Some(scope) = scopes.pop() {
            if scope.ended.set(why.clone()).is_err() {
                continue;
            }
            let State { dependents, open, .. } = take(&mut *scope.state());
            scope.waits.cancel();
            channels.extend(open);
            if let Some(timer) = scope.timer.get() {
                timer.stop();
            }
            for dependent in dependents.into_values() {
                match dependent {
                    Dependent::Scope(scope) => scopes.extend(scope.upgrade()),
                    Dependent::Func(func) => funcs.push(func),
                }
            }
        }
        funcs.into_iter().for_each(Func::start);
        // Last, because it wakes futures, whose wakers may wait for any of the others.
        drop(channels);
    }

    fn end_at_deadline(self: &Arc<Self>) {
        self.end(Ended { error: ContextError::DeadlineExceeded, cause: None });
    }

    fn state(&self) -> ShortMutexGuard<'_, State> {
        self.state.lock()
    }
}

impl EndsWaits for Scope {
    fn waits(&self) -> &Cancellation {
        &self.waits
    }

    fn is_over(&self) -> bool {
        self.ended().is_some()
    }
}

impl Func {
    /// Calls the function on a new goroutine.
    pub(super) fn start(self) {
        if let Err(error) = Builder::new().make(self.created_at, &mut Some(self.f), Inherited::NONE) {
            eprintln!("gosched::context::Context::after_func: {error}");
            throw("out of memory for a goroutine");
        }
    }
}

impl Drop for Scope {
    /// Drops them in a loop: there may be more of them than a recursion has stack for.
    fn drop(&mut self) {
        let mut place = self.place.take();
        while let Some(child) = place {
            child.remove();
            place = Arc::into_inner(child.scope).and_then(|mut parent| parent.place.take());
        }
    }
}
