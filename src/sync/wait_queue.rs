//! [`WaitQueue`]: the waiters of a [`Semaphore`](crate::sync::Semaphore) or a
//! [`Notify`](crate::sync::Notify), goroutines and futures, in the order in which they came.

use std::cell::Cell;
use std::iter;
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::task::Waker;

use crate::runtime::semrelease;

/// A waiter, with its request. It is on a goroutine's stack, or in a future's box, and the queue is
/// linked through it, so nothing is allocated with the lock held.
pub(super) struct Waiter<T> {
    pub(super) request: T,
    /// A goroutine sleeps on this until it is released.
    pub(super) woken: AtomicU32,
    /// Wakes a future. Protected by the lock, as the links are.
    pub(super) waker: Cell<Option<Waker>>,
    prev: Cell<*const Waiter<T>>,
    next: Cell<*const Waiter<T>>,
}

impl<T> Waiter<T> {
    /// A goroutine's waiter, or a future's if `waker` is given.
    pub(super) fn new(request: T, waker: Option<Waker>) -> Self {
        Waiter {
            request,
            woken: AtomicU32::new(0),
            waker: Cell::new(waker),
            prev: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        }
    }
}

/// A waiter that was taken off the queue, and is to be woken.
pub(super) enum ToWake {
    /// A goroutine, which sleeps on this.
    Goroutine(*const AtomicU32),
    Future(Waker),
}

/// Wakes each waiter that `next` takes off a queue, until it returns none. `wake`, which wakes
/// futures, is called last, because it may run any code.
pub(super) fn wake_each(mut next: impl FnMut() -> Option<ToWake>, wake: fn(Waker)) {
    let mut futures = Vec::new();
    while let Some(waiter) = next() {
        match waiter {
            // SAFETY: the goroutine sleeps there until this has added to the number; then only the
            // address is used.
            ToWake::Goroutine(woken) => semrelease(unsafe { &*woken }),
            ToWake::Future(waker) => futures.push(waker),
        }
    }
    futures.into_iter().for_each(wake);
}

/// A queue of waiters. Its owner has a lock, which is held when a function of the queue is called,
/// and as long as a waiter that the function has returned is used.
pub(super) struct WaitQueue<T> {
    first: Cell<*const Waiter<T>>,
    last: Cell<*const Waiter<T>>,
}

impl<T> WaitQueue<T> {
    pub(super) const fn new() -> Self {
        WaitQueue { first: Cell::new(ptr::null()), last: Cell::new(ptr::null()) }
    }

    /// Adds a waiter at the end.
    ///
    /// # Safety
    /// The waiter is in no queue. It stays where it is until it was taken off this one, and the
    /// owner's lock is held whenever the queue is used.
    pub(super) unsafe fn push_back(&self, waiter: &Waiter<T>) {
        let last = self.last.replace(waiter);
        waiter.prev.set(last);
        // SAFETY: a waiter in the queue stays until it is taken off, which needs the lock.
        unsafe { last.as_ref() }.map_or(&self.first, |last| &last.next).set(waiter);
    }

    /// Whether a waiter, which is in this queue or in none, is in the queue.
    pub(super) fn contains(&self, waiter: &Waiter<T>) -> bool {
        ptr::eq(self.first.get(), waiter) || !waiter.prev.get().is_null()
    }

    /// Takes a waiter off the queue, and returns whether it was there.
    pub(super) fn remove(&self, waiter: &Waiter<T>) -> bool {
        let queued = self.contains(waiter);
        if queued {
            let (prev, next) = (waiter.prev.replace(ptr::null()), waiter.next.replace(ptr::null()));
            // SAFETY: the waiter's neighbours are in the queue, too, and stay until they are taken
            // off, which needs the lock.
            let neighbours = unsafe { (prev.as_ref(), next.as_ref()) };
            neighbours.0.map_or(&self.first, |prev| &prev.next).set(next);
            neighbours.1.map_or(&self.last, |next| &next.prev).set(prev);
        }
        queued
    }

    /// Takes a waiter off the queue, so that it can be woken. A goroutine's waiter stays until
    /// then; a future's may be gone as soon as the lock is released.
    pub(super) fn take_off(&self, waiter: &Waiter<T>) -> ToWake {
        self.remove(waiter);
        match waiter.waker.take() {
            Some(waker) => ToWake::Future(waker),
            None => ToWake::Goroutine(&raw const waiter.woken),
        }
    }

    /// The last waiter.
    pub(super) fn last(&self) -> Option<&Waiter<T>> {
        // SAFETY: a waiter in the queue stays until it is taken off, which needs the lock.
        unsafe { self.last.get().as_ref() }
    }

    /// The waiters, from the first on.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiter<T>> {
        let waiter_at = |at: &Cell<*const Waiter<T>>| {
            // SAFETY: a waiter in the queue stays until it is taken off, which needs the lock.
            unsafe { at.get().as_ref() }
        };
        iter::successors(waiter_at(&self.first), move |waiter| waiter_at(&waiter.next))
    }
}
