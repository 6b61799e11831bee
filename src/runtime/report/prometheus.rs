//! Metrics in Prometheus's text format.

use std::fmt::Write as _;
use std::io;

use crate::runtime::base::this::with_room;
use crate::runtime::report::metrics::{Description, Float64Histogram, Value, all};

/// The value of the header `Content-Type` for the text of [`write_prometheus`].
///
/// ```
/// assert!(gosched::metrics::PROMETHEUS_CONTENT_TYPE.starts_with("text/plain; version=0.0.4"));
/// ```
pub const PROMETHEUS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes all metrics in [Prometheus's text format][format], version 0.0.4: the body of a server's
/// answer at `/metrics`.
///
/// Names are made as Prometheus's client for Go makes them, with the prefix `gosched_` instead of
/// `go_`.
///
/// | metric | in the text |
/// | --- | --- |
/// | `/sched/goroutines:goroutines` | `gosched_sched_goroutines_goroutines` |
/// | `/cpu/classes/idle:cpu-seconds` | `gosched_cpu_classes_idle_cpu_seconds_total` |
/// | `/gosched/stacks/home:bytes` | `gosched_stacks_home_bytes` |
///
/// A distribution is a histogram whose bounds are powers of two, from 64 ns to 39 hours. Its sum is
/// estimated from the buckets, and at most an eighth off for measures from 256 ns on. Nothing stops
/// for the text. `out` gets it in one piece of about 15 KiB.
///
/// ```
/// gosched::run(|| {
///     let mut text = Vec::new();
///     gosched::metrics::write_prometheus(&mut text).unwrap();
///     let text = String::from_utf8(text).unwrap();
///     assert!(text.contains("\n# TYPE gosched_sched_goroutines_goroutines gauge\n"));
///     assert!(text.contains("\ngosched_sched_goroutines_goroutines 1\n"));
/// });
/// ```
///
/// In Go, the module `prometheus/client_golang` does this.
///
/// [format]: https://prometheus.io/docs/instrumenting/exposition_formats/
///
/// # Errors
/// Those of `out`.
///
/// # Panics
/// As `out` does.
pub fn write_prometheus(out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
    let text = with_room(|| {
        let mut text = String::new();
        all().iter().for_each(|metric| write_metric(&mut text, metric));
        text
    });
    out.write_all(text.as_bytes())
}

/// Writes a metric's lines. Writing to a string doesn't fail.
fn write_metric(text: &mut String, metric: &Description) {
    let value = metric.read();
    let is_histogram = matches!(value, Value::Float64Histogram(_));
    let name = name_of(metric, is_histogram);
    let kind = match (is_histogram, metric.cumulative) {
        (true, _) => "histogram",
        (false, true) => "counter",
        (false, false) => "gauge",
    };
    let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", metric.description);
    let _ = match value {
        Value::Uint64(count) => writeln!(text, "{name} {count}"),
        Value::Float64(measure) => writeln!(text, "{name} {measure}"),
        Value::Float64Histogram(times) => {
            write_histogram(text, &name, &times);
            Ok(())
        }
    };
}

/// Returns a metric's name in the text. `RuntimeMetricsToProm`, in Prometheus's client for Go.
fn name_of(metric: &Description, is_histogram: bool) -> String {
    let path = metric.name.strip_prefix("/gosched").unwrap_or(metric.name);
    let mut name = format!("gosched{}", path.replace(['/', '-', ':'], "_"));
    if metric.cumulative && !is_histogram {
        name.push_str("_total");
    }
    name
}

/// Writes the buckets of a histogram whose bounds have doubled at least, their sum and their count.
fn write_histogram(text: &mut String, name: &str, times: &Float64Histogram) {
    let (mut count, mut sum, mut written) = (0, 0.0, 0.0);
    for (n, bounds) in times.counts.iter().zip(times.buckets.windows(2)) {
        let (from, to) = (bounds[0].max(0.0), bounds[1]);
        count += n;
        sum += *n as f64 * if to.is_finite() { from.midpoint(to) } else { from };
        if to.is_finite() && to > 0.0 && to >= 2.0 * written {
            let _ = writeln!(text, "{name}_bucket{{le=\"{to}\"}} {count}");
            written = to;
        }
    }
    let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}");
}
