//! Bugs that involve several kinds of primitives.

programs! {
    lock_and_channel
    reader_writer_sender
    stopped_when_submitting
    publish_under_lock
    stale_cache
    popped_twice
    torn_snapshot
    freed_twice
    two_leaders
    lost_copy
    loaded_by_then
}

/// One goroutine holds the lock and waits for the channel. The other would send, but first waits
/// for the lock.
mod lock_and_channel {
    use gosched::chan::{Receiver, bounded};
    use gosched::scope;
    use gosched::sync::Mutex;

    fn program(update: fn(&Mutex<u32>, &Receiver<u32>)) {
        let (state, (tx, rx)) = (Mutex::new(0), bounded(1));
        scope(|s| {
            s.go(|| update(&state, &rx));
            s.go(|| {
                let seen = *state.lock();
                tx.send(seen + 1).unwrap();
            });
        });
    }

    pub fn wrong() {
        program(|state, rx| {
            let mut state = state.lock();
            *state += rx.recv().unwrap();
        });
    }

    pub fn right() {
        program(|state, rx| {
            let received = rx.recv().unwrap();
            *state.lock() += received;
        });
    }
}

/// Two readers may hold the lock at once, so one may wait for the other, unless a writer has come
/// in between.
mod reader_writer_sender {
    use gosched::chan::{Receiver, bounded};
    use gosched::scope;
    use gosched::sync::RwLock;

    fn program(sum: fn(&RwLock<u32>, &Receiver<u32>) -> u32) {
        let (table, (tx, rx)) = (RwLock::new(1), bounded(1));
        scope(|s| {
            s.go(|| sum(&table, &rx));
            s.go(|| *table.write() += 1);
            s.go(|| {
                let row = *table.read();
                tx.send(row).unwrap();
            });
        });
    }

    pub fn wrong() {
        program(|table, rx| {
            let table = table.read();
            *table + rx.recv().unwrap()
        });
    }

    pub fn right() {
        program(|table, rx| {
            let received = rx.recv().unwrap();
            *table.read() + received
        });
    }
}

/// The server is running at the look, but has stopped when the job is sent.
mod stopped_when_submitting {
    use gosched::chan::bounded;
    use gosched::scope;
    use gosched::sync::Mutex;

    fn program(holds: bool) {
        let ((jobs, queue), stopped) = (bounded(1), Mutex::new(false));
        scope(|s| {
            s.go(|| {
                let stopped = stopped.lock();
                if !*stopped {
                    let held = holds.then_some(stopped);
                    jobs.send(1).expect("it hasn't been stopped");
                    drop(held);
                }
            });
            s.go(|| {
                *stopped.lock() = true;
                jobs.close();
            });
            s.go(|| queue.iter().for_each(drop));
        });
    }

    pub fn wrong() {
        program(false);
    }

    pub fn right() {
        program(true);
    }
}

/// The publisher holds the subscribers' lock while it sends. A subscriber that wants to leave
/// doesn't receive any more.
mod publish_under_lock {
    use gosched::chan::{Receiver, Sender, bounded};
    use gosched::scope;
    use gosched::sync::Mutex;

    type Subscribers = Mutex<Vec<Sender<u32>>>;

    fn program(leave: fn(&Subscribers, Receiver<u32>)) {
        let (tx, rx) = bounded(0);
        let subscribers = Mutex::new(vec![tx]);
        scope(|s| {
            s.go(|| {
                for i in 0..2 {
                    subscribers.lock().iter().for_each(|subscriber| _ = subscriber.send(i));
                }
            });
            s.go(|| leave(&subscribers, rx));
        });
    }

    pub fn wrong() {
        program(|subscribers, rx| {
            subscribers.lock().clear();
            drop(rx);
        });
    }

    pub fn right() {
        program(|subscribers, rx| {
            drop(rx);
            subscribers.lock().clear();
        });
    }
}

/// A value read before a change is cached after the change.
mod stale_cache {
    use gosched::scope;
    use gosched::sync::Mutex;

    #[derive(Default)]
    struct Store {
        /// A row and its version.
        row: Mutex<(u32, u32)>,
        kept: Mutex<Option<(u32, u32)>>,
    }

    impl Store {
        fn read(&self, keep: fn(&Self, (u32, u32))) {
            if self.kept.lock().is_none() {
                let row = *self.row.lock();
                keep(self, row);
            }
        }

        fn write(&self, value: u32) {
            let mut row = self.row.lock();
            *row = (value, row.1 + 1);
            drop(row);
            *self.kept.lock() = None;
        }
    }

    fn program(keep: fn(&Store, (u32, u32))) {
        let store = Store::default();
        scope(|s| {
            s.go(|| store.read(keep));
            s.go(|| store.write(7));
        });
        let kept = store.kept.into_inner();
        assert!(kept.is_none_or(|kept| kept == store.row.into_inner()));
    }

    pub fn wrong() {
        program(|store, row| *store.kept.lock() = Some(row));
    }

    pub fn right() {
        program(|store, row| {
            let mut kept = store.kept.lock();
            let version = store.row.lock().1;
            if version == row.1 {
                *kept = Some(row);
            }
        });
    }
}

/// The ABA problem: the head is the same, but its successor isn't. A was popped and is back, and B
/// is gone.
mod popped_twice {
    use gosched::scope;
    use gosched::sync::Mutex;

    const NONE: usize = usize::MAX;

    /// A stack of numbers, linked by `next`. Its head is changed by compare-and-swap, with a count
    /// of the changes.
    struct Stack {
        head: Mutex<(usize, u32)>,
        next: Mutex<[usize; 2]>,
    }

    impl Stack {
        fn pop(&self, counts: bool) -> Option<usize> {
            loop {
                let head = *self.head.lock();
                if head.0 == NONE {
                    return None;
                }
                let next = self.next.lock()[head.0];
                if self.swap(head, next, counts) {
                    return Some(head.0);
                }
            }
        }

        fn push(&self, i: usize, counts: bool) {
            loop {
                let head = *self.head.lock();
                self.next.lock()[i] = head.0;
                if self.swap(head, i, counts) {
                    return;
                }
            }
        }

        fn swap(&self, seen: (usize, u32), new: usize, counts: bool) -> bool {
            let mut head = self.head.lock();
            let same = head.0 == seen.0 && (!counts || head.1 == seen.1);
            if same {
                *head = (new, head.1 + 1);
            }
            same
        }
    }

    fn program(counts: bool) {
        let stack = Stack { head: Mutex::new((0, 0)), next: Mutex::new([1, NONE]) };
        let owned = Mutex::new([0; 2]);
        scope(|s| {
            for _ in 0..2 {
                s.go(|| {
                    let (first, second) = (stack.pop(counts), stack.pop(counts));
                    second.into_iter().for_each(|i| owned.lock()[i] += 1);
                    first.into_iter().for_each(|i| stack.push(i, counts));
                });
            }
        });
        let owned = owned.into_inner();
        assert!(owned.iter().all(|&owners| owners <= 1), "{owned:?}");
    }

    pub fn wrong() {
        program(false);
    }

    pub fn right() {
        program(true);
    }
}

/// Each account is read under its lock, but both never had that sum at the same moment.
mod torn_snapshot {
    use gosched::scope;
    use gosched::sync::Mutex;

    type Account = Mutex<i32>;

    fn program(sum: fn(&Account, &Account) -> i32) {
        let (a, b) = (Account::new(10), Account::new(10));
        scope(|s| {
            s.go(|| assert_eq!(sum(&a, &b), 20));
            s.go(|| {
                let (mut a, mut b) = (a.lock(), b.lock());
                *a -= 5;
                *b += 5;
            });
        });
    }

    pub fn wrong() {
        program(|a, b| {
            let a = *a.lock();
            a + *b.lock()
        });
    }

    pub fn right() {
        program(|a, b| {
            let (a, b) = (a.lock(), b.lock());
            *a + *b
        });
    }
}

/// Two goroutines give up the last two references: both see that none is left.
mod freed_twice {
    use gosched::scope;
    use gosched::sync::Mutex;

    fn program(release: fn(&Mutex<u32>) -> bool) {
        let (references, freed) = (Mutex::new(2), Mutex::new(0));
        scope(|s| {
            for _ in 0..2 {
                s.go(|| {
                    if release(&references) {
                        *freed.lock() += 1;
                    }
                });
            }
        });
        assert_eq!(freed.into_inner(), 1);
    }

    pub fn wrong() {
        program(|references| {
            *references.lock() -= 1;
            *references.lock() == 0
        });
    }

    pub fn right() {
        program(|references| {
            let mut references = references.lock();
            *references -= 1;
            *references == 0
        });
    }
}

/// A node that hears of no leader in time makes itself the leader. Another one does, too.
mod two_leaders {
    use std::time::Duration;

    use gosched::chan::bounded;
    use gosched::scope;
    use gosched::sync::Mutex;

    fn program(lead: fn(&Mutex<Vec<usize>>, usize) -> bool) {
        let leaders = Mutex::new(Vec::new());
        let [a, b] = [bounded(1), bounded(1)];
        scope(|s| {
            for (me, heard, other) in [(0, &a.1, &b.0), (1, &b.1, &a.0)] {
                let leaders = &leaders;
                s.go(move || {
                    let alone = heard.recv_timeout(Duration::from_millis(1)).is_err();
                    if alone && lead(leaders, me) {
                        other.send(me).unwrap();
                    }
                });
            }
        });
        assert_eq!(leaders.lock().len(), 1);
    }

    pub fn wrong() {
        program(|leaders, me| {
            leaders.lock().push(me);
            true
        });
    }

    pub fn right() {
        program(|leaders, me| {
            let mut leaders = leaders.lock();
            let first = leaders.is_empty();
            if first {
                leaders.push(me);
            }
            first
        });
    }
}

/// A changed copy replaces the original, which has changed meanwhile.
mod lost_copy {
    use std::sync::Arc;

    use gosched::scope;
    use gosched::sync::{Mutex, RwLock};

    type Routes = RwLock<Arc<Vec<u32>>>;

    fn program(add: fn(&Routes, &Mutex<()>, u32)) {
        let (routes, writers) = (Routes::default(), Mutex::new(()));
        scope(|s| {
            for i in 0..2 {
                let (routes, writers) = (&routes, &writers);
                s.go(move || add(routes, writers, i));
            }
        });
        assert_eq!(routes.read().len(), 2);
    }

    fn copy_and_add(routes: &Routes, route: u32) {
        let mut copy = Vec::clone(&routes.read());
        copy.push(route);
        *routes.write() = Arc::new(copy);
    }

    pub fn wrong() {
        program(|routes, _, route| copy_and_add(routes, route));
    }

    pub fn right() {
        program(|routes, writers, route| {
            let _one_at_a_time = writers.lock();
            copy_and_add(routes, route);
        });
    }
}

/// A value is loaded in the background. The program assumes that it is there at its use, because
/// much work comes before.
mod loaded_by_then {
    use std::sync::Arc;

    use gosched::go;
    use gosched::sync::Mutex;

    fn program(waits: bool) {
        let (config, steps) = (Arc::new(Mutex::new(None)), Mutex::new(0));
        let theirs = config.clone();
        let loading = go(move || *theirs.lock() = Some(42));
        for _ in 0..20 {
            *steps.lock() += 1;
        }
        if waits {
            loading.join().unwrap();
        }
        config.lock().expect("it has been loaded");
    }

    pub fn wrong() {
        program(false);
    }

    pub fn right() {
        program(true);
    }
}
