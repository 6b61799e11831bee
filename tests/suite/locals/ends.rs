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
    a_key_that_is_set_again_and_again
    the_c_librarys_own
    robust_mutexes_are_its_own
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

/// Leaves a value for a destructor.
fn leave() {
    COUNTED.with_borrow_mut(|counted| assert!(counted.replace(Counted(1)).is_none(), "another one's"));
}

/// Returns how many values were dropped since the last call.
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
        // Keys of the first block, and others.
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
        // SAFETY: nobody uses the keys any more.
        keys.into_iter().for_each(|key| assert_eq!(unsafe { libc::pthread_key_delete(key) }, 0));
    });
}

/// A key's destructor doesn't get a value that was set for a deleted key with the same number.
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
        // SAFETY: nobody uses the key any more.
        assert_eq!(unsafe { libc::pthread_key_delete(key) }, 0);
    });
}

/// If nobody joins the goroutine, it drops its own result, and everything that the result uses. The
/// thread-locals still exist then, including those that the goroutine has used.
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
            // If a handle is dropped after the end of the goroutine, it drops the result.
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

/// The function has returned, and a destructor waits. The handle is dropped or joined meanwhile, or
/// was before.
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

/// One generator is iterated to its end, and one is dropped before its end.
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

/// Memory that a block has elsewhere is freed with its page, and the next block there gets its own.
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

/// A destructor that sets its key again each time isn't called forever, and the next goroutine
/// finds nothing. This tests keys in the control block, and others.
fn a_key_that_is_set_again_and_again(test: Test) {
    static KEYS: [AtomicUsize; 40] = [const { AtomicUsize::new(0) }; 40];

    unsafe extern "C" fn set_again(value: *mut c_void) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
        let key = KEYS[value.addr() - 1].load(Ordering::Relaxed);
        // SAFETY: a key of this test's.
        assert_eq!(unsafe { libc::pthread_setspecific(key as libc::pthread_key_t, value) }, 0);
    }
    with_procs(test, || {
        for place in &KEYS {
            let mut key = 0;
            // SAFETY: the destructor takes the number of a key.
            assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(set_again)) }, 0);
            place.store(key as usize, Ordering::Relaxed);
        }
        for _ in 0..50 {
            own(|| {
                for (i, key) in KEYS.iter().enumerate() {
                    let key = key.load(Ordering::Relaxed) as libc::pthread_key_t;
                    // SAFETY: a key of this test's.
                    unsafe {
                        assert!(libc::pthread_getspecific(key).is_null(), "another one's, of key {key}");
                        assert_eq!(libc::pthread_setspecific(key, std::ptr::without_provenance(i + 1)), 0);
                    }
                }
            })
            .join()
            .unwrap();
            assert_eq!(dropped(), 4 * KEYS.len(), "PTHREAD_DESTRUCTOR_ITERATIONS");
        }
    });
}

/// A thread's other data: the C library's.
mod libcs {
    use std::ffi::{c_int, c_ulong, c_void};

    unsafe extern "C" {
        pub fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
        pub fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int;
        pub fn __h_errno_location() -> *mut c_int;
        pub fn __res_state() -> *mut ResState;
    }

    /// The beginning of `struct __res_state`.
    #[repr(C)]
    pub struct ResState {
        retrans: c_int,
        retry: c_int,
        pub options: c_ulong,
    }

    /// `struct _pthread_cleanup_buffer`.
    #[repr(C)]
    pub struct Cleanup {
        routine: *const c_void,
        arg: *const c_void,
        kind: c_int,
        pub before: *const c_void,
    }

    /// Adds an entry to the calling thread's list of functions to call at its cancellation, and
    /// keeps the entry.
    pub fn push_cleanup() -> &'static Cleanup {
        type Push = unsafe extern "C" fn(*mut Cleanup, *const c_void, *const c_void);

        let null = std::ptr::null;
        let new = Box::leak(Box::new(Cleanup { routine: null(), arg: null(), kind: 0, before: null() }));
        // SAFETY: a function that pthread.h offered to C until 2006, and that still exists.
        unsafe {
            let push = libc::dlsym(libc::RTLD_DEFAULT, c"_pthread_cleanup_push".as_ptr());
            assert!(!push.is_null());
            let push: Push = std::mem::transmute(push);
            push(new, null(), null());
        }
        new
    }
}

/// Each goroutine finds what a new thread finds, and leaves something else.
fn the_c_librarys_own(test: Test) {
    with_procs(test, || {
        // SAFETY: this thread's, or this goroutine's.
        let programs = unsafe { libcs::__res_state() }.addr();
        for _ in 0..50 {
            own(move || {
                let (mut state, mut kind) = (-1, -1);
                // SAFETY: all of this is the goroutine's own.
                unsafe {
                    assert_eq!(*libc::__errno_location(), 0);
                    assert_eq!(*libcs::__h_errno_location(), 0);
                    assert!(libc::dlerror().is_null(), "another one's error");
                    assert_ne!(libcs::__res_state().addr(), programs);
                    assert_eq!((*libcs::__res_state()).options, 0);
                    assert_eq!(libcs::pthread_setcancelstate(1, &mut state), 0);
                    assert_eq!(libcs::pthread_setcanceltype(1, &mut kind), 0);
                    // PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DEFERRED.
                    assert_eq!((state, kind), (0, 0));
                    assert!(libcs::push_cleanup().before.is_null(), "another one's");
                    assert!(libc::dlopen(c"/nowhere".as_ptr(), libc::RTLD_NOW).is_null());
                    (*libcs::__res_state()).options = 1 << 20;
                    *libc::__errno_location() = libc::EDOM;
                    *libcs::__h_errno_location() = 3;
                }
            })
            .join()
            .unwrap();
        }
    });
}

/// An ended goroutine has left a robust mutex locked. Locking another mutex on the next goroutine
/// doesn't touch it.
fn robust_mutexes_are_its_own(test: Test) {
    const SIZE: usize = size_of::<libc::pthread_mutex_t>();

    /// Returns a mutex that is never freed.
    fn robust() -> *mut libc::pthread_mutex_t {
        let mutex = Box::into_raw(Box::new(libc::PTHREAD_MUTEX_INITIALIZER));
        // SAFETY: places for what is made.
        unsafe {
            let mut attributes = std::mem::zeroed();
            assert_eq!(libc::pthread_mutexattr_init(&mut attributes), 0);
            assert_eq!(libc::pthread_mutexattr_setrobust(&mut attributes, libc::PTHREAD_MUTEX_ROBUST), 0);
            assert_eq!(libc::pthread_mutex_init(mutex, &attributes), 0);
        }
        mutex
    }
    with_procs(test, || {
        for _ in 0..20 {
            let left = own(|| {
                let mutex = robust();
                // SAFETY: a mutex that stays.
                assert_eq!(unsafe { libc::pthread_mutex_lock(mutex) }, 0);
                mutex.expose_provenance()
            });
            let left = std::ptr::with_exposed_provenance::<[u8; SIZE]>(left.join().unwrap());
            // SAFETY: nobody uses the mutex any more.
            let before = unsafe { left.read_volatile() };
            let left = left.expose_provenance();
            each(10, move |_| {
                let left = std::ptr::with_exposed_provenance::<[u8; SIZE]>(left);
                let mutex = robust();
                // SAFETY: mutexes that stay, one of which nobody uses any more.
                unsafe {
                    assert_eq!(libc::pthread_mutex_lock(mutex), 0);
                    moves();
                    assert_eq!(left.read_volatile(), before);
                    assert_eq!(libc::pthread_mutex_unlock(mutex), 0);
                }
            });
        }
    });
}
