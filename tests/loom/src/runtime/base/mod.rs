//! Stand-ins: settings, fatal errors, random numbers, and the running G and M.

#[path = "../../../../../src/runtime/base/debug.rs"]
pub(crate) mod debug;
#[path = "../../../../../src/runtime/base/histogram.rs"]
mod histogram;
pub(crate) mod os;
#[path = "../../../../../src/runtime/base/rand.rs"]
pub(crate) mod rand;

/// Fatal errors.
pub(crate) mod fatal {
    pub(crate) fn throw(message: &str) -> ! {
        panic!("{message}")
    }
}

/// glibc's functions.
pub(crate) mod real {
    pub(crate) use crate::runtime::threads::locks::models_rwlock::{
        pthread_rwlock_tryrdlock, pthread_rwlock_trywrlock, pthread_rwlock_unlock,
    };
}

/// Messages before a fatal error.
pub(crate) mod print {
    pub(crate) use std::eprintln;
}

/// This thread's M, if it has one, and its stack, which always suffices.
pub(crate) mod this {
    use std::cell::Cell;

    use crate::runtime::arch::on_g0;
    use crate::runtime::data::runtime2::{G, M, P};

    loom::thread_local! {
        static THIS: Cell<Option<&'static M>> = Cell::new(None);
    }

    loom::thread_local! {
        /// The number of holds until a signal comes, and the signal's handler.
        static SIGNAL: Cell<(u32, fn(&'static M))> = Cell::new((0, |_| {}));
    }

    /// Makes `handler` be called at the end of the `nth` hold on this thread from now.
    pub(crate) fn signal_after(nth: u32, handler: fn(&'static M)) {
        SIGNAL.with(|signal| signal.set((nth, handler)));
    }

    /// Makes `mp` this thread's M.
    pub(crate) fn set_m(mp: &'static M) {
        THIS.with(|this| this.set(Some(mp)));
    }

    pub(crate) fn this_m() -> Option<&'static M> {
        THIS.with(Cell::get)
    }

    pub(crate) fn getm() -> &'static M {
        this_m().expect("a thread of the model's own")
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

    impl Held {
        pub(crate) fn p(&self) -> Option<&'static P> {
            self.0.p()
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            self.0.locks.set(self.0.locks.get() - 1);
            let (nth, handler) = SIGNAL.with(Cell::get);
            if self.0.locks.get() == 0 && nth != 0 && !on_g0() {
                signal_after(nth - 1, handler);
                if nth == 1 {
                    handler(self.0);
                }
            }
        }
    }

    impl M {
        pub(crate) fn runs(&self, gp: &G) -> bool {
            self.curg.get().is_some_and(|curg| std::ptr::eq(curg, gp))
        }

        pub(crate) fn p(&self) -> Option<&'static P> {
            self.p.peek()
        }
    }

    pub(crate) fn whoami() -> (Option<&'static G>, Option<&'static M>) {
        let mp = this_m();
        (mp.and_then(|mp| mp.curg.get()), mp)
    }

    pub(crate) fn goroutine() -> (&'static G, &'static M) {
        let mp = getm();
        (mp.curg.get().expect("on a goroutine"), mp)
    }

    pub(crate) fn on_goroutine() -> bool {
        true
    }

    pub(crate) fn with_room<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}
