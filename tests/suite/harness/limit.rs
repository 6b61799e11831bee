//! The limit for tests that hang. It isn't one of wall time: the time that a test's threads wait
//! for the machine doesn't count. So a slow or busy machine has as long as it needs.
//!
//! Each running test has a thread that looks at the test's processes once a second. For each of
//! their threads, `/proc` tells how long it has waited for a processor (`schedstat`), and whether
//! it sleeps in the kernel where no signal reaches it (state `D`). Of each second, the longest wait
//! of a thread doesn't count. If a thread sleeps in state `D`, the whole second doesn't count: the
//! thread waits for a disk, or for the kernel itself, as `membarrier` does for all processors.

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::emulator::emulator;
use super::rng::number;

/// The interval between looks at the processes.
const TICK: Duration = Duration::from_secs(1);

/// The most time that a test may take by the clock, in units of the limit, whatever its threads
/// wait for.
const AT_MOST: u32 = 8;

/// How long a process has to report its goroutines' positions before it is killed.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Returns how long a test may take, without the time that its threads wait for a processor. A soak
/// takes as long as its setting says.
fn limit() -> Duration {
    let soak = number("STRESS_SECONDS").unwrap_or(0);
    Duration::from_secs(if emulator().is_some() { 900 } else { 300 } + 8 * soak)
}

/// A test that runs.
struct Running {
    name: &'static str,
    /// The thread of the harness that runs the test. Its children are the test's processes.
    thread: libc::pid_t,
    began: Instant,
    /// When the harness last looked at the processes.
    looked: Instant,
    /// How long the test's threads have waited for the machine.
    waited: Duration,
    /// How long each thread had waited for a processor by then, in nanoseconds.
    delays: HashMap<libc::pid_t, u64>,
    /// When the processes were asked for their last words.
    asked: Option<Instant>,
}

/// Runs `body` on this thread, as a test that another thread watches.
pub fn watched<T>(name: &'static str, body: impl FnOnce() -> T) -> T {
    // SAFETY: no memory is passed.
    let thread = unsafe { libc::gettid() };
    let began = Instant::now();
    let mut running = Running {
        name,
        thread,
        began,
        looked: began,
        waited: Duration::ZERO,
        delays: HashMap::new(),
        asked: None,
    };
    let ended = AtomicBool::new(false);
    thread::scope(|s| {
        let watcher = s.spawn(|| {
            loop {
                thread::park_timeout(TICK);
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                running.look();
            }
        });
        let result = body();
        // Relaxed: the unpark comes after the store, and is what the watcher waits for.
        ended.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        watcher.join().expect("the watcher doesn't panic");
        result
    })
}

impl Running {
    fn look(&mut self) {
        let processes = descendants(self.thread);
        let since = self.looked.elapsed();
        self.looked += since;
        let waited = self.longest_wait(&processes, since);
        self.waited += waited;
        let took = self.began.elapsed();
        let hangs = took.saturating_sub(self.waited) > limit() || took > AT_MOST * limit();
        let signal = match self.asked {
            None if hangs => libc::SIGQUIT,
            Some(asked) if asked.elapsed() > LAST_WORDS => libc::SIGKILL,
            _ => return,
        };
        eprintln!("{} hangs: it has taken {took:?}, of which {:?} for the machine", self.name, self.waited);
        self.asked = Some(Instant::now());
        for process in processes {
            for thread in threads(process) {
                eprintln!("{}", place(process, thread));
            }
            // SAFETY: no memory is passed. The process is a child that hasn't been waited for, or a
            // child of such a child.
            unsafe { libc::kill(process, signal) };
        }
    }

    /// Returns the longest wait for a processor that a thread of these processes has ended since
    /// the last look; or all the time since then, if a thread waits for the kernel.
    fn longest_wait(&mut self, processes: &[libc::pid_t], since: Duration) -> Duration {
        let mut longest = Duration::ZERO;
        for thread in processes.iter().flat_map(|process| threads(*process)) {
            if state(thread) == Some('D') {
                longest = since;
            }
            let Ok(stat) = fs::read_to_string(format!("/proc/{thread}/schedstat")) else { continue };
            let Some(delay) = stat.split(' ').nth(1).and_then(|delay| delay.parse().ok()) else { continue };
            let before = self.delays.insert(thread, delay).unwrap_or(0);
            longest = longest.max(Duration::from_nanos(delay.saturating_sub(before)));
        }
        longest
    }
}

/// Returns a thread's state: one of the letters of `ps`.
fn state(thread: libc::pid_t) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).ok()?;
    // The name before the state may contain parentheses.
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Returns what the kernel tells of a thread's position: its name and state, where it sleeps, and
/// in which call.
fn place(process: libc::pid_t, thread: libc::pid_t) -> String {
    let says = |file| fs::read_to_string(format!("/proc/{process}/task/{thread}/{file}")).unwrap_or_default();
    let (name, sleeps, call) = (says("comm"), says("wchan"), says("syscall"));
    let state = state(thread).unwrap_or('?');
    format!("    {process}/{thread} {}: {state} {sleeps}, {}", name.trim_end(), call.trim_end())
}

/// Returns the processes that a thread of this process has started, and their descendants.
fn descendants(thread: libc::pid_t) -> Vec<libc::pid_t> {
    let mut found = children("self", thread);
    let mut at = 0;
    while let Some(&process) = found.get(at) {
        at += 1;
        found.extend(threads(process).into_iter().flat_map(|thread| children(&process.to_string(), thread)));
    }
    found
}

fn children(process: &str, thread: libc::pid_t) -> Vec<libc::pid_t> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{thread}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

fn threads(process: libc::pid_t) -> Vec<libc::pid_t> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
