//! std in an exploration: its clocks and its random numbers belong to the run.

use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::mem::{MaybeUninit, zeroed};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime};
use std::{ptr, thread};

use gosched::explore::{Explorer, FailureKind};
use gosched::{Builder, go, park_std_waits, run};

use crate::harness::{Test, tests};
use crate::stdpark::futexes::wake;

tests! {
    clocks_jump
    clocks_are_one
    each_run_begins_on_the_same_day
    a_day_far_away
    a_receive_with_a_limit
    limits_by_the_clock_of_day
    a_wait_until_an_instant
    keys_of_maps_are_the_same
    random_numbers_differ
    random_numbers_by_the_system_call
    random_numbers_that_cannot_be
    a_wake_of_nobody_is_a_point
    threads_have_the_real_time
    without_the_call_time_is_real
    a_goroutine_that_cannot_park_has_the_real_time
    a_wait_in_the_kernel_is_told_of
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

/// The crate's own clock equals std's, to the nanosecond: a wait that ends by one clock has ended
/// by the other.
fn clocks_are_one() {
    in_runs(|| {
        for _ in 0..3 {
            assert_eq!(gosched::time::now(), Instant::now());
            gosched::time::sleep_until(Instant::now() + HOUR);
            thread::sleep(HOUR);
        }
    });
}

/// A program that uses the date does the same in each run.
fn each_run_begins_on_the_same_day() {
    in_runs(|| {
        let day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(day.as_secs(), 946_684_800, "the 1st of January 2000");
        thread::sleep(HOUR);
    });
}

/// `CLOCK_REALTIME` has room for 292 years.
fn a_day_far_away() {
    in_runs(|| {
        let begun = SystemTime::now();
        thread::sleep(HOUR * 24 * 365 * 240);
        assert_eq!(begun.elapsed().unwrap(), HOUR * 24 * 365 * 240);
        thread::sleep(HOUR * 24 * 365 * 40);
        assert!(begun.elapsed().unwrap() > HOUR * 24 * 365 * 240);
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

/// C code waits for a time of the realtime clock.
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

/// A loop that waits for the rest of the time until an `Instant`.
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

/// Crates may call neither `getrandom` nor `clock_gettime` by name.
fn random_numbers_by_the_system_call() {
    static SEEN: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    let random = || {
        let mut number = 0_u64;
        // SAFETY: the kernel writes to the number.
        assert_eq!(unsafe { libc::syscall(libc::SYS_getrandom, &mut number, 8, 0) }, 8);
        number
    };
    in_runs(move || {
        SEEN.lock().unwrap().push(random());
        assert_eq!(time_of(libc::CLOCK_MONOTONIC, true), time_of(libc::CLOCK_MONOTONIC, false));
    });
    let seen = SEEN.lock().unwrap();
    assert!(seen.len() > 1 && seen.iter().all(|number| *number == seen[0]) && random() != seen[0]);
}

/// An exploration returns the kernel's errors, too.
fn random_numbers_that_cannot_be() {
    in_runs(|| {
        let mut number = 0_u64;
        let random = |at: *mut c_void, len, flags| {
            // SAFETY: the kernel writes to the number, or finds no memory there.
            let ret = unsafe { libc::getrandom(at, len, flags) };
            (ret, if ret < 0 { io::Error::last_os_error().raw_os_error() } else { None })
        };
        let at = (&raw mut number).cast();
        assert_eq!(random(at, 8, 0x100), (-1, Some(libc::EINVAL)));
        assert_eq!(random(ptr::without_provenance_mut(8), 8, 0), (-1, Some(libc::EFAULT)));
        assert_eq!(random(at, 8, 0), (8, None));
        assert_eq!(random(at, 0, 0), (0, None));
    });
}

/// Some schedule runs another goroutine there.
fn a_wake_of_nobody_is_a_point() {
    park_std_waits().unwrap();
    let found = Explorer::new().iterations(1_000).check(|| {
        let words = Arc::new([const { AtomicU32::new(0) }; 2]);
        let other = words.clone();
        let seen = go(move || other[1].load(Ordering::Relaxed));
        words[1].store(1, Ordering::Relaxed);
        assert_eq!(wake(libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, &words[0], 1), 0);
        words[1].store(2, Ordering::Relaxed);
        assert_ne!(seen.join().unwrap(), 1);
    });
    assert_eq!(found.unwrap_err().kind(), FailureKind::Panic);
}

/// Returns a clock's time, in nanoseconds.
fn time_of(clock: libc::clockid_t, by_system_call: bool) -> i64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the time is read when it is written.
    unsafe {
        let ret = match by_system_call {
            true => libc::syscall(libc::SYS_clock_gettime, clock, time.as_mut_ptr()) as i32,
            false => libc::clock_gettime(clock, time.as_mut_ptr()),
        };
        assert_eq!(ret, 0);
        time.assume_init().tv_sec * 1_000_000_000 + time.assume_init().tv_nsec
    }
}

/// Returns the clock's time in the kernel: what is left of a timer on it.
fn time_in_kernel(clock: libc::clockid_t) -> i64 {
    const END: i64 = 1 << 32;
    // SAFETY: a timer of our own, and places for times.
    unsafe {
        let timer = libc::timerfd_create(clock, 0);
        let mut time: libc::itimerspec = zeroed();
        time.it_value.tv_sec = END;
        assert_eq!(libc::timerfd_settime(timer, libc::TFD_TIMER_ABSTIME, &time, ptr::null_mut()), 0);
        assert_eq!(libc::timerfd_gettime(timer, &mut time), 0);
        libc::close(timer);
        (END - time.it_value.tv_sec) * 1_000_000_000 - time.it_value.tv_nsec
    }
}

/// Returns whether the clock shows the kernel's time.
fn is_real(clock: libc::clockid_t) -> bool {
    let (before, here, after) = (time_in_kernel(clock), time_of(clock, false), time_in_kernel(clock));
    before <= here && here <= after
}

/// The clocks that an exploration replaces.
const CLOCKS: [libc::clockid_t; 2] = [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME];

fn time_is_real() -> bool {
    CLOCKS.iter().chain(&[libc::CLOCK_BOOTTIME]).all(|clock| is_real(*clock))
}

fn threads_have_the_real_time() {
    in_runs(|| {
        let others = [libc::CLOCK_MONOTONIC_RAW, libc::CLOCK_THREAD_CPUTIME_ID];
        let before = others.map(|clock| time_of(clock, false));
        thread::sleep(HOUR);
        assert!(!CLOCKS.iter().any(|clock| is_real(*clock)) && is_real(libc::CLOCK_BOOTTIME));
        assert!((0..2).all(|i| time_of(others[i], false) - before[i] < HOUR.as_nanos() as i64));
        thread::spawn(|| assert!(time_is_real())).join().unwrap();
    });
    run(|| assert!(time_is_real()));
}

/// Its waits are the kernel's. So its clock is the kernel's, too: otherwise a loop that waits for a
/// time might never end.
fn a_goroutine_that_cannot_park_has_the_real_time() {
    park_std_waits().unwrap();
    let explored = Explorer::new().iterations(3).check(|| {
        // SAFETY: the goroutine keeps nothing from a thread-local across a wait.
        let builder = unsafe { Builder::new().shared_locals() };
        let waits = builder.go(|| {
            let end = Instant::now() + Duration::from_millis(5);
            while Instant::now() < end {
                thread::sleep(Duration::from_millis(1));
            }
            assert!(time_is_real());
        });
        waits.unwrap().join().unwrap();
    });
    explored.unwrap();
}

/// The goroutine keeps the only processor, which ends the run.
fn a_wait_in_the_kernel_is_told_of(test: Test) {
    let process = test.process(|| {
        park_std_waits().unwrap();
        let found = Explorer::new().check(|| {
            let (mut reader, _writer) = io::pipe().unwrap();
            go(move || reader.read(&mut [0])).join().unwrap().unwrap();
        });
        assert_eq!(found.unwrap_err().kind(), FailureKind::Stuck);
    });
    process.env("GODEBUG", "patience=5").end().with("exit status: 0");
}

fn without_the_call_time_is_real(test: Test) {
    let process = test.process(|| {
        let explored = Explorer::new().iterations(3).check(|| {
            gosched::time::sleep(HOUR);
            assert!(time_is_real());
        });
        explored.unwrap();
    });
    process.env("GOSCHED_STD", "0").end().with("exit status: 0");
}
