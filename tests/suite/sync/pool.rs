//! `Pool`: there are never too many objects, none is lost, and code of the program's that fails or
//! panics leaves the slot free.

use std::convert::Infallible;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::context::{Context, ContextError, PoolContextError};
use gosched::sync::{Pool, PoolError, Pooled};
use gosched::{blocking, run, scope, synctest, time, yield_now};

use crate::harness::explored::{in_any_order, times};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::{panics, unwind};
use crate::harness::tests;

tests! {
    objects_are_made_lazily_and_used_again
    there_are_never_too_many
    waiters_are_served_in_order
    waits_end_with_their_limits
    errors_of_the_maker_free_the_slot
    a_panic_of_the_maker_frees_the_slot
    a_failed_check_drops_the_object
    a_panic_of_the_check_drops_the_object
    a_panic_of_a_drop_frees_the_slot
    a_panic_while_it_is_used_drops_the_object
    idle_objects_expire
    expired_objects_count_until_their_drop_has_ended
    detached_and_discarded_ones_are_replaced
    guards_outlive_the_pool
    nothing_is_locked_in_the_programs_code
    threads_use_it_too
}

/// Counts the objects that there are.
#[derive(Clone, Default)]
struct Counts {
    made: Arc<AtomicUsize>,
    live: Arc<AtomicUsize>,
    /// Whether the next drop panics.
    panics: Arc<AtomicBool>,
}

/// An object, by its number.
#[derive(Debug)]
struct Object(usize, Counts);

impl std::fmt::Debug for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad("Counts")
    }
}

impl Counts {
    fn object(&self) -> Object {
        self.live.fetch_add(1, Ordering::Relaxed);
        Object(self.made.fetch_add(1, Ordering::Relaxed), self.clone())
    }

    fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    fn pool(&self, max: usize) -> Pool<Object, Infallible> {
        let counts = self.clone();
        Pool::new(max, move || Ok(counts.object()))
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.1.live.fetch_sub(1, Ordering::Relaxed);
        if self.1.panics.swap(false, Ordering::Relaxed) {
            resume_unwind(Box::new("the object's"));
        }
    }
}

fn objects_are_made_lazily_and_used_again() {
    let counts = Counts::default();
    let pool = counts.pool(3);
    assert_eq!((counts.live(), pool.max(), pool.in_use(), pool.idle()), (0, 3, 0, 0));
    let (a, b) = (pool.get().unwrap(), pool.clone().get().unwrap());
    assert_eq!((a.0, b.0, pool.in_use(), pool.idle()), (0, 1, 2, 0));
    drop(a);
    drop(b);
    assert_eq!((counts.live(), pool.in_use(), pool.idle()), (2, 0, 2));
    // The newest first.
    let b = pool.get().unwrap();
    assert_eq!((b.0, pool.get().unwrap().0), (1, 0));
    assert_eq!(format!("{pool:?}"), "Pool { max: 3, in_use: 1, idle: 1 }");
    drop(b);
    drop(pool);
    assert_eq!(counts.live(), 0);
}

pub fn there_are_never_too_many() {
    in_any_order(|| {
        let counts = Counts::default();
        let counted = counts.clone();
        let max = times(5, 2);
        let pool = Pool::new(max, move || {
            yield_now();
            Ok::<_, Infallible>(counted.object())
        })
        .with_check(|object| object.0 % 3 != 1);
        scope(|s| {
            for i in 0..times(50, 4) {
                let (pool, counts) = (&pool, &counts);
                s.go(move || {
                    let object = pool.get().unwrap();
                    yield_now();
                    assert!(counts.live() <= max && pool.in_use() <= max);
                    if i % 4 == 0 {
                        Pooled::discard(object);
                    }
                });
            }
        });
        assert_eq!((pool.in_use(), pool.idle()), (0, counts.live()));
        let all: Vec<_> = (0..max).map(|_| pool.try_get().unwrap().unwrap()).collect();
        assert!(pool.try_get().unwrap().is_none());
        assert_eq!(counts.live(), all.len());
    });
}

pub fn waiters_are_served_in_order() {
    in_any_order(|| {
        let pool: Pool<Vec<u32>> = Pool::new(1, || Ok(Vec::new()));
        let held = pool.get().unwrap();
        let waiters: Vec<_> = (0..3)
            .map(|n| {
                let pool = pool.clone();
                go_until_it_waits(move || pool.get().unwrap().push(n))
            })
            .collect();
        drop(held);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert_eq!(*pool.get().unwrap(), [0, 1, 2]);
    });
}

fn waits_end_with_their_limits() {
    synctest::test(|| {
        let pool: Pool<u32, &str> = Pool::new(1, || Ok(7));
        let held = pool.get().unwrap();
        let (start, hour) = (time::now(), Duration::from_secs(3600));
        assert_eq!(pool.get_timeout(hour).unwrap_err(), PoolError::TimedOut);
        assert_eq!(time::now() - start, hour);
        let (ctx, _cancel) = Context::background().with_timeout(hour);
        let late = PoolContextError::Ended(ContextError::DeadlineExceeded);
        assert_eq!(ctx.with(&pool).get().unwrap_err(), late);
        assert_eq!(time::now() - start, hour * 2);
        let (ctx, _cancel) = Context::background().with_timeout(hour);
        let waits = {
            let pool = pool.clone();
            gosched::go(move || ctx.with(&pool).get().map(|object| *object))
        };
        synctest::wait();
        drop(held);
        assert_eq!(waits.join().unwrap(), Ok(7));
        assert_eq!(*pool.get_timeout(hour).unwrap(), 7);
        assert_eq!(*Context::background().with(&pool).get().unwrap(), 7);
    });
}

fn errors_of_the_maker_free_the_slot() {
    run(|| {
        let fails = Arc::new(AtomicBool::new(true));
        let says = fails.clone();
        let pool = Pool::new(1, move || if says.load(Ordering::Relaxed) { Err("refused") } else { Ok(7) });
        assert_eq!(pool.get().unwrap_err(), "refused");
        assert_eq!(pool.try_get().unwrap_err(), "refused");
        assert_eq!(pool.get_timeout(Duration::from_secs(60)).unwrap_err(), PoolError::Make("refused"));
        let (ctx, _cancel) = Context::background().with_cancel();
        assert_eq!(ctx.with(&pool).get().unwrap_err(), PoolContextError::Make("refused"));
        assert_eq!(pool.in_use(), 0);
        fails.store(false, Ordering::Relaxed);
        assert_eq!(*pool.get().unwrap(), 7);
    });
}

/// Also for one that waits for it.
fn a_panic_of_the_maker_frees_the_slot() {
    run(|| {
        let counts = Counts::default();
        let (counted, first) = (counts.clone(), AtomicBool::new(true));
        let pool = Pool::new(1, move || {
            if first.swap(false, Ordering::Relaxed) {
                yield_now();
                resume_unwind(Box::new("the maker's"));
            }
            Ok::<_, Infallible>(counted.object())
        });
        let get = || {
            let pool = pool.clone();
            gosched::go(move || pool.get().unwrap().0)
        };
        let (first, second) = (get(), get());
        let ended = [first.join(), second.join()];
        assert_eq!(ended.iter().filter(|end| end.is_err()).count(), 1);
        assert_eq!((pool.in_use(), pool.idle(), counts.live()), (0, 1, 1));
    });
}

fn a_failed_check_drops_the_object() {
    let counts = Counts::default();
    let pool = counts.pool(3).with_check(|object| object.0 >= 2);
    let three = [(); 3].map(|()| pool.get().unwrap());
    assert_eq!(three.each_ref().map(|object| object.0), [0, 1, 2], "new ones aren't checked");
    // 2 is given back first, so it is behind the two that fail.
    let [a, b, c] = three;
    drop(c);
    drop(b);
    drop(a);
    assert_eq!(pool.get().unwrap().0, 2);
    assert_eq!((counts.live(), pool.idle(), pool.in_use()), (1, 1, 0));
}

fn a_panic_of_the_check_drops_the_object() {
    let counts = Counts::default();
    let pool = counts.pool(1).with_check(|_| resume_unwind(Box::new("the check's")));
    drop(pool.get());
    assert_eq!(panics(|| drop(pool.get())), "the check's");
    assert_eq!((counts.live(), pool.idle(), pool.in_use()), (0, 0, 0));
    assert_eq!(pool.get().unwrap().0, 1);
}

fn a_panic_of_a_drop_frees_the_slot() {
    let counts = Counts::default();
    let panics_next = || counts.panics.store(true, Ordering::Relaxed);
    let consistent = |pool: Pool<Object, Infallible>| {
        assert_eq!((counts.live(), pool.in_use()), (pool.idle(), 0));
        drop(pool.try_get().unwrap().expect("the slot is free"));
    };
    // One that is discarded.
    let pool = counts.pool(1);
    let object = pool.get().unwrap();
    panics_next();
    assert_eq!(panics(|| Pooled::discard(object)), "the object's");
    consistent(pool);
    // One that fails its check.
    let pool = counts.pool(1).with_check(|object| object.1.live() > 7);
    drop(pool.get());
    panics_next();
    assert_eq!(panics(|| drop(pool.get())), "the object's");
    consistent(pool);
    // One that has been idle for too long.
    let pool = counts.pool(2).with_idle_limit(Duration::ZERO);
    drop(pool.get());
    panics_next();
    assert_eq!(panics(|| drop(pool.get())), "the object's");
    consistent(pool);
}

fn a_panic_while_it_is_used_drops_the_object() {
    let counts = Counts::default();
    let pool = counts.pool(1);
    unwind(|| pool.get().unwrap());
    assert_eq!((counts.live(), pool.idle(), pool.in_use()), (0, 0, 0));
    drop(pool.get());
    assert_eq!(pool.idle(), 1);
}

fn idle_objects_expire() {
    synctest::test(|| {
        let counts = Counts::default();
        let pool = counts.pool(3).with_idle_limit(Duration::from_secs(60));
        let three = [(); 3].map(|()| pool.get().unwrap());
        for object in three {
            drop(object);
            time::sleep(Duration::from_secs(25));
        }
        // 0 has been idle for 75 seconds, 1 for 50 and 2 for 25.
        let newest = pool.get().unwrap();
        assert_eq!((newest.0, pool.idle(), counts.live()), (2, 1, 2));
        time::sleep(Duration::from_secs(10));
        let next = pool.get().unwrap();
        assert_eq!((next.0, pool.idle(), counts.live()), (3, 0, 2), "1 has reached the limit exactly");
        // One in use never expires.
        time::sleep(Duration::from_secs(3600));
        drop(newest);
        assert_eq!(pool.get().unwrap().0, 2);
    });
}

fn expired_objects_count_until_their_drop_has_ended() {
    /// Gets an object while it is dropped itself.
    struct UsesPool(Arc<std::sync::OnceLock<Pool<UsesPool, Infallible>>>, Counts);
    impl Drop for UsesPool {
        fn drop(&mut self) {
            drop(self.0.get().unwrap().try_get());
            self.1.live.fetch_sub(1, Ordering::Relaxed);
        }
    }
    synctest::test(|| {
        let (itself, counts) = (Arc::new(std::sync::OnceLock::new()), Counts::default());
        let (most, making) = (Arc::new(AtomicUsize::new(0)), itself.clone());
        let seen = most.clone();
        let pool = Pool::new(2, move || {
            let live = counts.live.fetch_add(1, Ordering::Relaxed) + 1;
            seen.fetch_max(live, Ordering::Relaxed);
            Ok(UsesPool(making.clone(), counts.clone()))
        })
        .with_idle_limit(Duration::from_secs(60));
        itself.set(pool.clone()).ok().unwrap();
        drop((pool.get(), pool.get()));
        time::sleep(Duration::from_secs(60));
        drop(pool.get());
        assert_eq!(most.load(Ordering::Relaxed), 2);
    });
}

fn detached_and_discarded_ones_are_replaced() {
    let counts = Counts::default();
    let pool = counts.pool(1);
    let detached = Pooled::detach(pool.get().unwrap());
    assert_eq!((pool.in_use(), pool.idle(), counts.live()), (0, 0, 1));
    let other = pool.get().unwrap();
    assert_eq!((detached.0, other.0), (0, 1));
    Pooled::discard(other);
    assert_eq!((pool.in_use(), pool.idle(), counts.live()), (0, 0, 1));
    assert_eq!(pool.get().unwrap().0, 2);
}

fn guards_outlive_the_pool() {
    let counts = Counts::default();
    let pool = counts.pool(2);
    let (a, b) = (pool.get().unwrap(), pool.get().unwrap());
    drop(pool);
    drop(a);
    assert_eq!(b.0, 1);
    drop(b);
    assert_eq!(counts.live(), 0);
}

/// The maker, the check and the drop use the pool themselves.
fn nothing_is_locked_in_the_programs_code() {
    struct UsesPool(Pool<u32>);
    impl Drop for UsesPool {
        fn drop(&mut self) {
            assert!(self.0.try_get().unwrap().is_some());
        }
    }
    let inner: Pool<u32> = Pool::new(1, || Ok(7));
    let from = inner.clone();
    let (seen, looks) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(std::sync::OnceLock::<Pool<UsesPool>>::new()));
    let look = {
        let (seen, looks) = (seen.clone(), looks.clone());
        move || {
            _ = seen.fetch_add(looks.get().unwrap().in_use() + looks.get().unwrap().idle(), Ordering::Relaxed)
        }
    };
    let check = look.clone();
    let pool = Pool::new(2, move || {
        look();
        Ok(UsesPool(from.clone()))
    })
    .with_check(move |_| {
        check();
        false
    });
    looks.set(pool.clone()).ok().unwrap();
    drop(pool.get());
    drop(pool.get());
    assert_eq!(seen.load(Ordering::Relaxed), 3, "two makes and one check, each of one in use");
}

fn threads_use_it_too() {
    run(|| {
        let pool: Pool<u32> = Pool::new(2, || Ok(0));
        let all = [(); 4].map(|()| {
            let pool = pool.clone();
            thread::spawn(move || {
                for _ in 0..100 {
                    *pool.get().unwrap() += 1;
                }
            })
        });
        blocking(|| all.into_iter().for_each(|thread| thread.join().unwrap()));
        let (a, b) = (pool.get().unwrap(), pool.get().unwrap());
        assert_eq!(*a + *b, 400);
        blocking(|| {
            assert!(pool.try_get().unwrap().is_none());
            drop(a);
            assert!(panics(|| (pool.get(), pool.get())).contains("acquire"));
        });
        drop(b);
        // The panic has dropped the other one.
        assert_eq!((pool.in_use(), pool.idle()), (0, 1));
    });
}
