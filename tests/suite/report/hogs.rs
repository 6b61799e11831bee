//! `GODEBUG=hogs=1`: reports of goroutines that keep their P from others.

use std::collections::HashSet;
use std::hint::black_box;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gosched::{Builder, JoinHandle, check, go, proc, run, yield_now};

use crate::harness::goroutines::sleep_with_thread;
use crate::harness::process::{Process, wait_for_end_of_stdin};
use crate::harness::{Test, tests};

tests! {
    one_that_computes
    one_that_blocks_its_thread
    one_a_second_for_a_place
    each_place
    the_number_of_the_others
    nobody_who_comes_to_checks
    nobody_if_none_may_be_stopped
    nobody_unless_it_is_wanted
}

/// The beginning of the goroutine's report.
const HOG: &str = "gosched: goroutine 2 \"hog\"";
const KEEPS: &str = "keeps its processor";

#[inline(never)]
fn computes(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        black_box(());
    }
}

#[inline(never)]
fn blocks(time: Duration) {
    sleep_with_thread(black_box(time));
}

/// Returns a process that calls `f` on a goroutine, beside another one that wants the P, with these
/// settings.
fn beside_another(test: Test, settings: &str, f: impl FnOnce() + Send + 'static) -> Process {
    let process = test.process(|| {
        run(|| {
            let hog = Builder::new().name("hog").go(f).unwrap();
            while !hog.is_finished() {
                yield_now();
            }
        });
    });
    process.env("GOMAXPROCS", "1").env("GODEBUG", settings)
}

/// Fails unless the goroutine that calls `f` again and again is reported, at last while it is in
/// `f`. The first line must say `how`, and the stack must have `function`, the name of `f`, before
/// its origin.
///
/// Each function also does a little of the other kind of work. A slow machine may take long just
/// then, so not every report has to say `how`.
fn assert_told_of(test: Test, f: fn(Duration), how: &str, function: &str) {
    // Each call is longer, because the monitor of a slow machine may look seldom.
    let hog = move || {
        for n in 1.. {
            f(n * Duration::from_millis(50));
            yield_now();
        }
    };
    let inside = format!("hogs::{function}(...)\n\t");
    let is_it = |report: &str| {
        let (line, stack) = report.split_once('\n').unwrap_or((report, ""));
        let (frames, origin) = stack.split_once("created at ").unwrap_or((stack, ""));
        line.contains(&format!("{HOG}, created at {}:", file!()))
            && line.contains(" in goroutine 1, ")
            && line.contains(KEEPS)
            && line.contains(how)
            && frames.contains(&inside)
            && origin.starts_with(&format!("{}:", file!()))
    };
    // Each report ends with an empty line. The text after the last one isn't complete.
    let told = |stderr: &str| stderr.rsplit_once("\n\n").is_some_and(|(all, _)| all.split("\n\n").any(is_it));
    let stderr = beside_another(test, "hogs=1", hog).until(told);
    assert!(told(&stderr), "{stderr}");
}

fn one_that_computes(test: Test) {
    assert_told_of(test, computes, "has computed for ", "computes");
}

fn one_that_blocks_its_thread(test: Test) {
    assert_told_of(test, blocks, "blocks its thread ", "blocks");
}

/// The setting makes a second a fifth of a second.
fn one_a_second_for_a_place(test: Test) {
    const SECOND: Duration = Duration::from_millis(200);

    let line = line!() + 4;
    let process = beside_another(test, "hogs=1,period=20", || {
        let begun = Instant::now();
        loop {
            let hogs = [(); 4].map(|()| go(|| computes(2 * SECOND)));
            hogs.into_iter().for_each(|hog| hog.join().unwrap());
            eprintln!("\n{} seconds", begun.elapsed().as_nanos() / SECOND.as_nanos());
        }
    });
    // How often the place was reported until then. On a slow machine, other goroutines may be
    // reported, too.
    let place = format!("created at {}:{line}:", file!());
    let is_it = |line: &&str| line.contains(&place) && line.contains(KEEPS);
    let told = |stderr: &str| {
        stderr.rsplit_once(" seconds\n").map_or(0, |(until, _)| until.lines().filter(is_it).count())
    };
    let stderr = process.until(|stderr| told(stderr) > 0);
    let (until, _) = stderr.rsplit_once(" seconds\n").unwrap();
    let seconds: usize = until.rsplit('\n').next().unwrap().parse().unwrap();
    assert!(told(&stderr) <= seconds + 1, "{stderr}");
}

/// Each of ten places loses its P once, one right after the other.
fn each_place(test: Test) {
    /// Returns how often goroutines have lost their P.
    fn detachments() -> u64 {
        // SAFETY: there is one schedt, which is never freed, and these fields are atomics.
        unsafe { (*proc::sched()).ext.detachments.each_ref().map(|n| n.load(Ordering::Relaxed)).iter().sum() }
    }
    /// Blocks its thread until it has lost its P.
    fn lose_it() {
        let before = detachments();
        while detachments() == before {
            sleep_with_thread(Duration::from_millis(1));
        }
    }
    const FIRST: u32 = line!();
    let places: [fn() -> JoinHandle<()>; 10] = [
        || go(lose_it),
        || go(lose_it),
        || go(lose_it),
        || go(lose_it),
        || go(lose_it),
        || go(lose_it),
        || go(lose_it),
        || go(lose_it),
        || go(lose_it),
        || go(lose_it),
    ];
    const LAST: u32 = line!();
    let process = test.process(|| {
        run(|| {
            for place in places {
                let loses_it = place();
                while !loses_it.is_finished() {
                    yield_now();
                }
            }
            wait_for_end_of_stdin();
        });
    });
    let told = |stderr: &str| {
        let place = |line: &str| line.split(&format!("{}:", file!())).nth(1)?.split(':').next()?.parse().ok();
        let told = stderr.lines().filter(|line| line.contains(KEEPS)).filter_map(place);
        told.filter(|line| (FIRST..LAST).contains(line)).collect::<HashSet<u32>>().len()
    };
    let process = process.env("GOMAXPROCS", "1").env("GODEBUG", "hogs=1");
    process.until(|stderr| told(stderr) == 10);
}

/// The first one is reported with its stack, and the others are counted.
fn the_number_of_the_others(test: Test) {
    let line = line!() + 3;
    let process = beside_another(test, "hogs=1", || {
        for _ in 0.. {
            let hogs = [(); 4].map(|()| go(|| computes(Duration::from_millis(100))));
            hogs.into_iter().for_each(|hog| hog.join().unwrap());
        }
    });
    let place = format!("gosched: goroutines created at {}:{line}:", file!());
    let is_it = |line: &str| {
        let count =
            line.strip_prefix(&place)?.split_once(" have kept a processor since the last report: ")?.1;
        count.strip_suffix(" more")?.parse::<u32>().ok().filter(|count| *count > 0)
    };
    process.until(|stderr| stderr.lines().any(|line| is_it(line).is_some()));
}

/// If the machine takes long between two checks, the goroutine is a hog. That happens, but not each
/// time.
fn nobody_who_comes_to_checks(test: Test) {
    let comes_to_checks = || {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(200) {
            check();
        }
    };
    let says_nothing = |_| {
        let ended = beside_another(test, "hogs=1", comes_to_checks).end();
        ended.with("exit status: 0").stderr.is_empty()
    };
    assert!((0..30).any(says_nothing));
}

fn nobody_if_none_may_be_stopped(test: Test) {
    for settings in ["hogs=1,detach=0", "hogs=1,asyncpreemptoff=1"] {
        let process = beside_another(test, settings, || computes(Duration::from_millis(300)));
        process.end().with("exit status: 0").says_nothing();
    }
}

fn nobody_unless_it_is_wanted(test: Test) {
    let process = beside_another(test, "hogs=0", || computes(Duration::from_millis(100)));
    process.end().with("exit status: 0").says_nothing();
}
