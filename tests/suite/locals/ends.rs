//! What happens to a goroutine's thread-locals when it ends.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::chan::{Receiver, Sender, bounded};
use gosched::iter::Yielder;
use gosched::{Builder, JoinError, goexit, proc, run, scope, yield_now};

use super::{each, moves, own, with_procs};
use crate::harness::goroutines::others_ended;
use crate::harness::{Test, tests};

tests! {
    each_destructor_runs_once
    before_it_is_joined
    after_a_panic_and_an_exit
    a_destructor_that_parks
    what_a_destructor_makes
    keys_of_the_c_library
    a_key_that_was_made_again
    what_its_result_uses
    what_a_result_uses_that_nobody_takes
    a_result_while_destructors_run
    of_a_generator
    the_next_one_finds_none
    in_a_scope
    memory_goes_back
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

struct Counted(usize);

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(self.0, Ordering::SeqCst);
    }
}

thread_local! {
    static COUNTED: RefCell<Option<Counted>> = const { RefCell::new(None) };
    static USED: Cell<bool> = const { Cell::new(false) };
}

/// Leaves something for a destructor.
fn leave() {
    COUNTED.with_borrow_mut(|counted| assert!(counted.replace(Counted(1)).is_none(), "another one's"));
}

/// How many were dropped since the last time.
fn dropped() -> usize {
    DROPPED.swap(0, Ordering::SeqCst)
}

fn each_destructor_runs_once(test: Test) {
    with_procs(test, || {
        for _ in 0..5 {
            each(100, |_| {
                leave();
                moves();
            });
            assert_eq!(dropped(), 100);
        }
    });
}

fn before_it_is_joined(test: Test) {
    with_procs(test, || {
        for _ in 0..200 {
            own(leave).join().unwrap();
            assert_eq!(dropped(), 1);
        }
    });
}

fn after_a_panic_and_an_exit(test: Test) {
    with_procs(test, || {
        for _ in 0..20 {
            let panics = own(|| {
                leave();
                resume_unwind(Box::new(()))
            });
            assert!(panics.join().is_err());
            assert_eq!(dropped(), 1);
            let exits = own(|| {
                leave();
                goexit()
            });
            assert!(exits.join().is_err());
            assert_eq!(dropped(), 1);
        }
    });
}

fn a_destructor_that_parks(test: Test) {
    struct Parks;
    impl Drop for Parks {
        fn drop(&mut self) {
            moves();
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }
    thread_local!(static PARKS: Parks = const { Parks });
    with_procs(test, || {
        each(50, |_| PARKS.with(|_| yield_now()));
        assert_eq!(dropped(), 50);
    });
}

fn what_a_destructor_makes(test: Test) {
    struct Makes;
    impl Drop for Makes {
        fn drop(&mut self) {
            leave();
        }
    }
    thread_local!(static MAKES: Makes = const { Makes });
    with_procs(test, || {
        each(50, |_| MAKES.with(|_| ()));
        assert_eq!(dropped(), 50);
    });
}

fn keys_of_the_c_library(test: Test) {
    unsafe extern "C" fn count(value: *mut c_void) {
        DROPPED.fetch_add(value.addr(), Ordering::SeqCst);
        // One more round.
        leave();
    }
    with_procs(test, || {
        // The first block of keys, and others.
        let keys: Vec<_> = (0..40)
            .map(|_| {
                let mut key = 0;
                // SAFETY: the destructor takes any value.
                assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(count)) }, 0);
                key
            })
            .collect();
        let (first, last) = (keys[0], keys[39]);
        each(30, move |i| {
            let key = [first, last][i % 2];
            // SAFETY: a key of this test's.
            unsafe {
                assert!(libc::pthread_getspecific(key).is_null(), "another one's");
                assert_eq!(libc::pthread_setspecific(key, std::ptr::without_provenance(10)), 0);
                moves();
                assert_eq!(libc::pthread_getspecific(key).addr(), 10);
            }
        });
        assert_eq!(dropped(), 30 * 11);
        // SAFETY: nobody uses them any more.
        keys.into_iter().for_each(|key| assert_eq!(unsafe { libc::pthread_key_delete(key) }, 0));
    });
}

/// A key's destructor doesn't get what was set for a deleted key with the same number.
fn a_key_that_was_made_again(test: Test) {
    unsafe extern "C" fn count(value: *mut c_void) {
        DROPPED.fetch_add(value.addr(), Ordering::SeqCst);
    }
    with_procs(test, || {
        let again = own(|| {
            let make = || {
                let mut key = 0;
                // SAFETY: the destructor takes any value.
                assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(count)) }, 0);
                key
            };
            let key = make();
            // SAFETY: a key of this test's, which nobody else uses.
            unsafe {
                assert_eq!(libc::pthread_setspecific(key, std::ptr::without_provenance(10)), 0);
                assert_eq!(libc::pthread_key_delete(key), 0);
            }
            let again = make();
            assert_eq!(again, key, "the C library takes the first one that is free");
            again
        });
        let key = again.join().unwrap();
        assert_eq!(dropped(), 0);
        // SAFETY: nobody uses it any more.
        assert_eq!(unsafe { libc::pthread_key_delete(key) }, 0);
    });
}

/// Where nobody joins it, its result is dropped on it; and what that uses, too.
/// It is dropped while there are thread-locals, also those that the goroutine has used.
fn what_a_result_uses_that_nobody_takes(test: Test) {
    thread_local!(static LOG: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) });

    struct Uses;
    impl Drop for Uses {
        fn drop(&mut self) {
            LOG.with_borrow_mut(|log| log.push(2));
            DROPPED.fetch_add(LOG.with_borrow(Vec::len), Ordering::SeqCst);
        }
    }
    with_procs(test, || {
        for panics in [false, true] {
            let (go, gone) = gosched::chan::bounded::<()>(0);
            drop(own(move || {
                LOG.with_borrow_mut(|log| log.push(1));
                _ = gone.recv();
                if panics { resume_unwind(Box::new(Uses)) } else { Uses }
            }));
            drop(go);
            others_ended();
            assert_eq!(dropped(), 2);
        }
    });
}

fn what_its_result_uses(test: Test) {
    struct Uses;
    impl Drop for Uses {
        fn drop(&mut self) {
            leave();
        }
    }
    with_procs(test, || {
        let before = DROPPED.load(Ordering::SeqCst);
        for _ in 0..50 {
            // Whose handle is dropped after its end has its result dropped by that.
            let (go, gone) = gosched::chan::bounded::<()>(0);
            drop(own(move || {
                _ = gone.recv();
                Uses
            }));
            drop(go);
        }
        while DROPPED.load(Ordering::SeqCst) < before + 50 {
            yield_now();
        }
        assert_eq!(dropped(), before + 50);
    });
}

/// The function has returned, and a destructor waits: the handle may be dropped, or joined, or was before.
fn a_result_while_destructors_run(test: Test) {
    struct Waits(Sender<()>, Receiver<()>);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
            _ = self.1.recv();
            DROPPED.fetch_add(100, Ordering::SeqCst);
        }
    }
    thread_local!(static WAITS: RefCell<Option<Waits>> = const { RefCell::new(None) });

    with_procs(test, || {
        for panics in [false, true] {
            let begin = || {
                let ((say, said), (go, gone)) = (bounded(0), bounded(0));
                let handle = own(move || {
                    WAITS.set(Some(Waits(say, gone)));
                    let result = Counted(1);
                    if panics { resume_unwind(Box::new(result)) } else { result }
                });
                (handle, said, go)
            };
            let take = |joined: Result<Counted, JoinError>| match joined {
                Ok(counted) => drop(counted),
                Err(error) => drop(error.into_panic()),
            };
            let (handle, said, go) = begin();
            said.recv().unwrap();
            assert!(!handle.is_finished());
            drop(handle);
            assert_eq!(dropped(), 1, "by who dropped the handle");
            drop(go);
            others_ended();
            assert_eq!(dropped(), 100);

            let (handle, said, go) = begin();
            said.recv().unwrap();
            scope(|s| {
                s.go(|| take(handle.join()));
                (0..10).for_each(|_| yield_now());
                assert_eq!(dropped(), 0, "joined too early");
                drop(go);
            });
            assert_eq!(dropped(), 101);

            let (handle, said, go) = begin();
            scope(|s| {
                s.go(|| take(handle.join()));
                (0..10).for_each(|_| yield_now());
                said.recv().unwrap();
                (0..10).for_each(|_| yield_now());
                assert_eq!(dropped(), 0, "joined too early");
                drop(go);
            });
            assert_eq!(dropped(), 101);
        }
    });
}

/// One that is iterated over to its end, and one that is dropped before.
fn of_a_generator(test: Test) {
    with_procs(test, || {
        for n in [4, 2] {
            each(20, move |i| {
                let generates = move |out: &Yielder<usize>| {
                    leave();
                    for n in 0..3 {
                        moves();
                        out.yield_(i + n);
                        assert!(COUNTED.with_borrow(Option::is_some), "another one's");
                    }
                };
                let values = Builder::new().own_locals().pull(generates).unwrap();
                assert!(COUNTED.with_borrow(Option::is_none), "the generator's");
                assert!(values.take(n).eq(i..i + n.min(3)));
            });
            assert_eq!(dropped(), 20);
            each(40, |_| leave());
            assert_eq!(dropped(), 40);
        }
    });
}

fn the_next_one_finds_none(test: Test) {
    with_procs(test, || {
        for _ in 0..10 {
            each(50, |_| assert!(!USED.replace(true)));
        }
        assert!(!USED.get());
    });
}

fn in_a_scope(test: Test) {
    with_procs(test, || {
        let counted = AtomicUsize::new(0);
        scope(|s| {
            for _ in 0..20 {
                let builder = Builder::new().own_locals();
                builder
                    .go_scoped(s, || {
                        leave();
                        counted.fetch_add(1, Ordering::SeqCst);
                    })
                    .unwrap();
            }
        });
        assert_eq!((counted.into_inner(), dropped()), (20, 20));
    });
}

/// What a block has beside itself goes with its page, and the next one there has its own.
fn memory_goes_back(test: Test) {
    let process = test.process(|| {
        run(|| {
            for _ in 0..3 {
                each(2_000, |_| {
                    leave();
                    yield_now();
                });
                (0..10).for_each(|_| proc::free_os_memory());
            }
            assert_eq!(dropped(), 6_000);
        });
    });
    process.end().with("exit status: 0");
}
