//! GOMAXPROCS follows the processors that the process may use, unless the program or the
//! environment has set it. (Unit tests cover how the limit of a control group is read, and read
//! again.)

use std::env;
use std::fs;
use std::hint;
use std::mem::zeroed;
use std::num::NonZeroUsize;
use std::process::id;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gosched::explore::Explorer;
use gosched::{go, gomaxprocs, num_goroutine, run, set_default_gomaxprocs, set_gomaxprocs, time, yield_now};

use crate::harness::goroutines::{others_ended, sleep_with_thread};
use crate::harness::{Test, tests};

tests! {
    follows_the_affinity
    takes_the_default_at_once
    follows_it_from_one_run_to_the_next
    does_not_follow_where_somebody_has_said_a_number
    nobody_is_woken_for_it
    what_has_ended_has_ended_on_any_p
    #[slow] explorations_keep_their_one
}

/// Sysmon checks after a hundredth of the usual time.
const SOON: &str = "period=1";

/// Sysmon checks after hours only.
const LATE: &str = "period=1000000";

/// Many times sysmon's period with [`SOON`].
const LONG: Duration = Duration::from_millis(250);

const TICK: Duration = Duration::from_millis(1);

/// Returns the threads of this process.
fn threads() -> Vec<i32> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
}

/// Returns the processors of this thread.
fn processors() -> libc::cpu_set_t {
    // SAFETY: all zero is a set, and the kernel fills it.
    unsafe {
        let mut set = zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set), 0);
        set
    }
}

/// Returns the first of these processors.
fn first(all: &libc::cpu_set_t) -> libc::cpu_set_t {
    // SAFETY: all zero is a set, and the numbers are below its size.
    unsafe {
        let mut set = zeroed();
        let one = (0..libc::CPU_SETSIZE as usize).find(|&processor| libc::CPU_ISSET(processor, all));
        libc::CPU_SET(one.unwrap(), &mut set);
        set
    }
}

/// Binds each thread of the process to these processors, as `taskset --all-tasks --pid` does.
fn bind(set: &libc::cpu_set_t) {
    for thread in threads() {
        // SAFETY: the kernel reads the set. A thread that has ended isn't there.
        unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), set) };
    }
}

/// Returns whether the test is skipped because the machine can't do this.
fn skipped(test: Test) -> bool {
    // SAFETY: the set was filled.
    if unsafe { libc::CPU_COUNT(&processors()) } < 2 {
        test.skip("there is one processor");
        return true;
    }
    test.skipped_in_emulator("its threads are bound as the host's are")
}

/// Returns a process that follows only the affinity, with this setting, if the machine can do this.
fn alone(test: Test, setting: &str, body: fn()) {
    if !skipped(test) {
        let settings = format!("containermaxprocs=0,{setting}");
        test.process(body).env("GODEBUG", &settings).end().with("exit status: 0");
    }
}

/// Checks a process's initial state: its processors, and as many P's. Returns the processors.
fn begin() -> libc::cpu_set_t {
    let all = processors();
    // SAFETY: the set was filled.
    assert_eq!(run(gomaxprocs), unsafe { libc::CPU_COUNT(&all) } as usize);
    all
}

fn follows_the_affinity(test: Test) {
    alone(test, SOON, || {
        let all = begin();
        run(|| {
            let before = gomaxprocs();
            for _ in 0..2 {
                bind(&first(&all));
                while gomaxprocs() != 1 {
                    time::sleep(TICK);
                }
                bind(&all);
                while gomaxprocs() != before {
                    time::sleep(TICK);
                }
            }
            // Again, after it was set in between.
            bind(&first(&all));
            set_gomaxprocs(NonZeroUsize::new(5).unwrap());
            set_default_gomaxprocs();
            bind(&all);
            while gomaxprocs() != before {
                time::sleep(TICK);
            }
            // Waits until the goroutine that has set it is gone.
            while num_goroutine() != 1 {
                time::sleep(TICK);
            }
        });
    });
}

fn takes_the_default_at_once(test: Test) {
    alone(test, LATE, || {
        let all = begin();
        run(|| {
            bind(&first(&all));
            set_default_gomaxprocs();
            assert_eq!(gomaxprocs(), 1);
        });
    });
}

fn follows_it_from_one_run_to_the_next(test: Test) {
    alone(test, SOON, || {
        let all = begin();
        bind(&first(&all));
        while run(gomaxprocs) != 1 {}
    });
}

fn does_not_follow_where_somebody_has_said_a_number(test: Test) {
    if skipped(test) {
        return;
    }
    let process = || {
        test.process(|| {
            let all = processors();
            run(|| {
                if env::var("SAYS_IT").is_ok() {
                    set_gomaxprocs(NonZeroUsize::new(3).unwrap());
                }
                let before = gomaxprocs();
                bind(&first(&all));
                for _ in 0..LONG.as_millis() / TICK.as_millis() {
                    time::sleep(TICK);
                }
                assert_eq!(gomaxprocs(), before);
                // It could have changed.
                set_default_gomaxprocs();
                assert_eq!(gomaxprocs(), 1);
            });
        })
    };
    let never = format!("{SOON},updatemaxprocs=0");
    for (name, value) in [("GOMAXPROCS", "3"), ("GODEBUG", &never), ("SAYS_IT", "")] {
        process().env("GODEBUG", SOON).env(name, value).end().with("exit status: 0");
    }
}

/// Returns how often the other threads have gone to sleep, or were preempted.
fn switches() -> u64 {
    let others = threads().into_iter().filter(|&thread| thread != id() as i32);
    // A thread may have ended meanwhile.
    let status =
        others.filter_map(|thread| fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok());
    status
        .flat_map(|text| {
            let counts = text.lines().filter_map(|line| line.split_once("ctxt_switches:"));
            counts.map(|(_, count)| count.trim().parse::<u64>().unwrap()).collect::<Vec<_>>()
        })
        .sum()
}

/// Returns once no other thread has run for a while. Sysmon wakes as long as it hands memory back.
fn wait_until_others_sleep() {
    let mut seen = switches();
    loop {
        thread::sleep(LONG);
        let now = switches();
        if now == seen {
            return;
        }
        seen = now;
    }
}

fn nobody_is_woken_for_it(test: Test) {
    alone(test, SOON, || {
        let all = begin();
        wait_until_others_sleep();
        bind(&first(&all));
        wait_until_others_sleep();
        while run(gomaxprocs) != 1 {}
    });
}

fn explorations_keep_their_one(test: Test) {
    // Longer than sysmon's period. With a shorter period an exploration would soon count as stuck.
    const LONG: Duration = Duration::from_millis(1500);
    alone(test, "period=100", || {
        let all = begin();
        bind(&first(&all));
        let begun = Instant::now();
        Explorer::new().iterations(20).run(move || {
            assert_eq!(gomaxprocs(), 1);
            let worker = go(yield_now);
            sleep_with_thread(LONG / 20);
            worker.join().unwrap();
        });
        assert!(begun.elapsed() >= LONG);
        while run(gomaxprocs) != 1 {}
    });
}

/// Goroutines that have ended and still have handles don't count when the P on which they ended is
/// gone.
fn what_has_ended_has_ended_on_any_p() {
    const PROCS: usize = 4;
    let set = |procs| set_gomaxprocs(NonZeroUsize::new(procs).unwrap());
    run(|| {
        set(PROCS);
        for _ in 0..20 {
            let running: &AtomicUsize = Box::leak(Box::default());
            // Usually each goroutine is on a P of its own when the last one begins.
            let handles: Vec<_> = (0..PROCS)
                .map(|_| {
                    go(move || {
                        running.fetch_add(1, Ordering::Relaxed);
                        while running.load(Ordering::Relaxed) < PROCS {
                            hint::spin_loop();
                        }
                    })
                })
                .collect();
            others_ended();
            set(1);
            assert_eq!(num_goroutine(), 1);
            drop(handles);
            assert_eq!(num_goroutine(), 1);
            set(PROCS);
        }
    });
}
