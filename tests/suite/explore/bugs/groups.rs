//! Bugs with wait groups, semaphores and the like.

programs! {
    add_inside
    forgotten_done
    reused_group
    wait_under_lock
    done_too_early
    permits_one_by_one
    permit_kept
    permit_too_many
    once_under_lock
    quits_before_the_barrier
    flights_in_a_circle
}

/// Each goroutine counts itself, and the wait may come before that.
mod add_inside {
    use std::sync::Arc;

    use gosched::sync::{Mutex, WaitGroup};
    use gosched::{go, yield_now};

    fn program(inside: bool) {
        let shared = Arc::new((WaitGroup::new(), Mutex::new(0)));
        for _ in 0..2 {
            let theirs = shared.clone();
            if !inside {
                shared.0.add(1);
            }
            go(move || {
                let (group, finished) = &*theirs;
                if inside {
                    group.add(1);
                }
                *finished.lock() += 1;
                group.done();
            });
        }
        // Usually all of them have begun by then.
        yield_now();
        let (group, finished) = &*shared;
        group.wait();
        assert_eq!(*finished.lock(), 2);
    }

    pub fn wrong() {
        program(true);
    }

    pub fn right() {
        program(false);
    }
}

/// A worker that finds no job returns without calling `done`.
mod forgotten_done {
    use gosched::chan::{Receiver, bounded};
    use gosched::scope;
    use gosched::sync::WaitGroup;

    fn program(work: fn(&WaitGroup, &Receiver<u32>)) {
        let ((tx, rx), group) = (bounded(2), WaitGroup::new());
        group.add(2);
        scope(|s| {
            s.go(|| work(&group, &rx));
            s.go(|| work(&group, &rx));
            s.go(|| (0..2).for_each(|i| tx.send(i).unwrap()));
            group.wait();
        });
    }

    pub fn wrong() {
        program(|group, jobs| {
            let Ok(_job) = jobs.try_recv() else { return };
            group.done();
        });
    }

    pub fn right() {
        program(|group, jobs| {
            jobs.try_recv().ok();
            group.done();
        });
    }
}

/// The next round is counted while a waiter for this one is still about to return.
mod reused_group {
    use std::sync::Arc;

    use gosched::chan::bounded;
    use gosched::go;
    use gosched::sync::WaitGroup;

    fn program(acknowledged: bool) {
        let (group, (tx, rx)) = (Arc::new(WaitGroup::new()), bounded::<()>(1));
        group.add(1);
        let theirs = group.clone();
        let rounds = go(move || {
            theirs.done();
            if acknowledged {
                rx.recv().unwrap();
            }
            theirs.add(1);
            theirs.done();
        });
        group.wait();
        tx.send(()).ok();
        rounds.join().unwrap();
    }

    pub fn wrong() {
        program(false);
    }

    pub fn right() {
        program(true);
    }
}

/// The goroutine that waits for others holds a lock that one of them takes before it ends.
mod wait_under_lock {
    use gosched::scope;
    use gosched::sync::{Mutex, WaitGroup};

    fn program(wait: fn(&WaitGroup, &Mutex<u32>)) {
        let (group, sum) = (WaitGroup::new(), Mutex::new(0));
        group.add(2);
        scope(|s| {
            let work = || {
                *sum.lock() += 1;
                group.done();
            };
            s.go(work);
            s.go(|| wait(&group, &sum));
            s.go(work);
        });
    }

    pub fn wrong() {
        program(|group, sum| {
            let sum = sum.lock();
            group.wait();
            assert_eq!(*sum, 2);
        });
    }

    pub fn right() {
        program(|group, sum| {
            group.wait();
            assert_eq!(*sum.lock(), 2);
        });
    }
}

/// A goroutine is counted off before it has stored its result.
mod done_too_early {
    use gosched::scope;
    use gosched::sync::{Mutex, WaitGroup};

    fn program(finish: fn(&WaitGroup, &Mutex<u32>, u32)) {
        let (group, sum) = (WaitGroup::new(), Mutex::new(0));
        group.add(2);
        scope(|s| {
            for i in 1..=2 {
                let (group, sum) = (&group, &sum);
                s.go(move || finish(group, sum, i));
            }
            group.wait();
            assert_eq!(*sum.lock(), 3);
        });
    }

    pub fn wrong() {
        program(|group, sum, i| {
            group.done();
            *sum.lock() += i;
        });
    }

    pub fn right() {
        program(|group, sum, i| {
            *sum.lock() += i;
            group.done();
        });
    }
}

/// Each goroutine takes its permits one by one: each has one, and waits for another.
mod permits_one_by_one {
    use gosched::scope;
    use gosched::sync::Semaphore;

    const N: usize = 3;

    fn program(work: fn(&Semaphore)) {
        let memory = Semaphore::new(N);
        scope(|s| {
            for _ in 0..N {
                s.go(|| work(&memory));
            }
        });
        assert_eq!(memory.available_permits(), N);
    }

    pub fn wrong() {
        program(|memory| {
            let _page = memory.acquire();
            let _another = memory.acquire();
        });
    }

    pub fn right() {
        program(|memory| drop(memory.acquire_many(2)));
    }
}

/// A rare path doesn't give a permit back.
mod permit_kept {
    use gosched::chan::{Sender, bounded};
    use gosched::scope;
    use gosched::sync::Semaphore;

    fn program(report: fn(&Semaphore, &Sender<u32>)) {
        let (slots, (tx, rx)) = (Semaphore::new(1), bounded(1));
        scope(|s| {
            for _ in 0..2 {
                s.go(|| report(&slots, &tx));
            }
            s.go(|| rx.recv().unwrap());
        });
        assert_eq!(slots.available_permits(), 1);
    }

    pub fn wrong() {
        program(|slots, reports| {
            slots.acquire().forget();
            if reports.try_send(7).is_ok() {
                slots.add_permits(1);
            }
        });
    }

    pub fn right() {
        program(|slots, reports| {
            let _slot = slots.acquire();
            reports.try_send(7).ok();
        });
    }
}

/// A goroutine that got no permit gives one back.
mod permit_too_many {
    use gosched::scope;
    use gosched::sync::{Mutex, Semaphore};

    fn inside(count: &Mutex<u32>) {
        *count.lock() += 1;
        assert!(*count.lock() <= 1, "there is one permit");
        *count.lock() -= 1;
    }

    fn program(work: fn(&Semaphore, &Mutex<u32>)) {
        let (slots, count) = (Semaphore::new(1), Mutex::new(0));
        scope(|s| {
            for _ in 0..3 {
                s.go(|| work(&slots, &count));
            }
        });
    }

    pub fn wrong() {
        program(|slots, count| {
            if let Some(slot) = slots.try_acquire() {
                slot.forget();
                inside(count);
            }
            slots.add_permits(1);
        });
    }

    pub fn right() {
        program(|slots, count| {
            if let Some(_slot) = slots.try_acquire() {
                inside(count);
            }
        });
    }
}

/// The caller of `call_once` holds a lock that the function takes.
mod once_under_lock {
    use gosched::scope;
    use gosched::sync::{Mutex, Once};

    fn program(lock_first: bool) {
        let (once, log) = (Once::new(), Mutex::new(Vec::new()));
        let start = || once.call_once(|| log.lock().push("started"));
        scope(|s| {
            s.go(|| {
                if !lock_first {
                    start();
                }
                let mut log = log.lock();
                if lock_first {
                    start();
                }
                log.push("used");
            });
            s.go(start);
        });
    }

    pub fn wrong() {
        program(true);
    }

    pub fn right() {
        program(false);
    }
}

/// A goroutine that sees that it is time to stop doesn't go to the barrier. Another, which hasn't
/// seen that, waits there.
mod quits_before_the_barrier {
    use gosched::scope;
    use gosched::sync::{Barrier, Mutex};

    fn program(stops: fn(&Barrier, &Mutex<bool>, &Mutex<bool>) -> bool) {
        let (barrier, stop, decided) = (Barrier::new(2), Mutex::new(false), Mutex::new(false));
        scope(|s| {
            for _ in 0..2 {
                s.go(|| {
                    for _round in 0..2 {
                        if stops(&barrier, &stop, &decided) {
                            return;
                        }
                        barrier.wait();
                    }
                });
            }
            s.go(|| *stop.lock() = true);
        });
    }

    pub fn wrong() {
        program(|_, stop, _| *stop.lock());
    }

    pub fn right() {
        program(|barrier, stop, decided| {
            // One goroutine decides for both.
            if barrier.wait().is_leader() {
                *decided.lock() = *stop.lock();
            }
            barrier.wait();
            *decided.lock()
        });
    }
}

/// The work for one key waits for another key's work, which waits for the first.
mod flights_in_a_circle {
    use gosched::scope;
    use gosched::sync::SingleFlight;

    fn program(needs: [&'static str; 2]) {
        let pages = SingleFlight::new();
        scope(|s| {
            for (page, needed) in ["index", "news"].into_iter().zip(needs) {
                let pages = &pages;
                s.go(move || pages.run(page, || pages.run(needed, || needed.len())));
            }
        });
    }

    pub fn wrong() {
        program(["news", "index"]);
    }

    pub fn right() {
        program(["logo", "logo"]);
    }
}
