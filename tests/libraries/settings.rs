//! The settings that each test runs under.

use std::env;
use std::fmt::Display;
use std::fs;
use std::path::PathBuf;
use std::process::{self, Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// An environment variable, set in a process that runs one test under one setting. Its value names
/// the sender of the signals.
const SENDER: &str = "GOSCHED_LIBRARIES_SENDER";

/// The sender is the runtime: every 20 µs it sends a signal to each thread that has a P, and takes
/// the P.
const RUNTIME: (&str, &str) = ("runtime", "detach=2");

/// The sender is a thread, which sends to all threads of the process: also to those without a P,
/// and to those that aren't the runtime's. No setting of the runtime sends more signals.
const THREAD: (&str, &str) = ("thread", "detach=3");

/// How long that thread sleeps between two rounds.
const EACH: Duration = Duration::from_micros(20);

/// The longest time for a process. Only one that hangs takes longer.
const TIME_LIMIT: Duration = Duration::from_secs(100);

/// Runs a test in a process for each setting. The process finds the test by `path`, and calls this
/// function again, which then calls `test`.
pub fn each(path: &str, test: fn()) {
    match env::var(SENDER) {
        Ok(sender) => {
            if sender == THREAD.0 {
                thread::spawn(send_to_all);
            }
            gosched::run(test)
        }
        Err(_) => {
            for (sender, godebug) in [RUNTIME, THREAD] {
                for procs in ["1", "2"] {
                    in_process(path, &[(SENDER, sender), ("GODEBUG", godebug), ("GOMAXPROCS", procs)]);
                }
            }
        }
    }
}

/// Runs the test in a process with these settings.
fn in_process(path: &str, settings: &[(&str, &str)]) {
    // The test's name, without the crate's.
    let (_, name) = path.split_once("::").expect("a path in a crate");
    let since = Instant::now();
    let mut child = Command::new(env::current_exe().expect("this binary has a path"))
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        // The frames of a C library may be large.
        .env("GOSCHED_STACK_SIZE", (1 << 20).to_string())
        .envs(settings.iter().copied())
        .spawn()
        .expect("a process can be made");
    match end(&mut child) {
        Some(status) => assert!(status.success(), "{name}, {settings:?}: {status}"),
        None => panic!("{name}, {settings:?}: the process hangs, and was killed"),
    }
    eprintln!("{name}, {settings:?}: {:?}", since.elapsed());
}

/// Waits for a process and returns its status. Kills it after the time limit, and returns None.
fn end(child: &mut Child) -> Option<ExitStatus> {
    let since = Instant::now();
    while since.elapsed() < TIME_LIMIT {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().and_then(|()| child.wait()).expect("a child can be killed");
    None
}

/// Sends SIGURG to all threads but this one, again and again. Never returns.
fn send_to_all() {
    // SAFETY: no memory is passed.
    let (process, this) = unsafe { (libc::getpid(), libc::gettid()) };
    loop {
        for entry in fs::read_dir("/proc/self/task").expect("Linux has it").flatten() {
            let thread: libc::pid_t = entry.file_name().to_string_lossy().parse().expect("a number");
            if thread != this {
                // SAFETY: no memory is passed. A thread that has ended gets no signal.
                unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGURG) };
            }
        }
        thread::sleep(EACH);
    }
}

/// A folder that is removed with all its files when the value is dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = env::temp_dir().join(format!("gosched-{name}-{}", process::id()));
        fs::create_dir(&path).expect("a folder can be made");
        Folder(path)
    }

    pub fn path(&self, name: impl Display) -> PathBuf {
        self.0.join(name.to_string())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("the folder can be removed");
    }
}

/// Returns `length` bytes without a pattern, which differ for each `n`.
pub fn bytes(n: usize, length: usize) -> Vec<u8> {
    let mut x = n as u64 + 1;
    (0..length)
        .map(|_| {
            x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (x >> 56) as u8
        })
        .collect()
}
