//! Bugs in which too little is locked, or a lock doesn't exclude.

programs! {
    counter unlocked_too_soon read_beside_write semaphore_of_two checked_twice notified_too_soon given_back_too_soon
}

/// Two goroutines count without a lock.
mod counter {
    use gosched::go;
    use gosched::sync::{Barrier, Mutex};

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["adds"]);

    #[inline(never)]
    fn adds(count: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` there is a lock. `bug` breaks this: that is the
        // bug.
        unsafe { *count.get() += 1 };
    }

    fn count(lock: Option<&'static Mutex<()>>) {
        static BOTH_DONE: Barrier = Barrier::new(2);
        let count = Alias::boxed(0);
        let counts = move || {
            let locked = lock.map(Mutex::lock);
            adds(count);
            drop(locked);
            BOTH_DONE.wait();
        };
        let counters = [go(counts), go(counts)];
        counters.into_iter().for_each(|counter| counter.join().unwrap());
    }

    pub fn bug() {
        count(None);
    }

    pub fn right() {
        static LOCK: Mutex<()> = Mutex::new(());
        count(Some(&LOCK));
    }
}

/// A goroutine that adds holds the lock while it reads, but not while it writes.
mod unlocked_too_soon {
    use gosched::sync::Mutex;

    use super::super::side_by_side;
    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes_the_sum"]);

    #[inline(never)]
    fn reads_the_sum(sum: Alias<u64>) -> u64 {
        // SAFETY: it is never freed, and the caller has the lock. `bug` breaks this, where others
        // write without.
        unsafe { *sum.get() }
    }

    #[inline(never)]
    fn writes_the_sum(sum: Alias<u64>, value: u64) {
        // SAFETY: the same. In `bug` the caller has no lock any more: that is the bug.
        unsafe { *sum.get() = value };
    }

    pub fn bug() {
        static LOCK: Mutex<()> = Mutex::new(());
        let sum = Alias::boxed(0);
        let add = || {
            let locked = LOCK.lock();
            let read = reads_the_sum(sum);
            drop(locked);
            writes_the_sum(sum, read + 1);
        };
        side_by_side(add, add);
    }

    pub fn right() {
        static LOCK: Mutex<()> = Mutex::new(());
        let sum = Alias::boxed(0);
        let add = || {
            let _locked = LOCK.lock();
            writes_the_sum(sum, reads_the_sum(sum) + 1);
        };
        side_by_side(add, add);
        assert_eq!(reads_the_sum(sum), 2);
    }
}

/// One goroutine reads with a lock for reading, the other writes without a lock.
mod read_beside_write {
    use std::hint::black_box;

    use gosched::sync::RwLock;

    use super::super::side_by_side;
    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["reads_locked", "writes"]);

    #[inline(never)]
    fn reads_locked(lock: &RwLock<()>, number: Alias<u64>) {
        let _locked = lock.read();
        // SAFETY: it is never freed, and nobody writes without a lock. The latter isn't kept in
        // `bug`.
        black_box(unsafe { *number.get() });
    }

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` this has a lock. `bug` breaks this: that is the
        // bug.
        unsafe { *number.get() = 7 };
    }

    pub fn bug() {
        let lock = RwLock::new(());
        let number = Alias::boxed(0);
        side_by_side(|| reads_locked(&lock, number), || writes(number));
    }

    pub fn right() {
        let lock = RwLock::new(());
        let number = Alias::boxed(0);
        let write = || {
            let _locked = lock.write();
            writes(number);
        };
        side_by_side(|| reads_locked(&lock, number), write);
    }
}

/// A semaphore that should exclude has two permits.
mod semaphore_of_two {
    use gosched::sync::{Barrier, Semaphore};

    use super::super::side_by_side;
    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["adds"]);

    #[inline(never)]
    fn adds(count: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` there is one permit. `bug` breaks this: that is
        // the bug.
        unsafe { *count.get() += 1 };
    }

    pub fn bug() {
        let semaphore = Semaphore::new(2);
        let both_added = Barrier::new(2);
        let count = Alias::boxed(0);
        let add = || {
            let _permit = semaphore.acquire();
            adds(count);
            // A permit that was given back would order them.
            both_added.wait();
        };
        side_by_side(add, add);
    }

    pub fn right() {
        let semaphore = Semaphore::new(1);
        let count = Alias::boxed(0);
        let add = || {
            let _permit = semaphore.acquire();
            adds(count);
        };
        side_by_side(add, add);
    }
}

/// Double-checked locking: a value is made once, and a flag that orders nothing says that the value
/// is there.
mod checked_twice {
    use std::hint::black_box;

    use gosched::sync::{Mutex, Once};

    use super::super::side_by_side;
    use crate::alias::Alias;
    use crate::hint::Hint;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["makes", "reads"]);

    #[inline(never)]
    fn makes(number: Alias<u64>) {
        // SAFETY: it is never freed, and nobody reads yet.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: it is never freed, and it was made. That this thread sees it made isn't kept in
        // `bug`: that is the bug.
        black_box(unsafe { *number.get() });
    }

    pub fn bug() {
        let (lock, made) = (Mutex::new(()), Hint::new());
        let number = Alias::boxed(0);
        let get = || {
            if !made.is_set() {
                let _locked = lock.lock();
                if !made.is_set() {
                    makes(number);
                    made.set();
                }
            }
            reads(number);
        };
        let get_later = || {
            made.wait();
            get();
        };
        side_by_side(get, get_later);
    }

    pub fn right() {
        let made = Once::new();
        let number = Alias::boxed(0);
        let get = || {
            made.call_once(|| makes(number));
            reads(number);
        };
        side_by_side(get, get);
    }
}

/// A goroutine that waits for a condition is told that a value is there, but the value is written
/// afterwards.
mod notified_too_soon {
    use std::hint::black_box;

    use gosched::sync::{Condvar, Mutex};

    use super::super::side_by_side;
    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "reads_when_told"]);

    struct Told {
        there: Mutex<bool>,
        cond: Condvar,
    }

    impl Told {
        fn new() -> Self {
            Told { there: Mutex::new(false), cond: Condvar::new() }
        }

        fn tell(&self) {
            *self.there.lock() = true;
            self.cond.notify_one();
        }
    }

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` nobody reads yet. `bug` breaks this: that is
        // the bug.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn reads_when_told(told: &Told, number: Alias<u64>) {
        drop(told.cond.wait_while(told.there.lock(), |there| !*there));
        // SAFETY: it is never freed, and it was written. The latter isn't kept in `bug`.
        black_box(unsafe { *number.get() });
    }

    pub fn bug() {
        let told = Told::new();
        let number = Alias::boxed(0);
        let tell = || {
            told.tell();
            writes(number);
        };
        side_by_side(|| reads_when_told(&told, number), tell);
    }

    pub fn right() {
        let told = Told::new();
        let number = Alias::boxed(0);
        let tell = || {
            writes(number);
            told.tell();
        };
        side_by_side(|| reads_when_told(&told, number), tell);
    }
}

/// A goroutine writes to an object of a pool that it has given back.
mod given_back_too_soon {
    use std::convert::Infallible;
    use std::hint::black_box;

    use gosched::sync::Pool;

    use super::super::side_by_side;
    use crate::alias::Alias;
    use crate::hint::Hint;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "reads"]);

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: the pool keeps the object, and in `right` nobody else has it. `bug` breaks this:
        // that is the bug.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn reads(number: &u64) {
        black_box(*number);
    }

    fn use_in_turn(writes_first: bool) {
        let given_back = Hint::new();
        let pool = Pool::new(1, || Ok::<_, Infallible>(Box::new(0)));
        let write = || {
            let mut number = pool.get().unwrap();
            let kept = Alias::new(&raw mut **number);
            if writes_first {
                writes(kept);
            }
            drop(number);
            given_back.set();
            if !writes_first {
                writes(kept);
            }
        };
        let read = || {
            given_back.wait();
            reads(&pool.get().unwrap());
        };
        side_by_side(write, read);
    }

    pub fn bug() {
        use_in_turn(false);
    }

    pub fn right() {
        use_in_turn(true);
    }
}
