//! Generators that end before they have yielded all values: dropped, by a panic, by goexit.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use gosched::iter::{Pull, Yielder, pull};
use gosched::proc;
use gosched::{go, goexit};

use super::iter::{Counts, count_from, run};
use crate::harness::goroutines::wait_until;
use crate::harness::panics::{panics, text};
use crate::harness::{Test, tests};

tests! {
    a_dropped_generator_has_dropped_what_it_had
    a_generator_that_has_not_begun_never_does
    values_that_nobody_asks_for_are_dropped
    a_panic_goes_on_in_next
    a_panic_of_a_stopped_generator_goes_on_in_the_drop
    a_panic_of_what_never_began_goes_on_in_the_drop
    a_panic_in_a_destructor_of_a_stopped_generator_aborts
    goexit_ends_who_has_asked
    a_panic_is_nobody_elses
    generators_that_are_dropped_by_unwinding
    on_g0_it_is_dropped_later
}

/// Calls a closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn a_dropped_generator_has_dropped_what_it_had() {
    run(|| {
        let counts = Counts::default();
        let mut values = pull({
            let (captured, local) = (counts.clone(), counts.clone());
            move |out| {
                let _captured = &captured;
                let _local = local;
                count_from(0, out);
            }
        });
        assert_eq!((values.next(), values.next()), (Some(0), Some(1)));
        assert_eq!(counts.dropped(), 0);
        drop(values);
        assert_eq!(counts.dropped(), 2);
    });
}

fn a_generator_that_has_not_begun_never_does() {
    run(|| {
        let counts = Counts::default();
        let captured = counts.clone();
        drop(pull(move |_: &Yielder<()>| {
            let _captured = &captured;
            unreachable!("nobody has asked");
        }));
        assert_eq!(counts.dropped(), 1);
    });
}

fn values_that_nobody_asks_for_are_dropped() {
    run(|| {
        let (counts, after) = (Counts::default(), Counts::default());
        let mut values = pull({
            let (counts, after) = (counts.clone(), after.clone());
            move |out| {
                // Its destructor yields while the generator is being stopped.
                let _yields = OnDrop(|| out.yield_(counts.clone()));
                let stopped = catch_unwind(AssertUnwindSafe(|| out.yield_(counts.clone())));
                assert!(stopped.is_err());
                drop(after);
                out.yield_(counts.clone());
                unreachable!("it was stopped");
            }
        });
        drop(values.next().unwrap());
        assert_eq!((counts.dropped(), after.dropped()), (1, 0));
        drop(values);
        // The value that was taken, the two others, and the closure's.
        assert_eq!((counts.dropped(), after.dropped()), (4, 1));
    });
}

fn a_panic_goes_on_in_next() {
    run(|| {
        let mut values = pull(|out| {
            out.yield_(1);
            panic!("after the first");
        });
        assert_eq!(values.next(), Some(1));
        assert_eq!(panics(|| values.next()), "after the first");
        assert_eq!([values.next(), values.next()], [None, None]);
        assert!(!thread::panicking());
    });
}

fn a_panic_of_a_stopped_generator_goes_on_in_the_drop() {
    run(|| {
        let failing = || {
            let mut values = pull(|out| {
                let _panics = OnDrop(|| {
                    // A second panic would abort. This panic is over when the destructor ends.
                    assert_eq!(panics(|| panic!("caught")), "caught");
                });
                if catch_unwind(AssertUnwindSafe(|| out.yield_(1))).is_err() {
                    panic!("while it was stopped");
                }
            });
            values.next();
            values
        };
        let values = failing();
        assert_eq!(panics(|| drop(values)), "while it was stopped");
        // A caller that is panicking already continues its own panic.
        let values = failing();
        let message = panics(|| {
            let _values = values;
            panic!("the caller");
        });
        assert_eq!(message, "the caller");
    });
}

fn a_panic_of_what_never_began_goes_on_in_the_drop() {
    run(|| {
        let counts = Counts::default();
        let captured = (OnDrop(|| panic!("captured")), counts.clone());
        let values = pull(move |_: &Yielder<()>| {
            let _captured = &captured;
            unreachable!("nobody has asked");
        });
        assert_eq!(panics(|| drop(values)), "captured");
        assert_eq!(counts.dropped(), 1);
    });
}

fn a_panic_in_a_destructor_of_a_stopped_generator_aborts(test: Test) {
    let process = test.process(|| {
        run(|| {
            let mut values = pull(|out| {
                let _panics = OnDrop(|| panic!("in a destructor"));
                out.yield_(1);
            });
            values.next();
            drop(values);
        });
    });
    process.end().with("signal: 6").says("in a destructor").says("panic in a destructor during cleanup");
}

fn goexit_ends_who_has_asked() {
    run(|| {
        let counts = Counts::default();
        let mine = counts.clone();
        let asks = go(move || {
            let _mine = mine;
            pull(|_: &Yielder<()>| goexit()).next();
        });
        assert!(asks.join().unwrap_err().is_goexit());
        assert_eq!(counts.dropped(), 1);
    });
}

fn a_panic_is_nobody_elses() {
    run(|| {
        // The generator yields while it unwinds.
        let mut values = pull(|out| {
            let _yields = OnDrop(|| {
                for i in 0..10 {
                    assert!(thread::panicking());
                    out.yield_(i);
                }
            });
            resume_unwind(Box::new("its own"));
        });
        for i in 0..10 {
            assert_eq!(values.next(), Some(i));
            assert!(!thread::panicking());
        }
        assert_eq!(panics(|| values.next()), "its own");
        // Here the caller unwinds, and the generator doesn't.
        let mut calm = pull(|out| {
            let _calm = OnDrop(|| out.yield_(false));
            loop {
                out.yield_(!thread::panicking());
            }
        });
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _asks = OnDrop(|| {
                assert!(thread::panicking());
                assert_eq!(calm.next(), Some(true));
                assert!(thread::panicking());
            });
            resume_unwind(Box::new("the caller's"));
        }));
        assert_eq!(text(&*unwound.unwrap_err()), "the caller's");
        assert_eq!(calm.next(), Some(true));
    });
}

fn generators_that_are_dropped_by_unwinding() {
    run(|| {
        fn nested(depth: usize, counts: &Counts) -> Pull<usize> {
            let counts = counts.clone();
            pull(move |out| {
                let _counts = &counts;
                let mut inner = (depth > 0).then(|| nested(depth - 1, &counts));
                loop {
                    out.yield_(inner.as_mut().map_or(0, |inner| inner.next().unwrap() + 1));
                }
            })
        }
        let counts = Counts::default();
        for _ in 0..20 {
            let mut values = nested(5, &counts);
            assert_eq!((values.next(), values.next()), (Some(5), Some(5)));
        }
        assert_eq!(counts.dropped(), 20 * 6);
    });
}

fn on_g0_it_is_dropped_later() {
    run(|| {
        let counts = Counts::default();
        let captured = counts.clone();
        let values = pull(move |_: &Yielder<()>| drop(captured));
        // SAFETY: nothing in there parks.
        unsafe { proc::systemstack(|| drop(values)) };
        wait_until(|| counts.dropped() == 1);
    });
}
