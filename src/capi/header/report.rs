//! What C programs see of metrics and labels.

use std::ffi::{c_char, c_int, c_void};

/// The scheduler's metrics: those of Go's `runtime/metrics`, and of this library, that are plain
/// numbers. Each is as it was at a moment of its own.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Metrics {
    /// How many goroutines there are: `/sched/goroutines:goroutines`.
    pub goroutines: u64,
    /// How many run at once at most: `/sched/gomaxprocs:threads`.
    pub gomaxprocs: u64,
    /// How long processors had nothing to run, all together: `/cpu/classes/idle:cpu-seconds`.
    pub idle_seconds: f64,
    /// How long goroutines waited for mutexes, all together, estimated: those that passed the
    /// reason of a mutex to `gosched_semacquire1`. `/sync/mutex/wait/total:seconds`.
    pub mutex_wait_seconds: f64,
    /// How often a goroutine was stopped to let others run: `/gosched/preemptions:preemptions`.
    pub preemptions: u64,
    /// How often a copying stack was moved to a larger place: `/gosched/stacks/growths:growths`.
    pub stack_growths: u64,
    /// Bytes of home pages, a goroutine and its first stack in each: `/gosched/stacks/home:bytes`.
    pub stack_home_bytes: u64,
    /// Bytes that stacks have grown into: `/gosched/stacks/segments:bytes`.
    pub stack_segment_bytes: u64,
    /// Stacks that were made without a guard page: `/gosched/stacks/unguarded:stacks`.
    pub stacks_unguarded: u64,
    /// How many goroutines run without a processor of the scheduler's, or wait for their turn to
    /// have one: `/gosched/detached:goroutines`.
    pub detached: u64,
    /// How long goroutines did so, all together: `/gosched/detached/total:seconds`.
    pub detached_seconds: f64,
    /// How often one lost it because it blocked its thread:
    /// `/gosched/detachments/blocked:goroutines`.
    pub detachments_blocked: u64,
    /// How often one lost it because it computed for its time slice, and came to no check:
    /// `/gosched/detachments/computing:goroutines`.
    pub detachments_computing: u64,
}

unsafe extern "C" {
    /// Stores the metrics of this moment at `out`. Go's `metrics.Read`.
    ///
    /// Returns 0, or `EINVAL` if `out` is NULL.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. `out` is a place for the metrics.
    pub fn gosched_metrics(out: *mut Metrics) -> c_int;

    /// Gives the running goroutine a label, by which profiles and traces tell it apart, instead of
    /// one with the same key; or, if `value` is NULL, takes that away. Both are copied. A new
    /// goroutine has the labels that its maker has then. Go's `SetGoroutineLabels`, in
    /// `runtime/pprof`.
    ///
    /// Returns 0, or an errno value:
    /// - `EINVAL`: `key` is NULL, or one of them isn't UTF-8;
    /// - `EPERM`: this is no goroutine.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. `key` and `value` are strings, or NULL.
    pub fn gosched_set_label(key: *const c_char, value: *const c_char) -> c_int;

    /// Calls `fn(key, value, arg)` with each label of the running goroutine, in the order of the
    /// keys: on the scheduler's stack. Does nothing where there is no goroutine. Go's `ForLabels`,
    /// in `runtime/pprof`.
    ///
    /// # Safety
    /// It can be called anywhere but in a signal handler. `fn` is as for `gosched_systemstack`, and
    /// copies what it keeps.
    pub fn gosched_labels(
        r#fn: Option<unsafe extern "C" fn(key: *const c_char, value: *const c_char, arg: *mut c_void)>,
        arg: *mut c_void,
    );
}
