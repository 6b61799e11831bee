//! Programs of C and C++ that know nothing of goroutines. Each prints the same, and ends with the
//! same status, with threads of the system and by `gosched-run`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

mod common;

use common::{compile, ends, gosched_run};

/// Fails unless the program does the same in both ways, and ends with this status.
fn is_the_same(name: &str, status: i32) {
    let program = compile(name);
    let threads = output_of(&mut Command::new(&program));
    assert_eq!(threads.status.code(), Some(status), "{threads:?}");
    for procs in ["1", "4"] {
        let goroutines = output_of(gosched_run().arg(&program).env("GOMAXPROCS", procs));
        assert_eq!(text_of(&goroutines), text_of(&threads), "with {procs} P's");
        assert_eq!(goroutines.status, threads.status, "with {procs} P's");
    }
}

fn output_of(command: &mut Command) -> Output {
    ends(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))
}

fn text_of(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

macro_rules! same {
    ($($name:ident $status:literal)*) => {$(
        #[test]
        fn $name() {
            is_the_same(stringify!($name), $status);
        }
    )*};
}

same! {
    child_returns 0
    constructors 0
    cpp 0
    daemon 0
    dlopen 0
    exec 9
    joined_while_it_waits 0
    leaves_handlers 0
    main_exits_thread 0
    main_returns 42
    many 0
    old_conditions 0
    own_malloc 0
    policy 0
    quick_exit 44
    robust 0
    signals 0
    signals_at_locks 0
    thread_exits_process 43
}

/// Returns how many threads of the system a program had at most, from its report.
fn threads_in_report(program: &Path, variables: &[(&str, &str)]) -> Option<u32> {
    let mut command = gosched_run();
    command.arg(program).env("GOSCHED_PRELOAD_REPORT", "1").envs(variables.iter().copied());
    let (_, report) = text_of(&output_of(&mut command));
    let words: Vec<&str> = report.split([',', ' ', '\n']).collect();
    let at = words.windows(2).position(|two| two == ["threads", "of"])?;
    words[at - 1].parse().ok()
}

#[test]
fn a_thousand_threads_are_a_few() {
    let threads = threads_in_report(&compile("many"), &[]).expect("a report");
    assert!(threads < 100, "{threads} threads of the system");
}

#[test]
fn a_program_that_is_left_alone_has_threads() {
    let program = compile("many");
    for variable in [("GOSCHED_PRELOAD_LEAVE", "other,many"), ("GOSCHED_PRELOAD", "0")] {
        assert_eq!(threads_in_report(&program, &[variable]), None);
    }
}

#[test]
fn children_inherit_the_library_unless_told_otherwise() {
    let list_of_child = |value: &str| {
        let mut command = gosched_run();
        command.args(["sh", "-c", "env"]).env("GOSCHED_PRELOAD_CHILDREN", value);
        let (output, _) = text_of(&output_of(&mut command));
        output.lines().any(|line| line.starts_with("LD_PRELOAD="))
    };
    assert!(list_of_child("1"));
    assert!(!list_of_child("0"));
}

#[test]
fn the_default_size_of_stacks_can_be_set() {
    let program = compile("stack_size");
    let size_with = |value: &str| {
        let mut command = gosched_run();
        command.arg(&program).env("GOSCHED_PRELOAD_STACK_SIZE", value);
        text_of(&output_of(&mut command)).0.trim().parse::<usize>().unwrap()
    };
    assert!((262_144..266_240).contains(&size_with("262144")));
    assert!((1_048_576..1_052_672).contains(&size_with("1048576")));
}

#[test]
fn a_program_whose_threads_all_wait_is_ended_from_outside() {
    let program = compile("all_wait");
    let output_with = |settings: &str, arguments: &[&str]| {
        let mut command = gosched_run();
        command.arg(&program).args(arguments).env("GODEBUG", settings);
        text_of(&output_of(&mut command))
    };
    let ended = ("was ended\n".to_owned(), String::new());
    assert_eq!(output_with("period=1", &[]), ended);
    let (output, report) = output_with("period=1,deadlock=fatal", &["for ever"]);
    assert_eq!(output, "has ended itself\n");
    assert!(report.contains("all goroutines are asleep - deadlock!"), "{report}");
}

#[test]
fn functions_of_older_versions_are_not_called() {
    let program = compile("versions");
    let threads = output_of(&mut Command::new(&program));
    let old_dlsym = program.with_file_name("versions_dso.so");
    let goroutines = output_of(gosched_run().arg(&program).env("LD_PRELOAD", old_dlsym));
    assert_eq!(text_of(&goroutines), text_of(&threads));
    assert_eq!(goroutines.status.code(), Some(0));
}

/// Fails unless the command says in one line that it can't run this, with these words.
fn is_refused(program: PathBuf, status: i32, words: &str) {
    let output = output_of(gosched_run().arg(&program));
    let (_, error) = text_of(&output);
    assert_eq!(output.status.code(), Some(status), "{error}");
    assert!(error.contains(words) && error.lines().count() == 1, "{error}");
}

#[test]
fn programs_that_cannot_have_goroutines_are_refused() {
    is_refused("there-is-no-such-program".into(), 127, "there is no such program");
    is_refused("/etc/passwd".into(), 125, "neither an ELF file");
    is_refused(common::compile_with("quick_exit", "static", &["-static"]), 125, "linked statically");
    is_refused(common::compile_with("of_go", "of_go", &[]), 125, "Go's runtime");
    is_refused(common::compile_with("of_asan", "of_asan", &["-rdynamic"]), 125, "sanitizer");
    is_refused(common::script("#!/there/is/no/interpreter\n"), 126, "No such file");
}

#[test]
fn a_program_that_cannot_have_goroutines_says_so_itself() {
    let program = common::compile_with("of_asan", "of_asan_preloaded", &["-rdynamic"]);
    let mut command = gosched_run();
    command.args(["sh", "-c", "exec \"$0\""]).arg(&program);
    let (_, error) = text_of(&output_of(&mut command));
    assert!(error.contains("sanitizer") && error.lines().count() == 1, "{error}");
}

#[test]
fn a_script_runs() {
    let output = output_of(gosched_run().arg(common::script("#!/usr/bin/env sh\necho text\nexit 3\n")));
    assert_eq!((text_of(&output).0.as_str(), output.status.code()), ("text\n", Some(3)));
}
