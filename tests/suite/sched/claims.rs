//! Switches of goroutines with thread-locals of their own. The next goroutine is taken off its
//! queue before the last one has left. Each goroutine finds its own thread-locals, whatever happens
//! in between.

use std::cell::Cell;
use std::ffi::c_void;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once};
use std::task::{Poll, Waker};
use std::{hint, mem, ptr, thread};

use gosched::chan::bounded;
use gosched::iter::pull;
use gosched::proc::{
    self, Event, Hooks, StwReason, become_system_goroutine, sched_enable_user, set_hooks, set_tracer,
};
use gosched::runtime2::{G, TraceBlockReason, WaitReason};
use gosched::time::{now, sleep_until};
use gosched::{Builder, block_on, go, lock_os_thread, run, yield_now};

use super::yield_alone::until_ten_are_few;
use crate::harness::polled::MS;
use crate::harness::rng::Rng;
use crate::harness::{Test, rounds, tests};

tests! {
    the_world_stops_in_between
    users_are_disabled_in_between
    beside_goroutines_of_other_kinds
    a_timer_fires_in_between
    one_that_is_put_back_is_run
    hooks_have_the_thread_s_own
    so_has_a_tracer
    so_has_what_ends_a_park
}

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// Switches to another goroutine and back, in each way, as long as `more` returns true.
pub fn switch(more: impl Fn() -> bool + Clone + Send + 'static) {
    let (ping, pinged) = bounded(0);
    let (pong, ponged) = bounded(0);
    let answers = move || {
        while let Ok(n) = pinged.recv() {
            pong.send(n).unwrap()
        }
    };
    // SAFETY: the goroutine keeps nothing from a thread-local.
    let answers = unsafe { Builder::new().shared_locals() }.go(answers).unwrap();
    let yields = go({
        let more = more.clone();
        move || {
            for n in 0.. {
                if !more() {
                    break;
                }
                NUMBER.set(n);
                yield_now();
                assert_eq!(NUMBER.get(), n);
            }
        }
    });
    let mut generated = pull(|out| {
        for n in 0.. {
            NUMBER.set(n);
            out.yield_(n);
            assert_eq!(NUMBER.get(), n);
        }
    });
    for n in 0.. {
        if !more() {
            break;
        }
        NUMBER.set(!n);
        assert_eq!(generated.next(), Some(n));
        assert_eq!(NUMBER.get(), !n);
        ping.send(n).unwrap();
        assert_eq!(ponged.recv(), Ok(n));
        assert_eq!(NUMBER.get(), !n);
        let made = go(move || {
            assert_eq!(NUMBER.replace(n), 0);
            yield_now();
            NUMBER.get()
        });
        assert_eq!(made.join().unwrap(), n);
    }
    drop(ping);
    answers.join().unwrap();
    yields.join().unwrap();
}

/// Makes goroutines switch on two P's while `disturb` is called, again and again.
fn switch_while(test: Test, disturb: fn()) {
    for procs in ["1", "2", "4"] {
        let process = test.process(move || {
            run(|| {
                static DONE: AtomicBool = AtomicBool::new(false);
                let switching = [(); 4].map(|()| go(|| switch(|| !DONE.load(Ordering::Relaxed))));
                for _ in 0..rounds(2_000) {
                    disturb();
                    yield_now();
                }
                DONE.store(true, Ordering::Relaxed);
                switching.into_iter().for_each(|goroutine| goroutine.join().unwrap());
            });
        });
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

fn the_world_stops_in_between(test: Test) {
    switch_while(test, || {
        // SAFETY: on a goroutine, which starts the world at once.
        unsafe { proc::start_the_world(proc::stop_the_world(StwReason::Unknown)) }
    });
}

fn users_are_disabled_in_between(test: Test) {
    switch_while(test, || {
        static ONCE: Once = Once::new();
        // SAFETY: on a goroutine, which goes on, and enables the others at once.
        unsafe {
            ONCE.call_once(|| become_system_goroutine());
            sched_enable_user(false);
            (0..100).for_each(|_| hint::spin_loop());
            sched_enable_user(true);
        }
    });
}

/// The next goroutine may be locked to its thread, or may have been stopped in its code, where it
/// has an errno.
fn beside_goroutines_of_other_kinds(test: Test) {
    switch_while(test, || {
        let locked = go(|| {
            let _locked = lock_os_thread();
            (0..3).for_each(|_| yield_now());
        });
        locked.join().unwrap();
    });
}

/// The timer fires before the time slice of the two is over.
fn a_timer_fires_in_between(test: Test) {
    let process = test.process(|| {
        static DONE: AtomicBool = AtomicBool::new(false);
        run(|| {
            let (ping, pinged) = bounded(0);
            let (pong, ponged) = bounded(0);
            let answers = go(move || pinged.iter().for_each(|()| pong.send(()).unwrap()));
            until_ten_are_few(|| {
                DONE.store(false, Ordering::Relaxed);
                let due = now() + MS;
                let sleeper = go(move || {
                    sleep_until(due);
                    DONE.store(true, Ordering::Relaxed);
                });
                let mut late = 0;
                while !DONE.load(Ordering::Relaxed) {
                    late += u32::from(now() > due);
                    ping.send(()).unwrap();
                    ponged.recv().unwrap();
                }
                sleeper.join().unwrap();
                late
            });
            drop(ping);
            answers.join().unwrap();
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

thread_local! {
    static OF_THE_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// For code of the program's that runs on g0: leaves a value in a thread-local of the thread.
fn leave_something() {
    OF_THE_THREAD.set(true);
}

/// Fails if goroutines that switch find such a value.
fn nothing_is_left(test: Test, install: fn(), park: fn()) {
    let process = test.process(move || {
        install();
        run(|| {
            let found = move || {
                let found = pull(|out| {
                    loop {
                        out.yield_(OF_THE_THREAD.get());
                    }
                });
                found.take(20).any(|found| {
                    park();
                    yield_now();
                    found || OF_THE_THREAD.get()
                })
            };
            let goroutines: Vec<_> = (0..50).map(|_| go(found)).collect();
            assert!(goroutines.into_iter().all(|goroutine| !goroutine.join().unwrap()));
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end().with("exit status: 0");
}

fn hooks_have_the_thread_s_own(test: Test) {
    let install = || {
        let hooks = Hooks { gdestroy: Some(|_| leave_something()), ..Hooks::default() };
        // SAFETY: nothing has run yet.
        unsafe { set_hooks(hooks) };
    };
    nothing_is_left(test, install, || ());
}

fn so_has_a_tracer(test: Test) {
    fn tracer(event: Event<'_>) {
        if matches!(event, Event::GoSched(_) | Event::GoPark(..) | Event::GoEnd(_)) {
            leave_something();
        }
    }
    // SAFETY: the tracer may be called anywhere.
    nothing_is_left(test, || unsafe { set_tracer(tracer) }, || ());
}

fn so_has_what_ends_a_park(test: Test) {
    /// # Safety
    /// None: it lets the goroutine go on.
    unsafe extern "C" fn goes_on(_: *mut G, _: *mut c_void) -> bool {
        leave_something();
        false
    }
    let park = || {
        // SAFETY: on a goroutine, which nobody makes ready.
        unsafe { proc::gopark(Some(goes_on), ptr::null_mut(), WaitReason::Sleep, TraceBlockReason::Sleep, 0) }
    };
    nothing_is_left(test, || (), park);
}

/// A goroutine has made another, and is woken just as it parks. It goes on without letting others
/// run, so the other goroutine must run beside it.
fn one_that_is_put_back_is_run(test: Test) {
    let process = test.process(|| {
        static WAKER: Mutex<Option<Waker>> = Mutex::new(None);
        static DONE: AtomicBool = AtomicBool::new(false);
        static RAN: AtomicBool = AtomicBool::new(false);
        let waking = thread::spawn(|| {
            let mut rng = Rng::seeded();
            while !DONE.load(Ordering::Relaxed) {
                let waker = WAKER.lock().unwrap().take();
                if let Some(waker) = waker {
                    (0..rng.below(2_000)).for_each(|_| hint::spin_loop());
                    waker.wake();
                }
            }
        });
        run(|| {
            for _ in 0..rounds(5_000) {
                RAN.store(false, Ordering::Relaxed);
                let other = go(|| RAN.store(true, Ordering::Relaxed));
                let mut asked = false;
                block_on(poll_fn(|cx| {
                    if mem::replace(&mut asked, true) {
                        return Poll::Ready(());
                    }
                    *WAKER.lock().unwrap() = Some(cx.waker().clone());
                    Poll::Pending
                }));
                while !RAN.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
                other.join().unwrap();
            }
            DONE.store(true, Ordering::Relaxed);
        });
        waking.join().unwrap();
    });
    process.env("GOMAXPROCS", "2").env("GODEBUG", "detach=0").end().with("exit status: 0");
}
