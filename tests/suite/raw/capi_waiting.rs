//! Functions that wait and wake, for C: how much of a copying stack they use, and how they end a
//! program that calls them where it can't. `tests/c/waiting.c` tests what they do.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::time::Duration;

use gosched::capi::*;
use gosched::signal::{self, Signal};
use gosched::{run, time};

use crate::harness::{Test, tests};
use crate::painted;

tests! {
    every_function_keeps_to_its_room
    nothing_waits_on_the_schedulers_stack
    no_timer_is_set_where_there_is_no_p
    a_note_needs_a_goroutine
    switches_of_null
    a_mode_is_a_mode
    signals_have_one_receiver
    signals_have_one_receiver_of_rust
    a_second_receiver_ends_the_process
}

unsafe extern "C" {
    /// The bytes that a stub checks for, beyond the guard.
    static gosched_entry_room: usize;
}

/// A place for data that C keeps in a static.
struct Shared<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: the functions that get a pointer to it share it.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    const fn zeroed() -> Self {
        Shared(UnsafeCell::new(MaybeUninit::zeroed()))
    }

    fn get(&self) -> *mut T {
        self.0.get().cast()
    }
}

macro_rules! shared {
    ($name:ident: $t:ty) => {
        static $name: AtomicPtr<$t> = AtomicPtr::new(ptr::null_mut());
    };
}

shared!(TIMER: Timer);
shared!(NOTE: Note);
shared!(LIST: NotifyList);
shared!(POLL_DESC: PollDesc);

/// A semaphore that another goroutine releases whenever it is 0.
static SEMA: AtomicU32 = AtomicU32::new(0);
/// A descriptor in non-blocking mode.
static FD: AtomicI32 = AtomicI32::new(-1);

fn timer() -> *mut Timer {
    TIMER.load(Ordering::Relaxed)
}

fn note() -> *mut Note {
    NOTE.load(Ordering::Relaxed)
}

fn list() -> *mut NotifyList {
    LIST.load(Ordering::Relaxed)
}

fn poll_desc() -> *mut PollDesc {
    POLL_DESC.load(Ordering::Relaxed)
}

unsafe extern "C" fn fire(_: *mut c_void, _: usize) {}

unsafe fn timers() {
    let hour = 3_600_000_000_000;
    // SAFETY: a timer that stays.
    unsafe {
        (*timer()).when = gosched_nanotime() + hour;
        (*timer()).f = Some(fire);
        gosched_start_timer(timer());
        assert!(gosched_timer_in_heap(timer()));
        assert!(gosched_reset_timer(timer(), gosched_nanotime() + 2 * hour));
        assert!(gosched_mod_timer(timer(), gosched_nanotime() + hour, 0, Some(fire), ptr::null_mut(), 1));
        assert!(gosched_stop_timer(timer()));
    }
}

unsafe fn sleep_on_a_note() {
    // SAFETY: a note that stays.
    unsafe {
        gosched_noteclear(note());
        assert!(!gosched_notetsleepg(note(), 1_000));
    }
}

unsafe fn wake_a_note() {
    // SAFETY: likewise; cleared before.
    unsafe { gosched_notewakeup(note()) }
}

unsafe fn acquire() {
    // SAFETY: a semaphore that stays.
    unsafe {
        gosched_semacquire(SEMA.as_ptr());
        gosched_semacquire1(SEMA.as_ptr(), true, WaitReason::MutexLock);
    }
}

unsafe fn release() {
    // SAFETY: likewise.
    unsafe {
        gosched_semrelease(SEMA.as_ptr());
        gosched_semrelease1(SEMA.as_ptr(), true);
    }
}

unsafe fn wait_for_a_condition() {
    // SAFETY: a list that stays.
    unsafe { gosched_notify_list_wait(list(), gosched_notify_list_add(list())) }
}

unsafe fn notify() {
    // SAFETY: likewise.
    unsafe {
        gosched_notify_list_add(list());
        gosched_notify_list_notify_one(list());
        gosched_notify_list_add(list());
        gosched_notify_list_notify_all(list());
    }
}

unsafe fn spin() {
    // SAFETY: they need no preparation.
    unsafe {
        gosched_can_spin(0);
        gosched_do_spin();
    }
}

unsafe fn poll() {
    // SAFETY: a descriptor that stays open.
    unsafe {
        assert_eq!(gosched_poll_server_init(), 0);
        assert!(!gosched_is_poll_descriptor(FD.load(Ordering::Relaxed)));
        assert_eq!(gosched_poll_open(-1, POLL_DESC.as_ptr()), libc::EBADF);
        assert_eq!(gosched_poll_open(FD.load(Ordering::Relaxed), POLL_DESC.as_ptr()), 0);
        assert_eq!(gosched_poll_reset(poll_desc(), i32::from(b'r')), PollResult::Ok);
        gosched_poll_set_deadline(poll_desc(), 1_000_000, i32::from(b'r'));
        assert_eq!(gosched_poll_wait(poll_desc(), i32::from(b'r')), PollResult::Timeout);
        gosched_poll_unblock(poll_desc());
        gosched_poll_close(poll_desc());
    }
}

unsafe fn signals() {
    // SAFETY: one call at a time.
    unsafe {
        assert_eq!(gosched_signal_enable(libc::SIGUSR1), 0);
        assert_eq!(libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), libc::SIGUSR1), 0);
        assert_eq!(gosched_signal_recv(), libc::SIGUSR1 as u32);
        assert_eq!(gosched_signal_ignore(libc::SIGUSR1), 0);
        assert!(gosched_signal_ignored(libc::SIGUSR1));
        assert_eq!(gosched_signal_disable(libc::SIGUSR1), 0);
    }
}

unsafe extern "C" fn receive(_: *mut c_void) {
    // SAFETY: the only goroutine that receives.
    unsafe { gosched_signal_recv() };
}

unsafe fn wait_until_idle() {
    // SAFETY: not the receiver.
    unsafe { gosched_signal_wait_until_idle() }
}

unsafe fn metrics() {
    let mut metrics = Metrics::default();
    // SAFETY: a place for them.
    assert_eq!(unsafe { gosched_metrics(&mut metrics) }, 0);
    assert!(metrics.goroutines > 0);
}

unsafe extern "C" fn look(_: *const c_char, _: *const c_char, _: *mut c_void) {}

unsafe fn labels() {
    // SAFETY: strings.
    unsafe {
        assert_eq!(gosched_set_label(c"key".as_ptr(), c"value".as_ptr()), 0);
        gosched_labels(Some(look), ptr::null_mut());
        assert_eq!(gosched_set_label(c"key".as_ptr(), ptr::null()), 0);
    }
}

macro_rules! functions {
    ($($f:ident)*) => { [$(painted::Case::new(stringify!($f), $f)),*] };
}

static FUNCTIONS: [painted::Case; 11] = functions! {
    timers sleep_on_a_note acquire release wait_for_a_condition notify spin poll signals metrics labels
};

/// The function to measure while another goroutine receives signals.
static IDLE: [painted::Case; 1] = functions! { wait_until_idle };

/// A function without a check, for use in a signal handler.
static UNCHECKED: [painted::Case; 1] = functions! { wake_a_note };

/// How far below the guard C may be when it calls a function without a check.
const SMALL_FRAME: usize = 256;

unsafe extern "C" fn measure(function: *mut c_void) {
    // SAFETY: a case is passed, on a goroutine.
    unsafe { (*function.cast::<painted::Case>()).measure(|guard| guard + gosched_entry_room) };
}

unsafe extern "C" fn measure_unchecked(function: *mut c_void) {
    // SAFETY: likewise.
    unsafe { (*function.cast::<painted::Case>()).measure(|guard| guard - SMALL_FRAME) };
}

/// Makes a goroutine measure each function, and ends the functions' waits.
fn measure_all(functions: &'static [painted::Case], measure: unsafe extern "C" fn(*mut c_void)) {
    for function in functions {
        SEMA.store(0, Ordering::Relaxed);
        // SAFETY: the functions fit their stacks and don't panic; what is shared stays.
        unsafe {
            gosched_newproc(Some(measure), ptr::from_ref(function).cast_mut().cast());
            while !function.measured() {
                time::sleep(Duration::from_millis(2));
                if SEMA.load(Ordering::Relaxed) == 0 {
                    gosched_semrelease(SEMA.as_ptr());
                }
                gosched_notify_list_notify_all(list());
            }
        }
    }
}

fn every_function_keeps_to_its_room() {
    static T: Shared<Timer> = Shared::zeroed();
    static N: Shared<Note> = Shared::zeroed();
    static L: Shared<NotifyList> = Shared::zeroed();
    TIMER.store(T.get(), Ordering::Relaxed);
    NOTE.store(N.get(), Ordering::Relaxed);
    LIST.store(L.get(), Ordering::Relaxed);
    let (stream, _other) = UnixStream::pair().unwrap();
    stream.set_nonblocking(true).unwrap();
    let fd = OwnedFd::from(stream);
    FD.store(fd.as_raw_fd(), Ordering::Relaxed);
    run(|| {
        measure_all(&FUNCTIONS, measure);
        measure_all(&UNCHECKED, measure_unchecked);
        // SAFETY: the goroutine that has received signals has ended.
        assert_eq!(unsafe { gosched_newproc_fixed(Some(receive), ptr::null_mut(), 0) }, 0);
        measure_all(&IDLE, measure);
    });
    FUNCTIONS.iter().chain(&UNCHECKED).chain(&IDLE).for_each(|function| function.check(usize::MAX));
}

/// Returns the end of a process that has called `f` on the scheduler's stack, or in
/// `gosched_blocking`.
fn on_the_schedulers_stack(test: Test, blocking: bool, f: unsafe extern "C" fn(*mut c_void), says: &str) {
    let process = test.process(|| {
        // SAFETY: what `f` does there ends the process.
        run(|| unsafe {
            if blocking {
                gosched_blocking(Some(f), ptr::null_mut())
            } else {
                gosched_systemstack(Some(f), ptr::null_mut())
            }
        });
    });
    process.end().with("exit status: 2").says(says);
}

unsafe extern "C" fn acquire_none(_: *mut c_void) {
    static NONE: AtomicU32 = AtomicU32::new(0);
    // SAFETY: a semaphore that stays.
    unsafe { gosched_semacquire(NONE.as_ptr()) }
}

fn nothing_waits_on_the_schedulers_stack(test: Test) {
    let says = "fatal error: gosched_semacquire called on the scheduler's stack: only a goroutine can wait; ";
    on_the_schedulers_stack(test, false, acquire_none, says);
}

unsafe extern "C" fn set_a_timer(_: *mut c_void) {
    static T: Shared<Timer> = Shared::zeroed();
    // SAFETY: a timer that stays.
    unsafe { gosched_mod_timer(T.get(), gosched_nanotime() + 1, 0, Some(fire), ptr::null_mut(), 0) };
}

fn no_timer_is_set_where_there_is_no_p(test: Test) {
    let says = "fatal error: gosched_mod_timer called inside of gosched_blocking: only a goroutine can set a timer; ";
    on_the_schedulers_stack(test, true, set_a_timer, says);
}

fn a_note_needs_a_goroutine(test: Test) {
    let process = test.process(|| {
        static N: Shared<Note> = Shared::zeroed();
        run(|| ());
        // SAFETY: a note that stays.
        unsafe { gosched_notetsleepg(N.get(), 1) };
    });
    let says = "fatal error: gosched_notetsleepg called on a thread that isn't a goroutine's: only a goroutine can sleep";
    process.end().with("exit status: 2").says(says);
}

fn switches_of_null(test: Test) {
    unsafe extern "C" fn gogo(_: *mut c_void) {
        // SAFETY: ends the process.
        unsafe { gosched_gogo(ptr::null_mut()) }
    }
    let process = test.process(|| {
        let of_gogo = std::env::var_os("GOGO").is_some();
        // SAFETY: each ends the process.
        run(|| unsafe {
            if of_gogo { gosched_systemstack(Some(gogo), ptr::null_mut()) } else { gosched_mcall(None) }
        });
    });
    process.end().with("exit status: 2").says("fatal error: gosched_mcall: fn is NULL\n");
    let process = test.process(|| ());
    process.env("GOGO", "1").end().with("exit status: 2").says("fatal error: gosched_gogo: g is NULL\n");
}

fn a_mode_is_a_mode(test: Test) {
    let process = test.process(|| {
        let (stream, _other) = UnixStream::pair().unwrap();
        run(|| {
            let mut pd = ptr::null_mut();
            // SAFETY: a descriptor that stays open.
            unsafe {
                assert_eq!(gosched_poll_open(stream.as_raw_fd(), &mut pd), 0);
                gosched_poll_reset(pd, 1);
            }
        });
    });
    process
        .end()
        .with("exit status: 2")
        .says("fatal error: gosched_poll_reset: mode is 1; it must be 'r' or 'w'");
}

fn signals_have_one_receiver() {
    run(|| {
        // SAFETY: one at a time.
        unsafe { assert_eq!(gosched_signal_enable(libc::SIGUSR1), 0) };
        assert_eq!(signal::notify([Signal::USR2]).unwrap_err().kind(), ErrorKind::ResourceBusy);
        // SAFETY: likewise.
        unsafe { assert_eq!(gosched_signal_disable(libc::SIGUSR1), 0) };
    });
}

fn signals_have_one_receiver_of_rust() {
    run(|| {
        let signals = signal::notify([Signal::USR1]).unwrap();
        // SAFETY: one at a time.
        unsafe {
            assert_eq!(gosched_signal_enable(libc::SIGUSR1), libc::EBUSY);
            assert_eq!(gosched_signal_ignore(libc::SIGUSR1), libc::EBUSY);
            assert_eq!(gosched_signal_disable(libc::SIGUSR1), libc::EBUSY);
            assert_eq!(libc::raise(libc::SIGUSR1), 0);
        }
        assert_eq!(signals.c().recv(), Ok(Signal::USR1));
    });
}

fn a_second_receiver_ends_the_process(test: Test) {
    let process = test.process(|| {
        run(|| {
            let _signals = signal::notify([Signal::USR1]).unwrap();
            // SAFETY: it ends the process.
            unsafe { gosched_signal_recv() }
        });
    });
    process
        .end()
        .with("exit status: 2")
        .says("fatal error: signal_recv called where gosched::signal receives");
}
