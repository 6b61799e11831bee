//! A program's own statements are in its trace: tasks, regions, messages, labels and names.

use std::path::{Path, PathBuf};
use std::{env, fs, process, thread};

use std::time::Duration;

use gosched::labels::with_labels;
use gosched::trace::{self, Task};
use gosched::{Builder, blocking, go, iter, run, time, yield_now};

use super::reader::{Event, What, read};
use super::summary::{Region, Summary};
use crate::harness::{Test, tests};

tests! {
    tasks_have_their_parts
    regions_nest
    messages_have_their_tasks
    labels_change
    a_stopped_world_is_told
}

/// Returns the trace of a program that makes some of each.
pub fn trace_of_some(test: Test) -> Vec<u8> {
    let path =
        env::temp_dir().join(format!("gosched-{}-{}.trace", process::id(), test.name().replace("::", "-")));
    let process = test.process(|| {
        let path = PathBuf::from(env::var_os("SAID").expect("the test gives it"));
        run(|| does_some_of_all(&path));
    });
    process.env("SAID", path.to_str().unwrap()).env("GOMAXPROCS", "2").end().with("exit status: 0");
    let trace = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
    trace
}

fn does_some_of_all(path: &Path) {
    trace::start(fs::File::create(path).unwrap()).unwrap();
    let worker = Builder::new().name("worker").go(|| {
        let order = Task::new("order");
        let _outer = order.region("outer");
        {
            let part = order.child("part");
            let _inner = part.region("inner");
            part.log("step", "one");
            yield_now();
        }
        trace::log("step", "of no task");
        with_labels([("job", "7")], || time::sleep(Duration::from_millis(1)));
        let _last = trace::region("last");
        blocking(|| thread::sleep(Duration::from_millis(1)));
    });
    worker.unwrap().join().unwrap();
    assert_eq!(iter::pull(|out: &iter::Yielder<u64>| (1..=4).for_each(|n| out.yield_(n))).sum::<u64>(), 10);
    assert!(go(|| panic!("as it should")).join().is_err());
    gosched::set_gomaxprocs(3.try_into().unwrap());
    trace::stop().unwrap();
}

fn events(test: Test) -> Vec<Event> {
    read(&trace_of_some(test)).unwrap()
}

fn tasks_have_their_parts(test: Test) {
    let tasks = Summary::of(&events(test)).tasks;
    let find = |name: &str| tasks.iter().find(|(_, task)| &*task.name == name).expect(name);
    let ((order, whole), (_, part)) = (find("order"), find("part"));
    assert_eq!((whole.parent, part.parent), (0, *order));
    assert!(part.length.unwrap() < whole.length.unwrap());
}

fn regions_nest(test: Test) {
    let summary = Summary::of(&events(test));
    let worker = &summary.named("worker")[..];
    let [(_, worker)] = worker else { panic!("there are {}", worker.len()) };
    let [outer, inner, last] = &worker.regions[..] else { panic!("there are {}", worker.regions.len()) };
    let name = |region: &Region| {
        (region.name.to_string(), summary.tasks.get(&region.task).map(|task| task.name.to_string()))
    };
    assert_eq!(name(outer), ("outer".into(), Some("order".into())));
    assert_eq!(name(inner), ("inner".into(), Some("part".into())));
    assert_eq!(name(last), ("last".into(), None));
    assert!(outer.length.unwrap() > inner.length.unwrap() + last.length.unwrap());
}

fn messages_have_their_tasks(test: Test) {
    let summary = Summary::of(&events(test));
    let said = |i: usize| {
        let log = &summary.logs[i];
        let task = summary.tasks.get(&log.task).map(|task| &*task.name);
        (summary.goroutines[&log.g].name.as_deref(), task, &*log.category, &*log.message)
    };
    assert_eq!(summary.logs.len(), 2);
    assert_eq!(said(0), (Some("worker"), Some("part"), "step", "one"));
    assert_eq!(said(1), (Some("worker"), None, "step", "of no task"));
}

fn labels_change(test: Test) {
    let summary = Summary::of(&events(test));
    let labels: Vec<_> = summary.named("worker")[0].1.labels.iter().map(|label| label.to_string()).collect();
    assert!(labels.iter().any(|label| label.contains("job") && label.contains('7')), "{labels:?}");
}

fn a_stopped_world_is_told(test: Test) {
    let events = events(test);
    let stops: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::StwBegin(why) => Some(why.to_string()),
            _ => None,
        })
        .collect();
    assert!(stops.iter().any(|why| why.contains("GOMAXPROCS")), "{stops:?}");
    assert!(events.iter().any(|event| event.what == What::Procs(3)), "{stops:?}");
}
