//! Waits that end with a context.

use std::io::{Read, Write, pipe};
use std::os::unix::process::ExitStatusExt;

use gosched::context::{Context, ContextError};
use gosched::process::Command;
use gosched::run;

use crate::harness::goroutines::go_until_it_waits;
use crate::harness::tests;
use crate::process::*;

tests! {
    a_context_ends_the_wait_and_not_the_child
    a_context_kills_what_a_command_has_started
    a_context_waits_for_no_grandchild
}

fn a_context_ends_the_wait_and_not_the_child() {
    run(|| {
        let (mut child, mut input) = cat();
        let (ctx, cancel) = Context::background().with_cancel();
        let wait = go_until_it_waits({
            let ctx = ctx.clone();
            move || {
                ended(ctx.with_mut(&mut child).wait(), ContextError::Canceled);
                child
            }
        });
        cancel.cancel();
        let mut child = wait.join().unwrap();
        ended(ctx.with_mut(&mut child).wait(), ContextError::Canceled);
        let (ctx, _cancel) = Context::background().with_timeout(SHORT);
        ended(ctx.with_mut(&mut child).wait(), ContextError::DeadlineExceeded);
        // The child goes on.
        assert_eq!(child.try_wait().unwrap(), None);
        input.write_all(b"hello").unwrap();
        let mut buf = [0; 5];
        child.stdout.as_mut().unwrap().read_exact(&mut buf).unwrap();
        assert_eq!(&buf, b"hello");
        // The same holds for the next wait.
        let wait = go_until_it_waits(move || {
            let (ctx, _cancel) = Context::background().with_cancel();
            ctx.with_mut(&mut child).wait().unwrap()
        });
        drop(input);
        assert!(wait.join().unwrap().success());
        let (mut child, _input) = cat();
        child.kill().unwrap();
        let status = Context::background().with_mut(&mut child).wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL));
        no_child_is_left();
    });
}

fn a_context_kills_what_a_command_has_started() {
    run(|| {
        let (reader, writer) = pipe().unwrap();
        let mut command = Command::new("cat");
        command.stdin(reader);
        let (ctx, cancel) = Context::background().with_cancel();
        // The context may be canceled before, between and in the waits.
        for time in 0..5 {
            let (ctx, _cancel) = ctx.with_timeout(time * SHORT);
            ended(ctx.with_mut(&mut command).output(), ContextError::DeadlineExceeded);
            ended(ctx.with_mut(&mut command).status(), ContextError::DeadlineExceeded);
            no_child_is_left();
        }
        cancel.cancel();
        ended(ctx.with_mut(&mut command).output(), ContextError::Canceled);
        ended(ctx.with_mut(&mut command).status(), ContextError::Canceled);
        let (ctx, _cancel) = Context::background().with_cancel();
        let output = ctx.with_mut(&mut sh("echo out; echo err >&2; exit 5")).output().unwrap();
        assert_eq!((&*output.stdout, &*output.stderr), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(output.status.code(), Some(5));
        assert_eq!(ctx.with_mut(&mut sh("exit 6")).status().unwrap().code(), Some(6));
        drop(writer);
        assert!(ctx.with_mut(&mut command).status().unwrap().success());
        no_child_is_left();
    });
}

/// The grandchild has the same outputs, and goes on when the child is killed.
fn a_context_waits_for_no_grandchild() {
    run(|| {
        let (reader, _writer) = pipe().unwrap();
        let (ctx, _cancel) = Context::background().with_timeout(20 * SHORT);
        let mut command = sh("exec 3<&0; cat <&3 & wait");
        ended(ctx.with_mut(command.stdin(reader)).output(), ContextError::DeadlineExceeded);
        no_child_is_left();
    });
}
