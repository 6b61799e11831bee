//! Reports of goroutines that run without a P, or wait for their turn in a signal handler.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gosched::metrics::{self, Value};
use gosched::{Builder, dump_goroutines, go, proc, run, time, yield_now};

use super::traceback::{assert_part, dump};
use crate::harness::emulator::emulator;
use crate::harness::goroutines::{dump_with_detached, sleep_with_thread};
use crate::harness::{Test, rounds, tests};

tests! {
    a_dump_has_the_stacks_of_all
    a_dump_from_a_thread
    a_dump_leaves_its_p
    #[slow] none_waits_for_its_turn_in_malloc
    #[slow] dumps_beside_many_that_allocate
    sigquit
    a_fatal_error
    schedtrace
}

static OVER: AtomicBool = AtomicBool::new(false);
static COMPUTING: AtomicUsize = AtomicUsize::new(0);

#[inline(never)]
fn computes() {
    COMPUTING.fetch_add(1, Ordering::Relaxed);
    while !OVER.load(Ordering::Relaxed) {
        black_box(());
    }
}

#[inline(never)]
fn blocks() {
    while !OVER.load(Ordering::Relaxed) {
        sleep_with_thread(black_box(Duration::from_millis(100)));
    }
}

/// The number of goroutines that compute.
const HOGS: usize = 5;

/// Makes goroutines compute, and one block its thread. Calls `f` once each of them has lost the
/// only P.
fn beside_hogs(f: impl FnOnce()) {
    let mut hogs: Vec<_> = (0..HOGS).map(|_| Builder::new().name("computes").go(computes).unwrap()).collect();
    hogs.push(Builder::new().name("blocks").go(blocks).unwrap());
    while COMPUTING.load(Ordering::Relaxed) < HOGS
        || metrics::read("/gosched/detached:goroutines") != Some(Value::Uint64(HOGS as u64 + 1))
    {
        time::sleep(Duration::from_millis(1));
    }
    f();
    OVER.store(true, Ordering::Relaxed);
    hogs.into_iter().for_each(|hog| hog.join().unwrap());
}

/// Returns how many goroutines a dump's part is about: one, or a group.
fn count(part: &str) -> usize {
    part.split_once(" goroutines ").and_then(|(count, _)| count.parse().ok()).unwrap_or(1)
}

/// Fails unless the dump has the frames of all these goroutines, and says that they are detached.
fn assert_all_there(dump: &str) {
    for (name, n) in [("computes", HOGS), ("blocks", 1)] {
        let parts: Vec<&str> =
            dump.split("\n\n").filter(|part| part.contains(&format!(" \"{name}\" ["))).collect();
        assert_eq!(parts.iter().map(|part| count(part)).sum::<usize>(), n, "{name} in:\n{dump}");
        for part in parts {
            // One of them may have a P just now: because it is its turn, or because it has woken.
            let has_p = part.contains(" [running]:");
            assert_part(part, if has_p { "running" } else { "running (detached)" }, &[name]);
        }
    }
    assert!(dump.contains(" \"computes\" [running (detached)]:"), "{dump}");
}

fn a_dump_has_the_stacks_of_all(test: Test) {
    let process = test.process(|| {
        run(|| beside_hogs(|| assert_all_there(&dump_with_detached())));
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

fn a_dump_from_a_thread(test: Test) {
    let process = test.process(|| {
        run(|| {
            beside_hogs(|| {
                let mut text = Vec::new();
                thread::scope(|s| s.spawn(|| dump_goroutines(&mut text).unwrap()).join().unwrap());
                assert_all_there(&String::from_utf8(text).unwrap());
            });
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

/// A dump computes for long. Meanwhile others have the only P.
fn a_dump_leaves_its_p(test: Test) {
    static NAMES: AtomicBool = AtomicBool::new(false);
    static RAN: AtomicBool = AtomicBool::new(false);
    let process = test.process(|| {
        proc::set_symbolizer(|_, _| {
            NAMES.store(true, Ordering::Relaxed);
            while !RAN.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        })
        .unwrap();
        run(|| {
            let other = go(|| {
                while !NAMES.load(Ordering::Relaxed) {
                    yield_now();
                }
                RAN.store(true, Ordering::Relaxed);
            });
            drop(dump());
            other.join().unwrap();
        });
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

/// A goroutine that stopped in malloc could hold a lock that all others need.
fn none_waits_for_its_turn_in_malloc(test: Test) {
    const MANY: usize = 40;

    // The goroutine is in malloc about half of its time. An emulator takes long for malloc's locks.
    #[inline(never)]
    fn allocates() {
        let own = if cfg!(debug_assertions) { 1 } else { 20 } * if emulator().is_some() { 100 } else { 1 };
        while !OVER.load(Ordering::Relaxed) {
            // SAFETY: the block was just allocated, and isn't used.
            unsafe { libc::free(black_box(libc::malloc(2000))) };
            (0..own).for_each(|n| _ = black_box(n));
        }
    }
    let process = test.process(|| {
        run(|| {
            let all: Vec<_> =
                (0..MANY).map(|_| Builder::new().name("allocates").go(allocates).unwrap()).collect();
            loop {
                let dump = dump_with_detached();
                let found =
                    dump.split("\n\n").filter(|part| part.contains(" \"allocates\" [running (detached)]"));
                // The C library's functions have no lines.
                let is_in_libc = |part: &&str| part.lines().nth(2).is_some_and(|at| at.starts_with("\tpc="));
                let (in_libc, elsewhere): (Vec<_>, Vec<_>) = found.partition(is_in_libc);
                if in_libc.is_empty() && elsewhere.len() >= MANY - 1 {
                    break;
                }
            }
            OVER.store(true, Ordering::Relaxed);
            all.into_iter().for_each(|handle| handle.join().unwrap());
        });
    });
    // A static program's malloc is in the program.
    if cfg!(all(target_env = "gnu", not(target_feature = "crt-static"))) {
        process.env("GOMAXPROCS", "1").end().with("exit status: 0");
    }
}

/// Goroutines that wait for their turn hold malloc's locks, which a dump needs, too.
fn dumps_beside_many_that_allocate(test: Test) {
    const MANY: usize = 40;

    #[inline(never)]
    fn allocates() {
        while !OVER.load(Ordering::Relaxed) {
            drop(black_box(vec![0_u8; black_box(100)]));
        }
    }
    let process = test.process(|| {
        run(|| {
            let all: Vec<_> =
                (0..MANY).map(|_| Builder::new().name("allocates").go(allocates).unwrap()).collect();
            for _ in 0..rounds(50) {
                let dump = dump();
                // A goroutine that hasn't begun has only this function's name.
                let found = dump.split("\n\n").filter(|part| part.contains(" \"allocates\" ["));
                assert_eq!(found.filter(|part| !part.contains("stack unavailable")).count(), MANY, "{dump}");
            }
            OVER.store(true, Ordering::Relaxed);
            all.into_iter().for_each(|handle| handle.join().unwrap());
        });
    });
    process.env("GOMAXPROCS", "2").end().with("exit status: 0");
}

fn sigquit(test: Test) {
    let process = test.process(|| {
        run(|| {
            beside_hogs(|| {
                // SAFETY: ends this process, with a report.
                unsafe { libc::kill(libc::getpid(), libc::SIGQUIT) };
                time::sleep(Duration::from_secs(3600));
            });
        });
    });
    let ended = process.env("GOMAXPROCS", "1").end();
    assert_all_there(&ended.with("exit status: 2").stderr);
}

/// A fatal error's report, too, has the stacks of goroutines that wait for their turn, even if
/// nobody gives them a turn.
fn a_fatal_error(test: Test) {
    let process = test.process(|| {
        run(|| {
            beside_hogs(|| {
                drop(go(|| panic!("nobody joins this")));
                time::sleep(Duration::from_secs(3600));
            });
        });
    });
    let process = process.env("GODEBUG", "dieonpanic=1").env("GOTRACEBACK", "all").env("GOMAXPROCS", "1");
    let stderr = process.end().with("exit status: 2").stderr.clone();
    assert_eq!(stderr.matches("\" [running").count(), HOGS + 1, "{stderr}");
    let computing = stderr.split("\n\n").filter(|part| part.contains(" \"computes\" [running"));
    computing.for_each(|part| assert!(part.contains("::computes(...)\n"), "{part}"));
}

/// A report looks at one goroutine after the other. On a slow machine the P may pass between them
/// meanwhile, and the thread that prints may lose it. So the test takes reports until all these
/// goroutines are detached in one of them.
fn schedtrace(test: Test) {
    let process = test.process(|| {
        run(|| {
            beside_hogs(|| {
                loop {
                    go(|| proc::schedtrace(true)).join().unwrap();
                    yield_now();
                }
            });
        });
    });
    fn lines(report: &str, begins: char) -> impl Iterator<Item = &str> {
        report.lines().filter(move |line| line.starts_with(&format!("  {begins}")))
    }
    let detached =
        |report: &str| lines(report, 'G').filter(|line| line.contains(" status=2(detached) ")).count();
    let with_time = |report: &str| {
        let times = lines(report, 'M').filter_map(|line| Some(line.split_once(" detached=")?.1.to_owned()));
        times.collect::<Vec<_>>()
    };
    // One of them may have the P just now.
    let some = HOGS..=HOGS + 2;
    let has_all = |report: &&str| some.contains(&detached(report)) && some.contains(&with_time(report).len());
    // The last report isn't complete.
    let found = |stderr: &str| {
        let (whole, _) = stderr.rsplit_once("SCHED ")?;
        whole.rsplit("SCHED ").find(has_all).map(str::to_owned)
    };
    let stderr = process.env("GOMAXPROCS", "1").until(|stderr| found(stderr).is_some());
    let report = found(&stderr).unwrap_or_else(|| panic!("{stderr}"));
    // Timing decides which goroutine is in the handler at that moment.
    let says_it = |rest: &String| rest.ends_with("ms turn=no") || rest.ends_with("ms turn=kept");
    let with_time = with_time(&report);
    assert!(with_time.iter().all(says_it), "{with_time:?}");
}
