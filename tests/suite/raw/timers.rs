//! The raw layer's timers and sleeps.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use gosched::proc::{self, StwReason, nanotime};
use gosched::runtime2::{G, GSCANWAITING, GWAITING, TIMER_NO_STATUS, TIMER_REMOVED, Timer};
use gosched::{morestack_check, run, scope, time, yield_now};

use crate::harness::rng::Rng;
use crate::harness::{Test, rounds, tests};

tests! {
    timers_of_one_p_fire_in_order
    a_million_timers
    a_periodic_timer
    a_timer_without_a_time
    sleepers_on_stacks_that_shrink
}

/// Returns timers that haven't been started.
fn new_timers(n: usize) -> Vec<Timer> {
    // SAFETY: all zero is a timer.
    (0..n).map(|_| unsafe { zeroed() }).collect()
}

/// Waits until no heap has one of the timers, and all that have left their heap have fired. Only
/// then may they be freed.
fn drop_timers(timers: Vec<Timer>) {
    let in_heap = |t: &Timer| !matches!(t.status.load(Ordering::Acquire), TIMER_NO_STATUS | TIMER_REMOVED);
    while timers.iter().any(in_heap) {
        time::sleep(Duration::from_millis(1));
    }
    until_they_have_fired();
}

/// Waits until the timers that have left their heap have fired. The thread that fires a timer has a
/// P meanwhile, so a stop of the world waits for it.
fn until_they_have_fired() {
    // SAFETY: on a goroutine, which starts the world at once.
    unsafe { proc::start_the_world(proc::stop_the_world(StwReason::Unknown)) };
}

fn timers_of_one_p_fire_in_order(test: Test) {
    static FIRED: Mutex<Vec<i64>> = Mutex::new(Vec::new());

    unsafe extern "C" fn fire(t: *mut c_void, _: usize) {
        // SAFETY: a timer, which has left its heap.
        FIRED.lock().unwrap().push(unsafe { (*t.cast::<Timer>()).when.get() });
    }

    let process = test.process(|| {
        run(|| {
            let (mut rng, timers) = (Rng::seeded(), new_timers(5_000));
            let end = nanotime() + 20_000_000;
            let mut when = || end - rng.below(20_000_000) as i64;
            let mut left = timers.len();
            // Without preemption: otherwise some timers would fire before others are set.
            let mp = proc::acquirem();
            for (i, t) in timers.iter().enumerate() {
                t.when.set(when());
                t.f.set(Some(fire));
                t.arg.set(ptr::from_ref(t).cast_mut().cast());
                // SAFETY: `drop_timers` waits for them.
                unsafe { proc::start_timer(t) };
                let before = &timers[i / 2];
                // SAFETY: likewise. They belong to this goroutine, which hasn't parked yet.
                unsafe {
                    match i % 5 {
                        0 => left -= usize::from(proc::stop_timer(before)),
                        1 => left += usize::from(!proc::reset_timer(before, when())),
                        _ => {}
                    }
                }
            }
            // All timers are due when the scheduler looks at them.
            while nanotime() <= end {}
            // SAFETY: the result of acquirem.
            unsafe { proc::releasem(mp) };
            drop_timers(timers);
            let fired = FIRED.lock().unwrap();
            assert!(fired.is_sorted());
            assert_eq!(fired.len(), left);
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

/// The times a timer was set to, first and second, and how often it fired for each.
#[derive(Default)]
struct Log {
    not_before: [AtomicI64; 2],
    fired: [AtomicU32; 2],
    early: AtomicBool,
}

unsafe extern "C" fn note(log: *mut c_void, seq: usize) {
    // SAFETY: a_million_timers passes a log, and keeps it.
    let log = unsafe { &*log.cast::<Log>() };
    if nanotime() < log.not_before[seq].load(Ordering::SeqCst) {
        log.early.store(true, Ordering::SeqCst);
    }
    log.fired[seq].fetch_add(1, Ordering::SeqCst);
}

/// A million timers, where all tests run whole. Half of them are stopped, and a quarter set again,
/// by goroutines other than those that started them.
fn a_million_timers(test: Test) {
    for procs in ["1", "2", "4"] {
        let process = test.process(|| run(|| many_timers(&mut Rng::seeded())));
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

fn many_timers(rng: &mut Rng) {
    const PARTS: usize = 8;
    let many = rounds(if cfg!(debug_assertions) { 400_000 } else { 1_000_000 });
    let timers = new_timers(many);
    let logs: Vec<Log> = (0..many).map(|_| Log::default()).collect();
    // Whether each timer should have fired for its first and for its second time.
    let expected: Vec<[AtomicU32; 2]> = (0..many).map(|_| [AtomicU32::new(1), AtomicU32::new(0)]).collect();
    let started = AtomicUsize::new(0);
    let argument = |i: usize| ptr::from_ref(&logs[i]).cast_mut().cast();
    scope(|s| {
        for part in 0..PARTS {
            let (mut rng, timers, logs, expected, started) =
                (rng.fork(), &timers, &logs, &expected, &started);
            s.go(move || {
                for i in (part..many).step_by(PARTS) {
                    let when = nanotime() + rng.below(100_000_000) as i64;
                    logs[i].not_before[0].store(when, Ordering::SeqCst);
                    timers[i].when.set(when);
                    timers[i].f.set(Some(note));
                    timers[i].arg.set(argument(i));
                    // SAFETY: `drop_timers` waits for the timers.
                    unsafe { proc::start_timer(&timers[i]) };
                    if rng.below(100) == 0 {
                        yield_now();
                    }
                }
                started.fetch_add(1, Ordering::SeqCst);
                while started.load(Ordering::SeqCst) < PARTS {
                    time::sleep(Duration::from_micros(100));
                }
                // These timers are another part's.
                for i in ((part + 3) % PARTS..many).step_by(PARTS) {
                    // SAFETY: nobody else changes this timer now. Its argument stays.
                    unsafe {
                        if rng.below(2) == 0 {
                            let stopped = proc::stop_timer(&timers[i]);
                            expected[i][0].fetch_sub(u32::from(stopped), Ordering::SeqCst);
                        } else if rng.below(2) == 0 {
                            let when = nanotime() + rng.below(100_000_000) as i64;
                            logs[i].not_before[1].store(when, Ordering::SeqCst);
                            let replaced = proc::mod_timer(&timers[i], when, 0, Some(note), argument(i), 1);
                            expected[i][0].fetch_sub(u32::from(replaced), Ordering::SeqCst);
                            expected[i][1].store(1, Ordering::SeqCst);
                        }
                    }
                    if rng.below(100) == 0 {
                        yield_now();
                    }
                }
            });
        }
    });
    drop_timers(timers);
    for (i, (log, expected)) in logs.iter().zip(&expected).enumerate() {
        let [fired, expected] =
            [&log.fired, expected].map(|counts| counts.each_ref().map(|n| n.load(Ordering::SeqCst)));
        assert_eq!(fired, expected, "timer {i}");
        assert!(!log.early.load(Ordering::SeqCst), "timer {i} is early");
    }
}

fn a_periodic_timer(test: Test) {
    static FIRED: AtomicU32 = AtomicU32::new(0);

    unsafe extern "C" fn fire(_: *mut c_void, _: usize) {
        FIRED.fetch_add(1, Ordering::SeqCst);
    }

    let process = test.process(|| {
        run(|| {
            let timers = new_timers(1);
            let start = nanotime();
            timers[0].when.set(start + 1_000_000);
            timers[0].period.set(1_000_000);
            timers[0].f.set(Some(fire));
            // SAFETY: `drop_timers` waits for it.
            unsafe { proc::start_timer(&timers[0]) };
            let mut fired = 0;
            while fired < 10 {
                time::sleep(Duration::from_micros(100));
                fired = FIRED.load(Ordering::SeqCst);
                assert!(i64::from(fired) <= (nanotime() - start) / 1_000_000);
            }
            // SAFETY: likewise.
            assert!(unsafe { proc::stop_timer(&timers[0]) });
            until_they_have_fired();
            let fired = FIRED.load(Ordering::SeqCst);
            time::sleep(Duration::from_millis(5));
            assert_eq!(FIRED.load(Ordering::SeqCst), fired);
            drop_timers(timers);
        });
    });
    process.end().with("exit status: 0");
}

fn a_timer_without_a_time(test: Test) {
    let start = |t: &'static Timer| {
        // SAFETY: the call only leads to a fatal error.
        run(|| unsafe { proc::start_timer(t) });
    };
    let process = test.process(|| start(Box::leak(Box::new(new_timers(1).remove(0)))));
    process.end().with("exit status: 2").says("fatal error: timer when must be positive\n");
}

/// Goroutines sleep again and again on stacks that have just grown, while another goroutine shrinks
/// those stacks.
fn sleepers_on_stacks_that_shrink(test: Test) {
    const SLEEPERS: usize = 16;
    const NAPS: i64 = 200;
    /// Bytes that make a stack grow so far that everything else fits into a quarter of it.
    const MUCH: usize = if cfg!(debug_assertions) { 60_000 } else { 15_000 };
    const SOME: usize = if cfg!(debug_assertions) { 4_096 } else { 1_024 };

    static GS: [AtomicPtr<G>; SLEEPERS] = [const { AtomicPtr::new(ptr::null_mut()) }; SLEEPERS];
    static AWAKE: AtomicUsize = AtomicUsize::new(0);
    static EARLY: AtomicUsize = AtomicUsize::new(0);
    /// The number of times that a goroutine slept on a stack that shrank.
    static SHRUNK: AtomicUsize = AtomicUsize::new(0);

    fn nothing() {}

    unsafe extern "C" fn sleeper(i: *mut c_void) {
        GS[i.addr()].store(proc::getg(), Ordering::SeqCst);
        morestack_check!(SOME, naps);
        GS[i.addr()].store(ptr::null_mut(), Ordering::SeqCst);
        AWAKE.fetch_add(1, Ordering::SeqCst);
    }

    fn naps() {
        let mut nap = 0;
        while nap < NAPS || SHRUNK.load(Ordering::SeqCst) == 0 {
            nap += 1;
            morestack_check!(MUCH, nothing);
            let (start, ns) = (nanotime(), nap % NAPS * 1_000);
            // SAFETY: on a goroutine.
            unsafe { proc::time_sleep(ns) };
            EARLY.fetch_add(usize::from(nanotime() < start + ns), Ordering::SeqCst);
        }
    }

    let process = test.process(|| {
        run(|| {
            // SAFETY: the sleepers check their stacks; each is shrunk while it is held in its
            // sleep.
            unsafe {
                for i in 0..SLEEPERS {
                    proc::newproc(Some(sleeper), ptr::without_provenance_mut(i));
                }
                while AWAKE.load(Ordering::SeqCst) < SLEEPERS {
                    for gp in GS.each_ref().map(|gp| gp.load(Ordering::SeqCst)) {
                        if !gp.is_null() && proc::castogscanstatus(gp, GWAITING, GSCANWAITING) {
                            let before = (*gp).stack.get();
                            proc::shrinkstack(gp);
                            SHRUNK.fetch_add(usize::from((*gp).stack.get() != before), Ordering::SeqCst);
                            proc::casfrom_gscanstatus(gp, GSCANWAITING, GWAITING);
                        }
                    }
                    yield_now();
                }
                assert_eq!(EARLY.load(Ordering::SeqCst), 0);
            }
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}
