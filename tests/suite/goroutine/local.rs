//! Goroutine-locals: each goroutine has its own, whatever its kind and its thread.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use gosched::chan::bounded;
use gosched::iter::pull;
use gosched::{AccessError, Builder, blocking, go, goexit, goroutine_local, run, scope, yield_now};

use crate::harness::goroutines::others_ended;
use crate::harness::panics::panics;
use crate::harness::rng::Rng;
use crate::harness::storm::storm;
use crate::harness::{Test, memory, run_with_procs, tests};

tests! {
    each_has_its_own
    they_are_there_where_it_goes_on
    they_end_before_a_join_returns
    who_panics_or_exits_ends_them_too
    some_are_inherited
    what_a_thread_leaves_to_its_goroutines
    they_end_in_turn
    the_last_destructors_find_none
    a_value_outlives_who_uses_it
    made_twice_at_once
    a_clone_that_panics
    a_destructor_that_panics
    no_memory_is_kept
    many_that_move
}

/// Returns the usual kind, and the kind that shares thread-locals.
fn kinds() -> [Builder; 2] {
    // SAFETY: nothing obtained from a thread-local is kept across a point that can park.
    [Builder::new(), unsafe { Builder::new().shared_locals() }]
}

goroutine_local! {
    static N: Cell<u32> = Cell::new(7);
    inherit static PATH: RefCell<Vec<u32>> = RefCell::new(Vec::new());
}

static DROPPED: AtomicU32 = AtomicU32::new(0);

/// Counts its drops.
struct Counted(u32);

impl Drop for Counted {
    fn drop(&mut self) {
        yield_now();
        DROPPED.fetch_add(self.0, Ordering::Relaxed);
    }
}

goroutine_local!(static COUNTED: RefCell<Counted> = RefCell::new(Counted(1)));

fn each_has_its_own() {
    N.set(1);
    for kind in kinds() {
        kind.run(move || {
            assert_eq!(N.get(), 7);
            N.set(2);
            for other in kinds() {
                assert_eq!(other.go(|| N.replace(3) + N.get()).unwrap().join().unwrap(), 10);
                assert_eq!(scope(|s| s.go(|| N.get()).join().unwrap()), 7);
                assert_eq!(pull(|out| out.yield_(N.get())).next(), Some(7));
            }
            assert_eq!((N.get(), blocking(|| N.get())), (2, 2));
            assert_eq!(thread::spawn(|| N.get()).join().unwrap(), 7);
        })
        .unwrap();
    }
    assert_eq!(N.get(), 1);
}

fn they_are_there_where_it_goes_on() {
    goroutine_local!(static KEPT: Rc<Cell<u32>> = Rc::new(Cell::new(0)));
    run_with_procs(8, || {
        let work = |_| {
            let mine = KEPT.with(Rc::clone);
            for i in 0..1000 {
                KEPT.with(|kept| {
                    let before = kept.get();
                    yield_now();
                    kept.set(before + 1);
                });
                assert_eq!(mine.get(), i + 1);
            }
        };
        let all: Vec<_> =
            (0..20).flat_map(|i| kinds().map(|kind| kind.go(move || work(i)).unwrap())).collect();
        all.into_iter().for_each(|handle| handle.join().unwrap());
    });
}

fn they_end_before_a_join_returns() {
    for kind in kinds() {
        DROPPED.store(0, Ordering::Relaxed);
        kind.run(move || {
            for i in 1..=100 {
                kind.go(|| COUNTED.with(|_| ())).unwrap().join().unwrap();
                assert_eq!(DROPPED.load(Ordering::Relaxed), i);
            }
            COUNTED.with_borrow_mut(|counted| counted.0 = 1000);
            let mut generator = Builder::pull(kind, |out| {
                COUNTED.with_borrow_mut(|counted| counted.0 = 10_000);
                out.yield_(1);
            })
            .unwrap();
            assert_eq!((generator.next(), generator.next()), (Some(1), None));
            assert_eq!(DROPPED.load(Ordering::Relaxed), 10_100);
        })
        .unwrap();
        assert_eq!(DROPPED.load(Ordering::Relaxed), 11_100);
    }
}

fn who_panics_or_exits_ends_them_too() {
    run(|| {
        for kind in kinds() {
            DROPPED.store(0, Ordering::Relaxed);
            let panics = kind.go(|| COUNTED.with(|_| std::panic::resume_unwind(Box::new(())))).unwrap();
            assert!(panics.join().unwrap_err().is_panic());
            let exits = kind.go(|| COUNTED.with(|_| goexit())).unwrap();
            assert!(exits.join().unwrap_err().is_goexit());
            drop(kind.go(|| COUNTED.with(|_| ())));
            while DROPPED.load(Ordering::Relaxed) != 3 {
                yield_now();
            }
        }
    });
}

fn some_are_inherited() {
    let path = || PATH.with_borrow(Vec::clone);
    let enter = |n| PATH.with_borrow_mut(|path| path.push(n));
    run(|| {
        for kind in kinds() {
            let outer = kind.go(move || {
                N.set(0);
                assert_eq!(go(path).join().unwrap(), []);
                enter(1);
                let child = kind.go(move || {
                    enter(2);
                    yield_now();
                    (N.get(), path(), go(path).join().unwrap())
                });
                enter(3);
                assert_eq!(child.unwrap().join().unwrap(), (7, vec![1, 2], vec![1, 2]));
                assert_eq!(scope(|s| s.go(path).join().unwrap()), [1, 3]);
                assert_eq!(pull(move |out| out.yield_(path())).next().unwrap(), [1, 3]);
                path()
            });
            assert_eq!(outer.unwrap().join().unwrap(), [1, 3]);
            assert_eq!(path(), []);
        }
    });
}

fn what_a_thread_leaves_to_its_goroutines() {
    let path = || PATH.with_borrow(Vec::clone);
    PATH.with_borrow_mut(|path| path.push(1));
    run(move || {
        assert_eq!(path(), [1]);
        let of_thread = thread::spawn(move || {
            PATH.with_borrow_mut(|path| path.push(2));
            let waits = go(path);
            (waits.join().unwrap(), go(|| N.get()).join().unwrap())
        });
        assert_eq!(blocking(|| of_thread.join().unwrap()), (vec![2], 7));
    });
    assert_eq!(path(), [1]);
}

fn they_end_in_turn() {
    static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    fn see(what: &str) {
        SEEN.lock().unwrap().push(what.to_string());
    }
    struct First;
    impl Drop for First {
        fn drop(&mut self) {
            see("first");
            assert_eq!(SECOND.try_with(|_| ()).map_err(|error| error.to_string()), Err(DROPPED.to_string()));
            // The value is made only now.
            LATE.with(|_| ());
        }
    }
    struct Second;
    impl Drop for Second {
        fn drop(&mut self) {
            see("second");
            assert!(SECOND.try_with(|_| ()).is_err());
            FIRST.with(|_| ());
        }
    }
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            see("late");
            let misuse = catch_unwind(|| FIRST.with(|_| ())).unwrap_err();
            assert_eq!(
                misuse.downcast_ref::<&str>(),
                Some(&"gosched: a goroutine-local is used after it was dropped: use try_with in destructors")
            );
        }
    }
    const DROPPED: &str = "the goroutine-local has been dropped";
    goroutine_local! {
        static FIRST: First = First;
        static SECOND: Second = Second;
        static LATE: Late = Late
    }
    let work = || {
        FIRST.with(|_| ());
        SECOND.with(|_| ());
    };
    let expected = ["second", "first", "late"];
    run(move || {
        for kind in kinds() {
            kind.go(work).unwrap().join().unwrap();
            assert_eq!(*SEEN.lock().unwrap(), expected);
            SEEN.lock().unwrap().clear();
        }
    });
    thread::spawn(work).join().unwrap();
    assert_eq!(*SEEN.lock().unwrap(), expected);
}

fn the_last_destructors_find_none() {
    static FOUND: Mutex<Vec<Result<u32, AccessError>>> = Mutex::new(Vec::new());
    struct Looks;
    impl Drop for Looks {
        fn drop(&mut self) {
            FOUND.lock().unwrap().push(N.try_with(Cell::get));
            // Goroutines can be made, and inherit nothing.
            if let Ok(child) = Builder::new().go(|| ()) {
                child.join().unwrap();
            }
        }
    }
    thread_local!(static LOOKS: Looks = const { Looks });
    run(|| {
        go(|| {
            LOOKS.with(|_| ());
            N.set(8);
        })
        .join()
        .unwrap();
        assert!(FOUND.lock().unwrap().pop().unwrap().is_err());
        // The goroutine had no value, and makes none, because nobody would drop it.
        go(|| LOOKS.with(|_| ())).join().unwrap();
        assert!(FOUND.lock().unwrap().pop().unwrap().is_err());
    });
}

fn a_value_outlives_who_uses_it() {
    goroutine_local!(static LIST: RefCell<Vec<Box<u32>>> = RefCell::new(vec![Box::new(5)]));
    goroutine_local! {
        static A: u8 = 1; static B: u8 = 2; static C: u8 = 3; static D: u8 = 4; static E: u8 = 5;
    }
    run(|| {
        // While one value is borrowed, others are made, which moves the table.
        LIST.with_borrow(|list| {
            let five = &list[0];
            let sum = [&A, &B, &C, &D, &E].map(|one| one.with(|n| *n)).iter().sum::<u8>();
            assert_eq!((sum, **five), (15, 5));
        });
    });
}

fn made_twice_at_once() {
    goroutine_local!(static SELF: u32 = match DEPTH.replace(1) {
        0 => SELF.with(|n| n + 1),
        _ => 10,
    });
    goroutine_local!(static DEPTH: Cell<u32> = Cell::new(0));
    // The first value stays.
    run(|| assert_eq!((SELF.with(|n| *n), SELF.with(|n| *n)), (10, 10)));
}

fn a_clone_that_panics() {
    struct Strict(bool);
    impl Clone for Strict {
        fn clone(&self) -> Self {
            assert!(self.0, "this isn't cloned");
            Strict(self.0)
        }
    }
    goroutine_local!(inherit static STRICT: RefCell<Strict> = RefCell::new(Strict(false)));
    run(|| {
        STRICT.with(|_| ());
        others_ended();
        assert_eq!(panics(|| drop(go(|| ()))), "this isn't cloned");
        let held = STRICT.with(|strict| {
            let _held = strict.borrow_mut();
            catch_unwind(AssertUnwindSafe(|| drop(go(|| ())))).is_err()
        });
        assert!(held);
        // No value was made.
        others_ended();
        STRICT.with_borrow_mut(|strict| strict.0 = true);
        go(|| STRICT.with_borrow(|strict| assert!(strict.0))).join().unwrap();
    });
}

fn a_destructor_that_panics(test: Test) {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    goroutine_local!(static PANICS: Panics = Panics);
    let process = test.process(|| run(|| go(|| PANICS.with(|_| ())).join().unwrap()));
    let ended = process.end();
    ended.with("exit status: 2");
    assert!(
        ended.stderr.contains("fatal error: a goroutine-local panicked when it was dropped"),
        "{}",
        ended.stderr
    );
}

fn no_memory_is_kept() {
    goroutine_local!(inherit static MIB: RefCell<Vec<u8>> = RefCell::new(vec![1; 1 << 20]));
    run(|| {
        for kind in kinds() {
            let round = || {
                kind.go(move || {
                    MIB.with(|_| ());
                    kind.go(|| MIB.with_borrow(|mib| assert_eq!(mib[77], 1))).unwrap().join().unwrap();
                    drop(pull(|out| out.yield_(MIB.with_borrow(Vec::len))));
                })
                .unwrap()
                .join()
                .unwrap();
            };
            (0..10).for_each(|_| round());
            let before = memory::resident();
            (0..200).for_each(|_| round());
            let after = memory::resident();
            assert!(after < before + (64 << 20), "{before} {after}");
        }
    });
}

fn many_that_move() {
    let mut rng = Rng::seeded();
    run_with_procs(8, move || {
        let (tx, rx) = bounded::<u32>(1);
        let work = move |i: u32, mut rng: Rng| {
            PATH.with_borrow_mut(|path| path.push(i));
            N.set(i);
            for _ in 0..rng.below(50) {
                match rng.below(4) {
                    0 => yield_now(),
                    1 => drop(tx.try_send(i)),
                    2 => drop(rx.try_recv()),
                    _ => {
                        let expected = PATH.with_borrow(Vec::clone);
                        go(move || assert_eq!(PATH.with_borrow(Vec::clone), expected)).join().unwrap();
                    }
                }
                assert_eq!(N.get(), i);
                PATH.with_borrow(|path| assert_eq!(path.last(), Some(&i)));
            }
        };
        for _ in storm(100) {
            let all: Vec<_> = (0..40)
                .map(|i| {
                    let (work, rng) = (work.clone(), Rng::new(rng.next()));
                    kinds()[i as usize % 2].go(move || work(i, rng)).unwrap()
                })
                .collect();
            all.into_iter().for_each(|handle| handle.join().unwrap());
        }
    });
}
