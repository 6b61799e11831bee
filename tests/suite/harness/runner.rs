//! Runs the tests that the command line selects, several at a time. The options and output are
//! those of std's harness.

use std::any::Any;
use std::cmp::Reverse;
use std::env;
use std::fs::File;
use std::io::{self, Write};
use std::iter;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::limit;
use super::{Test, Tests};

/// The number of slowest tests to name.
const SLOWEST: usize = 5;

#[derive(Default)]
struct Arguments {
    filters: Vec<String>,
    skipped: Vec<String>,
    exact: bool,
    list: bool,
    threads: Option<usize>,
}

impl Arguments {
    fn read() -> Result<Arguments, String> {
        let mut found = Arguments::default();
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
                _ => (word, None),
            };
            let mut value = || value.clone().or_else(|| words.next()).ok_or(format!("{name} needs a value"));
            match name.as_str() {
                "--exact" => found.exact = true,
                "--list" => found.list = true,
                "--skip" => found.skipped.push(value()?),
                "--test-threads" => {
                    found.threads = Some(value()?.parse().map_err(|_| "a number of threads")?)
                }
                // `Process::end` looks for this argument.
                "--nocapture" => {}
                other if other.starts_with('-') => return Err(format!("unknown option {other}")),
                filter => found.filters.push(filter.to_owned()),
            }
        }
        Ok(found)
    }

    fn matches(&self, name: &str, filter: &str) -> bool {
        if self.exact { name == filter } else { name.contains(filter) }
    }

    /// Returns whether a test is wanted. A slow test is wanted by its whole name, or where slow
    /// tests run.
    fn wants(&self, test: &Test) -> bool {
        let name = test.name();
        let named = self.exact && !self.filters.is_empty();
        (named || !test.slow || Tests::said() != Tests::Quick)
            && (self.filters.is_empty() || self.filters.iter().any(|filter| self.matches(name, filter)))
            && !self.skipped.iter().any(|skipped| self.matches(name, skipped))
    }
}

/// A test that has ended: the cause of its failure, if it failed, and its time.
struct Ended {
    name: &'static str,
    failure: Option<String>,
    took: Duration,
}

/// Runs the test, and writes a line about it. The output has no buffer, which the threads would
/// share: ThreadSanitizer doesn't see the lock of std's.
fn run_one(test: &Test, mut output: &File) -> Ended {
    let began = Instant::now();
    let result = limit::watched(test.name(), || catch_unwind(AssertUnwindSafe(|| (test.f)(*test))));
    let failure = result.err().map(|payload| message(&*payload));
    let ended = Ended { name: test.name(), failure, took: began.elapsed() };
    let line = format!("test {} ... {}\n", ended.name, if ended.failure.is_some() { "FAILED" } else { "ok" });
    output.write_all(line.as_bytes()).expect("stdout can be written");
    ended
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message").to_owned()
}

/// Runs the tests that the command line selects, or lists them.
pub fn main(tests: &[Test]) -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let wanted: Vec<&Test> = tests.iter().filter(|test| arguments.wants(test)).collect();
    if arguments.list {
        wanted.iter().for_each(|test| println!("{}: test", test.name()));
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} test{}", wanted.len(), if wanted.len() == 1 { "" } else { "s" });
    let began = Instant::now();
    let threads = arguments.threads.unwrap_or_else(threads);
    let output = io::stdout().as_fd().try_clone_to_owned().map(File::from).expect("a descriptor");
    let next = AtomicUsize::new(0);
    let take_tests = || {
        let tests = iter::from_fn(|| wanted.get(next.fetch_add(1, Ordering::Relaxed)));
        tests.map(|test| run_one(test, &output)).collect::<Vec<_>>()
    };
    let ended = thread::scope(|s| {
        let threads = threads.clamp(1, wanted.len().max(1));
        let handles: Vec<_> = (0..threads).map(|_| s.spawn(take_tests)).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("run_one doesn't panic")).collect()
    });
    report(ended, tests.len() - wanted.len(), began.elapsed())
}

/// Returns how many tests run at a time by default: two for each processor, as a test waits for
/// half of its time.
fn threads() -> usize {
    2 * thread::available_parallelism().map_or(1, usize::from)
}

fn report(mut ended: Vec<Ended>, filtered: usize, took: Duration) -> ExitCode {
    if ended.len() > SLOWEST {
        ended.sort_by_key(|test| Reverse(test.took));
        let slowest =
            ended[..SLOWEST].iter().map(|test| format!("{} {:.1} s", test.name, test.took.as_secs_f64()));
        println!("\nslowest: {}", slowest.collect::<Vec<_>>().join(", "));
    }
    let failed: Vec<_> = ended.iter().filter_map(|test| Some((test.name, test.failure.as_ref()?))).collect();
    if !failed.is_empty() {
        println!("\nfailures:\n");
        failed.iter().for_each(|(name, why)| println!("---- {name} ----\n{why}\n"));
        println!("failures:");
        failed.iter().for_each(|(name, _)| println!("    {name}"));
    }
    println!(
        "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; {filtered} filtered out; finished in {:.2}s\n",
        if failed.is_empty() { "ok" } else { "FAILED" },
        ended.len() - failed.len(),
        failed.len(),
        took.as_secs_f64()
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(101) }
}
