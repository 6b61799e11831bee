//! Bugs with conditions.

programs! {
    missed_signal
    if_not_while
    one_condvar
    barrier_reused
    writers_first
    two_signals_at_once
}

/// The lock is free between the look at the condition and the wait. The signal comes in between.
mod missed_signal {
    use gosched::scope;
    use gosched::sync::{Condvar, Mutex};

    fn program(wait: fn(&Mutex<bool>, &Condvar)) {
        let (ready, changed) = (Mutex::new(false), Condvar::new());
        scope(|s| {
            s.go(|| wait(&ready, &changed));
            s.go(|| {
                *ready.lock() = true;
                changed.notify_one();
            });
        });
    }

    pub fn wrong() {
        program(|ready, changed| {
            let is_ready = *ready.lock();
            if !is_ready {
                drop(changed.wait(ready.lock()));
            }
        });
    }

    pub fn right() {
        program(|ready, changed| drop(changed.wait_while(ready.lock(), |ready| !*ready)));
    }
}

/// A woken goroutine assumes that the value is still there.
mod if_not_while {
    use gosched::scope;
    use gosched::sync::{Condvar, Mutex};

    type Queue = Mutex<Vec<u32>>;

    fn program(pop: fn(&Queue, &Condvar) -> u32) {
        let (queue, filled) = (Queue::default(), Condvar::new());
        scope(|s| {
            s.go(|| pop(&queue, &filled));
            s.go(|| pop(&queue, &filled));
            s.go(|| {
                for i in 0..2 {
                    queue.lock().push(i);
                    filled.notify_one();
                }
            });
        });
    }

    pub fn wrong() {
        program(|queue, filled| {
            let mut queue = queue.lock();
            if queue.is_empty() {
                queue = filled.wait(queue);
            }
            queue.pop().expect("it was woken for a value")
        });
    }

    pub fn right() {
        program(|queue, filled| {
            let mut queue = queue.lock();
            while queue.is_empty() {
                queue = filled.wait(queue);
            }
            queue.pop().expect("it has seen a value")
        });
    }
}

/// Producers and consumers wait for one condition. A notification wakes a goroutine of the
/// notifier's own kind.
mod one_condvar {
    use gosched::scope;
    use gosched::sync::{Condvar, Mutex};

    const CAPACITY: u32 = 1;

    fn program(notify: fn(&Condvar)) {
        let (stored, changed) = (Mutex::new(0), Condvar::new());
        scope(|s| {
            for _ in 0..2 {
                s.go(|| {
                    for _ in 0..2 {
                        *changed.wait_while(stored.lock(), |stored| *stored == CAPACITY) += 1;
                        notify(&changed);
                    }
                });
                s.go(|| {
                    for _ in 0..2 {
                        *changed.wait_while(stored.lock(), |stored| *stored == 0) -= 1;
                        notify(&changed);
                    }
                });
            }
        });
    }

    pub fn wrong() {
        program(Condvar::notify_one);
    }

    pub fn right() {
        program(Condvar::notify_all);
    }
}

/// A barrier counts from 0 again. A fast goroutine reaches the next round before a slow one has
/// seen the end of this one.
mod barrier_reused {
    use gosched::sync::{Condvar, Mutex};
    use gosched::{scope, yield_now};

    const N: u32 = 2;

    #[derive(Default)]
    struct Arrived {
        count: u32,
        round: u32,
    }

    #[derive(Default)]
    struct Barrier {
        arrived: Mutex<Arrived>,
        all_here: Condvar,
    }

    impl Barrier {
        fn wait(&self, until: fn(now: &Arrived, round: u32) -> bool) {
            let mut arrived = self.arrived.lock();
            let round = arrived.round;
            arrived.count += 1;
            if arrived.count == N {
                *arrived = Arrived { count: 0, round: round + 1 };
                self.all_here.notify_all();
            } else {
                drop(self.all_here.wait_while(arrived, |now| !until(now, round)));
            }
        }
    }

    fn program(until: fn(&Arrived, u32) -> bool) {
        let barrier = Barrier::default();
        scope(|s| {
            for _ in 0..N {
                s.go(|| {
                    barrier.wait(until);
                    yield_now();
                    barrier.wait(until);
                });
            }
        });
    }

    pub fn wrong() {
        program(|now, _| now.count == 0);
    }

    pub fn right() {
        program(|now, round| now.round != round);
    }
}

/// A finished writer wakes one waiter. If that is a reader, it lets the next writer go first, and
/// waits again.
mod writers_first {
    use gosched::scope;
    use gosched::sync::{Condvar, Mutex};

    #[derive(Default)]
    struct State {
        readers: u32,
        writers_waiting: u32,
        writes: u32,
    }

    /// A hand-made lock that prefers writers.
    #[derive(Default)]
    struct Lock {
        state: Mutex<State>,
        changed: Condvar,
    }

    impl Lock {
        fn read(&self, wake: fn(&Condvar)) {
            let may_not = |state: &mut State| state.writers_waiting > 0;
            self.changed.wait_while(self.state.lock(), may_not).readers += 1;
            let mut state = self.state.lock();
            state.readers -= 1;
            if state.readers == 0 {
                wake(&self.changed);
            }
        }

        fn write(&self, wake: fn(&Condvar)) {
            let mut state = self.state.lock();
            state.writers_waiting += 1;
            state = self.changed.wait_while(state, |state| state.readers > 0);
            state.writers_waiting -= 1;
            state.writes += 1;
            wake(&self.changed);
        }
    }

    fn program(wake: fn(&Condvar)) {
        let lock = Lock::default();
        scope(|s| {
            for _ in 0..2 {
                s.go(|| lock.read(wake));
                s.go(|| lock.write(wake));
            }
        });
        assert_eq!(lock.state.lock().writes, 2);
    }

    pub fn wrong() {
        program(Condvar::notify_one);
    }

    pub fn right() {
        program(Condvar::notify_all);
    }
}

/// A signal is a flag: of two signals at the same time, only one is seen.
mod two_signals_at_once {
    use gosched::scope;
    use gosched::sync::{Condvar, Mutex};

    fn program(signal: fn(u32) -> u32) {
        let (signals, changed) = (Mutex::new(0), Condvar::new());
        scope(|s| {
            for _ in 0..2 {
                s.go(|| {
                    let mut signals = signals.lock();
                    *signals = signal(*signals);
                    changed.notify_one();
                });
            }
            s.go(|| {
                for _ in 0..2 {
                    *changed.wait_while(signals.lock(), |signals| *signals == 0) -= 1;
                }
            });
        });
    }

    pub fn wrong() {
        program(|_| 1);
    }

    pub fn right() {
        program(|signals| signals + 1);
    }
}
