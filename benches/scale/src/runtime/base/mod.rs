//! Stand-ins: settings, fatal errors, random numbers, and the running G and M.

pub(crate) mod os;

pub(crate) mod debug {
    pub(crate) fn randomize_scheduler() -> bool {
        false
    }
}

pub(crate) mod fatal {
    pub(crate) fn throw(message: &str) -> ! {
        panic!("{message}")
    }

    pub(crate) fn overflow<T>(_: T, _: usize, _: usize, _: Option<()>) -> ! {
        panic!("stack overflow")
    }
}

pub(crate) mod print {
    pub(crate) use std::eprintln;
}

pub(crate) mod rand {
    use crate::sim::random;

    pub(crate) fn cheaprand() -> u32 {
        random()
    }

    pub(crate) fn cheaprandn(n: u32) -> u32 {
        random() % n
    }
}

/// Names that the shipped files' own tests import. The tests aren't run here.
#[cfg(test)]
pub(crate) mod testing {
    pub(crate) fn zeroed<T>() -> &'static T {
        unreachable!("those tests are the crate's")
    }
}

/// This thread's M.
pub(crate) mod this {
    use std::cell::RefCell;

    use crate::runtime::data::runtime2::{G, M, P};
    use crate::sim;

    thread_local! {
        static MS: RefCell<Vec<&'static M>> = const { RefCell::new(Vec::new()) };
    }

    /// The M's of the threads, in the order in which the M's were made.
    pub(crate) fn add_m(mp: &'static M) {
        MS.with_borrow_mut(|ms| ms.push(mp));
    }

    pub(crate) fn forget_ms() {
        MS.with_borrow_mut(Vec::clear);
    }

    pub(crate) fn getm() -> &'static M {
        MS.with_borrow(|ms| ms[sim::this()])
    }

    pub(crate) fn this_m() -> Option<&'static M> {
        Some(getm())
    }

    pub(crate) fn goroutine() -> (&'static G, &'static M) {
        unreachable!("no goroutine is the system's")
    }

    pub(crate) fn acquirem() -> Option<&'static M> {
        this_m()
    }

    pub(crate) fn releasem(_: Option<&M>) {}

    /// As in the shipped file.
    pub(crate) struct Held(&'static M);

    pub(crate) fn hold_p(mp: &'static M) -> Held {
        mp.locks.set(mp.locks.get() + 1);
        Held(mp)
    }

    pub(crate) fn held(mp: &'static M) -> Held {
        Held(mp)
    }

    impl Drop for Held {
        fn drop(&mut self) {
            self.0.locks.set(self.0.locks.get() - 1);
        }
    }

    impl M {
        pub(crate) fn p(&self) -> Option<&'static P> {
            self.p.peek()
        }
    }

    pub(crate) fn with_room<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}
