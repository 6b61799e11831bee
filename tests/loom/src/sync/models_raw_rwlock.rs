//! Models of the lock for readers and writers: one of them gives up while others come and go.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::runtime::atomic::check;
use crate::runtime::{limit_comes, limit_is_an_abort, nothing_is_released};
use crate::sync::raw_rwlock::RawRwLock;

/// A lock, and the data that it guards: loom fails if nothing orders two threads of which one
/// writes.
struct Guarded {
    lock: RawRwLock,
    count: UnsafeCell<u32>,
}

// SAFETY: the lock orders the accesses, which loom checks.
unsafe impl Send for Guarded {}
// SAFETY: likewise.
unsafe impl Sync for Guarded {}

impl Guarded {
    /// Reads with the lock held, and unlocks.
    fn reads(&self) -> u32 {
        // SAFETY: no thread writes while one reads.
        let count = self.count.with(|count| unsafe { *count });
        self.lock.read_unlock();
        count
    }

    /// Writes with the lock held, and unlocks.
    fn writes(&self) {
        // SAFETY: no other thread has the lock.
        self.count.with_mut(|count| unsafe { *count += 1 });
        self.lock.write_unlock();
    }
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Reads,
    Writes,
}
use Role::{Reads, Writes};

impl Role {
    /// Takes the lock, unless the wait ends early.
    fn takes(self, guarded: &Guarded) -> bool {
        match self {
            Reads => guarded.lock.read(),
            Writes => guarded.lock.write(),
        }
    }

    /// Works with the lock held, and unlocks.
    fn works(self, guarded: &Guarded) {
        match self {
            Reads => drop(guarded.reads()),
            Writes => guarded.writes(),
        }
    }
}

/// When the limit comes: before anybody waits, or at any time.
#[derive(Clone, Copy, PartialEq)]
enum Comes {
    Before,
    Meanwhile,
}
use Comes::{Before, Meanwhile};

/// Checks that the lock is as if nobody had ever come: it is free for readers and for writers, they
/// wait for each other, and nobody would be woken by mistake. The limit has come.
fn is_as_new(guarded: &Guarded, written: u32) {
    limit_is_an_abort();
    assert!(guarded.lock.try_write() && !guarded.lock.read());
    guarded.lock.write_unlock();
    assert!(guarded.lock.read() && !guarded.lock.write());
    assert_eq!(guarded.reads(), written);
    assert!(guarded.lock.try_write() && nothing_is_released());
}

/// A thread has the lock, `one` waits and gives up, and `others` wait.
fn gives_up(first: Role, one: Role, others: &'static [Role], comes: Comes, bound: usize) {
    check(Some(bound), move || {
        let guarded = Arc::new(Guarded { lock: RawRwLock::new(), count: UnsafeCell::new(0) });
        assert!(first.takes(&guarded));
        if comes == Before {
            limit_comes();
        }
        let limited = {
            let guarded = guarded.clone();
            thread::spawn(move || {
                limit_is_an_abort();
                let locked = one.takes(&guarded);
                if locked {
                    one.works(&guarded);
                }
                locked
            })
        };
        let others_wait = others.iter().map(|other| {
            let guarded = guarded.clone();
            thread::spawn(move || {
                assert!(other.takes(&guarded));
                other.works(&guarded);
            })
        });
        let others_wait: Vec<_> = others_wait.collect();
        let limit = (comes == Meanwhile).then(|| thread::spawn(limit_comes));
        first.works(&guarded);
        limit.into_iter().for_each(|limit| limit.join().unwrap());
        others_wait.into_iter().for_each(|other| other.join().unwrap());
        let locked = limited.join().unwrap();
        let written = [first].iter().chain(others).filter(|role| **role == Writes).count() as u32;
        is_as_new(&guarded, written + u32::from(locked && one == Writes));
    });
}

#[test]
fn a_reader_gives_up() {
    gives_up(Writes, Reads, &[], Meanwhile, 4);
}

#[test]
fn a_reader_gives_up_beside_another() {
    gives_up(Writes, Reads, &[Reads], Meanwhile, 2);
    gives_up(Writes, Reads, &[Reads], Before, 3);
}

#[test]
fn a_reader_gives_up_beside_the_next_writer() {
    gives_up(Writes, Reads, &[Writes], Meanwhile, 2);
    gives_up(Writes, Reads, &[Writes], Before, 3);
}

#[test]
fn a_reader_gives_up_beside_the_next_writer_and_another_reader() {
    gives_up(Writes, Reads, &[Writes, Reads], Before, 2);
}

#[test]
fn a_writer_gives_up() {
    gives_up(Reads, Writes, &[], Meanwhile, 4);
}

#[test]
fn a_writer_gives_up_beside_a_reader() {
    gives_up(Reads, Writes, &[Reads], Meanwhile, 2);
    gives_up(Reads, Writes, &[Reads], Before, 3);
}

#[test]
fn a_writer_gives_up_beside_the_next() {
    gives_up(Reads, Writes, &[Writes], Meanwhile, 2);
    gives_up(Reads, Writes, &[Writes], Before, 3);
}

#[test]
fn the_next_writer_gives_up() {
    gives_up(Writes, Writes, &[Reads], Meanwhile, 2);
    gives_up(Writes, Writes, &[Reads], Before, 3);
}
