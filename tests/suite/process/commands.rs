//! Commands, and the streams of their children, compared with std's commands.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Stdio};

use gosched::context::Context;
use gosched::process::{Child, Command};
use gosched::{goroutine_local, run};

use crate::harness::goroutines::go_until_it_waits;
use crate::harness::polled::kind;
use crate::harness::{Test, tests};
use crate::process::*;

tests! {
    both_outputs_at_once
    nobody_reads_its_input
    its_input_ends_with_the_wait
    outputs_become_inputs
    streams_are_as_std_has_them
    errors_are_as_std_has_them
    a_command_is_what_was_said
    what_is_inherited_isnt_its_readers
}

fn both_outputs_at_once() {
    const MIB: usize = 1 << 20;
    let head = format!("head -c {MIB} /dev/zero");
    run(|| {
        for script in [format!("{head}; {head} >&2"), format!("{head} >&2; {head}")] {
            let output = sh(&script).output().unwrap();
            assert!(output.status.success());
            assert_eq!((output.stdout.len(), output.stderr.len()), (MIB, MIB));
        }
        let piped = |stdout: fn() -> Stdio, stderr: fn() -> Stdio| {
            let mut command = sh("echo out; echo err >&2");
            let child = command.stdout(stdout()).stderr(stderr()).stdin(Stdio::piped()).spawn().unwrap();
            let output = child.wait_with_output().unwrap();
            (output.stdout, output.stderr)
        };
        assert_eq!(piped(Stdio::piped, Stdio::null), (b"out\n".to_vec(), vec![]));
        assert_eq!(piped(Stdio::null, Stdio::piped), (vec![], b"err\n".to_vec()));
        assert_eq!(piped(Stdio::null, Stdio::null), (vec![], vec![]));
    });
}

fn nobody_reads_its_input() {
    run(|| {
        // The child continues until its output is closed, too.
        let mut command = sh("exec <&-; echo closed; head -c 1000000 /dev/zero");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        BufReader::new(&mut output).read_line(&mut String::new()).unwrap();
        assert_eq!(kind(input.write(b"for nobody")), ErrorKind::BrokenPipe);
        assert_eq!(child.try_wait().unwrap(), None);
        drop(output);
        child.wait().unwrap();
        // The child ends while a writer waits for room.
        let (mut child, mut input) = cat();
        let writer = go_until_it_waits(move || input.write_all(&[b'x'; 1 << 20]));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(kind(writer.join().unwrap()), ErrorKind::BrokenPipe);
    });
}

fn its_input_ends_with_the_wait() {
    run(|| {
        let (ctx, _cancel) = Context::background().with_cancel();
        let waits: [&dyn Fn(Child) -> bool; 3] = [
            &|mut child| child.wait().unwrap().success(),
            &|mut child| ctx.with_mut(&mut child).wait().unwrap().success(),
            &|child| child.wait_with_output().unwrap().status.success(),
        ];
        for wait in waits {
            let (mut child, input) = cat();
            child.stdin = Some(input);
            assert!(wait(child));
        }
    });
}

fn outputs_become_inputs() {
    run(|| {
        let (mut first, mut input) = cat();
        let mut second = Command::new("cat");
        second.stdin(first.stdout.take().unwrap()).stdout(Stdio::piped());
        let mut second = second.spawn().unwrap();
        // The stream is in blocking mode, as the child expects.
        let mode = fs::read_to_string(format!("/proc/{}/fdinfo/0", second.id())).unwrap();
        let flags = mode.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
        assert_eq!(i32::from_str_radix(flags, 8).unwrap() & libc::O_NONBLOCK, 0);
        let mut output = second.stdout.take().unwrap();
        for word in ["here", "and", "there"] {
            writeln!(input, "{word}").unwrap();
            let mut line = String::new();
            BufReader::new(&mut output).read_line(&mut line).unwrap();
            assert_eq!(line.trim_end(), word);
        }
        drop(input);
        assert!(first.wait().unwrap().success() && second.wait().unwrap().success());
    });
}

/// Returns what each stream of a child is connected to, without the numbers of pipes.
fn shown(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap();
    fs::remove_file(path).unwrap();
    text.lines()
        .map(|line| line.trim_end_matches(|c: char| c.is_ascii_digit() || "[]".contains(c)).to_owned() + " ")
        .collect()
}

/// Returns the streams of a command with each of its functions, one after the other.
macro_rules! streams {
    ($command:ty, $path:expr) => {{
        let script = format!("for i in 0 1 2; do readlink /proc/$$/fd/$i; done > {}", $path);
        let sets: [fn(&mut $command); 4] = [
            |_| (),
            |command| _ = command.stdin(Stdio::piped()).stdout(Stdio::null()),
            |command| _ = command.stderr(Stdio::null()),
            |command| _ = command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit()),
        ];
        let mut found = Vec::new();
        for set in sets {
            let mut command = <$command>::new("sh");
            command.args(["-c", &script]);
            set(&mut command);
            for _ in 0..2 {
                assert!(command.status().unwrap().success());
                found.push(shown($path));
                assert!(command.output().unwrap().status.success());
                found.push(shown($path));
                assert!(command.spawn().unwrap().wait_with_output().unwrap().status.success());
                found.push(shown($path));
            }
        }
        found
    }};
}

fn streams_are_as_std_has_them(test: Test) {
    let process = test.process(|| {
        let path = std::env::temp_dir().join(format!("gosched-streams-{}", process::id()));
        let path = path.to_str().unwrap();
        let modes =
            || ["0", "1", "2"].map(|fd| fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap());
        let before = modes();
        let expected = streams!(process::Command, path);
        assert_eq!(run(|| streams!(Command, path)), expected);
        // Other processes use the streams, too.
        assert_eq!(modes(), before);
    });
    // The process's input is a pipe: otherwise the output would look as if nothing was inherited.
    let ended = process.start().wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// The errors of commands that can't be started, or that fail.
macro_rules! failures {
    ($command:ty) => {{
        let missing: &str = "/there/is/no/such/program";
        let commands: [fn(&str) -> $command; 6] = [
            |missing| <$command>::new(missing),
            |_| <$command>::new("there-is-no-such-program"),
            |_| <$command>::new("/"),
            |_| <$command>::new("with\0zero"),
            |missing| {
                let mut command = <$command>::new("true");
                command.current_dir(missing);
                command
            },
            |_| <$command>::new("false"),
        ];
        let mut found = Vec::new();
        for command in commands {
            found.push(format!("{:?}", command(missing)));
            found.push(format!("{:?}", command(missing).output()));
            found.push(format!("{:?}", command(missing).status()));
            found.push(format!("{:?}", command(missing).spawn().map(|mut child| child.wait())));
        }
        found
    }};
}

fn errors_are_as_std_has_them() {
    let expected = failures!(process::Command);
    run(|| {
        assert_eq!(failures!(Command), expected);
        no_child_is_left();
    });
}

fn a_command_is_what_was_said() {
    let text = |command: &mut Command| String::from_utf8(command.output().unwrap().stdout).unwrap();
    run(|| {
        let mut command = sh("echo $0 $1 $2 $3; echo $A $B $C; pwd");
        command.arg("zero").args(["one", "two"]).arg(OsStr::new("three"));
        command.env("A", "a").envs([("B", "b"), ("C", "c")]).env_remove("A").current_dir("/");
        assert_eq!(text(&mut command), "zero one two three\nb c\n/\n");
        assert!(command.get_args().skip(2).eq(["zero", "one", "two", "three"]));
        let vars: Vec<_> = command.get_envs().collect();
        let set = [("A", None), ("B", Some("b")), ("C", Some("c"))];
        assert_eq!(vars, set.map(|(name, value)| (OsStr::new(name), value.map(OsStr::new))));
        assert_eq!(command.get_current_dir(), Some(Path::new("/")));
        let mut command = Command::new("/usr/bin/env");
        assert_eq!((command.get_program(), command.get_current_dir()), (OsStr::new("/usr/bin/env"), None));
        assert_eq!(text(command.env_clear().env("ONLY", "this")), "ONLY=this\n");
        let mut inner = process::Command::new("sh");
        inner.arg0("another").args(["-c", "echo $0"]);
        assert_eq!(text(&mut inner.into()), "another\n");
        let mut command = sh("echo $0");
        command.as_std_mut().arg0("a third");
        assert_eq!(text(&mut command), "a third\n");
        assert!(command.as_std().get_args().eq(["-c", "echo $0"]));
        command.arg("a fourth");
        assert_eq!(text(&mut command.into_std().into()), "a fourth\n");
        // A function that runs in the child makes the command fork.
        let refused = |errno| {
            let mut inner = process::Command::new("true");
            let refuses = move || if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) };
            // SAFETY: the function does nothing that is forbidden in a child of a process with
            // threads.
            unsafe { inner.pre_exec(refuses) };
            Command::from(inner).status()
        };
        assert!(refused(0).unwrap().success());
        assert_eq!(refused(libc::EXDEV).unwrap_err().raw_os_error(), Some(libc::EXDEV));
    });
}

/// The goroutine that reads one of the outputs belongs to the crate, so it gets no clone of the
/// program's goroutine-locals.
fn what_is_inherited_isnt_its_readers() {
    goroutine_local! {
        inherit static NAMES: RefCell<Vec<String>> = RefCell::new(Vec::new());
    }
    run(|| {
        // A clone would panic.
        NAMES.with_borrow_mut(|names| {
            let output = sh("echo out; echo err >&2").output().unwrap();
            assert_eq!((output.stdout, output.stderr), (b"out\n".to_vec(), b"err\n".to_vec()));
            names.push("reader".to_owned());
        });
        no_child_is_left();
    });
}
