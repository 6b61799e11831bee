//! The scheduler's state as it changes: a stream of server-sent events, one each second.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use crate::inspect::http::Answer;
use crate::inspect::json::Json;
use crate::inspect::serve::Server;
use crate::net::Pollable;
use crate::runtime::metrics::{Float64Histogram, Value, read};
use crate::runtime::{SchedState, sched_state};

/// The time between two events, and how long the client may take for one.
const PERIOD: Duration = Duration::from_secs(1);
const DELIVERY: Duration = Duration::from_secs(10);

/// The most threads of an event.
const THREADS: usize = 200;

/// Metrics of an event: its key, and the metric's name.
const GAUGES: [(&str, &str); 9] = [
    ("goroutines", "/sched/goroutines:goroutines"),
    ("running", "/sched/goroutines/running:goroutines"),
    ("runnable", "/sched/goroutines/runnable:goroutines"),
    ("waiting", "/sched/goroutines/waiting:goroutines"),
    ("notInGo", "/sched/goroutines/not-in-go:goroutines"),
    ("detached", "/gosched/detached:goroutines"),
    ("gomaxprocs", "/sched/gomaxprocs:threads"),
    ("homeBytes", "/gosched/stacks/home:bytes"),
    ("segmentBytes", "/gosched/stacks/segments:bytes"),
];

/// Metrics that only grow. An event has their growth in a second.
const RATES: [(&str, &str); 7] = [
    ("created", "/sched/goroutines-created:goroutines"),
    ("preemptions", "/gosched/preemptions:preemptions"),
    ("blocked", "/gosched/detachments/blocked:goroutines"),
    ("computing", "/gosched/detachments/computing:goroutines"),
    ("growths", "/gosched/stacks/growths:growths"),
    ("idle", "/cpu/classes/idle:cpu-seconds"),
    ("mutexWait", "/sync/mutex/wait/total:seconds"),
];

/// The quantiles of an event.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)];

impl Server {
    /// Sends events until the client leaves.
    pub(super) fn live<T>(&self, mut stream: Pollable<T>) -> io::Result<()>
    where
        T: AsFd,
        Pollable<T>: Read + Write,
    {
        let result = self.send_events(&mut stream);
        // The client that has looked at the goroutines has likely left, too.
        self.goroutines.forget();
        result
    }

    fn send_events<T>(&self, stream: &mut Pollable<T>) -> io::Result<()>
    where
        T: AsFd,
        Pollable<T>: Read + Write,
    {
        let head = Answer::new("text/event-stream", "").head("");
        let mut last = Reading::new();
        let mut text = format!("{head}data: {}\n\n", last.event(None));
        loop {
            stream.set_write_deadline(Some(Instant::now() + DELIVERY));
            stream.write_all(text.as_bytes())?;
            if has_left(stream, PERIOD)? {
                return Ok(());
            }
            let now = Reading::new();
            text = format!("data: {}\n\n", now.event(Some(&last)));
            last = now;
        }
    }
}

/// Waits for `time`. Returns true early if the client has left, or sends what it shouldn't.
pub(super) fn has_left<T>(stream: &mut Pollable<T>, time: Duration) -> io::Result<bool>
where
    T: AsFd,
    Pollable<T>: Read,
{
    stream.set_read_deadline(Some(Instant::now() + time));
    match stream.read(&mut [0]) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::TimedOut => Ok(false),
        Err(error) => Err(error),
    }
}

/// Metrics, as they were at a time.
struct Reading {
    at: Instant,
    gauges: [f64; GAUGES.len()],
    totals: [f64; RATES.len()],
    latencies: Float64Histogram,
    sched: SchedState,
}

impl Reading {
    fn new() -> Reading {
        let latencies = match read("/sched/latencies:seconds") {
            Some(Value::Float64Histogram(times)) => times,
            _ => Float64Histogram { counts: Vec::new(), buckets: Vec::new() },
        };
        Reading {
            at: Instant::now(),
            gauges: GAUGES.map(|(_, name)| number(name)),
            totals: RATES.map(|(_, name)| number(name)),
            latencies,
            sched: sched_state(),
        }
    }

    /// Returns the event's data, on one line. Rates are those since `before`.
    fn event(&self, before: Option<&Reading>) -> String {
        Json::of_object(|json| {
            GAUGES.iter().zip(self.gauges).for_each(|((key, _), value)| json.key(key).number(value));
            if let Some(before) = before {
                let seconds = (self.at - before.at).as_secs_f64();
                for ((key, _), (now, then)) in RATES.iter().zip(self.totals.iter().zip(before.totals)) {
                    json.key(key).number((now - then) / seconds);
                }
                let counts = self.latencies.counts.iter().zip(&before.latencies.counts);
                let counts: Vec<u64> = counts.map(|(now, then)| now.saturating_sub(*then)).collect();
                json.key("latency").object(|json| {
                    for (key, part) in QUANTILES {
                        json.key(key).option(quantile(&counts, &self.latencies.buckets, part), Json::number);
                    }
                });
            }
            self.write_sched(json);
        })
    }

    fn write_sched(&self, json: &mut Json) {
        let SchedState { procs, busy_threads, .. } = &self.sched;
        json.key("idleProcs").integer(self.sched.idle_procs);
        json.key("threads").integer(self.sched.threads);
        json.key("idleThreads").integer(self.sched.idle_threads);
        json.key("spinning").integer(self.sched.spinning_threads);
        json.key("runqueue").integer(self.sched.runqueue);
        json.key("procs").array(|json| {
            for proc in procs {
                json.object(|json| {
                    json.key("status").string(proc.status);
                    json.key("m").option(proc.thread, Json::integer);
                    json.key("g").option(proc.goroutine, Json::integer);
                    json.key("queue").integer(proc.runqueue);
                    json.key("ticks").integer(proc.ticks);
                    json.key("timers").integer(proc.timers);
                });
            }
        });
        json.key("ms").array(|json| {
            for thread in busy_threads.iter().take(THREADS) {
                json.object(|json| {
                    json.key("id").integer(thread.id);
                    json.key("p").option(thread.proc, Json::integer);
                    json.key("g").option(thread.goroutine, Json::integer);
                    json.key("spinning").bool(thread.spinning);
                    json.key("locked").bool(thread.locked);
                    json.key("detached")
                        .option(thread.detached, |json, nanoseconds| json.number(nanoseconds as f64 / 1e9));
                });
            }
        });
    }
}

fn number(name: &str) -> f64 {
    match read(name) {
        Some(Value::Uint64(count)) => count as f64,
        Some(Value::Float64(measure)) => measure,
        _ => f64::NAN,
    }
}

/// Returns the upper bound of the bucket that has the `part` of all measures below its end, from 0
/// to 1; none if there are no measures.
fn quantile(counts: &[u64], buckets: &[f64], part: f64) -> Option<f64> {
    let all: u64 = counts.iter().sum();
    let wanted = ((all as f64 * part).ceil() as u64).max(1);
    let mut below = 0;
    let bucket = counts.iter().position(|count| {
        below += count;
        below >= wanted
    })?;
    buckets.get(bucket + 1).copied()
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles() {
        let (counts, buckets) = ([0, 98, 1, 1], [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(quantile(&counts, &buckets, 0.5), Some(2.0));
        assert_eq!(quantile(&counts, &buckets, 0.99), Some(3.0));
        assert_eq!(quantile(&counts, &buckets, 1.0), Some(4.0));
        assert_eq!(quantile(&[0, 0, 0, 0], &buckets, 0.5), None);
    }
}
