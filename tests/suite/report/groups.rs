//! Dumps with equal stacks in groups, and labels in headers.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::chan::{Receiver, bounded};
use gosched::labels::{Labels, set_labels, with_labels};
use gosched::{Builder, blocking, dump_goroutines_grouped, go, goid, run, yield_now};

use super::traceback::{assert_part, dump, outer, part};
use crate::harness::{Test, tests};

tests! {
    equal_stacks
    other_states
    other_names
    other_labels
    other_makers
    labels_in_headers
    labels_in_headers_off
    labels_that_change_in_blocking
    from_a_thread
    #[slow] a_hundred_thousand
}

/// Runs `f` on a goroutine, in a process where there are no goroutines of other tests.
fn alone(test: Test, f: impl FnOnce() + Send + 'static) {
    test.process(|| run(f)).end().with("exit status: 0");
}

fn grouped() -> String {
    let mut text = Vec::new();
    dump_goroutines_grouped(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Takes dumps until one has a group whose header begins with `header`. Returns that group.
fn until_grouped(header: &str) -> String {
    loop {
        let dump = grouped();
        if let Some(found) = dump.split("\n\n").find(|group| group.starts_with(header)) {
            return found.trim_end().to_owned();
        }
        yield_now();
    }
}

/// Returns the numbers in a group's second line, and what follows them there.
fn numbers(group: &str) -> (Vec<u64>, String) {
    let line = group.lines().nth(1).and_then(|line| line.strip_prefix("goroutines ")).expect(group);
    let (numbers, more) = line.split_once(" and ").unwrap_or((line, ""));
    (numbers.split(", ").map(|number| number.parse().expect(group)).collect(), more.to_owned())
}

/// Makes `n` goroutines that wait, at one place.
fn many_wait(n: usize, rx: &Receiver<()>) -> Vec<u64> {
    let (tell, told) = bounded(n);
    for _ in 0..n {
        let (tell, rx) = (tell.clone(), rx.clone());
        let waits = move || {
            tell.send(goid()).unwrap();
            outer(&rx);
        };
        Builder::new().name("waiter").go(waits).unwrap();
    }
    (0..n).map(|_| told.recv().unwrap()).collect()
}

fn equal_stacks(test: Test) {
    alone(test, || {
        let (_tx, rx) = bounded::<()>(0);
        let mut ids = many_wait(25, &rx);
        ids.sort_unstable();
        let group = until_grouped("25 goroutines \"waiter\" [chan receive");
        assert_part(&group, "chan receive", &["traceback::inner", "traceback::outer"]);
        assert_eq!(group.matches("traceback::inner(...)").count(), 1, "the stack is there once: {group}");
        let (shown, more) = numbers(&group);
        assert_eq!((shown.len(), more.as_str()), (10, "15 more"), "{group}");
        assert!(shown.iter().all(|id| ids.contains(id)), "{ids:?}: {group}");
        let made = group.lines().last().unwrap_or_default();
        assert!(
            made.starts_with("created at ") && made.ends_with(&format!(" in goroutine {}", goid())),
            "{group}"
        );
        // The others are there, too, after the largest group.
        let dump = grouped();
        assert!(dump.starts_with("25 goroutines \"waiter\" ["), "{dump}");
        assert!(part(&dump, goid()).contains("groups::equal_stacks"), "{dump}");
    });
}

/// The stacks are the same up to the runtime's frames, which a dump leaves out.
fn other_states(test: Test) {
    alone(test, || {
        let (_tx, rx) = bounded::<()>(0);
        let (tx, _rx) = bounded::<()>(0);
        for i in 0..4 {
            let (rx, tx) = (rx.clone(), tx.clone());
            go(move || black_box(if i % 2 == 0 { rx.recv().is_ok() } else { tx.send(()).is_ok() }));
        }
        until_grouped("2 goroutines [chan receive");
        until_grouped("2 goroutines [chan send");
    });
}

fn other_names(test: Test) {
    alone(test, || {
        let (_tx, rx) = bounded::<()>(0);
        for name in ["one", "two"] {
            let rx = rx.clone();
            Builder::new().name(name).go(move || outer(&rx)).unwrap();
        }
        let group = until_grouped("2 goroutines [chan receive");
        let line = group.lines().nth(1).unwrap_or_default();
        assert!(line.contains(" \"one\"") && line.contains(" \"two\"") && line.contains(", "), "{group}");
    });
}

fn other_labels(test: Test) {
    alone(test, || {
        let (_tx, rx) = bounded::<()>(0);
        for (request, part) in [("17", "a b"), ("18", "a b"), ("19", "a b")] {
            let rx = rx.clone();
            with_labels([("request", request), ("part", part)], || go(move || outer(&rx)));
        }
        let group = until_grouped("3 goroutines [chan receive");
        let header = group.lines().next().unwrap_or_default();
        assert!(header.ends_with("] {part: \"a b\"}:"), "those that all of them have: {group}");
    });
}

/// Two goroutines with equal stacks that different goroutines have made at one place.
fn other_makers(test: Test) {
    #[inline(never)]
    fn makes(rx: Receiver<()>) {
        go(move || outer(&rx));
    }
    alone(test, || {
        let (_tx, rx) = bounded::<()>(0);
        for _ in 0..2 {
            let rx = rx.clone();
            go(move || makes(rx)).join().unwrap();
        }
        let group = until_grouped("2 goroutines [chan receive");
        let made = group.lines().last().unwrap_or_default();
        assert!(made.starts_with("created at ") && made.ends_with(" in 2 goroutines"), "{group}");
    });
}

/// Returns the header of a goroutine that waits with labels.
fn header_with_labels() -> String {
    let (_tx, rx) = bounded::<()>(0);
    let (tell, told) = bounded(1);
    let labels = [("service", "api/v1.0"), ("user", "ann\n\"b\""), ("a key", "")];
    let waits = move || {
        tell.send(goid()).unwrap();
        outer(&rx);
    };
    with_labels(labels, || go(waits));
    let id = told.recv().unwrap();
    loop {
        let dump = dump();
        let header = part(&dump, id).lines().next().unwrap_or_default();
        if header.contains(" [chan receive]") {
            return header.to_owned();
        }
        yield_now();
    }
}

fn labels_in_headers(_test: Test) {
    run(|| {
        let header = header_with_labels();
        let labels = r#" {"a key": , service: api/v1.0, user: "ann\n\"b\""}:"#;
        assert!(header.ends_with(&format!(" [chan receive]{labels}")), "{header}");
        // This thread's own.
        with_labels([("own", "1")], || {
            let dump = dump();
            assert!(
                part(&dump, goid()).lines().next().is_some_and(|line| line.ends_with("] {own: 1}:")),
                "{dump}"
            );
        });
    });
}

fn labels_in_headers_off(test: Test) {
    let process = test.process(|| {
        run(|| {
            let header = header_with_labels();
            assert!(header.ends_with(" [chan receive]:"), "{header}");
        });
    });
    process.env("GODEBUG", "tracebacklabels=0").end().with("exit status: 0");
}

/// A goroutine in `blocking` may change its labels while a dump reads them.
fn labels_that_change_in_blocking(_test: Test) {
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    LEFT.store(200, Ordering::Relaxed);
    run(|| {
        let (tell, told) = bounded(1);
        let changes = go(move || {
            tell.send(goid()).unwrap();
            blocking(|| {
                while LEFT.load(Ordering::Relaxed) > 0 {
                    for value in ["one", "two"] {
                        set_labels(Labels::new().with([("is", value)]));
                    }
                }
            });
        });
        let id = told.recv().unwrap();
        while LEFT.load(Ordering::Relaxed) > 0 {
            let dump = dump();
            let header = part(&dump, id).lines().next().unwrap_or_default();
            if header.contains("[syscall") {
                let labels = header.split_once('{').map(|(_, labels)| labels);
                assert!(matches!(labels, None | Some("is: one}:" | "is: two}:")), "{header}");
                LEFT.fetch_sub(1, Ordering::Relaxed);
            } else {
                yield_now();
            }
        }
        changes.join().unwrap();
    });
}

fn from_a_thread(test: Test) {
    alone(test, || {
        let (_tx, rx) = bounded::<()>(0);
        many_wait(5, &rx);
        until_grouped("5 goroutines \"waiter\" [chan receive");
        let dump = blocking(|| std::thread::spawn(grouped).join().unwrap());
        assert!(dump.starts_with("5 goroutines \"waiter\" [chan receive"), "{dump}");
    });
}

fn a_hundred_thousand(test: Test) {
    const N: usize = if cfg!(target_arch = "aarch64") { 5000 } else { 100_000 };
    let process = test.process(|| {
        run(|| {
            let (_tx, rx) = bounded::<()>(0);
            many_wait(N, &rx);
            until_grouped(&format!("{N} goroutines \"waiter\" [chan receive"));
            let begun = std::time::Instant::now();
            let dump = grouped();
            eprintln!("{N} goroutines in {:?}", begun.elapsed());
            assert!(dump.len() < 10_000, "{dump}");
        });
    });
    eprint!("{}", process.end().with("exit status: 0").stderr);
}
