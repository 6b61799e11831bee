//! All P's, and all goroutines.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::proc::{self, StwReason};
use gosched::runtime2::{P, WaitReason};
use gosched::{go, gomaxprocs, metrics, set_gomaxprocs};

use super::{Operation, operations};
use crate::detach::stepper::operation;

fn procs(n: usize) -> usize {
    set_gomaxprocs(NonZeroUsize::new(n).unwrap())
}

static RAN: AtomicUsize = AtomicUsize::new(0);

fn note(_: *mut P) {
    RAN.fetch_add(1, Ordering::Relaxed);
}

pub fn all() -> Vec<Operation> {
    operations! {
        "stop the world, and start it" => || {
            // SAFETY: on a goroutine, which doesn't park in between.
            operation(|| unsafe { proc::start_the_world(proc::stop_the_world(StwReason::Unknown)) });
            assert_eq!(go(|| 7).join().unwrap(), 7);
        };
        "each P" => || {
            // SAFETY: on a goroutine, and `note` doesn't park.
            operation(|| unsafe { proc::for_each_p(WaitReason::GarbageCollection, note) });
            assert_eq!(RAN.swap(0, Ordering::Relaxed), gomaxprocs());
        };
        "each G" => || {
            let mut gs = 0;
            // SAFETY: the closure only counts.
            operation(|| unsafe { proc::for_each_g(|_| gs += 1) });
            assert!(gs > 0);
        };
        "one P more, and one less" => || {
            assert_eq!(operation(|| [procs(2), procs(1)]), [1, 2]);
            assert_eq!(go(|| 7).join().unwrap(), 7);
        };
        "a metric" => || assert!(operation(|| metrics::read("/sched/gomaxprocs:threads")).is_some());
        "ask all to stop" => || _ = operation(proc::preemptall);
        "memory goes back" => || operation(proc::free_os_memory);
    }
}
