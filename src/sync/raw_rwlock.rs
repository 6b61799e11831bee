//! The algorithm of the lock for readers and writers: Go's `sync/rwmutex.go`.
//!
//! A writer announces itself by subtracting [`MAX_READERS`] from the count of readers, which makes
//! it negative: readers that arrive then wait until the writer unlocks. The writer waits for the
//! readers that hold the lock; the last of them wakes it. So neither side can starve the other.
//!
//! Unlike in Go, a reader and a writer may give up, because their run is over or they were aborted.
//! A writer that gives up lets the readers in that wait for it. So a reader that has found a writer
//! may act on that too late: the writer may be gone, and another one there. For that, the turns of
//! writers are numbered. The number of the turn stands above each of the three counts. A change of
//! a count that is meant for an earlier turn isn't done. A turn ends when a writer lets waiting
//! readers in, or gives up. Writers that make nobody wait share a turn.

use crate::runtime::atomic::{AtomicI64, AtomicU32, Ordering, fence};
use crate::runtime::runtime2::WaitReason;
use crate::runtime::{cansemacquire, gosched, point, semacquire_limited, semacquire1, semrelease};
use crate::sync::raw_mutex::RawMutex;

/// More readers than there can be at once.
const MAX_READERS: i64 = 1 << 30;

/// The most guards to read that there may be. It is half of [`MAX_READERS`], because a reader is
/// counted before it is refused. Forgotten guards count for good, so memory doesn't limit their
/// number. As a `u32`, a negative count is larger than this.
const MOST_READERS: u32 = MAX_READERS as u32 / 2;

/// One turn: the unit of the number above a count.
const TURN: i64 = 1 << 32;

/// A lock without a value.
pub(super) struct RawRwLock {
    /// Held by the writer, from before it waits for readers until it has unlocked.
    writers: RawMutex,
    /// The writer sleeps on this while there are readers.
    writer_sem: AtomicU32,
    /// Readers sleep on this while there is a writer.
    reader_sem: AtomicU32,
    /// The number of readers that hold the lock or wait; minus [`MAX_READERS`] while there is a
    /// writer.
    reader_count: AtomicI64,
    /// How many readers the writer waits for.
    reader_wait: AtomicI64,
    /// How many readers wait for the writer.
    waiting: AtomicI64,
}

/// The count in a word.
#[inline(always)]
fn count_of(word: i64) -> i32 {
    word as i32
}

/// The word of the same turn with a count of 0.
#[inline(always)]
fn turn_of(word: i64) -> i64 {
    word.wrapping_sub(count_of(word).into())
}

impl RawRwLock {
    /// An unlocked one.
    pub(super) const fn new() -> Self {
        RawRwLock {
            writers: RawMutex::new(),
            writer_sem: AtomicU32::new(0),
            reader_sem: AtomicU32::new(0),
            reader_count: AtomicI64::new(0),
            reader_wait: AtomicI64::new(0),
            waiting: AtomicI64::new(0),
        }
    }

    /// Locks for reading, on a goroutine. Returns false if the wait has ended early.
    #[inline]
    #[track_caller]
    pub(super) fn read(&self) -> bool {
        // Acquire: pairs with the release in let_others_in, so that the reader sees what was
        // written.
        let old = self.reader_count.fetch_add(1, Ordering::Acquire);
        count_of(old).cast_unsigned() < MOST_READERS || self.read_slow(old)
    }

    /// Continues a read for which there is a writer, or there are too many readers.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn read_slow(&self, old: i64) -> bool {
        if count_of(old) >= 0 {
            self.read_unlock();
            panic!("gosched: too many readers of an RwLock: are guards forgotten?");
        }
        !self.begin_to_wait(turn_of(old))
            || semacquire_limited(&self.reader_sem, false, WaitReason::SyncRWMutexRLock, None)
            || self.give_up_read()
    }

    /// Has the writer of `turn` wake this reader. Returns false if the turn is over: then the
    /// reader has the lock.
    fn begin_to_wait(&self, turn: i64) -> bool {
        // Acquire, twice: pairs with the release in end_turn, so that the reader sees what was
        // written. An earlier turn can't be found here, because the reader has found the writer,
        // which came after that.
        let mut old = self.waiting.load(Ordering::Acquire);
        while turn_of(old) == turn {
            match self.waiting.compare_exchange(old, old + 1, Ordering::Relaxed, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => old = now,
            }
        }
        false
    }

    /// Called for a reader whose wait has ended early. Returns whether it has the lock
    /// nevertheless. On a goroutine.
    ///
    /// A writer doesn't choose readers. It releases the semaphore for as many as wait, and a reader
    /// that has come later may take what was released for another. So any reader may leave while
    /// there is one for which nothing was released. Otherwise something was for this reader, too.
    #[cold]
    fn give_up_read(&self) -> bool {
        loop {
            let old = self.waiting.load(Ordering::Relaxed);
            if count_of(old) > 0 {
                // Acquire: pairs with the release in end_turn, so that leave_readers finds the same
                // turn or a later one.
                let left =
                    self.waiting.compare_exchange(old, old - 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
                if left {
                    self.leave_readers(turn_of(old));
                    return false;
                }
            } else if cansemacquire(&self.reader_sem) {
                return true;
            } else {
                // Yields until the writer has released the semaphore.
                // SAFETY: on a goroutine, and a point that can park.
                unsafe { gosched() };
            }
        }
    }

    /// Takes a reader off the count that has waited for the writer of `turn`, and waits no more.
    fn leave_readers(&self, turn: i64) {
        let old = self.reader_count.fetch_sub(1, Ordering::Relaxed);
        // The writer of its turn doesn't wait for it. But a later one may, if the turn has ended
        // meanwhile.
        if count_of(old) < 0 && turn_of(old) != turn {
            self.tell_writer(turn_of(old));
        }
    }

    /// Locks for reading if there is no writer, and there aren't too many readers.
    #[inline]
    pub(super) fn try_read(&self) -> bool {
        let mut old = self.reader_count.load(Ordering::Relaxed);
        while count_of(old).cast_unsigned() < MOST_READERS {
            // Acquire: as in read.
            match self.reader_count.compare_exchange(old, old + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => old = now,
            }
        }
        false
    }

    #[inline]
    pub(super) fn read_unlock(&self) {
        point("unlock");
        // Release: pairs with the acquire in write, so that reads here come before the writer's
        // writes.
        let old = self.reader_count.fetch_sub(1, Ordering::Release);
        if count_of(old) < 0 {
            // There is a writer. It waits for the readers that came before it, and this is one of
            // them.
            self.tell_writer(turn_of(old));
        }
    }

    /// Tells the writer of `turn` that a reader for which it waits has left. Does nothing if the
    /// writer has given up.
    #[cold]
    #[inline(never)]
    fn tell_writer(&self, turn: i64) {
        // Acquire: the caller has found the writer's announcement. Thus an earlier turn can't be
        // found here.
        fence(Ordering::Acquire);
        let mut old = self.reader_wait.load(Ordering::Relaxed);
        while turn_of(old) == turn {
            match self.reader_wait.compare_exchange(old, old - 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if count_of(old) == 1 => return semrelease(&self.writer_sem),
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }

    /// Locks for writing, on a goroutine. Returns false if the wait has ended early.
    #[inline]
    pub(super) fn write(&self) -> bool {
        if !self.writers.lock_limited(None) {
            return false;
        }
        // Acquire: pairs with the release in read_unlock. Release: a reader that finds the writer
        // finds the counts of its turn, too.
        let old = self.reader_count.fetch_sub(MAX_READERS, Ordering::AcqRel);
        count_of(old) == 0 || self.wait_for_readers(old)
    }

    /// Continues a write for which there are readers.
    #[cold]
    #[inline(never)]
    fn wait_for_readers(&self, old: i64) -> bool {
        let (turn, readers) = (turn_of(old), count_of(old));
        // Readers that leave from now on decrement reader_wait, which may be negative already.
        let before = self.reader_wait.fetch_add(readers.into(), Ordering::AcqRel);
        count_of(before) + readers == 0
            || semacquire_limited(&self.writer_sem, false, WaitReason::SyncRWMutexLock, None)
            || self.give_up_write(turn)
    }

    /// Called for a writer whose wait has ended early. Returns whether it has the lock
    /// nevertheless.
    #[cold]
    fn give_up_write(&self, turn: i64) -> bool {
        let mut old = self.reader_wait.load(Ordering::Relaxed);
        while count_of(old) > 0 {
            // Readers that leave from now on have nobody to tell.
            match self.reader_wait.compare_exchange(
                old,
                turn.wrapping_add(TURN),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    self.end_turn(turn, 0);
                    return false;
                }
                Err(now) => old = now,
            }
        }
        // The last reader has left, and is about to release it.
        semacquire1(&self.writer_sem, false, WaitReason::SyncRWMutexLock);
        true
    }

    /// Locks for writing if nobody holds the lock.
    pub(super) fn try_write(&self) -> bool {
        if !self.writers.try_lock() {
            return false;
        }
        let old = self.reader_count.load(Ordering::Relaxed);
        // As in write.
        let announced = count_of(old) == 0
            && self
                .reader_count
                .compare_exchange(old, old.wrapping_sub(MAX_READERS), Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
        if !announced {
            self.writers.unlock();
        }
        announced
    }

    #[inline]
    pub(super) fn write_unlock(&self) {
        point("unlock");
        self.let_others_in(0);
    }

    /// Makes the writer a reader. No other writer comes in between.
    pub(super) fn downgrade(&self) {
        point("downgrade");
        self.let_others_in(1);
    }

    /// Ends the writer's turn, and counts it as `readers` readers from then on.
    #[inline]
    fn let_others_in(&self, readers: i64) {
        let old = self.reader_count.load(Ordering::Relaxed);
        let turn = turn_of(old);
        let nobody_waits = old == turn.wrapping_sub(MAX_READERS)
            && self
                .reader_count
                // Release: pairs with the acquire in read, so that readers see the writes.
                .compare_exchange(old, turn + readers, Ordering::Release, Ordering::Relaxed)
                .is_ok();
        if nobody_waits {
            self.writers.unlock();
        } else {
            self.reader_wait.store(turn.wrapping_add(TURN), Ordering::Relaxed);
            self.end_turn(turn, readers);
        }
    }

    /// Ends the turn of the writer, in which somebody may wait. `reader_wait` is of the next turn
    /// already.
    #[cold]
    #[inline(never)]
    fn end_turn(&self, turn: i64, readers: i64) {
        // Release, twice: pairs with the acquire in read, and with that in begin_to_wait, so that
        // readers see the writes.
        self.reader_count.fetch_add(MAX_READERS + TURN + readers, Ordering::Release);
        let waiting = self.waiting.swap(turn.wrapping_add(TURN), Ordering::Release);
        for _ in 0..count_of(waiting) {
            semrelease(&self.reader_sem);
        }
        self.writers.unlock();
    }
}
