//! Metrics and labels.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::str::Utf8Error;
use std::sync::Arc;

use crate::capi::caller::null;
use crate::runtime::metrics::{Value, read};
use crate::runtime::runtime2::G;
use crate::runtime::{get_prof_label, getg, set_own_label, systemstack};

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

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_metrics_impl(out: *mut Metrics) -> c_int {
    if out.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: `out` is a place for the metrics, on the caller's stack perhaps, which stays
    // meanwhile.
    systemstack(|| unsafe { out.write(all_metrics()) });
    0
}

fn all_metrics() -> Metrics {
    Metrics {
        goroutines: count("/sched/goroutines:goroutines"),
        gomaxprocs: count("/sched/gomaxprocs:threads"),
        idle_seconds: seconds("/cpu/classes/idle:cpu-seconds"),
        mutex_wait_seconds: seconds("/sync/mutex/wait/total:seconds"),
        preemptions: count("/gosched/preemptions:preemptions"),
        stack_growths: count("/gosched/stacks/growths:growths"),
        stack_home_bytes: count("/gosched/stacks/home:bytes"),
        stack_segment_bytes: count("/gosched/stacks/segments:bytes"),
        stacks_unguarded: count("/gosched/stacks/unguarded:stacks"),
        detached: count("/gosched/detached:goroutines"),
        detached_seconds: seconds("/gosched/detached/total:seconds"),
        detachments_blocked: count("/gosched/detachments/blocked:goroutines"),
        detachments_computing: count("/gosched/detachments/computing:goroutines"),
    }
}

fn count(name: &str) -> u64 {
    match read(name) {
        Some(Value::Uint64(count)) => count,
        _ => unreachable!("{name} is no count"),
    }
}

fn seconds(name: &str) -> f64 {
    match read(name) {
        Some(Value::Float64(seconds)) => seconds,
        _ => unreachable!("{name} is no measure"),
    }
}

/// The running goroutine, also inside `gosched_blocking`; none on g0, whose goid is 0.
fn running() -> Option<&'static G> {
    getg().filter(|gp| gp.goid.get() != 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_set_label_impl(key: *const c_char, value: *const c_char) -> c_int {
    let Some(gp) = running() else { return libc::EPERM };
    // SAFETY: strings, or NULL, which stay until this returns.
    let read = || unsafe { (text(key), text(value)) };
    systemstack(|| {
        let (Ok(Some(key)), Ok(value)) = read() else { return libc::EINVAL };
        let mut labels = get_prof_label(gp).as_deref().cloned().unwrap_or_default();
        match value {
            Some(value) => labels.insert(key.to_owned(), value.to_owned()),
            None => labels.remove(key),
        };
        set_own_label(gp, (!labels.is_empty()).then(|| Arc::new(labels)));
        0
    })
}

/// A string of C; none if it is NULL.
///
/// # Safety
/// It is NULL, or a string that stays as long as the result.
unsafe fn text<'a>(text: *const c_char) -> Result<Option<&'a str>, Utf8Error> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller says that `text` is a string that stays as long as the result.
    unsafe { CStr::from_ptr(text) }.to_str().map(Some)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gosched_labels_impl(
    f: Option<unsafe extern "C" fn(*const c_char, *const c_char, *mut c_void)>,
    arg: *mut c_void,
) {
    let Some(f) = f else { null("gosched_labels", "fn") };
    let Some(gp) = running() else { return };
    systemstack(|| {
        for (key, value) in get_prof_label(gp).iter().flat_map(|labels| labels.iter()) {
            let (key, value) = (c_string(key), c_string(value));
            // SAFETY: the program passed `f` to be called with strings and `arg`; it doesn't unwind
            // or park.
            unsafe { f(key.as_ptr(), value.as_ptr(), arg) }
        }
    });
}

/// The text as C has it: up to the first zero, which a label of Rust's may have.
fn c_string(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}
