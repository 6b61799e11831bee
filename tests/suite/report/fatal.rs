//! Errors that end the process, with their reports and statuses; and errors that don't.

use std::backtrace::Backtrace;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fs;
use std::hint::black_box;
use std::mem;
use std::ops::Range;
use std::os::unix::thread::JoinHandleExt;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use gosched::proc::Coro;
use gosched::runtime2::{G, GRUNNABLE, GSCANWAITING, GWAITING, Note, TraceBlockReason, WaitReason};
use gosched::sync::Mutex;
use gosched::{go, lock_os_thread, proc, run, yield_now};

use super::deadlock::forever;
use crate::harness::goroutines::{until_it_waits, wait_until};
use crate::harness::process::Ended;
use crate::harness::{Test, tests};

tests! {
    before_the_start
    go_of_nil
    ready_twice
    park_on_g0
    park_on_a_foreign_thread
    mcall_on_g0
    coroswitch_on_g0
    coroswitch_on_a_foreign_thread
    coroswitch_when_it_has_ended
    wrong_state
    unlock_of_unlocked_mutex
    result_that_panics_when_dropped
    while_a_goroutine_is_looked_at
    while_stds_lock_is_held_for_good
    while_nothing_reads_stderr
    more_threads_than_allowed
    fewer_threads_allowed_than_there_are
    panic_while_panicking
    stopping_a_stopped_world
    parking_in_a_stopped_world
    sleeping_on_a_note_in_a_stopped_world
}

impl Ended {
    /// Fails unless the process ended with this fatal error.
    #[track_caller]
    pub(super) fn fatal(&self, error: &str) -> &Self {
        self.with("exit status: 2").says(&format!("fatal error: {error}\n"))
    }

    /// Returns the line of the process's output that begins with `what`, without `what`.
    #[track_caller]
    pub(super) fn told(&self, what: &str) -> &str {
        let told = self.stderr.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(": "));
        told.unwrap_or_else(|| panic!("expected a line \"{what}: ..\" in:\n{}", self.stderr))
    }
}

fn before_the_start(test: Test) {
    let process = test.process(|| {
        gosched::set_traceback(gosched::Traceback::Crash);
        proc::fatal("too early");
    });
    process.end().with("signal: 6").says("fatal error: too early\n");
}

fn go_of_nil(test: Test) {
    // SAFETY: the call only leads to a fatal error.
    let process = test.process(|| run(|| unsafe { proc::newproc(None, ptr::null_mut()) }));
    process.end().fatal("go of nil func value").says("\ngoroutine 1 [running");
}

/// Parks the running goroutine. Only a thread that knows its G can make it ready.
fn park() {
    // SAFETY: on a goroutine, or the call only leads to a fatal error.
    unsafe { proc::gopark(None, ptr::null_mut(), WaitReason::Zero, TraceBlockReason::Generic, 0) }
}

fn ready_twice(test: Test) {
    static PARKED: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
    let process = test.process(|| {
        run(|| {
            go(|| {
                PARKED.store(proc::getg(), Ordering::Relaxed);
                park();
            });
            let gp = until_it_waits(&PARKED);
            // There is one P, so the goroutine doesn't run in between.
            // SAFETY: it is parked. The second call is the one under test.
            unsafe {
                proc::goready(gp, 0);
                proc::goready(gp, 0);
            }
        });
    });
    process.env("GOMAXPROCS", "1").end().fatal("bad g->status in ready").says("\ngoroutine 1 [running");
}

fn park_on_g0(test: Test) {
    // SAFETY: the call only leads to a fatal error.
    let process = test.process(|| run(|| unsafe { proc::systemstack(park) }));
    process.end().fatal("park on g0: only a goroutine can").says("sched::park::gopark");
}

fn park_on_a_foreign_thread(test: Test) {
    let process = test.process(|| {
        run(|| {});
        park();
    });
    process.end().fatal("park on a thread that isn't a goroutine's").says("sched::park::gopark");
}

fn mcall_on_g0(test: Test) {
    unsafe extern "C" fn never(_: *mut G) -> ! {
        unreachable!("mcall found out");
    }
    let process = test.process(|| {
        // SAFETY: the call only leads to a fatal error.
        run(|| unsafe { proc::systemstack(|| proc::mcall(never)) });
    });
    process.end().fatal("runtime: mcall called on m->g0 stack");
}

/// A coroutine that ends when it is switched to.
fn coroutine() -> *mut Coro {
    unsafe extern "C" fn nothing(_: *mut Coro, _: *mut c_void) {}
    let c = Box::into_raw(Box::new(Coro::new()));
    // SAFETY: the runtime runs, and the coroutine is never freed.
    unsafe { proc::newcoro(c, nothing, ptr::null_mut()) };
    c
}

fn coroswitch_on_g0(test: Test) {
    // SAFETY: the call only leads to a fatal error.
    let process = test.process(|| run(|| unsafe { proc::systemstack(|| proc::coroswitch(coroutine())) }));
    process.end().fatal("park on g0: only a goroutine can");
}

fn coroswitch_on_a_foreign_thread(test: Test) {
    let process = test.process(|| {
        run(|| {});
        // SAFETY: likewise.
        unsafe { proc::coroswitch(coroutine()) };
    });
    process.end().fatal("park on a thread that isn't a goroutine's");
}

fn coroswitch_when_it_has_ended(test: Test) {
    let process = test.process(|| {
        run(|| {
            let c = coroutine();
            // SAFETY: the second call is the one under test.
            unsafe {
                proc::coroswitch(c);
                proc::coroswitch(c);
            }
        });
    });
    process.end().fatal("coroswitch on exited coro").says("\ngoroutine 1 [coroutine]:\n");
}

fn wrong_state(test: Test) {
    // SAFETY: the call only leads to a fatal error.
    let process = test.process(|| run(|| unsafe { proc::casgstatus(proc::getg(), GWAITING, GRUNNABLE) }));
    process.end().fatal("casgstatus: the G is in another state").says("\ngoroutine 1 [running");
}

fn unlock_of_unlocked_mutex(test: Test) {
    let process = test.process(|| {
        run(|| {
            let mutex = Mutex::new(());
            let guard = mutex.lock();
            // SAFETY: the second call is the one under test.
            drop(unsafe { ptr::read(&guard) });
        });
    });
    process.end().fatal("sync: unlock of unlocked mutex").says("\ngoroutine 1 [running");
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a bomb was dropped");
    }
}

fn result_that_panics_when_dropped(test: Test) {
    let process = test.process(|| {
        run(|| {
            drop(go(|| Bomb));
            forever();
        });
    });
    process.end().fatal("a goroutine's result panicked when it was dropped").says("a bomb was dropped");
}

/// Another thread holds the goroutine, and releases it in the middle of the report. From then on
/// the report holds it.
fn while_a_goroutine_is_looked_at(test: Test) {
    static WAITER: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
    let process = test.process(|| {
        run(|| {
            thread::spawn(|| {
                let gp = || WAITER.load(Ordering::Relaxed);
                // SAFETY: a G, once it is there; G's are never freed.
                while gp().is_null() || !unsafe { proc::castogscanstatus(gp(), GWAITING, GSCANWAITING) } {
                    thread::sleep(Duration::from_millis(1));
                }
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(100));
                    // SAFETY: the bit was set above.
                    unsafe { proc::casfrom_gscanstatus(gp(), GSCANWAITING, GWAITING) };
                });
                // A thread without a goroutine reports, so the report begins with this goroutine.
                proc::fatal("over");
            });
            WAITER.store(proc::getg(), Ordering::Relaxed);
            forever();
        });
    });
    process
        .end()
        .fatal("over")
        .says("\ngoroutine 1 [chan receive]:\n")
        .says("while_a_goroutine_is_looked_at");
}

/// A thread takes backtraces, with the lock held most of the time, until a signal interrupts it
/// forever. The signal doesn't interrupt the C library's code, where the thread may have malloc's
/// lock, too: then the process wouldn't even come to its error.
fn while_stds_lock_is_held_for_good(test: Test) {
    extern "C" fn handler(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: what the kernel passes to a handler.
        let pc = pc_of(unsafe { &*context.cast::<libc::ucontext_t>() });
        if LIBC_CODE.get().is_some_and(|code| code.contains(&pc)) {
            RETURNED.fetch_add(1, Ordering::Relaxed);
            return;
        }
        INTERRUPTED.store(true, Ordering::Relaxed);
        loop {
            // SAFETY: no arguments; it waits for a signal.
            unsafe { libc::pause() };
        }
    }
    static LIBC_CODE: OnceLock<Range<usize>> = OnceLock::new();
    static RETURNED: AtomicU32 = AtomicU32::new(0);
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);

    let process = test.process(|| {
        LIBC_CODE.get_or_init(code_of_libc);
        // SAFETY: all zero is an action; the handler only waits, or returns.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = handler as extern "C" fn(_, _, _) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            assert_eq!(libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut()), 0);
        }
        run(|| {
            let thread = thread::spawn(|| {
                loop {
                    drop(black_box(Backtrace::force_capture()));
                }
            });
            // By then the thread is most likely in the backtrace.
            thread::sleep(Duration::from_millis(20));
            let sent = Cell::new(0);
            wait_until(|| {
                if RETURNED.load(Ordering::Relaxed) == sent.get() {
                    sent.set(sent.get() + 1);
                    // SAFETY: the thread never ends.
                    unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR1) };
                }
                INTERRUPTED.load(Ordering::Relaxed)
            });
            proc::fatal("over");
        });
    });
    // The report waits for the lock for half a second.
    let ended = process.also("patience=50").end();
    ended.fatal("over").says("\ngoroutine 1 [running").says("(...)\n\t");
    assert!(!ended.stderr.contains("took too long"), "it was given up:\n{}", ended.stderr);
}

/// Returns the addresses of the C library's code.
fn code_of_libc() -> Range<usize> {
    let maps = fs::read_to_string("/proc/self/maps").expect("Linux has it");
    let is_code = |line: &&str| line.contains(" r-xp ") && line.contains("/libc.so.6");
    let line = maps.lines().find(is_code).expect("tests are linked with it");
    let (start, rest) = line.split_once('-').expect("a range");
    let (end, _) = rest.split_once(' ').expect("a range");
    let address = |text| usize::from_str_radix(text, 16).expect("a number");
    address(start)..address(end)
}

/// Returns where the interrupted code goes on.
fn pc_of(context: &libc::ucontext_t) -> usize {
    #[cfg(target_arch = "x86_64")]
    let pc = context.uc_mcontext.gregs[libc::REG_RIP as usize];
    #[cfg(target_arch = "aarch64")]
    let pc = context.uc_mcontext.pc;
    pc as usize
}

/// The process ends all the same.
fn while_nothing_reads_stderr(test: Test) {
    let process = test.process(|| {
        run(|| {
            let full = [0; 1 << 10];
            // SAFETY: stderr is a pipe. All that is written is `full`.
            unsafe {
                assert_eq!(libc::fcntl(libc::STDERR_FILENO, libc::F_SETFL, libc::O_NONBLOCK), 0);
                while libc::write(libc::STDERR_FILENO, full.as_ptr().cast(), full.len()) > 0 {}
                assert_eq!(libc::fcntl(libc::STDERR_FILENO, libc::F_SETFL, 0), 0);
            }
            proc::fatal("over");
        });
    });
    // The report gives up after 300 ms.
    let mut child = process.also("patience=1").start();
    assert_eq!(child.wait().expect("it is a child").code(), Some(2));
}

fn more_threads_than_allowed(test: Test) {
    let process = test.process(|| {
        run(|| {
            assert_eq!(proc::set_max_threads(4), 10_000);
            for _ in 0..8 {
                go(|| {
                    let _locked = lock_os_thread();
                    forever();
                });
            }
            forever();
        });
    });
    let ended = process.env("GOMAXPROCS", "1").end();
    ended.fatal("thread exhaustion").says("runtime: program exceeds 4-thread limit\n");
}

fn fewer_threads_allowed_than_there_are(test: Test) {
    let process = test.process(|| {
        run(|| proc::set_max_threads(0));
    });
    process.end().fatal("thread exhaustion").says("runtime: program exceeds 0-thread limit\n");
}

fn panic_while_panicking(test: Test) {
    let process = test.process(|| {
        run(|| {
            let panicking = go(|| {
                let _bomb = Bomb;
                panic!("the first");
            });
            panicking.join().unwrap();
        });
    });
    process.end().says("the first").says("a bomb was dropped").with("signal: 6");
}

fn stop_the_world() -> proc::WorldStop {
    // SAFETY: on a goroutine. Its misuse is what is tested.
    unsafe { proc::stop_the_world(proc::StwReason::Unknown) }
}

fn stopping_a_stopped_world(test: Test) {
    let process = test.process(|| {
        run(|| {
            let _stopped = stop_the_world();
            let _twice = stop_the_world();
        });
    });
    process.end().fatal("stopTheWorld: the world is stopped already, by this goroutine");
}

fn parking_in_a_stopped_world(test: Test) {
    let process = test.process(|| {
        run(|| {
            let _stopped = stop_the_world();
            yield_now();
        });
    });
    process.end().fatal("gcstopm: a goroutine parks while the world is stopped, by itself");
}

fn sleeping_on_a_note_in_a_stopped_world(test: Test) {
    let process = test.process(|| {
        run(|| {
            static NOTE: Note = Note { key: AtomicU32::new(0) };

            let _stopped = stop_the_world();
            // SAFETY: on a goroutine; the note stays.
            unsafe { proc::notetsleepg(&NOTE, 1) };
        });
    });
    process.end().fatal("entersyscallblock: a goroutine blocks while the world is stopped, by itself");
}
