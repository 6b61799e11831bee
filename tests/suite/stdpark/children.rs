//! Children of the process.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::{io, ptr};

use crate::harness::tests;
use crate::stdpark::descriptors::*;
use crate::stdpark::hold_no_threads;
use crate::stdpark::sockets::canceled;

tests! {
    ends_of_children
    outputs_of_children
    by_identity
    who_is_no_child
    a_child_of_fork_waits_by_itself
    children_take_no_threads
    a_wait_for_a_child_ends_with_a_run
}

/// Returns a child that runs until its input is closed.
fn cat() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

fn ends_of_children() {
    live(|| {
        same_on_both(Some(0), |on| {
            let mut child = cat();
            let input = child.stdin.take().unwrap();
            let waits = on.start(move || child.wait().unwrap().code());
            drop(input);
            waits()
        });
        same_on_both(Some(libc::SIGKILL), |on| {
            let mut child = cat();
            let (_input, pid) = (child.stdin.take(), child.id() as i32);
            let waits = on.start(move || child.wait().unwrap().signal());
            // SAFETY: the child hasn't been waited for yet.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            waits()
        });
    });
}

fn outputs_of_children() {
    const SCRIPT: &str = "read line; echo out $line; echo err $line >&2; exit 3";
    live(|| {
        same_on_both((Some(3), "out put\n".to_owned(), "err put\n".to_owned()), |on| {
            let mut command = Command::new("sh");
            command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            let waits = on.start(move || child.wait_with_output().unwrap());
            input.write_all(b"put\n").unwrap();
            let output = waits();
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (output.status.code(), text(output.stdout), text(output.stderr))
        });
    });
}

fn by_identity() {
    live(|| {
        for keeps in [0, libc::WNOWAIT] {
            same_on_both((0, true, libc::CLD_EXITED, keeps != 0), |on| {
                let mut child = cat();
                let (input, pid) = (child.stdin.take(), child.id());
                let waits = on.start(move || {
                    // SAFETY: all zero is an info, which the kernel fills.
                    unsafe {
                        let mut info: libc::siginfo_t = std::mem::zeroed();
                        let ret = libc::waitid(libc::P_PID, pid, &mut info, libc::WEXITED | keeps);
                        (ret, info.si_pid() == pid as i32, info.si_code)
                    }
                });
                drop(input);
                let (ret, is_child, code) = waits();
                let is_there = child.wait().is_ok();
                (ret, is_child, code, is_there)
            });
        }
    });
}

fn who_is_no_child() {
    live(|| {
        // SAFETY: no result is requested.
        unsafe {
            assert_eq!(result(libc::waitpid(1, ptr::null_mut(), 0) as isize), Err(libc::ECHILD));
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let ret = libc::waitid(libc::P_PID, 1, &mut info, libc::WEXITED);
            assert_eq!(result(ret as isize), Err(libc::ECHILD));
        }
        let mut child = cat();
        assert_eq!(child.try_wait().unwrap(), None);
        assert_eq!(parks(), 0);
        drop(child.stdin.take());
        child.wait().unwrap();
    });
}

fn a_child_of_fork_waits_by_itself() {
    live(|| {
        // The child may end before it is waited for.
        for on in [On::Thread, On::Goroutine] {
            let parent = on.start(|| {
                let (mut rx, mut tx) = io::pipe().unwrap();
                // SAFETY: the child sleeps, reads and writes, and ends.
                let pid = unsafe { libc::fork() };
                if pid == 0 {
                    let (own, mut other) = io::pipe().unwrap();
                    other.write_all(b"x").unwrap();
                    // SAFETY: a child of fork may sleep and end.
                    unsafe {
                        libc::usleep(2000);
                        (&own).read_exact(&mut [0]).unwrap();
                        tx.write_all(b"x").unwrap();
                        libc::_exit(7);
                    }
                }
                let read = rx.read(&mut [0]).map_err(|error| error.kind());
                let mut status = 0;
                // SAFETY: the kernel writes to the status.
                let ended = unsafe { libc::waitpid(pid, &mut status, 0) };
                (read, ended == pid, libc::WEXITSTATUS(status))
            });
            assert_eq!(parent(), (Ok(1), true, 7), "{on:?}");
        }
    });
}

fn children_take_no_threads() {
    const N: usize = 100;
    live(|| {
        let (waits, inputs): (Vec<_>, Vec<_>) = (0..N)
            .map(|_| {
                let mut child = cat();
                let input = child.stdin.take();
                (On::Goroutine.start(move || child.wait().unwrap().success()), input)
            })
            .unzip();
        until_they_wait(N, "wait for child (std)");
        hold_no_threads(N);
        drop(inputs);
        waits.into_iter().for_each(|wait| assert!(wait()));
    });
}

fn a_wait_for_a_child_ends_with_a_run() {
    live(|| {
        let mut child = cat();
        let input = child.stdin.take();
        let (mut child, error) = canceled("wait for child (std)", move || {
            let error = child.wait().unwrap_err();
            (child, error)
        });
        assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
        drop(input);
        assert!(child.wait().unwrap().success());
    });
}
