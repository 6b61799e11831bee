//! The end of a child, and goroutines that wait for it.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::ptr;
use std::thread;

use gosched::context::{Context, ContextError};
use gosched::process::Command;
use gosched::time::sleep;
use gosched::{blocking, go, run, scope, yield_now};

use crate::harness::goroutines::go_until_it_waits;
use crate::harness::polled::limit_descriptors;
use crate::harness::sandbox::{NO_FILTER, refuse};
use crate::harness::{Test, tests};
use crate::process::*;

tests! {
    waits_take_no_threads
    a_status_is_had_again
    a_killed_child_says_so
    a_number_that_may_be_anothers
    a_dropped_child_goes_on
    a_program_that_ignores_sigchld
    without_a_pidfd
    with_no_descriptor_left
    where_there_is_no_goroutine
    a_child_of_fork_runs_no_other_goroutine
}

fn waits_take_no_threads() {
    const CHILDREN: usize = 200;
    let threads = || fs::read_dir("/proc/self/task").unwrap().count();
    run(|| {
        let (waits, inputs): (Vec<_>, Vec<_>) = (0..CHILDREN)
            .map(|_| {
                let mut child = sh("read code; exit $code").stdin(Stdio::piped()).spawn().unwrap();
                let input = child.stdin.take().unwrap();
                (go_until_it_waits(move || child.wait().unwrap()), input)
            })
            .unzip();
        let threads = threads();
        assert!(threads < CHILDREN / 2, "{threads} threads");
        assert!(waits.iter().all(|wait| !wait.is_finished()));
        for (code, mut input) in inputs.into_iter().enumerate().rev() {
            writeln!(input, "{code}").unwrap();
        }
        for (code, wait) in waits.into_iter().enumerate() {
            assert_eq!(wait.join().unwrap().code(), Some(code as i32));
        }
        no_child_is_left();
    });
}

fn a_status_is_had_again() {
    run(|| {
        let mut child = sh("exit 7").spawn().unwrap();
        for _ in 0..3 {
            assert_eq!(child.wait().unwrap().code(), Some(7));
            assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(7));
        }
        child.kill().unwrap();
        let (mut child, input) = cat();
        assert_eq!(child.try_wait().unwrap(), None);
        drop(input);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            sleep(SHORT);
        };
        assert!(status.success());
        assert_eq!(child.wait().unwrap(), status);
        assert_eq!(sh("exit 3").status().unwrap().code(), Some(3));
    });
}

fn a_killed_child_says_so() {
    run(|| {
        let (mut child, _input) = cat();
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.signal(), status.code()), (Some(libc::SIGKILL), None));
        child.kill().unwrap();
        // Another call kills the child, while a goroutine waits.
        let (mut child, _input) = cat();
        let id = child.id();
        let wait = go_until_it_waits(move || child.wait().unwrap());
        // SAFETY: no memory is passed.
        assert_eq!(unsafe { libc::kill(id as libc::pid_t, libc::SIGTERM) }, 0);
        assert_eq!(wait.join().unwrap().signal(), Some(libc::SIGTERM));
    });
}

/// Another part of the program has waited for the child. A process that now has the child's number
/// isn't killed.
fn a_number_that_may_be_anothers() {
    run(|| {
        let (mut child, input) = cat();
        drop(input);
        let id = child.id() as libc::pid_t;
        // SAFETY: the kernel writes no status.
        assert_eq!(blocking(|| unsafe { libc::waitpid(id, ptr::null_mut(), 0) }), id);
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap_err().raw_os_error(), Some(libc::ECHILD));
        child.kill().unwrap();
    });
}

/// The dropped child becomes a zombie, until something waits for it.
fn a_dropped_child_goes_on() {
    run(|| {
        let mut child = sh("read code; exit $code").stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let id = child.id() as libc::pid_t;
        drop(child);
        assert_eq!(any_child().unwrap(), 0);
        input.write_all(b"9\n").unwrap();
        let mut status = 0;
        // SAFETY: the kernel writes the status.
        assert_eq!(blocking(|| unsafe { libc::waitpid(id, &mut status, 0) }), id);
        assert_eq!(libc::WEXITSTATUS(status), 9);
    });
}

fn a_program_that_ignores_sigchld() {
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    run(|| {
        for _ in 0..3 {
            let (mut child, input) = cat();
            let wait = go_until_it_waits(move || [child.wait(), child.wait()].map(Result::unwrap_err));
            drop(input);
            let errors = wait.join().unwrap().map(|error| error.raw_os_error());
            assert_eq!(errors, [Some(libc::ECHILD); 2]);
            // The child has ended long ago.
            let mut child = Command::new("true").spawn().unwrap();
            sleep(SHORT);
            assert_eq!(child.wait().unwrap_err().raw_os_error(), Some(libc::ECHILD));
        }
    });
}

/// Waits that need a thread, or that poll.
fn waits_all_the_same() {
    assert_eq!(sh("exit 7").status().unwrap().code(), Some(7));
    let (mut child, mut input) = cat();
    let (ctx, _cancel) = Context::background().with_timeout(SHORT);
    ended(ctx.with_mut(&mut child).wait(), ContextError::DeadlineExceeded);
    assert_eq!(child.try_wait().unwrap(), None);
    let (ctx, _cancel) = Context::background().with_cancel();
    go(move || input.write_all(b"hello"));
    assert!(ctx.with_mut(&mut child).wait().unwrap().success());
    assert!(child.wait().unwrap().success());
    let (mut child, input) = cat();
    scope(|s| {
        let wait = s.go(|| child.wait().unwrap());
        sleep(SHORT);
        drop(input);
        assert!(wait.join().unwrap().success());
    });
}

fn without_a_pidfd(test: Test) {
    if test.skipped_in_emulator(NO_FILTER) {
        return;
    }
    for errno in [libc::ENOSYS, libc::EPERM] {
        let process = test.process(|| {
            let errno = std::env::var("ERRNO").unwrap().parse().unwrap();
            refuse(libc::SYS_pidfd_open, None, errno);
            run(waits_all_the_same);
        });
        process.env("ERRNO", &errno.to_string()).end().with("exit status: 0");
    }
}

/// The child exists by the time that the lack of descriptors is found.
fn with_no_descriptor_left() {
    run(|| {
        assert!(Command::new("true").status().unwrap().success());
        limit_descriptors(32);
        let mut all = Vec::new();
        while let Ok(file) = fs::File::open("/dev/null") {
            all.push(file);
        }
        let mut child = sh("exit 7").spawn().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7));
        let mut child = sh("exit 8").spawn().unwrap();
        let (ctx, _cancel) = Context::background().with_cancel();
        assert_eq!(ctx.with_mut(&mut child).wait().unwrap().code(), Some(8));
        // Pipes need descriptors all the same.
        assert_eq!(Command::new("true").output().unwrap_err().raw_os_error(), Some(libc::EMFILE));
        no_child_is_left();
    });
}

fn where_there_is_no_goroutine() {
    let early = Command::new("true").spawn();
    run(|| {
        let thread = thread::spawn(|| {
            let output = sh("echo out; echo err >&2; exit 3").output().unwrap();
            assert_eq!((output.stdout, output.stderr), (b"out\n".to_vec(), b"err\n".to_vec()));
            assert_eq!(sh("exit 4").status().unwrap().code(), Some(4));
        });
        blocking(|| thread.join()).unwrap();
        let mut child = blocking(|| {
            let mut child = Command::new("true").spawn().unwrap();
            assert!(child.id() > 0 && child.try_wait().is_ok());
            child
        });
        assert!(child.wait().unwrap().success());
        assert!(early.unwrap().wait().unwrap().success());
    });
    assert!(sh("sleep 0.01").status().unwrap().success());
}

/// A child of `fork` ends when its goroutine yields, sleeps or waits.
fn a_child_of_fork_runs_no_other_goroutine(test: Test) {
    const WAYS: [fn(); 3] = [yield_now, || sleep(SHORT), || _ = gosched::chan::never::<()>().recv()];

    let process = test.process(|| {
        for way in WAYS {
            run(move || {
                let in_parent = std::process::id();
                let other = go(move || assert_eq!(std::process::id(), in_parent));
                // SAFETY: the child reports that it can't go on, and ends.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    way();
                    // SAFETY: the child ends.
                    unsafe { libc::_exit(0) };
                }
                let mut status = 0;
                // SAFETY: a child, and a place for its status.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(libc::WEXITSTATUS(status), 2);
                other.join().unwrap();
            });
        }
    });
    let ended = process.env("GOMAXPROCS", "1").env("GODEBUG", "detach=0").end();
    ended.with("exit status: 0");
    assert_eq!(ended.stderr.matches("in a child of fork").count(), WAYS.len(), "{}", ended.stderr);
}
