//! Stand-ins: fatal errors, time that doesn't pass, and a thread that is a goroutine.

pub(crate) mod fatal {
    pub(crate) fn throw(message: &str) -> ! {
        panic!("{message}")
    }
}

pub(crate) mod os {
    pub(crate) fn nanotime() -> i64 {
        1
    }

    /// No model has an error.
    pub(crate) fn poll_now(_: i32, _: i16) -> i16 {
        0
    }
}

pub(crate) mod this {
    pub(crate) fn on_goroutine() -> bool {
        true
    }

    pub(crate) fn with_room<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}
