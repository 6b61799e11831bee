//! Read-write locks.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use gosched::go;

use super::objects::{Mapped, RwLock, after};
use super::{
    MANY, all_end, live_with_one_p_and_several, ok, on_goroutines_and_threads, times, without_threads,
};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::polled::HOUR;
use crate::harness::{Test, tests};

tests! {
    readers_and_writers_that_wait_long
    writers_have_it_alone
    writers_have_it_alone_where_they_are_preferred
    readers_have_it_together
    a_writer_knows_that_it_has_the_lock
    a_limit_ends_a_wait
    a_wrong_limit_is_an_error
    readers_wait_for_a_waiting_writer
    readers_go_on_when_a_writer_gives_up
    one_that_is_gone_after_its_unlock
}

/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`.
const PREFERS_WRITERS: i32 = 2;

fn readers_and_writers_that_wait_long(test: Test) {
    without_threads(test, || {
        static LOCK: RwLock = RwLock::new();
        static PAIR: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
        let work = |i: usize| {
            if i.is_multiple_of(4) {
                ok(LOCK.write());
                PAIR[0].fetch_add(1, Relaxed);
                thread::yield_now();
                PAIR[1].fetch_add(1, Relaxed);
            } else {
                ok(LOCK.read());
                thread::yield_now();
                assert_eq!(PAIR[0].load(Relaxed), PAIR[1].load(Relaxed));
            }
            LOCK.unlock();
        };
        all_end((0..MANY).map(|i| go(move || work(i))).collect());
        assert_eq!(PAIR[0].load(Relaxed), MANY / 4);
    });
}

/// Reads and writes, at random with limits.
fn work(lock: &RwLock, pair: &[AtomicUsize; 2], i: usize) {
    for round in 0..times(300) {
        let soon = || after(libc::CLOCK_REALTIME, Duration::from_micros(20));
        let writes = (round + i).is_multiple_of(3);
        let result = match ((round * 7 + i) % 5, writes) {
            (0, true) => lock.write_until(&soon()),
            (0, false) => lock.read_until(&soon()),
            (1, true) => lock.try_write(),
            (1, false) => lock.try_read(),
            (_, true) => lock.write(),
            (_, false) => lock.read(),
        };
        if result != 0 {
            assert!([libc::ETIMEDOUT, libc::EBUSY].contains(&result));
            continue;
        }
        let before = [pair[0].load(Relaxed), pair[1].load(Relaxed)];
        assert_eq!(before[0], before[1]);
        if round.is_multiple_of(4) {
            thread::yield_now();
        }
        if writes {
            pair[0].store(before[0] + 1, Relaxed);
            if round.is_multiple_of(2) {
                thread::yield_now();
            }
            pair[1].store(before[1] + 1, Relaxed);
        } else {
            assert_eq!(pair[0].load(Relaxed), before[0]);
        }
        lock.unlock();
    }
}

fn writers_have_it_alone(test: Test) {
    static LOCK: RwLock = RwLock::new();
    static PAIR: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
    on_goroutines_and_threads(
        test,
        8,
        3,
        |i| work(&LOCK, &PAIR, i),
        || {
            ok(LOCK.try_write());
        },
    );
}

fn writers_have_it_alone_where_they_are_preferred(test: Test) {
    static LOCK: std::sync::OnceLock<RwLock> = std::sync::OnceLock::new();
    static PAIR: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

    fn lock() -> &'static RwLock {
        LOCK.get_or_init(|| RwLock::of_kind(PREFERS_WRITERS))
    }

    on_goroutines_and_threads(
        test,
        8,
        3,
        |i| work(lock(), &PAIR, i),
        || {
            ok(lock().try_write());
        },
    );
}

fn readers_have_it_together(test: Test) {
    live_with_one_p_and_several(test, || {
        let lock = RwLock::new();
        ok(lock.read());
        gosched::scope(|s| {
            s.go(|| {
                ok(lock.read());
                ok(lock.try_read());
                assert_eq!(lock.try_write(), libc::EBUSY);
                lock.unlock();
                lock.unlock();
            });
        });
        lock.unlock();
        ok(lock.write());
        gosched::scope(|s| {
            s.go(|| assert_eq!([lock.try_read(), lock.try_write()], [libc::EBUSY; 2]));
        });
        lock.unlock();
    });
}

fn a_writer_knows_that_it_has_the_lock(test: Test) {
    live_with_one_p_and_several(test, || {
        let lock = RwLock::new();
        ok(lock.write());
        thread::sleep(Duration::from_micros(1));
        assert_eq!([lock.read(), lock.write()], [libc::EDEADLK; 2]);
        lock.unlock();
        ok(lock.read());
        lock.unlock();
    });
}

fn a_limit_ends_a_wait(test: Test) {
    static LOCK: RwLock = RwLock::new();

    fn wait() {
        let soon = Duration::from_millis(1);
        for clock in [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC] {
            assert_eq!(LOCK.read_by(clock, &after(clock, soon)), libc::ETIMEDOUT);
            assert_eq!(LOCK.write_by(clock, &after(clock, soon)), libc::ETIMEDOUT);
        }
        assert_eq!(LOCK.read_until(&after(libc::CLOCK_REALTIME, soon)), libc::ETIMEDOUT);
        assert_eq!(LOCK.write_until(&after(libc::CLOCK_REALTIME, soon)), libc::ETIMEDOUT);
    }

    live_with_one_p_and_several(test, || {
        ok(LOCK.write());
        go(wait).join().unwrap();
        go(|| gosched::blocking(wait)).join().unwrap();
        let reader = go_until_it_waits(|| {
            ok(LOCK.read_until(&after(libc::CLOCK_REALTIME, HOUR)));
            LOCK.unlock();
        });
        LOCK.unlock();
        reader.join().unwrap();
        ok(LOCK.try_write());
        LOCK.unlock();
    });
}

fn a_wrong_limit_is_an_error(test: Test) {
    live_with_one_p_and_several(test, || {
        let lock = RwLock::new();
        ok(lock.write());
        gosched::scope(|s| {
            s.go(|| {
                let time = libc::timespec { tv_sec: 1 << 40, tv_nsec: 1_000_000_000 };
                assert_eq!([lock.read_until(&time), lock.write_until(&time)], [libc::EINVAL; 2]);
                let time = after(libc::CLOCK_MONOTONIC, HOUR);
                assert_eq!(lock.read_by(libc::CLOCK_PROCESS_CPUTIME_ID, &time), libc::EINVAL);
            });
        });
        lock.unlock();
    });
}

fn readers_wait_for_a_waiting_writer(test: Test) {
    live_with_one_p_and_several(test, || {
        let lock: &'static RwLock = Box::leak(Box::new(RwLock::of_kind(PREFERS_WRITERS)));
        ok(lock.read());
        ok(lock.try_read());
        lock.unlock();
        let written: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
        let writer = go_until_it_waits(|| {
            ok(lock.write());
            written.store(1, Relaxed);
            lock.unlock();
        });
        assert_eq!(lock.try_read(), libc::EBUSY);
        let readers = [(); 3].map(|()| {
            go_until_it_waits(|| {
                ok(lock.read());
                assert_eq!(written.load(Relaxed), 1);
                lock.unlock();
            })
        });
        assert_eq!(written.load(Relaxed), 0);
        lock.unlock();
        writer.join().unwrap();
        all_end(readers.into());
    });
}

fn readers_go_on_when_a_writer_gives_up(test: Test) {
    live_with_one_p_and_several(test, || {
        let lock: &'static RwLock = Box::leak(Box::new(RwLock::of_kind(PREFERS_WRITERS)));
        ok(lock.read());
        let writer = go(|| {
            let soon = after(libc::CLOCK_REALTIME, Duration::from_millis(5));
            assert_eq!(lock.write_until(&soon), libc::ETIMEDOUT);
        });
        let reader = go(|| {
            ok(lock.read());
            lock.unlock();
        });
        // The lock is still held by this reader.
        reader.join().unwrap();
        writer.join().unwrap();
        lock.unlock();
    });
}

/// The lock is in memory that the last one to have it unmaps.
fn one_that_is_gone_after_its_unlock(test: Test) {
    struct Shared {
        lock: RwLock,
        ends: AtomicUsize,
    }

    fn end(shared: Mapped<Shared>, writes: bool) {
        ok(if writes { shared.lock.write() } else { shared.lock.read() });
        thread::yield_now();
        shared.lock.unlock();
        ok(shared.lock.write());
        let is_last = shared.ends.fetch_add(1, Relaxed) == 1;
        shared.lock.unlock();
        if is_last {
            shared.unmap();
        }
    }

    live_with_one_p_and_several(test, || {
        for i in 0..times(500) {
            let shared = Mapped::new(Shared { lock: RwLock::new(), ends: AtomicUsize::new(0) });
            let other = shared.share();
            let other = go(move || end(other, i.is_multiple_of(2)));
            end(shared, i.is_multiple_of(3));
            other.join().unwrap();
        }
    });
}
