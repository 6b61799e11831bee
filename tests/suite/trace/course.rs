//! A program whose behaviour is known: its trace says what the program has measured itself.
//!
//! If the environment variable `TRACE_COURSE` names a folder, the trace and the measurements stay
//! there, for another reader.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, process};

use gosched::chan::bounded;
use gosched::{Builder, JoinHandle, blocking, proc, run, trace};

use super::reader::read;
use super::summary::Summary;
use crate::harness::goroutines::{until_it_waits, wait_until};
use crate::harness::{Test, tests};

tests! {
    a_summary_says_what_the_program_did
}

/// The number of goroutines that one makes, and the length of a wait.
const COUNTED: u64 = 50;
const LENGTH: Duration = Duration::from_millis(200);

fn a_summary_says_what_the_program_did(test: Test) {
    let given = env::var_os("TRACE_COURSE").map(PathBuf::from);
    let own = env::temp_dir().join(format!("gosched-course-{}", process::id()));
    let process = test.process(|| {
        let folder = given.clone().expect("the test gives it");
        let measured = run(|| course(&folder.join("course.trace")));
        let line = |(name, [least, most]): (String, [u64; 2])| format!("{name}\t{least} {most}\n");
        fs::write(folder.join("measured"), measured.into_iter().map(line).collect::<String>()).unwrap();
    });
    let folder = given.as_ref().unwrap_or(&own);
    fs::create_dir_all(folder).unwrap();
    // A goroutine is in a system call only if it makes one.
    let settings = process.env("TRACE_COURSE", folder.to_str().unwrap()).env("GODEBUG", "detach=0");
    settings.env("GOMAXPROCS", "2").end().with("exit status: 0");
    compare(folder);
    if given.is_none() {
        fs::remove_dir_all(own).unwrap();
    }
}

/// Fails unless each number is within the measured bounds, give or take one per cent.
fn compare(folder: &Path) {
    let says = says(&Summary::of(&read(&fs::read(folder.join("course.trace")).unwrap()).unwrap()));
    let measured = fs::read_to_string(folder.join("measured")).unwrap();
    assert!(measured.lines().count() > 5, "{measured}");
    for line in measured.lines() {
        let (name, bounds) = line.split_once('\t').unwrap();
        let (least, most) = bounds.split_once(' ').unwrap();
        let (least, most): (f64, f64) = (least.parse().unwrap(), most.parse().unwrap());
        let value = says.get(name).copied().unwrap_or(0) as f64;
        let slack = least / 100.0;
        assert!((least - slack..=most + slack).contains(&value), "{value}: {line}\nof {says:#?}");
    }
}

/// Returns a summary's numbers, by the names that the program uses.
fn says(summary: &Summary) -> BTreeMap<String, u64> {
    let mut says = BTreeMap::new();
    let mut add = |name: String, number| *says.entry(name).or_default() += number;
    let name = |g: Option<u64>| {
        let goroutine = g.and_then(|g| summary.goroutines.get(&g));
        goroutine.and_then(|goroutine| goroutine.name.clone()).unwrap_or_else(|| "nobody".into())
    };
    for (&g, goroutine) in &summary.goroutines {
        let own = name(Some(g));
        add(format!("made {own}"), goroutine.is_made.into());
        add(format!("ended {own}"), goroutine.has_ended.into());
        add(format!("maker {} of {own}", name(goroutine.maker)), goroutine.is_made.into());
        add(format!("syscall {own}"), goroutine.syscalls);
        goroutine.waiting.iter().for_each(|(why, &time)| add(format!("waiting {own} {why}"), time));
        for region in &goroutine.regions {
            add(format!("region {}", region.name), region.length.unwrap_or(0));
        }
    }
    for (&(by, of), &times) in &summary.wakes {
        add(format!("wakes {} {}", name(by), name(Some(of))), times as u64);
    }
    says
}

type Measured = Vec<(String, [u64; 2])>;

/// Runs the program. Returns what it did, each with the least and the largest possible value.
fn course(path: &Path) -> Measured {
    trace::start(File::create(path).unwrap()).unwrap();
    let mut measured = Measured::new();
    let spawner = named("spawner", || {
        let made: Vec<_> = (0..COUNTED).map(|_| named("counted", || ())).collect();
        made.into_iter().for_each(|handle| handle.join().unwrap());
    });
    spawner.join().unwrap();
    for what in ["made counted", "ended counted", "maker spawner of counted"] {
        measured.push((what.into(), [COUNTED, COUNTED]));
    }
    receives(&mut measured);
    let caller = named("caller", || {
        let begins = Instant::now();
        let within = blocking(|| {
            let begun = Instant::now();
            thread::sleep(LENGTH);
            begun.elapsed()
        });
        [within, begins.elapsed()]
    });
    measured.push(("syscall caller".into(), nanoseconds(caller.join().unwrap())));
    trace::stop().unwrap();
    measured
}

/// One goroutine waits for a value that the other sends, in a region.
fn receives(measured: &mut Measured) {
    static RECEIVER: AtomicPtr<gosched::runtime2::G> = AtomicPtr::new(std::ptr::null_mut());
    let (tx, rx) = bounded(0);
    let receiver = named("receiver", move || {
        RECEIVER.store(proc::getg(), Ordering::Relaxed);
        let begins = Instant::now();
        let region = trace::region("receives");
        let begun = Instant::now();
        assert_eq!(rx.recv(), Ok(7));
        let within = begun.elapsed();
        drop(region);
        (begins, [within, begins.elapsed()])
    });
    let gp = until_it_waits(&RECEIVER);
    // The goroutine's status is waiting before it has left its thread.
    // SAFETY: G's are never freed.
    wait_until(|| unsafe { (*gp).m.get().is_none() });
    let waits = Instant::now();
    let sender = named("sender", move || {
        thread::sleep(LENGTH);
        let before = Instant::now();
        tx.send(7).unwrap();
        (before, Instant::now())
    });
    let ((before, after), (begins, region)) = (sender.join().unwrap(), receiver.join().unwrap());
    measured.push(("region receives".into(), nanoseconds(region)));
    measured.push(("waiting receiver chan receive".into(), nanoseconds([before - waits, after - begins])));
    measured.push(("wakes sender receiver".into(), [1, 1]));
}

fn named<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().name(name).go(f).unwrap()
}

fn nanoseconds(bounds: [Duration; 2]) -> [u64; 2] {
    bounds.map(|duration| duration.as_nanos() as u64)
}
