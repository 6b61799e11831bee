//! The scheduler's metrics: Go's `runtime/metrics`, with its names.
//!
//! ```
//! use gosched::metrics::{self, Value};
//!
//! let goroutines = gosched::run(|| metrics::read("/sched/goroutines:goroutines"));
//! assert_eq!(goroutines, Some(Value::Uint64(1)));
//! ```
//!
//! Nothing stops while metrics are read, so each value is of a different moment. The numbers of
//! goroutines by state (`/sched/goroutines/...`) are estimates, and needn't add up, as in Go.
//!
//! [`write_prometheus`] writes all of them for Prometheus.
//!
//! The times that goroutines wait for a P and for mutexes are sampled: one wait in 128 is measured,
//! on average. (Go measures one in 8: a switch takes longer there, so the clock's share is
//! smaller.)

use std::sync::atomic::Ordering;

use crate::runtime::base::histogram::time_histogram_metrics_buckets;
use crate::runtime::base::os::nanotime;
use crate::runtime::base::this::{started, with_room};
use crate::runtime::data::runtime2::{TimeHistogram, sched};
use crate::runtime::g::allgs::allglen;
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::guard::UNGUARDED;
use crate::runtime::mem::segment::SEGMENT_BYTES;
use crate::runtime::mem::sizes::PAGE_MIN;
use crate::runtime::p::free_lists::gcount;
use crate::runtime::p::procs::{gomaxprocs, procs};
use crate::runtime::preempt::ask::Asked;
use crate::runtime::report::states::{States, states};
use crate::runtime::sched::park::PREEMPTIONS;
use crate::runtime::stack::copystack::GROWTHS;

pub use crate::runtime::report::prometheus::{PROMETHEUS_CONTENT_TYPE, write_prometheus};

/// A metric. Go's `metrics.Description`.
///
/// ```
/// for metric in gosched::metrics::all().iter().filter(|metric| metric.cumulative) {
///     println!("{} {:?}: {}", metric.name, metric.read(), metric.description);
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Description {
    /// The metric's name, with its unit.
    pub name: &'static str,
    /// What the metric measures.
    pub description: &'static str,
    /// Whether the metric only grows.
    pub cumulative: bool,
    read: fn() -> Value,
}

/// The value of a metric. Go's `metrics.Value`.
///
/// ```
/// use gosched::metrics::{self, Value};
///
/// fn number(name: &str) -> f64 {
///     match metrics::read(name) {
///         Some(Value::Uint64(count)) => count as f64,
///         Some(Value::Float64(measure)) => measure,
///         Some(Value::Float64Histogram(times)) => times.counts.iter().sum::<u64>() as f64,
///         _ => f64::NAN,
///     }
/// }
///
/// assert_eq!(gosched::run(|| number("/sched/goroutines:goroutines")), 1.0);
/// assert!(number("/there/is:none").is_nan());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A count.
    Uint64(u64),
    /// A measure.
    Float64(f64),
    /// A distribution.
    Float64Histogram(Float64Histogram),
}

/// A distribution: how often a measure was in each bucket. Go's `metrics.Float64Histogram`.
///
/// ```
/// use gosched::metrics::Float64Histogram;
///
/// /// A bound that 99 of 100 measures are below, if there are any.
/// fn p99(times: &Float64Histogram) -> Option<f64> {
///     let most = times.counts.iter().sum::<u64>() * 99 / 100;
///     let mut below = 0;
///     let bucket = times.counts.iter().position(|count| {
///         below += count;
///         below > most
///     });
///     bucket.map(|i| times.buckets[i + 1])
/// }
///
/// let times = Float64Histogram { counts: vec![1, 98, 1], buckets: vec![0.0, 1.0, 2.0, 3.0] };
/// assert_eq!(p99(&times), Some(3.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Float64Histogram {
    /// The count of each bucket: `counts[i]` is for measures from `buckets[i]` on, below
    /// `buckets[i + 1]`.
    pub counts: Vec<u64>,
    /// The bounds of the buckets, from the lowest to the highest: one more than there are buckets.
    pub buckets: Vec<f64>,
}

/// All metrics, in the order of their names. Go's `metrics.All`.
///
/// ```
/// let names: Vec<_> = gosched::metrics::all().iter().map(|metric| metric.name).collect();
/// assert!(names.contains(&"/sched/latencies:seconds"));
/// assert!(names.is_sorted());
/// ```
pub fn all() -> &'static [Description] {
    &ALL
}

/// Returns the value of the metric with this name, or none if there is no such metric. Go's
/// `metrics.Read` for one metric.
///
/// ```
/// use gosched::metrics::{self, Value};
///
/// let running = gosched::run(|| metrics::read("/sched/gomaxprocs:threads"));
/// assert_eq!(running, Some(Value::Uint64(gosched::gomaxprocs() as u64)));
/// assert_eq!(metrics::read("/there/is:none"), None);
/// ```
pub fn read(name: &str) -> Option<Value> {
    let at = ALL.binary_search_by(|metric| metric.name.cmp(name)).ok()?;
    Some(ALL[at].read())
}

impl Description {
    /// The metric's value now.
    ///
    /// ```
    /// use gosched::metrics::{Value, all};
    ///
    /// gosched::run(|| {
    ///     let goroutines = all().iter().find(|metric| metric.name == "/sched/goroutines:goroutines").unwrap();
    ///     assert_eq!(goroutines.read(), Value::Uint64(1));
    /// });
    /// ```
    pub fn read(&self) -> Value {
        with_room(self.read)
    }
}

const fn gauge(name: &'static str, description: &'static str, read: fn() -> Value) -> Description {
    Description { name, description, cumulative: false, read }
}

const fn total(name: &'static str, description: &'static str, read: fn() -> Value) -> Description {
    Description { name, description, cumulative: true, read }
}

static ALL: [Description; 26] = [
    total("/cpu/classes/idle:cpu-seconds", "How long P's had nothing to run, all together.", idle),
    total(
        "/gosched/detached/total:seconds",
        "How long goroutines were without a P, all together, of those that have one again.",
        || seconds(sched().ext.detached_time.load(Ordering::Relaxed)),
    ),
    gauge(
        "/gosched/detached:goroutines",
        "How many goroutines run without a P, or wait for their turn to have one.",
        || Value::Uint64(sched().ext.ndetached.load(Ordering::Relaxed).max(0) as u64),
    ),
    total(
        "/gosched/detachments/blocked:goroutines",
        "How often a goroutine lost its P because it blocked its thread.",
        || detachments(Asked::Detach),
    ),
    total(
        "/gosched/detachments/computing:goroutines",
        "How often a goroutine lost its P because it computed for its time slice, and came to no check.",
        || detachments(Asked::WaitForTurn),
    ),
    total("/gosched/preemptions:preemptions", "How often a goroutine was stopped to let others run.", || {
        Value::Uint64(PREEMPTIONS.load(Ordering::Relaxed))
    }),
    total(
        "/gosched/stacks/growths:growths",
        "How often a copying stack was moved to a larger place.",
        || Value::Uint64(GROWTHS.load(Ordering::Relaxed)),
    ),
    gauge(
        "/gosched/stacks/home:bytes",
        "Home pages: a G and its first stack in each, of goroutines that have ended, too.",
        || Value::Uint64((allglen() * PAGE_MIN) as u64),
    ),
    gauge("/gosched/stacks/segments:bytes", "What stacks have grown into.", || {
        Value::Uint64(SEGMENT_BYTES.load(Ordering::Relaxed).max(0) as u64)
    }),
    total("/gosched/stacks/unguarded:stacks", "Stacks that were made without a guard page.", || {
        Value::Uint64(UNGUARDED.load(Ordering::Relaxed))
    }),
    total(
        "/gosched/std/descriptors:waits",
        "How often a goroutine parked at a descriptor in std's code or C code: with the feature `std`.",
        || Value::Uint64(std_descriptor_parks()),
    ),
    total(
        "/gosched/std/futex:waits",
        "How often a goroutine parked at a futex, as std's locks and channels are made of: with the feature `std`.",
        || Value::Uint64(std_parks()),
    ),
    gauge("/sched/gomaxprocs:threads", "How many goroutines run at once at most.", || {
        Value::Uint64(gomaxprocs() as u64)
    }),
    total("/sched/goroutines-created:goroutines", "How many goroutines were made.", || {
        state(|states| states.created)
    }),
    gauge(
        "/sched/goroutines/not-in-go:goroutines",
        "How many goroutines are in a system call or in `blocking`, or are detached.",
        || state(|states| states.not_in_go),
    ),
    gauge("/sched/goroutines/runnable:goroutines", "How many goroutines could run and don't.", || {
        state(|states| states.runnable)
    }),
    gauge("/sched/goroutines/running:goroutines", "How many goroutines run on a P.", || {
        state(|states| states.running)
    }),
    gauge(
        "/sched/goroutines/waiting:goroutines",
        "How many goroutines wait, for a lock or the network.",
        || state(|states| states.waiting),
    ),
    gauge("/sched/goroutines:goroutines", "How many goroutines there are.", || {
        Value::Uint64(if started() { gcount() as u64 } else { 0 })
    }),
    total(
        "/sched/latencies:seconds",
        "How long goroutines that could run waited until they did, of one time in 128 on average.",
        || histogram(&sched().time_to_run),
    ),
    total("/sched/pauses/stopping/gc:seconds", "How long it took to stop the world for a collector.", || {
        histogram(&sched().stw_stopping_time_gc)
    }),
    total("/sched/pauses/stopping/other:seconds", "How long it took to stop the world otherwise.", || {
        histogram(&sched().stw_stopping_time_other)
    }),
    total("/sched/pauses/total/gc:seconds", "How long the world was stopped for a collector.", || {
        histogram(&sched().stw_total_time_gc)
    }),
    total("/sched/pauses/total/other:seconds", "How long the world was stopped otherwise.", || {
        histogram(&sched().stw_total_time_other)
    }),
    gauge("/sched/threads/total:threads", "How many threads of the runtime there are.", || {
        state(|states| states.threads)
    }),
    total(
        "/sync/mutex/wait/total:seconds",
        "How long goroutines waited for mutexes, all together; estimated from one time in 128.",
        || seconds(sched().total_mutex_wait_time.load(Ordering::Relaxed)),
    ),
];

fn histogram(times: &TimeHistogram) -> Value {
    let (counts, buckets) = (times.counts(), time_histogram_metrics_buckets());
    Value::Float64Histogram(Float64Histogram { counts, buckets })
}

fn state(of: fn(&States) -> u64) -> Value {
    Value::Uint64(of(&states()))
}

fn std_parks() -> u64 {
    #[cfg(feature = "std")]
    return crate::runtime::stdpark::futex_table::parks();
    #[cfg(not(feature = "std"))]
    0
}

fn std_descriptor_parks() -> u64 {
    #[cfg(feature = "std")]
    return crate::runtime::stdpark::descriptors::parks();
    #[cfg(not(feature = "std"))]
    0
}

fn seconds(ns: i64) -> Value {
    Value::Float64(ns as f64 / 1e9)
}

/// How many goroutines have lost their P because they were asked for this.
fn detachments(asked: Asked) -> Value {
    Value::Uint64(sched().ext.detachments[asked as usize - 1].load(Ordering::Relaxed))
}

/// How long all P's together have been idle, until now.
fn idle() -> Value {
    // Without the lock, the time of a P that stops being idle meanwhile might be missing from both
    // sums.
    lock(&sched().lock);
    let mut idle = sched().idle_time.load(Ordering::Relaxed);
    if started() {
        let since = procs().allp.iter().map(|pp| pp.limiter_event.load(Ordering::Relaxed) as i64);
        let now = nanotime();
        idle += since.filter(|&since| since != 0).map(|since| now - since).sum::<i64>();
    }
    unlock(&sched().lock);
    seconds(idle)
}
