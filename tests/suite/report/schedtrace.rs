//! `GODEBUG=schedtrace=N` and `scheddetail=1`: the lines are Go's, field for field. One parser
//! reads both; `schedtrace-go1.22.10.txt` is a Go program's output.

use std::collections::BTreeSet;
use std::env;
use std::time::Duration;

use gosched::chan::bounded;
use gosched::time::sleep;
use gosched::{Builder, go, lock_os_thread, proc, run, yield_now};

use crate::harness::{Test, tests};

tests! {
    lines_are_gos
    details_are_gos
    each_thing_is_where_it_is
    when_it_is_asked_for
    dead_goroutines_of_each_kind
}

const GO: &str = include_str!("schedtrace-go1.22.10.txt");

/// A line of the output.
#[derive(Debug)]
struct Line {
    /// `SCHED`, or the kind and number of the reported item: `P0`.
    subject: String,
    /// Names and values, in order.
    fields: Vec<(String, String)>,
    /// The lengths of the P's queues, if the line ends with them.
    queues: Vec<u32>,
}

impl Line {
    /// Reads a line. Returns None if another program wrote it.
    fn parse(line: &str) -> Option<Line> {
        let (mut head, mut queues) = (line, Vec::new());
        if let Some((before, list)) = line.split_once('[') {
            head = before;
            queues = list.strip_suffix(']')?.split(' ').map(|n| n.parse().ok()).collect::<Option<_>>()?;
        }
        let (subject, rest) = head.split_once(": ")?;
        let subject = match subject.strip_prefix("SCHED ") {
            Some(time) => {
                time.strip_suffix("ms")?.parse::<u64>().ok()?;
                "SCHED"
            }
            None => subject.strip_prefix("  ")?,
        };
        // A value may contain blanks, but a name doesn't.
        let mut fields: Vec<(String, String)> = Vec::new();
        for word in rest.split(' ').filter(|word| !word.is_empty()) {
            match word.split_once('=') {
                Some((name, value)) => fields.push((name.into(), value.into())),
                None => {
                    let (_, value) = fields.last_mut()?;
                    *value += " ";
                    *value += word;
                }
            }
        }
        Some(Line { subject: subject.into(), fields, queues })
    }

    fn all(text: &str) -> Vec<Line> {
        text.lines().filter_map(Line::parse).collect()
    }

    /// Returns the line's subject, and its fields, each with the kind of its value.
    fn shape(&self) -> String {
        let kind = |value: &str| match value {
            "true" | "false" => "bool",
            "nil" => "id",
            "" => "text",
            _ if value.parse::<i64>().is_ok() => "id",
            _ if value.ends_with(')') => "state",
            _ => "text",
        };
        let subject = self.subject.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let mut shape = format!("{subject}:");
        for (name, value) in &self.fields {
            shape += &format!(" {name}={}", kind(value));
        }
        if self.queues.is_empty() { shape } else { shape + &format!(" {} queues", self.queues.len()) }
    }

    fn get(&self, name: &str) -> &str {
        let field = self.fields.iter().find(|(field, _)| field == name);
        &field.unwrap_or_else(|| panic!("no {name} in {self:?}")).1
    }
}

fn shapes<'a>(lines: impl IntoIterator<Item = &'a Line>) -> BTreeSet<String> {
    lines.into_iter().map(Line::shape).collect()
}

/// Does the same as the Go program: three goroutines wait for a value, one sleeps on a thread of
/// its own, and one yields.
fn busy() {
    let (_gate, closed) = bounded::<()>(0);
    for _ in 0..3 {
        let closed = closed.clone();
        go(move || closed.recv());
    }
    go(|| {
        let _locked = lock_os_thread();
        sleep(Duration::from_secs(3600));
    });
    go(|| {
        loop {
            yield_now();
        }
    });
    sleep(Duration::from_secs(3600));
}

/// Returns the lines of a process that runs `busy`, until there are enough.
fn traced(test: Test, godebug: &str, enough: impl Fn(&[Line]) -> bool) -> Vec<Line> {
    let process = test.process(|| run(busy)).env("GOMAXPROCS", "2").env("GODEBUG", godebug);
    Line::all(&process.until(|stderr| enough(&Line::all(stderr))))
}

/// Splits the lines into reports of one time each. Drops the last report, which may be incomplete.
fn reports(lines: &[Line]) -> Vec<&[Line]> {
    let mut reports: Vec<_> = lines.chunk_by(|_, next| next.subject != "SCHED").collect();
    reports.pop();
    reports
}

fn lines_are_gos(test: Test) {
    let lines = traced(test, "schedtrace=10", |lines| reports(lines).len() == 3);
    assert_eq!(reports(&lines).len(), 3, "{lines:?}");
    let go = Line::all(GO);
    let go = shapes(go.iter().filter(|line| !line.queues.is_empty()));
    assert_eq!(go.len(), 1);
    assert_eq!(shapes(&lines), go);
}

fn details_are_gos(test: Test) {
    // At first there may be no goroutine.
    let has_all = |report: &&[Line]| report.iter().any(|line| line.subject.starts_with('G'));
    let three = |lines: &[Line]| reports(lines).into_iter().filter(has_all).count() == 3;
    // A goroutine that has lost its P has more fields than Go's.
    let lines = traced(test, "schedtrace=10,scheddetail=1,detach=0", three);
    let go = Line::all(GO);
    let go = shapes(go.iter().filter(|line| line.queues.is_empty()));
    assert_eq!(go.len(), 4);
    assert_eq!(shapes(&lines), go);
}

fn each_thing_is_where_it_is(test: Test) {
    let in_state = |lines: &[Line], state| {
        let goroutines = lines.iter().filter(|line| line.subject.starts_with('G'));
        goroutines.filter(|line| line.get("status") == state).count()
    };
    let count =
        |lines: &[Line], kind: char| lines.iter().filter(|line| line.subject.starts_with(kind)).count();
    // Main sleeps, and so does the goroutine with a thread to itself. A thread is counted before it
    // is in the list.
    let settled = |lines: &&[Line]| {
        in_state(lines, "4(chan receive)") == 3
            && in_state(lines, "4(sleep)") == 2
            && count(lines, 'M').to_string() == lines[0].get("threads")
    };
    // A report has the M's before the G's. If a goroutine settles in between, the whole next report
    // shows it as settled.
    let twice =
        |lines: &[Line]| reports(lines).iter().rev().take(2).filter(|report| settled(report)).count() == 2;
    let lines = traced(test, "schedtrace=50,scheddetail=1", twice);
    let lines = reports(&lines).pop().expect("a report");
    assert!(settled(&lines), "{lines:?}");
    assert_eq!(lines[0].get("gomaxprocs"), "2");
    assert_eq!(count(lines, 'P'), 2, "{lines:?}");
    let goroutines = lines.iter().filter(|line| line.subject.starts_with('G'));
    let locked: Vec<_> = goroutines.filter(|line| line.get("lockedm") != "nil").collect();
    let [locked] = locked[..] else { panic!("one goroutine is locked to its thread: {lines:?}") };
    let m = lines.iter().find(|line| line.subject == format!("M{}", locked.get("lockedm"))).expect("its M");
    assert_eq!(format!("G{}", m.get("lockedg")), locked.subject, "{lines:?}");
}

fn when_it_is_asked_for(test: Test) {
    let process = test.process(|| {
        proc::schedtrace(true);
        run(|| proc::schedtrace(false));
        proc::schedtrace(true);
    });
    let ended = process.env("GOMAXPROCS", "3").end();
    ended.with("exit status: 0");
    let lines = Line::all(&ended.stderr);
    assert_eq!(lines[0].queues.len(), 3, "nothing was traced before there was anything: {lines:?}");
    assert!(lines[1..].iter().any(|line| line.subject == "P2"), "{lines:?}");
}

fn dead_goroutines_of_each_kind(test: Test) {
    let kinds: [fn(Builder) -> Builder; 2] = [
        Builder::own_locals,
        // SAFETY: the goroutine uses no thread-local.
        |builder| unsafe { builder.shared_locals() },
    ];
    for i in 0..kinds.len() {
        let process = test.process(|| {
            let kind = kinds[env::var("KIND").unwrap().parse::<usize>().unwrap()];
            run(|| {
                // A goroutine that has lost its P would end elsewhere.
                proc::set_detach(false);
                kind(Builder::new()).go(|| ()).unwrap().join().unwrap();
                proc::schedtrace(true);
            });
        });
        let ended = process.env("GOMAXPROCS", "1").env("KIND", &i.to_string()).end();
        ended.with("exit status: 0");
        let lines = Line::all(&ended.stderr);
        let p = lines.iter().find(|line| line.subject == "P0").expect("the P");
        assert_ne!(p.get("gfreecnt"), "0", "{p:?}");
    }
}
