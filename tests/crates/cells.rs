//! Cells, locks, queues and memory reclamation, which identify a thread by a thread-local.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, LazyLock};

use crossbeam_epoch::{Atomic, Owned};

use crate::works;

works! {
    std_thread_locals
    thread_local_per_thread
    scoped_tls_values
    arc_swap_loads
    epoch_pins
    channel_of_crossbeam
    parking_lot_locks
}

thread_local! {
    static LIST: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fn std_thread_locals(n: u64, pause: &dyn Fn()) -> String {
    LIST.with_borrow_mut(Vec::clear);
    for i in 0..20 {
        // The list stays borrowed during the pause. If another goroutine had the same list, its
        // borrow would panic.
        LIST.with_borrow_mut(|list| {
            list.push(n + i);
            pause();
        });
    }
    LIST.with_borrow(|list| format!("{list:?}"))
}

static CELLS: LazyLock<thread_local::ThreadLocal<Cell<u64>>> = LazyLock::new(Default::default);

fn thread_local_per_thread(n: u64, pause: &dyn Fn()) -> String {
    let cell = CELLS.get_or_default();
    cell.set(n);
    for _ in 0..20 {
        pause();
        let cell = CELLS.get_or_default();
        cell.set(cell.get() + 1);
    }
    cell.get().to_string()
}

scoped_tls::scoped_thread_local!(static SCOPED: u64);

fn scoped_tls_values(n: u64, pause: &dyn Fn()) -> String {
    let inner = || {
        pause();
        SCOPED.with(|n| n.to_string())
    };
    let both = SCOPED.set(&n, || {
        pause();
        inner() + &SCOPED.set(&(n + 1), inner)
    });
    format!("{both} {}", SCOPED.is_set())
}

static SWAPPED: LazyLock<arc_swap::ArcSwap<u64>> = LazyLock::new(|| arc_swap::ArcSwap::from_pointee(7));

/// A load records a debt in a list that belongs to the thread.
fn arc_swap_loads(_: u64, pause: &dyn Fn()) -> String {
    let mut sum = 0;
    for _ in 0..10 {
        let (one, other) = (SWAPPED.load(), SWAPPED.load());
        pause();
        SWAPPED.store(Arc::new(7));
        pause();
        sum += **one + **other;
    }
    sum.to_string()
}

/// A value is freed when no thread that was pinned can still see it. A goroutine stays pinned as
/// long as it keeps a guard.
fn epoch_pins(n: u64, pause: &dyn Fn()) -> String {
    let shared = Atomic::new(n);
    let mut seen = Vec::new();
    for i in 1..10 {
        let guard = crossbeam_epoch::pin();
        pause();
        let old = shared.swap(Owned::new(n + i), std::sync::atomic::Ordering::AcqRel, &guard);
        pause();
        seen.push(!old.is_null());
        drop(crossbeam_epoch::pin());
        pause();
        assert!(crossbeam_epoch::is_pinned(), "the drop of another guard has unpinned the goroutine");
    }
    format!("{seen:?} {}", crossbeam_epoch::is_pinned())
}

fn channel_of_crossbeam(n: u64, pause: &dyn Fn()) -> String {
    let (tx, rx) = crossbeam_channel::bounded(1);
    let (back, from) = crossbeam_channel::bounded(1);
    let thread = std::thread::spawn(move || rx.into_iter().try_for_each(|i: u64| back.send(i + 1)));
    let mut sum = 0;
    for i in 0..5 {
        tx.send(n + i).unwrap();
        pause();
        crossbeam_channel::select! { recv(from) -> i => sum += i.unwrap() }
    }
    drop(tx);
    thread.join().unwrap().unwrap();
    sum.to_string()
}

/// A lock that many wait for: a waiter's place in the queue is a thread-local. And a reentrant
/// lock, which knows its owner by a thread-local.
fn parking_lot_locks(n: u64, pause: &dyn Fn()) -> String {
    static SHARED: parking_lot::Mutex<u64> = parking_lot::Mutex::new(0);
    static AGAIN: parking_lot::ReentrantMutex<Cell<u64>> = parking_lot::ReentrantMutex::new(Cell::new(0));
    let mut mine = 0;
    for _ in 0..5 {
        *SHARED.lock() += 1;
        pause();
        let outer = AGAIN.lock();
        outer.set(n);
        pause();
        let inner = AGAIN.lock();
        pause();
        mine += inner.get();
    }
    mine.to_string()
}
