//! Stand-ins: settings, fatal errors, random numbers, who runs here.

pub(crate) mod os;

/// Settings.
pub(crate) mod debug {
    pub(crate) fn randomize_scheduler() -> bool {
        false
    }

    pub(crate) fn async_preempt_off() -> bool {
        false
    }
}

/// Fatal errors.
pub(crate) mod fatal {
    pub(crate) fn throw(message: &str) -> ! {
        panic!("{message}")
    }
}

/// Messages before a fatal error.
pub(crate) mod print {
    pub(crate) use std::eprintln;
}

/// Random numbers, which no model asks for.
pub(crate) mod rand {
    pub(crate) fn cheaprandn(_: u32) -> u32 {
        unreachable!("nothing is random under loom")
    }
}

/// This thread's M, if it has one, and its stack, which is large enough.
pub(crate) mod this {
    use std::cell::Cell;

    use crate::runtime::data::runtime2::M;

    loom::thread_local! {
        static THIS: Cell<Option<&'static M>> = Cell::new(None);
    }

    /// This thread is the one of `mp`.
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

    pub(crate) fn with_room<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}
