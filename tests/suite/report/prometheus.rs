//! Metrics as Prometheus reads them: every line is parsed by the rules of its text format.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use gosched::metrics::{self, Value, write_prometheus};
use gosched::{run, scope, yield_now};

use crate::harness::{Test, tests};

tests! {
    every_metric_is_there_once
    names_are_those_of_the_client_for_go
    buckets_count_what_is_below_them
    errors_come_back
}

/// A family of the text: its kind, and its samples in their order. A sample is the rest of its name
/// behind the family's, its bound if it has one, and its value.
struct Family {
    kind: String,
    samples: Vec<(String, Option<f64>, f64)>,
}

fn number(text: &str) -> f64 {
    match text {
        "+Inf" => f64::INFINITY,
        _ => text.parse().unwrap_or_else(|_| panic!("{text} is no number")),
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn parse(text: &str) -> BTreeMap<String, Family> {
    assert!(text.ends_with('\n'));
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("words");
            assert!(!words.contains('\\') && helped.insert(name.to_owned()), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a kind");
            assert!(is_name(name) && helped.contains(name), "{line}");
            current = name.to_owned();
            let family = Family { kind: kind.to_owned(), samples: Vec::new() };
            assert!(families.insert(current.clone(), family).is_none(), "{line} comes twice");
        } else {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            let (name, bound) = match name.split_once("{le=\"") {
                Some((name, bound)) => (name, Some(number(bound.strip_suffix("\"}").expect("an end")))),
                None => (name, None),
            };
            let rest = name.strip_prefix(&current).unwrap_or_else(|| panic!("{line} isn't of {current}"));
            let family = families.get_mut(&current).expect("it was begun");
            family.samples.push((rest.to_owned(), bound, number(value)));
        }
    }
    families
}

fn text() -> String {
    let mut text = Vec::new();
    write_prometheus(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn every_metric_is_there_once() {
    run(|| {
        let families = parse(&text());
        assert_eq!(families.len(), metrics::all().len());
        for (name, Family { kind, samples }) in &families {
            match kind.as_str() {
                "counter" | "gauge" => {
                    assert_eq!(samples.len(), 1, "{name}");
                    assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
                }
                "histogram" => assert!(samples.len() > 3, "{name}"),
                other => panic!("{name}: {other}"),
            }
        }
        assert_eq!(families["gosched_sched_goroutines_goroutines"].samples[0].2, 1.0);
    });
}

fn names_are_those_of_the_client_for_go() {
    run(|| {
        let families = parse(&text());
        for (name, kind) in [
            ("gosched_sched_goroutines_goroutines", "gauge"),
            ("gosched_sched_goroutines_not_in_go_goroutines", "gauge"),
            ("gosched_sched_goroutines_created_goroutines_total", "counter"),
            ("gosched_sched_threads_total_threads", "gauge"),
            ("gosched_cpu_classes_idle_cpu_seconds_total", "counter"),
            ("gosched_sched_latencies_seconds", "histogram"),
            ("gosched_stacks_home_bytes", "gauge"),
        ] {
            assert_eq!(families.get(name).map(|family| family.kind.as_str()), Some(kind), "{name}");
        }
    });
}

fn buckets_count_what_is_below_them(test: Test) {
    let process = test.process(|| {
        run(|| {
            const NAME: &str = "/sched/latencies:seconds";
            scope(|s| {
                for _ in 0..4 {
                    s.go(|| (0..10_000).for_each(|_| yield_now()));
                }
            });
            // Nothing waits for a P between these readings, unless a goroutine loses its P.
            let (histogram, text) = loop {
                let before = metrics::read(NAME);
                let text = text();
                if let Some(Value::Float64Histogram(times)) = metrics::read(NAME)
                    && before == Some(Value::Float64Histogram(times.clone()))
                {
                    break (times, text);
                }
            };
            let all: u64 = histogram.counts.iter().sum();
            assert!(all > 0);
            let families = parse(&text);
            let samples = &families["gosched_sched_latencies_seconds"].samples;
            let [buckets @ .., (last, _, sum), (count_name, _, count)] = &samples[..] else { panic!() };
            assert_eq!((last.as_str(), count_name.as_str(), *count), ("_sum", "_count", all as f64));
            let bounds: Vec<f64> = buckets.iter().map(|(_, bound, _)| bound.expect("a bound")).collect();
            assert!(bounds.is_sorted_by(|a, b| a < b) && bounds.last() == Some(&f64::INFINITY));
            for (rest, bound, cumulative) in buckets {
                let bound = bound.unwrap();
                let counts = histogram.counts.iter().zip(&histogram.buckets[1..]);
                let below: u64 = counts.filter(|(_, end)| **end <= bound).map(|(count, _)| count).sum();
                assert_eq!((rest.as_str(), *cumulative), ("_bucket", below as f64), "up to {bound}");
            }
            let ends = histogram.counts.iter().zip(histogram.buckets.windows(2));
            let (mut least, mut most) = (0.0, 0.0);
            for (count, bounds) in ends.filter(|(count, _)| **count > 0) {
                least += *count as f64 * bounds[0];
                most += *count as f64 * bounds[1];
            }
            assert!((least..=most).contains(sum), "{sum} isn't from {least} to {most}");
        })
    });
    process.env("GOMAXPROCS", "1").end().with("exit status: 0");
}

fn errors_come_back() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = run(|| write_prometheus(&mut Full)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
