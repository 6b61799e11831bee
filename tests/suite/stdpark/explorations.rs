//! std in an exploration: its clocks and its random numbers are the run's.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::mem::MaybeUninit;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use gosched::explore::Explorer;
use gosched::{go, park_std_waits, run};

use crate::harness::{Test, tests};

tests! {
    clocks_jump
    a_receive_with_a_limit
    limits_by_the_clock_of_day
    a_wait_until_an_instant
    keys_of_maps_are_the_same
    random_numbers_differ
    threads_have_the_real_time
    without_the_call_time_is_real
}

const HOUR: Duration = Duration::from_secs(3600);

/// Calls `f` in some runs of an exploration.
#[track_caller]
fn in_runs(f: impl Fn() + Send + Sync + 'static) {
    park_std_waits().unwrap();
    Explorer::new().iterations(20).check(f).unwrap();
}

fn clocks_jump() {
    in_runs(|| {
        let (begun, day, own) = (Instant::now(), SystemTime::now(), gosched::time::now());
        assert_eq!(begun.elapsed(), Duration::ZERO, "time stands still");
        thread::sleep(HOUR);
        assert_eq!(begun.elapsed(), HOUR);
        assert_eq!(day.elapsed().unwrap(), HOUR);
        assert_eq!(gosched::time::now() - own, HOUR);
    });
}

fn a_receive_with_a_limit() {
    in_runs(|| {
        let begun = Instant::now();
        let (tx, rx) = mpsc::channel::<u8>();
        assert_eq!(rx.recv_timeout(HOUR), Err(RecvTimeoutError::Timeout));
        thread::park_timeout(HOUR);
        let sender = go(move || {
            thread::sleep(HOUR / 2);
            tx.send(7).unwrap();
        });
        assert_eq!(rx.recv_timeout(HOUR), Ok(7));
        sender.join().unwrap();
        assert_eq!(begun.elapsed(), 2 * HOUR + HOUR / 2);
    });
}

/// C code waits until a time of the clock of day.
fn limits_by_the_clock_of_day() {
    in_runs(|| {
        let begun = Instant::now();
        let day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() + HOUR;
        let until = libc::timespec { tv_sec: day.as_secs() as i64, tv_nsec: day.subsec_nanos().into() };
        let word = 0_u32;
        let op = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;
        // SAFETY: the word and the time are there until the call has returned.
        let ret = unsafe { libc::syscall(libc::SYS_futex, &word, op, 0, &until, 0, u32::MAX) };
        assert_eq!((ret, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::ETIMEDOUT)));
        assert_eq!(begun.elapsed(), HOUR);
        // SAFETY: as above.
        let slept = unsafe {
            let until = libc::timespec { tv_sec: until.tv_sec + 3600, ..until };
            libc::clock_nanosleep(libc::CLOCK_REALTIME, libc::TIMER_ABSTIME, &until, std::ptr::null_mut())
        };
        assert_eq!((slept, begun.elapsed()), (0, 2 * HOUR));
    });
}

/// A loop that waits with what is left until an `Instant` ends.
fn a_wait_until_an_instant() {
    in_runs(|| {
        let state = Arc::new((Mutex::new(0), Condvar::new()));
        let other = state.clone();
        let ticks = go(move || {
            for _ in 0..5 {
                thread::sleep(HOUR / 10);
                *other.0.lock().unwrap() += 1;
                other.1.notify_one();
            }
        });
        let deadline = Instant::now() + HOUR;
        let mut count = state.0.lock().unwrap();
        while let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
        {
            count = state.1.wait_timeout(count, left).unwrap().0;
        }
        assert_eq!((*count, Instant::now()), (5, deadline));
        drop(count);
        ticks.join().unwrap();
    });
}

fn keys_of_maps_are_the_same() {
    static ORDERS: Mutex<Vec<Vec<u32>>> = Mutex::new(Vec::new());
    in_runs(|| {
        let map = || (0..50).map(|i| (i, ())).collect::<HashMap<u32, ()>>();
        let order: Vec<u32> = go(move || map().into_keys().collect()).join().unwrap();
        ORDERS.lock().unwrap().push(order);
    });
    let orders = ORDERS.lock().unwrap();
    assert!(orders.len() > 1 && orders.iter().all(|order| *order == orders[0]));
}

fn random_numbers_differ() {
    static SEEN: Mutex<Vec<[u8; 19]>> = Mutex::new(Vec::new());
    let random = || {
        let mut bytes = [0_u8; 19];
        // SAFETY: the kernel writes to the buffer.
        assert_eq!(unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) }, 19);
        bytes
    };
    in_runs(move || {
        let (first, second) = (random(), random());
        assert_ne!(first, second);
        assert_ne!(RandomState::new().hash_one(1), RandomState::new().hash_one(1));
        SEEN.lock().unwrap().extend([first, second]);
    });
    let outside = random();
    let seen = SEEN.lock().unwrap();
    assert!(seen.len() > 2 && seen.chunks(2).all(|run| run == &seen[..2]));
    assert!(!seen.contains(&outside) && random() != outside);
}

/// Whether the clock says the kernel's time.
fn is_real(clock: libc::clockid_t) -> bool {
    let read = |by_kernel: bool| {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the time is read when it is written.
        unsafe {
            let time_at = time.as_mut_ptr();
            let ret = match by_kernel {
                true => libc::syscall(libc::SYS_clock_gettime, clock, time_at) as i32,
                false => libc::clock_gettime(clock, time_at),
            };
            assert_eq!(ret, 0);
            (time.assume_init().tv_sec, time.assume_init().tv_nsec)
        }
    };
    let (before, here, after) = (read(true), read(false), read(true));
    before <= here && here <= after
}

const CLOCKS: [libc::clockid_t; 4] =
    [libc::CLOCK_MONOTONIC, libc::CLOCK_MONOTONIC_RAW, libc::CLOCK_BOOTTIME, libc::CLOCK_THREAD_CPUTIME_ID];

fn threads_have_the_real_time() {
    in_runs(|| {
        thread::sleep(HOUR);
        assert!(!is_real(libc::CLOCK_MONOTONIC) && !is_real(libc::CLOCK_REALTIME));
        assert!(CLOCKS[1..].iter().all(|clock| is_real(*clock)), "what isn't on the run's clock");
        thread::spawn(|| assert!(CLOCKS.iter().all(|clock| is_real(*clock)))).join().unwrap();
    });
    run(|| assert!(CLOCKS.iter().all(|clock| is_real(*clock))));
}

fn without_the_call_time_is_real(test: Test) {
    let process = test.process(|| {
        let explored = Explorer::new().iterations(3).check(|| {
            gosched::time::sleep(HOUR);
            assert!(CLOCKS.iter().all(|clock| is_real(*clock)));
        });
        explored.unwrap();
    });
    process.env("GOSCHED_STD", "0").end().with("exit status: 0");
}
