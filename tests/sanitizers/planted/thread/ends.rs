//! What waits for a goroutine, and what doesn't.

programs! {
    done_too_soon handle_dropped two_in_a_scope beside_a_thread
}

/// A goroutine is done, for a group that is waited for, before it writes.
mod done_too_soon {
    use std::hint::black_box;

    use gosched::go;
    use gosched::sync::WaitGroup;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "reads"]);

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` nobody reads yet. `bug` breaks this: that is
        // the bug.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: it is never freed, and it was written. The latter isn't kept in `bug`.
        black_box(unsafe { *number.get() });
    }

    pub fn bug() {
        static GROUP: WaitGroup = WaitGroup::new();
        let number = Alias::boxed(0);
        GROUP.add(1);
        let writer = go(move || {
            GROUP.done();
            writes(number);
        });
        GROUP.wait();
        reads(number);
        writer.join().unwrap();
    }

    pub fn right() {
        static GROUP: WaitGroup = WaitGroup::new();
        let number = Alias::boxed(0);
        GROUP.add(1);
        let writer = go(move || {
            writes(number);
            GROUP.done();
        });
        GROUP.wait();
        reads(number);
        writer.join().unwrap();
    }
}

/// Nobody joins the goroutine whose result is used.
mod handle_dropped {
    use std::hint::black_box;

    use gosched::go;

    use crate::alias::Alias;
    use crate::hint::Hint;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "reads"]);

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` nobody reads yet. `bug` breaks this: that is
        // the bug.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: it is never freed, and it was written. The latter isn't kept in `bug`.
        black_box(unsafe { *number.get() });
    }

    pub fn bug() {
        static DROPPED: Hint = Hint::new();
        static WRITTEN: Hint = Hint::new();
        let number = Alias::boxed(0);
        let handle = go(move || {
            // The handle of a goroutine that has ended would order them, dropped or not.
            DROPPED.wait();
            writes(number);
            WRITTEN.set();
        });
        drop(handle);
        DROPPED.set();
        WRITTEN.wait();
        reads(number);
    }

    pub fn right() {
        let number = Alias::boxed(0);
        let handle = go(move || writes(number));
        handle.join().unwrap();
        reads(number);
    }
}

/// A scope waits for two goroutines that write the same.
mod two_in_a_scope {
    use gosched::scope;
    use gosched::sync::Barrier;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes"]);

    #[inline(never)]
    fn writes(number: Alias<u64>, value: u64) {
        // SAFETY: it is never freed, and in `right` the one is joined before the other. Not kept in
        // `bug`.
        unsafe { *number.get() = value };
    }

    pub fn bug() {
        let number = Alias::boxed(0);
        let both_done = Barrier::new(2);
        scope(|s| {
            for value in 1..=2 {
                let both_done = &both_done;
                s.go(move || {
                    writes(number, value);
                    both_done.wait();
                });
            }
        });
    }

    pub fn right() {
        let number = Alias::boxed(0);
        scope(|s| {
            s.go(|| writes(number, 1)).join().unwrap();
            s.go(|| writes(number, 2));
        });
        writes(number, 3);
    }
}

/// A goroutine writes, and so does a thread that isn't the scheduler's.
mod beside_a_thread {
    use std::thread;

    use gosched::sync::Mutex;
    use gosched::{blocking, go};

    use crate::alias::Alias;
    use crate::hint::Hint;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["adds"]);

    #[inline(never)]
    fn adds(count: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` there is a lock. `bug` breaks this: that is the
        // bug.
        unsafe { *count.get() += 1 };
    }

    fn count(lock: Option<&'static Mutex<()>>) {
        static FIRST: Hint = Hint::new();
        let count = Alias::boxed(0);
        let counts = move || {
            let locked = lock.map(Mutex::lock);
            adds(count);
            drop(locked);
        };
        // In `bug` the thread asks nothing of the scheduler, whose locks would order the two.
        let thread = thread::spawn(move || {
            counts();
            FIRST.set();
        });
        let second = go(move || {
            FIRST.wait();
            counts();
        });
        second.join().unwrap();
        blocking(|| thread.join()).unwrap();
    }

    pub fn bug() {
        count(None);
    }

    pub fn right() {
        static LOCK: Mutex<()> = Mutex::new(());
        count(Some(&LOCK));
    }
}
