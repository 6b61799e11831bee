//! Metrics and labels for C: the functions that the stubs of `asm/*/entry.S` jump to. Each `unsafe`
//! block relies on what the function of the same name in `header/` asks of its caller.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::str::Utf8Error;
use std::sync::Arc;

use crate::capi::Metrics;
use crate::capi::caller::null;
use crate::runtime::metrics::{Value, read};
use crate::runtime::runtime2::G;
use crate::runtime::{get_prof_label, getg, set_own_label, systemstack};

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
    // SAFETY: as the caller says.
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
