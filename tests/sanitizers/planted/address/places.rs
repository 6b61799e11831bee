//! Places where a goroutine may be, or have been, when it writes beyond an array on its stack. The
//! array exists all the time.

programs! {
    after_a_park after_a_preemption after_a_panic in_a_coroutine in_blocking with_shared_locals on_a_thread
}

use std::hint::black_box;

/// Makes an array on the stack, calls `meanwhile`, and then writes `length` bytes of the array.
fn with_an_array(length: usize, meanwhile: impl FnOnce(), writes: fn(*mut u8, usize)) {
    let mut array = [0; LENGTH];
    let start = black_box(&mut array).as_mut_ptr();
    meanwhile();
    writes(start, length);
    assert_eq!(array, [1; LENGTH]);
}

const LENGTH: usize = 24;
const TOO_LONG: usize = LENGTH + 1;

/// Defines the function that writes. Each program has its own, because reports name it.
macro_rules! writer {
    ($name:ident) => {
        #[inline(never)]
        fn $name(start: *mut u8, length: usize) {
            for i in 0..length {
                // SAFETY: in `right` the array is as long. `bug` breaks this: that is the bug.
                unsafe { start.add(i).write_volatile(1) };
            }
        }
    };
}

/// The goroutine has been parked, and has gone on.
mod after_a_park {
    use std::time::Duration;

    use gosched::chan::bounded;
    use gosched::go;
    use gosched::time::sleep;

    use super::{LENGTH, TOO_LONG, with_an_array};
    use crate::report::Report;

    pub const REPORT: Report = Report::new("stack-buffer-overflow", &["writes_when_woken"]).made_in(file!());

    writer!(writes_when_woken);

    fn run(length: usize) {
        let (tx, rx) = bounded(0);
        let parks = move || {
            for _ in 0..10 {
                rx.recv().unwrap();
            }
            sleep(Duration::from_millis(1));
        };
        let parked = go(move || with_an_array(length, parks, writes_when_woken));
        for _ in 0..10 {
            tx.send(()).unwrap();
        }
        parked.join().unwrap();
    }

    pub fn bug() {
        run(TOO_LONG);
    }

    pub fn right() {
        run(LENGTH);
    }
}

/// The goroutine has computed for longer than it may, and others have run meanwhile.
mod after_a_preemption {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use gosched::{check, go};

    use super::{LENGTH, TOO_LONG, with_an_array};
    use crate::hint::Hint;
    use crate::report::Report;

    pub const REPORT: Report =
        Report::new("stack-buffer-overflow", &["writes_when_resumed"]).made_in(file!());

    writer!(writes_when_resumed);

    /// Longer than a goroutine may run.
    const LONG: Duration = Duration::from_millis(30);

    fn run(length: usize) {
        let others_ran = Arc::new(Hint::new());
        let computes = {
            let (begun, others_ran) = (Instant::now(), others_ran.clone());
            move || {
                while begun.elapsed() < LONG || !others_ran.is_set() {
                    check();
                }
            }
        };
        let preempted = go(move || with_an_array(length, computes, writes_when_resumed));
        go(move || others_ran.set()).join().unwrap();
        preempted.join().unwrap();
    }

    pub fn bug() {
        run(TOO_LONG);
    }

    pub fn right() {
        run(LENGTH);
    }
}

/// A panic has unwound some of the goroutine's stack, and was caught.
mod after_a_panic {
    use std::hint::black_box;
    use std::panic::{catch_unwind, resume_unwind};

    use gosched::{go, yield_now};

    use super::{LENGTH, TOO_LONG, with_an_array};
    use crate::report::Report;

    pub const REPORT: Report = Report::new("stack-buffer-overflow", &["writes_when_caught"]).made_in(file!());

    writer!(writes_when_caught);

    /// With arrays in frames that nobody leaves as usual.
    fn panics(depth: usize) {
        let array = black_box([depth; 16]);
        if depth == 0 {
            // Nothing is printed of this one.
            resume_unwind(Box::new(()));
        }
        panics(depth - 1);
        black_box(array);
    }

    fn run(length: usize) {
        let unwinds = || {
            for _ in 0..3 {
                assert!(catch_unwind(|| panics(20)).is_err());
                yield_now();
            }
        };
        go(move || with_an_array(length, unwinds, writes_when_caught)).join().unwrap();
    }

    pub fn bug() {
        run(TOO_LONG);
    }

    pub fn right() {
        run(LENGTH);
    }
}

/// The goroutine yields values to another one.
mod in_a_coroutine {
    use gosched::iter::pull;

    use super::{LENGTH, TOO_LONG, with_an_array};
    use crate::report::Report;

    pub const REPORT: Report =
        Report::new("stack-buffer-overflow", &["writes_between_values"]).made_in(file!());

    writer!(writes_between_values);

    fn run(length: usize) {
        let values = pull(move |out| {
            with_an_array(length, || (0..10).for_each(|n| out.yield_(n)), writes_between_values);
            out.yield_(10);
        });
        assert_eq!(values.sum::<u32>(), 55);
    }

    pub fn bug() {
        run(TOO_LONG);
    }

    pub fn right() {
        run(LENGTH);
    }
}

/// The goroutine has given its processor away, and keeps its thread.
mod in_blocking {
    use std::thread;
    use std::time::Duration;

    use gosched::{blocking, go};

    use super::{LENGTH, TOO_LONG, with_an_array};
    use crate::report::Report;

    pub const REPORT: Report = Report::new("stack-buffer-overflow", &["writes_without_a_p"]).made_in(file!());

    writer!(writes_without_a_p);

    fn run(length: usize) {
        let blocks = || thread::sleep(Duration::from_millis(1));
        go(move || blocking(|| with_an_array(length, blocks, writes_without_a_p))).join().unwrap();
    }

    pub fn bug() {
        run(TOO_LONG);
    }

    pub fn right() {
        run(LENGTH);
    }
}

/// The goroutine has no thread-locals of its own.
mod with_shared_locals {
    use gosched::{Builder, yield_now};

    use super::{LENGTH, TOO_LONG, with_an_array};
    use crate::report::Report;

    pub const REPORT: Report =
        Report::new("stack-buffer-overflow", &["writes_as_its_thread"]).made_in(file!());

    writer!(writes_as_its_thread);

    fn run(length: usize) {
        // SAFETY: nothing that the goroutine runs uses a thread-local.
        let builder = unsafe { Builder::new().shared_locals() };
        let yields = || (0..10).for_each(|_| yield_now());
        builder.go(move || with_an_array(length, yields, writes_as_its_thread)).unwrap().join().unwrap();
    }

    pub fn bug() {
        run(TOO_LONG);
    }

    pub fn right() {
        run(LENGTH);
    }
}

/// It isn't a goroutine, but a thread that has waited like one.
mod on_a_thread {
    use std::thread;

    use gosched::blocking;
    use gosched::chan::bounded;

    use super::{LENGTH, TOO_LONG, with_an_array};
    use crate::report::Report;

    pub const REPORT: Report = Report::new("stack-buffer-overflow", &["writes_on_a_thread"]);

    writer!(writes_on_a_thread);

    fn run(length: usize) {
        let (tx, rx) = bounded(0);
        let waits = move || assert_eq!(rx.iter().sum::<u32>(), 45);
        let thread = thread::spawn(move || with_an_array(length, waits, writes_on_a_thread));
        for n in 0..10 {
            tx.send(n).unwrap();
        }
        drop(tx);
        blocking(|| thread.join()).unwrap();
    }

    pub fn bug() {
        run(TOO_LONG);
    }

    pub fn right() {
        run(LENGTH);
    }
}
