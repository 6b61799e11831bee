//! CPU profiles: where time goes.

use std::ffi::c_void;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gosched::labels::with_labels;
use gosched::pprof::{Profile, set_cpu_profile_rate, start_cpu_profile, stop_cpu_profile};
use gosched::{Builder, blocking, go, proc, run, time, yield_now};

use super::decode::{self, Sample};
use super::goroutine::Full;
use crate::harness::emulator::emulator;
use crate::harness::goroutines::wait_until;
use crate::harness::panics::panics;
use crate::harness::{Test, tests};

tests! {
    functions_and_labels
    threads_that_begin_later
    on_copying_stacks
    in_system_calls
    in_the_scheduler
    one_after_the_other
    beside_other_profiles
    two_at_once
    a_stop_without_a_start
    a_writer_that_fails
    rates
}

/// How long a goroutine is on a processor, however busy the machine is. At 100 samples per second,
/// it surely gets one sample.
const LONG: Duration = Duration::from_millis(100);

/// Returns how long the program, or the calling thread, was on processors.
fn on_processors(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills `time`.
    assert_eq!(unsafe { libc::clock_gettime(clock, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Calls `something` again and again, until the program was on processors for [`LONG`], most of it
/// for `something`.
fn for_long(mut something: impl FnMut()) {
    let time = || on_processors(libc::CLOCK_PROCESS_CPUTIME_ID);
    let since = time();
    while time() - since < LONG {
        something();
    }
}

/// Computes, whatever others do, until its thread was on a processor for [`LONG`]. It has no check,
/// and so keeps its thread.
#[inline(never)]
fn computes() {
    let time = || on_processors(libc::CLOCK_THREAD_CPUTIME_ID);
    let since = time();
    while time() - since < LONG {
        (0..10_000).for_each(|i| _ = black_box(i));
    }
    black_box(());
}

#[inline(never)]
fn computes_at_the_end_of_a_deep_stack(depth: u32) {
    if depth == 0 {
        computes()
    } else {
        computes_at_the_end_of_a_deep_stack(depth - 1)
    }
    black_box(depth);
}

/// The line that a test's process prints if threads have no timers.
const NO_TIMERS: &str = "timers of threads signal nothing";

/// Runs the test in a process, unless threads have no timers, as in some emulators.
fn with_timers(test: Test, f: impl Fn()) {
    let process = test.process(|| match emulator() {
        Some(_) if !run(timers_work) => eprintln!("{NO_TIMERS}"),
        _ => f(),
    });
    let ended = process.end();
    ended.with("exit status: 0");
    if ended.stderr.contains(NO_TIMERS) {
        test.skip(NO_TIMERS);
    }
}

fn timers_work() -> bool {
    let works = start_cpu_profile().map(|()| computes());
    works.is_ok() && !decode::Profile::written(stop_cpu_profile).samples.is_empty()
}

fn profiled(f: impl FnOnce()) -> decode::Profile {
    start_cpu_profile().unwrap();
    f();
    let profile = decode::Profile::written(stop_cpu_profile);
    profile.has_types(&[("samples", "count"), ("cpu", "nanoseconds")]);
    profile
}

/// Calls [`profiled`] until the profile has enough samples, as `has_enough` says. The kernel checks
/// the timers of the threads that run at its ticks. A thread that runs only between ticks may get
/// no sample: for example, if others take turns with it. So there are several tries. The last
/// profile is returned in any case.
fn sampled(has_enough: impl Fn(&decode::Profile) -> bool, f: impl Fn()) -> decode::Profile {
    const TRIES: usize = 20;
    let tries = (1..TRIES).map(|_| profiled(&f)).find(has_enough);
    tries.unwrap_or_else(|| profiled(&f))
}

fn functions_and_labels(test: Test) {
    with_timers(test, || {
        run(|| {
            let has = |profile: &decode::Profile, label| {
                let with_label = |sample: &Sample| sample.labels.contains_key("request") == label;
                profile.samples.iter().any(|sample| sample.is_in("::computes") && with_label(sample))
            };
            let profile = sampled(
                |profile| has(profile, true) && has(profile, false),
                || {
                    let one = with_labels([("request", "17")], || go(computes));
                    let other = go(|| computes_at_the_end_of_a_deep_stack(20));
                    one.join().unwrap();
                    other.join().unwrap();
                },
            );
            assert_eq!(profile.period, 10_000_000);
            assert!(profile.nanoseconds > 0);
            let of = |label: Option<&str>| {
                let mut samples = profile.samples.iter().filter(|sample| {
                    sample.is_in("::computes") && sample.labels.get("request").map(String::as_str) == label
                });
                samples.next().unwrap_or_else(|| panic!("{label:?} in {profile:#?}"))
            };
            assert!(!of(Some("17")).is_in("::computes_at_the_end_of_a_deep_stack"));
            let deep = of(None).stack.iter();
            let deep = deep.filter(|frame| frame.function.ends_with("::computes_at_the_end_of_a_deep_stack"));
            assert_eq!(deep.count(), 21);
            assert!(profile.samples.iter().all(|sample| sample.values[1] == 10_000_000 * sample.values[0]));
        });
    });
}

/// Threads start while the profile is being taken, for goroutines that have lost their P's.
fn threads_that_begin_later(test: Test) {
    with_timers(test, || {
        run(|| {
            let profile = sampled(
                |profile| profile.sum("::computes", 0) >= 5,
                || {
                    let all = [(); 5].map(|()| go(computes));
                    all.into_iter().for_each(|one| one.join().unwrap());
                },
            );
            assert!(profile.sum("::computes", 0) >= 5, "{profile:#?}");
        });
    });
}

fn on_copying_stacks(test: Test) {
    static OVER: AtomicBool = AtomicBool::new(false);
    static ENDED: AtomicBool = AtomicBool::new(false);

    /// Lets others run: it can't lose its P, which may be the only one.
    unsafe extern "C" fn computes_on_a_small_stack(_: *mut c_void) {
        let mut n = 0_u32;
        while !OVER.load(Ordering::Relaxed) {
            n = black_box(n).wrapping_add(1);
            if n.is_multiple_of(1 << 16) {
                // SAFETY: on a goroutine.
                unsafe { proc::gosched() };
            }
        }
        ENDED.store(true, Ordering::Relaxed);
    }

    with_timers(test, || {
        run(|| {
            let has = |profile: &decode::Profile| profile.sum("::computes_on_a_small_stack", 0) > 0;
            let profile = sampled(has, || {
                OVER.store(false, Ordering::Relaxed);
                ENDED.store(false, Ordering::Relaxed);
                // SAFETY: the function fits its stack.
                unsafe { proc::newproc(Some(computes_on_a_small_stack), ptr::null_mut()) };
                for_long(|| time::sleep(Duration::from_millis(1)));
                OVER.store(true, Ordering::Relaxed);
                wait_until(|| ENDED.load(Ordering::Relaxed));
            });
            assert!(has(&profile), "{profile:#?}");
        });
    });
}

fn in_system_calls(test: Test) {
    #[inline(never)]
    fn reads() {
        let (mut zeros, mut buffer) = (File::open("/dev/zero").unwrap(), vec![0; 1 << 20]);
        for_long(|| blocking(|| zeros.read_exact(&mut buffer)).unwrap());
        black_box(());
    }

    with_timers(test, || {
        run(|| {
            let profile = sampled(|profile| profile.sum("::reads", 0) > 0, || go(reads).join().unwrap());
            assert!(profile.sum("::reads", 0) > 0, "{profile:#?}");
        });
    });
}

fn in_the_scheduler(test: Test) {
    with_timers(test, || {
        run(|| {
            let mentions =
                |sample: &Sample, what: &str| sample.stack.iter().any(|frame| frame.function.contains(what));
            // If the crate has no debug information, all functions that are inlined in a switch
            // appear under the switch's name.
            let there =
                |sample: &Sample| mentions(sample, "::runtime::sched::") || mentions(sample, "gosched_mcall");
            let is_there = |profile: &decode::Profile| profile.samples.iter().any(there);
            let profile = sampled(is_there, || for_long(|| (0..1000).for_each(|_| yield_now())));
            assert!(is_there(&profile), "{profile:#?}");
            // The sample doesn't end with the inlined function: it shows its caller.
            let of_nobody = |sample: &Sample| {
                mentions(sample, "core::") && !mentions(sample, "gosched") && !mentions(sample, "suite::")
            };
            assert!(!profile.samples.iter().any(of_nobody), "{profile:#?}");
        });
    });
}

fn one_after_the_other(test: Test) {
    with_timers(test, || {
        run(|| {
            for _ in 0..3 {
                let profile = sampled(|profile| profile.sum("::computes", 0) > 0, computes);
                assert!(profile.sum("::computes", 0) > 0, "{profile:#?}");
            }
            // A late signal does no harm.
            computes();
            // Computes on a small stack, too: code that needs a large one has a thread.
            let small = Builder::new().stack_size(1 << 15).go(|| {
                start_cpu_profile().unwrap();
                yield_now();
                stop_cpu_profile(&mut io::sink()).unwrap();
                Profile::Goroutine.write_to(&mut io::sink()).unwrap();
            });
            small.unwrap().join().unwrap();
        });
    });
}

fn beside_other_profiles(test: Test) {
    with_timers(test, || {
        run(|| {
            let profile = sampled(
                |profile| profile.sum("::computes", 0) > 0,
                || {
                    let computing = go(computes);
                    for profile in Profile::ALL {
                        profile.write_to(&mut io::sink()).unwrap();
                    }
                    computing.join().unwrap();
                },
            );
            assert!(profile.sum("::computes", 0) > 0, "{profile:#?}");
        });
    });
}

fn two_at_once(test: Test) {
    with_timers(test, || {
        run(|| {
            start_cpu_profile().unwrap();
            let error = start_cpu_profile().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
            stop_cpu_profile(&mut io::sink()).unwrap();
            profiled(|| ());
        });
    });
}

fn a_stop_without_a_start() {
    run(|| {
        let error = stop_cpu_profile(&mut io::sink()).unwrap_err();
        assert_eq!(error.to_string(), "no CPU profile is being made");
    });
}

fn a_writer_that_fails(test: Test) {
    with_timers(test, || {
        run(|| {
            start_cpu_profile().unwrap();
            assert_eq!(stop_cpu_profile(&mut Full).unwrap_err().kind(), io::ErrorKind::StorageFull);
            profiled(|| ());
        });
    });
}

fn rates(test: Test) {
    with_timers(test, || {
        let message = panics(|| set_cpu_profile_rate(0));
        assert_eq!(message, "set_cpu_profile_rate(0): give a rate from 1 to 10000 per second");
        set_cpu_profile_rate(250);
        assert_eq!(run(|| profiled(|| ())).period, 4_000_000);
    });
}
