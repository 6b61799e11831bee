//! The locks of `<threads.h>`.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use gosched::go;
use libc::{pthread_cond_t, pthread_mutex_t, timespec};

use super::objects::{Cond, Mutex, Once, after};
use super::{MANY, all_end, live_with_one_p_and_several, without_threads};
use crate::harness::goroutines::wait_until;
use crate::harness::{Test, tests};

tests! {
    a_mutex_and_a_condition
    results_are_those_of_c11
}

unsafe extern "C" {
    fn mtx_init(mutex: *mut pthread_mutex_t, kind: c_int) -> c_int;
    fn mtx_lock(mutex: *mut pthread_mutex_t) -> c_int;
    fn mtx_trylock(mutex: *mut pthread_mutex_t) -> c_int;
    fn mtx_timedlock(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int;
    fn mtx_unlock(mutex: *mut pthread_mutex_t) -> c_int;
    fn cnd_init(cond: *mut pthread_cond_t) -> c_int;
    fn cnd_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int;
    fn cnd_timedwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int;
    fn cnd_signal(cond: *mut pthread_cond_t) -> c_int;
    fn cnd_broadcast(cond: *mut pthread_cond_t) -> c_int;
    fn call_once(flag: *mut c_int, f: extern "C-unwind" fn());
}

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const TIMED_OUT: c_int = 4;
const PLAIN: c_int = 0;
const RECURSIVE: c_int = 1;

static MUTEX: Mutex = Mutex::new();
static COND: Cond = Cond::new();

fn a_mutex_and_a_condition(test: Test) {
    static MADE: Once = Once::new();
    static COUNT: AtomicUsize = AtomicUsize::new(0);

    extern "C-unwind" fn make() {
        thread::yield_now();
        // SAFETY: places for objects.
        unsafe {
            assert_eq!(mtx_init(MUTEX.get(), PLAIN), SUCCESS);
            assert_eq!(cnd_init(COND.get()), SUCCESS);
        }
    }

    without_threads(test, || {
        // SAFETY: objects of C's, made once.
        let meet = || unsafe {
            call_once(MADE.get(), make);
            assert_eq!(mtx_lock(MUTEX.get()), SUCCESS);
            if COUNT.fetch_add(1, Relaxed) + 1 == MANY {
                assert_eq!(cnd_broadcast(COND.get()), SUCCESS);
            }
            while COUNT.load(Relaxed) < MANY {
                assert_eq!(cnd_wait(COND.get(), MUTEX.get()), SUCCESS);
            }
            assert_eq!(mtx_unlock(MUTEX.get()), SUCCESS);
        };
        all_end((0..MANY).map(|_| go(meet)).collect());
    });
}

fn results_are_those_of_c11(test: Test) {
    // SAFETY: objects of C's.
    live_with_one_p_and_several(test, || unsafe {
        static WAITS: AtomicUsize = AtomicUsize::new(0);
        let recursive = Mutex::new();
        assert_eq!(mtx_init(recursive.get(), RECURSIVE), SUCCESS);
        assert_eq!(mtx_lock(recursive.get()), SUCCESS);
        assert_eq!(mtx_lock(recursive.get()), SUCCESS);
        let soon = || after(libc::CLOCK_REALTIME, Duration::from_millis(1));
        gosched::scope(|s| {
            s.go(|| {
                assert_eq!(mtx_trylock(recursive.get()), BUSY);
                assert_eq!(mtx_unlock(recursive.get()), ERROR);
                assert_eq!(mtx_timedlock(recursive.get(), &soon()), TIMED_OUT);
            });
        });
        assert_eq!(cnd_timedwait(COND.get(), MUTEX.get(), &timespec { tv_sec: 0, tv_nsec: -1 }), ERROR);
        assert_eq!(mtx_lock(MUTEX.get()), SUCCESS);
        assert_eq!(cnd_timedwait(COND.get(), MUTEX.get(), &soon()), TIMED_OUT);
        assert_eq!(mtx_unlock(MUTEX.get()), SUCCESS);
        let waiter = go(|| {
            MUTEX.with(|| {
                WAITS.store(1, Relaxed);
                assert_eq!(cnd_wait(COND.get(), MUTEX.get()), SUCCESS);
            });
        });
        wait_until(|| MUTEX.with(|| WAITS.load(Relaxed) == 1));
        assert_eq!(cnd_signal(COND.get()), SUCCESS);
        waiter.join().unwrap();
    });
}
