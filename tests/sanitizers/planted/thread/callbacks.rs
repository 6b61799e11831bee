//! Functions that run on another goroutine, or elsewhere, than it seems.

programs! {
    timer_beside_main canceled in_blocking generator
}

/// A timer's function writes at the same time as the timer's maker.
mod timer_beside_main {
    use std::time::Duration;

    use gosched::chan::bounded;
    use gosched::time::Timer;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "writes_in_the_timer"]).made_elsewhere();

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` the timer's function has ended. Not kept in
        // `bug`: that is the bug.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn writes_in_the_timer(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` nobody else uses it until this is told. `bug`
        // breaks this.
        unsafe { *number.get() = 8 };
    }

    fn write(waits_first: bool) {
        let number = Alias::boxed(0);
        let (tx, rx) = bounded(1);
        let call = move || {
            writes_in_the_timer(number);
            tx.send(()).unwrap();
        };
        let _timer = Timer::after_func(Duration::from_millis(1), call);
        if waits_first {
            rx.recv().unwrap();
        }
        writes(number);
        if !waits_first {
            rx.recv().unwrap();
        }
    }

    pub fn bug() {
        write(false);
    }

    pub fn right() {
        write(true);
    }
}

/// The goroutine that cancels a context goes on while the context's function begins.
mod canceled {
    use gosched::chan::bounded;
    use gosched::context::Context;

    use crate::alias::Alias;
    use crate::hint::Hint;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "writes_at_the_end"]).made_elsewhere();

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` the context's function has ended. Not kept in
        // `bug`.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn writes_at_the_end(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` nobody else uses it until this is told. `bug`
        // breaks this: that is the bug.
        unsafe { *number.get() = 8 };
    }

    fn write(waits_first: bool) {
        static CANCELED: Hint = Hint::new();
        let number = Alias::boxed(0);
        let (tx, rx) = bounded(1);
        let (ctx, cancel) = Context::background().with_cancel();
        let _func = ctx.after_func(move || {
            // The locks of `cancel` would order them.
            CANCELED.wait();
            writes_at_the_end(number);
            tx.send(()).unwrap();
        });
        cancel.cancel();
        CANCELED.set();
        if waits_first {
            rx.recv().unwrap();
        }
        writes(number);
        if !waits_first {
            rx.recv().unwrap();
        }
    }

    pub fn bug() {
        write(false);
    }

    pub fn right() {
        write(true);
    }
}

/// A goroutine writes while it blocks its thread, and another one writes at the same time.
mod in_blocking {
    use gosched::blocking;
    use gosched::chan::bounded;

    use super::super::side_by_side;
    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "writes_without_a_p"]);

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` the other has written. `bug` breaks this: that
        // is the bug.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn writes_without_a_p(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` nobody else uses it yet. `bug` breaks this.
        unsafe { *number.get() = 8 };
    }

    pub fn bug() {
        let number = Alias::boxed(0);
        side_by_side(|| blocking(|| writes_without_a_p(number)), || writes(number));
    }

    pub fn right() {
        let number = Alias::boxed(0);
        let (tx, rx) = bounded(0);
        let block = || {
            blocking(|| writes_without_a_p(number));
            tx.send(()).unwrap();
        };
        let wait = || {
            rx.recv().unwrap();
            writes(number);
        };
        side_by_side(block, wait);
    }
}

/// A generator and a third goroutine use the same counter. The iterating goroutine may use it, as
/// it and the generator take turns.
mod generator {
    use gosched::go;
    use gosched::iter::pull;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["adds", "adds_in_the_generator"]);

    #[inline(never)]
    fn adds(count: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` the generator waits. `bug` breaks this: that is
        // the bug.
        unsafe { *count.get() += 1 };
    }

    #[inline(never)]
    fn adds_in_the_generator(count: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` the iterating goroutine waits, and nobody else
        // uses it. `bug` breaks this.
        unsafe { *count.get() += 1 };
    }

    fn counts(count: Alias<u64>) -> impl Iterator<Item = u64> {
        pull(move |out| {
            for i in 0..10 {
                adds_in_the_generator(count);
                out.yield_(i);
            }
        })
    }

    pub fn bug() {
        let count = Alias::boxed(0);
        let generated = counts(count);
        let beside = go(move || adds(count));
        assert_eq!(generated.sum::<u64>(), 45);
        beside.join().unwrap();
    }

    pub fn right() {
        let count = Alias::boxed(0);
        for _ in counts(count) {
            adds(count);
        }
        // SAFETY: it is never freed, and the generator has ended.
        assert_eq!(unsafe { *count.get() }, 20);
    }
}
