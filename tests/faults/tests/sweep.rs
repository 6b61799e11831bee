//! A sweep over the calls that the system may refuse. Each of them fails the first time, the second
//! time and so on, once and from then on, while a program uses everything there is. Each run must
//! end by itself: well, or with a report that names the cause.

mod common;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

use common::{EVER, Ended, Fault, end, program};

/// The last call that is made to fail.
const LAST: u32 = 60;

/// A call, its error, and the reports that may follow: a program that fails must write one of
/// these.
struct Call {
    name: &'static str,
    errno: i32,
    reports: &'static [&'static str],
}

/// Reports of code that asks the kernel or the allocator for memory: an error, or a text that says
/// that there is none.
const NO_MEMORY: &str = "Cannot allocate memory (os error 12)";

const CALLS: [Call; 15] = [
    Call {
        name: "mmap",
        errno: libc::ENOMEM,
        reports: &[
            NO_MEMORY,
            "no memory for a channel of ",
            "fatal error: out of memory for a timer\n",
            // std's, when it begins a thread.
            "failed to allocate an alternative stack: Cannot allocate memory",
        ],
    },
    // std's, when it begins a thread. The runtime goes on without a guard, and says so.
    Call {
        name: "mprotect",
        errno: libc::ENOMEM,
        reports: &["failed to set up alternative stack guard page: Cannot allocate memory"],
    },
    Call { name: "madvise", errno: libc::ENOMEM, reports: &[NO_MEMORY] },
    Call { name: "process_madvise", errno: libc::EPERM, reports: &[] },
    Call { name: "munmap", errno: libc::ENOMEM, reports: &[] },
    Call {
        name: "clone",
        errno: libc::EAGAIN,
        reports: &[
            "gosched::run: can't start: Resource temporarily unavailable (os error 11)",
            "runtime: failed to create a new OS thread (have ",
            "program: threads: Resource temporarily unavailable (os error 11)",
        ],
    },
    // A thread that isn't woken waits forever, so the program ends when a wakeup fails. A failed
    // wait begins again.
    Call {
        name: "futex",
        errno: libc::ENOSYS,
        reports: &[" returned Function not implemented (os error 38)\nfatal error: futexwakeup failed\n"],
    },
    Call { name: "epoll_ctl", errno: libc::ENOSPC, reports: &["No space left on device (os error 28)"] },
    Call {
        name: "epoll_create1",
        errno: libc::EMFILE,
        reports: &["program: sockets: Too many open files (os error 24)"],
    },
    Call {
        name: "eventfd",
        errno: libc::EMFILE,
        reports: &["program: sockets: Too many open files (os error 24)"],
    },
    Call {
        name: "sigaltstack",
        errno: libc::ENOMEM,
        reports: &["is refused (Cannot allocate memory (os error 12)): the kernel asks for "],
    },
    Call {
        name: "sigaction",
        errno: libc::EINVAL,
        reports: &["program: signals: Invalid argument (os error 22)"],
    },
    // The program goes on, and reports what it does without.
    Call { name: "tgkill", errno: libc::EPERM, reports: &[] },
    Call {
        name: "malloc",
        errno: libc::ENOMEM,
        reports: &[
            // std's own end.
            "memory allocation of ",
            "out of memory",
            "gosched::run: can't start: Resource temporarily unavailable (os error 11)",
            "no memory for a channel of ",
        ],
    },
    Call {
        name: "pthread_getattr_np",
        errno: libc::ENOMEM,
        reports: &["this thread can't be made a goroutine: Cannot allocate memory (os error 12)"],
    },
];

/// Returns the fault of an end, if there is one.
fn complaint(call: &Call, ended: &Ended) -> Option<&'static str> {
    let Some(status) = ended.status else { return Some("it hangs") };
    let reported = call.reports.iter().any(|report| ended.stderr.contains(report));
    match status.code() {
        Some(0) => None,
        Some(_) if reported => None,
        // std ends a process without memory in this way.
        None if reported && ended.how() == "signal 6" => None,
        _ => Some("no report names the cause"),
    }
}

/// Returns how often the program calls each function when nothing fails: the most of several runs,
/// because chance decides which goroutine gets a signal.
fn calls() -> BTreeMap<String, u32> {
    let mut most = BTreeMap::new();
    for (name, count) in (0..5).flat_map(|_| calls_of_one_run()) {
        let most = most.entry(name).or_insert(0);
        *most = count.max(*most);
    }
    most
}

fn calls_of_one_run() -> Vec<(String, u32)> {
    let path = env::temp_dir().join(format!("gosched-faults-{}", std::process::id()));
    let status = program(None).env("COUNTS", &path).status().expect("a process");
    assert!(status.success(), "without a fault: {status}");
    let counts = fs::read_to_string(&path).expect("the counts are written");
    fs::remove_file(&path).expect("it is there");
    let count = |line: &str| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    counts.lines().filter_map(count).collect()
}

fn main() -> ExitCode {
    let counts = calls();
    let names: Vec<String> = env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    if let Some(name) = names.iter().find(|name| CALLS.iter().all(|call| call.name != *name)) {
        println!("FAILED: there is no call {name} to sweep");
        return ExitCode::FAILURE;
    }
    let named = |call: &&Call| names.is_empty() || names.iter().any(|name| name == call.name);
    let swept: Vec<&Call> = CALLS.iter().filter(named).collect();
    let mut failed = false;
    for call in &swept {
        let count = counts.get(call.name).copied().unwrap_or(0);
        println!("{}: called {count} times", call.name);
        if count == 0 {
            println!("FAILED: the program never calls it");
            failed = true;
        }
    }

    let fault = |call: &Call, first, count| Fault { call: call.name, first, count, errno: call.errno };
    let runs: Vec<(&Call, Fault)> = (swept.iter())
        .flat_map(|call| {
            [1, EVER]
                .into_iter()
                .flat_map(move |count| (1..=LAST).map(move |n| (*call, fault(call, n, count))))
        })
        .collect();
    let (next, well, complaints) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|s| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from).min(4) {
            s.spawn(|| {
                while let Some((call, fault)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ended = end(program(None), *fault);
                    well.fetch_add(usize::from(ended.success()), Ordering::Relaxed);
                    if let Some(complaint) = complaint(call, &ended) {
                        let which = if fault.count == 1 { "" } else { " and all after it" };
                        let Fault { call, first, .. } = fault;
                        let how = ended.how();
                        let text = format!(
                            "{call} number {first}{which} fails: {complaint}: {how}\n{}",
                            ended.stderr
                        );
                        complaints.lock().expect("no panic").push(text);
                    }
                }
            });
        }
    });
    let complaints = complaints.into_inner().expect("no panic");
    complaints.iter().for_each(|complaint| println!("FAILED: {complaint}"));
    let (runs, well, wrong) = (runs.len(), well.into_inner(), complaints.len());
    println!("{runs} runs: {well} ended well, {} with a report, {wrong} as none should", runs - well - wrong);
    if failed || !complaints.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
