//! The operations of `futex` on goroutines: each returns what the kernel returns.

use std::ffi::c_long;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use gosched::explore::Explorer;
use gosched::{JoinHandle, blocking, go, park_std_waits};

use super::{live_with_one_p_and_several, parks, run_live};
use crate::harness::emulator::emulator;
use crate::harness::goroutines::wait_until;
use crate::harness::polled::HOUR;
use crate::harness::{Test, tests};

tests! {
    a_word_that_has_another_value
    each_wake_is_counted
    those_that_wake_all_let_others_run
    bits_say_who_is_meant
    some_are_moved
    who_was_moved_is_found
    who_was_moved_gives_up
    a_word_is_changed_and_others_woken
    limits_by_both_clocks
    what_the_kernel_refuses
    words_of_other_processes_are_the_kernels
    threads_and_goroutines_at_one_word
    calls_that_came_later
}

const PRIVATE: i32 = libc::FUTEX_PRIVATE_FLAG;
pub const WAIT: i32 = libc::FUTEX_WAIT | PRIVATE;
pub const WAKE: i32 = libc::FUTEX_WAKE | PRIVATE;
const ALL: u32 = u32::MAX;

/// Returns a call's result, or errno.
fn result(ret: c_long) -> Result<u32, i32> {
    let errno = || io::Error::last_os_error().raw_os_error().unwrap();
    u32::try_from(ret).map_err(|_| errno())
}

/// Converts a time.
fn timespec(time: Duration) -> libc::timespec {
    libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}

/// Returns a clock's time.
fn clock(id: libc::clockid_t) -> Duration {
    let mut time = timespec(Duration::ZERO);
    // SAFETY: the kernel writes the time.
    assert_eq!(unsafe { libc::clock_gettime(id, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Waits with these bits, for the relative time, or until the absolute one.
pub fn wait_op(op: i32, word: &AtomicU32, value: u32, time: Option<Duration>, bits: u32) -> Result<(), i32> {
    let time = time.map(timespec);
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let nothing = ptr::null::<u32>();
    // SAFETY: the word and the time outlive the call.
    let ret = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, value, time, nothing, bits) };
    result(ret).map(|n| assert_eq!(n, 0))
}

pub fn wait(word: &AtomicU32, value: u32) -> Result<(), i32> {
    wait_op(WAIT, word, value, None, 0)
}

pub fn wait_for(word: &AtomicU32, value: u32, time: Duration) -> Result<(), i32> {
    wait_op(WAIT, word, value, Some(time), 0)
}

pub fn wait_bits(word: &AtomicU32, value: u32, bits: u32) -> Result<(), i32> {
    wait_op(libc::FUTEX_WAIT_BITSET | PRIVATE, word, value, None, bits)
}

/// Wakes waiters. Returns how many were woken.
pub fn wake(op: i32, word: &AtomicU32, n: u32) -> u32 {
    // SAFETY: no memory is read.
    result(unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, n) }).unwrap()
}

pub fn wake_bits(word: &AtomicU32, n: u32, bits: u32) -> u32 {
    let (op, nothing) = (libc::FUTEX_WAKE_BITSET | PRIVATE, ptr::null::<u32>());
    // SAFETY: no memory is read.
    result(unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, n, nothing, nothing, bits) }).unwrap()
}

/// Wakes `n` waiters, and moves up to `most`, if the word still is `value`.
pub fn cmp_requeue(from: &AtomicU32, n: u32, most: u32, to: &AtomicU32, value: u32) -> Result<u32, i32> {
    let op = libc::FUTEX_CMP_REQUEUE | PRIVATE;
    // SAFETY: the words outlive the call.
    result(unsafe { libc::syscall(libc::SYS_futex, from.as_ptr(), op, n, most as usize, to.as_ptr(), value) })
}

pub fn wake_op(word: &AtomicU32, n: u32, other: &AtomicU32, n2: u32, code: u32) -> u32 {
    let op = libc::FUTEX_WAKE_OP | PRIVATE;
    // SAFETY: the words outlive the call.
    let ret =
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, n, n2 as usize, other.as_ptr(), code) };
    result(ret).unwrap()
}

/// Returns `n` goroutines that wait at a word of 0, and have parked.
fn waiters(word: &'static AtomicU32, n: u64) -> Vec<JoinHandle<Result<(), i32>>> {
    let before = parks();
    let handles = (0..n).map(|_| go(|| wait(word, 0))).collect();
    wait_until(|| parks() == before + n);
    handles
}

fn all_woken(handles: Vec<JoinHandle<Result<(), i32>>>) {
    handles.into_iter().for_each(|handle| assert_eq!(handle.join().unwrap(), Ok(())));
}

fn a_word_that_has_another_value() {
    run_live(|| {
        let word = AtomicU32::new(1);
        assert_eq!(wait(&word, 0), Err(libc::EAGAIN));
        assert_eq!(wait_for(&word, 0, HOUR), Err(libc::EAGAIN));
        assert_eq!(parks(), 0);
    });
}

fn each_wake_is_counted(test: Test) {
    live_with_one_p_and_several(test, || {
        static WORD: AtomicU32 = AtomicU32::new(0);
        assert_eq!(wake(WAKE, &WORD, 1), 0);
        let handles = waiters(&WORD, 5);
        // The kernel wakes one waiter even if it is asked for none.
        assert_eq!(wake(WAKE, &WORD, 0), 1);
        assert_eq!(wake(WAKE, &WORD, 2), 2);
        assert_eq!(wake(WAKE, &WORD, i32::MAX as u32), 2);
        assert_eq!(wake(WAKE, &WORD, 1), 0);
        all_woken(handles);
    });
}

/// Two goroutines wake each other by wakes of all, and a third is ready. InnoDB's latches do that
/// while a latch's owner waits for its turn.
fn those_that_wake_all_let_others_run(test: Test) {
    static WORD: AtomicU32 = AtomicU32::new(0);
    static WAKES: AtomicU32 = AtomicU32::new(0);
    let process = test.process(|| {
        run_live(|| {
            let wake_and_wait = || {
                while WORD.load(Ordering::Relaxed) == 0 {
                    WAKES.fetch_add(1, Ordering::Relaxed);
                    wake(WAKE, &WORD, i32::MAX as u32);
                    _ = wait(&WORD, 0);
                }
                wake(WAKE, &WORD, i32::MAX as u32);
            };
            let first = go(wake_and_wait);
            let owner = go(|| WORD.store(1, Ordering::Relaxed));
            let second = go(wake_and_wait);
            [first, owner, second].map(JoinHandle::join).into_iter().for_each(Result::unwrap);
        });
        // A time slice has many more. The global queue gets its turn in less.
        assert!(WAKES.load(Ordering::Relaxed) < 200, "{WAKES:?}");
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

fn bits_say_who_is_meant(test: Test) {
    live_with_one_p_and_several(test, || {
        static WORD: AtomicU32 = AtomicU32::new(0);
        let wait_with = |bits| go(move || wait_bits(&WORD, 0, bits));
        let handles = vec![wait_with(1), wait_with(2), wait_with(6)];
        wait_until(|| parks() == 3);
        assert_eq!(wake_bits(&WORD, 9, 8), 0);
        assert_eq!(wake_bits(&WORD, 9, 4), 1);
        assert_eq!(wake_bits(&WORD, 1, 3), 1);
        assert_eq!(wake(WAKE, &WORD, 9), 1);
        all_woken(handles);
    });
}

fn some_are_moved(test: Test) {
    live_with_one_p_and_several(test, || {
        static FROM: AtomicU32 = AtomicU32::new(0);
        static TO: AtomicU32 = AtomicU32::new(0);
        let handles = waiters(&FROM, 6);
        assert_eq!(cmp_requeue(&FROM, 1, 3, &TO, 1), Err(libc::EAGAIN));
        assert_eq!(cmp_requeue(&FROM, 1, 3, &TO, 0), Ok(4));
        assert_eq!(wake(WAKE, &TO, 9), 3);
        assert_eq!(wake(WAKE, &FROM, 9), 2);
        all_woken(handles);
    });
}

/// Waiters are moved between each two of many words, some of which share a bucket.
fn who_was_moved_is_found(test: Test) {
    live_with_one_p_and_several(test, || {
        static WORDS: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];
        let handles = waiters(&WORDS[0], 2);
        for pair in WORDS.windows(2) {
            assert_eq!(cmp_requeue(&pair[0], 0, 9, &pair[1], 0), Ok(2));
            assert_eq!(wake(WAKE, &pair[0], 9), 0);
        }
        // Moves waiters from a word to itself.
        assert_eq!(cmp_requeue(&WORDS[63], 0, 9, &WORDS[63], 0), Ok(2));
        assert_eq!(wake(WAKE, &WORDS[63], 9), 2);
        all_woken(handles);
    });
}

fn who_was_moved_gives_up() {
    park_std_waits().unwrap();
    let checked = Explorer::new().iterations(100).check(|| {
        static FROM: AtomicU32 = AtomicU32::new(0);
        static TO: AtomicU32 = AtomicU32::new(0);
        let handle = go(|| wait_for(&FROM, 0, HOUR));
        let moved = cmp_requeue(&FROM, 0, 9, &TO, 0).unwrap();
        thread::sleep(HOUR / 2);
        assert_eq!(wake(WAKE, &FROM, 9), 1 - moved);
        assert_eq!(handle.join().unwrap(), if moved == 1 { Err(libc::ETIMEDOUT) } else { Ok(()) });
        assert_eq!(wake(WAKE, &TO, 9), 0);
    });
    checked.unwrap();
}

fn a_word_is_changed_and_others_woken(test: Test) {
    live_with_one_p_and_several(test, || {
        static ONE: AtomicU32 = AtomicU32::new(0);
        static OTHER: AtomicU32 = AtomicU32::new(0);
        let code = |op, arg, cmp, cmparg| (op << 28 | cmp << 24 | arg << 12 | cmparg) as u32;
        let mut handles = waiters(&ONE, 3);
        handles.extend(waiters(&OTHER, 3));
        // The value isn't greater than 0.
        let add = code(libc::FUTEX_OP_ADD, 5, libc::FUTEX_OP_CMP_GT, 0);
        assert_eq!(wake_op(&ONE, 1, &OTHER, 9, add), 1);
        assert_eq!(OTHER.load(Ordering::Relaxed), 5);
        // 5 is greater, as are 5 & !4 and 1 << 3.
        let clear = code(libc::FUTEX_OP_ANDN, 4, libc::FUTEX_OP_CMP_GT, 0);
        assert_eq!(wake_op(&ONE, 1, &OTHER, 1, clear), 2);
        assert_eq!(OTHER.load(Ordering::Relaxed), 1);
        let shift = code(libc::FUTEX_OP_OR | libc::FUTEX_OP_OPARG_SHIFT, 3, libc::FUTEX_OP_CMP_EQ, 1);
        assert_eq!(wake_op(&ONE, 1, &OTHER, 9, shift), 3);
        assert_eq!(OTHER.load(Ordering::Relaxed), 9);
        // This is -1, as an argument of 12 bits.
        let less = code(libc::FUTEX_OP_SET, 0xfff, libc::FUTEX_OP_CMP_LT, 0xfff);
        assert_eq!(wake_op(&ONE, 1, &OTHER, 9, less), 0);
        assert_eq!(OTHER.load(Ordering::Relaxed), u32::MAX);
        all_woken(handles);
    });
}

fn limits_by_both_clocks(test: Test) {
    live_with_one_p_and_several(test, || {
        let word = AtomicU32::new(0);
        let short = Duration::from_millis(1);
        // If this thread gets no processor for that long, the time is over before the wait.
        while parks() == 0 {
            assert_eq!(wait_for(&word, 0, short), Err(libc::ETIMEDOUT));
        }
        for (id, flag) in [(libc::CLOCK_MONOTONIC, 0), (libc::CLOCK_REALTIME, libc::FUTEX_CLOCK_REALTIME)] {
            let op = libc::FUTEX_WAIT_BITSET | PRIVATE | flag;
            let until = clock(id) + short;
            assert_eq!(wait_op(op, &word, 0, Some(until), ALL), Err(libc::ETIMEDOUT));
            assert!(clock(id) >= until);
            // A time that has passed.
            assert_eq!(wait_op(op, &word, 0, Some(Duration::ZERO), ALL), Err(libc::ETIMEDOUT));
            assert_eq!(wait_op(op, &word, 1, Some(Duration::ZERO), ALL), Err(libc::EAGAIN));
        }
    });
}

fn what_the_kernel_refuses() {
    run_live(|| {
        let word = AtomicU32::new(0);
        assert_eq!(wait_bits(&word, 0, 0), Err(libc::EINVAL));
        let wrong = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000_000 };
        // SAFETY: the word and the time outlive the calls; the addresses that aren't words are
        // refused.
        unsafe {
            let call = |addr: usize, op: i32, time: *const libc::timespec| {
                result(libc::syscall(libc::SYS_futex, addr, op, 0, time, 0, 0))
            };
            let addr = word.as_ptr().addr();
            assert_eq!(call(addr, WAIT, &wrong), Err(libc::EINVAL));
            assert_eq!(call(addr + 1, WAIT, ptr::null()), Err(libc::EINVAL));
            assert_eq!(call(addr + 1, WAKE, ptr::null()), Err(libc::EINVAL));
            assert_eq!(call(0, WAIT, ptr::null()), Err(libc::EFAULT));
            assert_eq!(call(addr, 127 | PRIVATE, ptr::null()), Err(libc::ENOSYS));
        }
        assert_eq!(parks(), 0);
    });
}

/// These are other words, by definition: a private wake doesn't find a waiter for one.
fn words_of_other_processes_are_the_kernels() {
    run_live(|| {
        static WORD: AtomicU32 = AtomicU32::new(0);
        let handle = go(|| wait_op(libc::FUTEX_WAIT, &WORD, 0, None, 0));
        wait_until(|| wake(WAKE, &WORD, 1) == 0 && wake(libc::FUTEX_WAKE, &WORD, 1) == 1);
        assert_eq!(handle.join().unwrap(), Ok(()));
        assert_eq!(parks(), 0);
    });
}

fn threads_and_goroutines_at_one_word(test: Test) {
    live_with_one_p_and_several(test, || {
        static WORD: AtomicU32 = AtomicU32::new(0);
        let handles = waiters(&WORD, 3);
        let (tx, rx) = mpsc::channel();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let tx = tx.clone();
                thread::spawn(move || tx.send(wait(&WORD, 0)).unwrap())
            })
            .collect();
        // Each call wakes one, in any order. None wakes more than there are.
        let mut woken = 0;
        while woken < 6 {
            woken += wake(WAKE, &WORD, 1);
            thread::yield_now();
        }
        assert_eq!(wake(WAKE, &WORD, 9), 0);
        (0..3).for_each(|_| assert_eq!(rx.recv(), Ok(Ok(()))));
        threads.into_iter().for_each(|thread| blocking(|| thread.join()).unwrap());
        all_woken(handles);
    });
}

fn calls_that_came_later(test: Test) {
    const SYS_FUTEX_WAKE: c_long = 454;
    const SYS_FUTEX_WAIT: c_long = 455;
    const SYS_FUTEX_REQUEUE: c_long = 456;
    const PRIVATE_U32: usize = 2 | 128;

    /// `struct futex_waitv`.
    #[repr(C)]
    struct Waitv {
        value: u64,
        addr: u64,
        flags: u32,
        reserved: u32,
    }

    // Older kernels don't have these calls, nor do emulators.
    // SAFETY: no memory is read.
    let known = unsafe { libc::syscall(SYS_FUTEX_WAKE, &AtomicU32::new(0), ALL as usize, 1, PRIVATE_U32) };
    if emulator().is_some() || known != 0 {
        return;
    }
    live_with_one_p_and_several(test, || {
        static FROM: AtomicU32 = AtomicU32::new(0);
        static TO: AtomicU32 = AtomicU32::new(0);
        let (monotonic, bits) = (libc::CLOCK_MONOTONIC, ALL as usize);
        let waits = move |time: *const libc::timespec| {
            // SAFETY: the word and the time outlive the call.
            result(unsafe {
                libc::syscall(SYS_FUTEX_WAIT, FROM.as_ptr(), 0_usize, bits, PRIVATE_U32, time, monotonic)
            })
        };
        let wakes = |word: &AtomicU32| {
            // SAFETY: no memory is read.
            result(unsafe { libc::syscall(SYS_FUTEX_WAKE, word.as_ptr(), bits, 9, PRIVATE_U32) })
        };
        let passed = timespec(Duration::ZERO);
        assert_eq!(waits(&passed), Err(libc::ETIMEDOUT));
        let before = parks();
        let handles: Vec<_> = (0..3).map(|_| go(move || waits(ptr::null()))).collect();
        wait_until(|| parks() == before + 3);
        let waitv =
            |word: &AtomicU32| Waitv { value: 0, addr: word.as_ptr().addr() as u64, flags: 130, reserved: 0 };
        let words = [waitv(&FROM), waitv(&TO)];
        // SAFETY: the words outlive the call.
        let moved = result(unsafe { libc::syscall(SYS_FUTEX_REQUEUE, &raw const words, 0, 1, 1) });
        assert_eq!(moved, Ok(2));
        assert_eq!((wakes(&TO), wakes(&FROM)), (Ok(1), Ok(1)));
        handles.into_iter().for_each(|handle| assert_eq!(handle.join().unwrap(), Ok(0)));
    });
}
