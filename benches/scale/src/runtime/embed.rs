//! Stand-ins: an embedder without hooks, and events without a tracer.

pub(crate) mod hooks {
    use crate::runtime::data::runtime2::{G, P};

    pub(crate) struct Hooks {
        pub(crate) acquirep: Option<fn(&'static P)>,
        pub(crate) find_runnable_gc_worker: Option<fn(&P) -> *mut G>,
    }

    pub(crate) fn hooks() -> &'static Hooks {
        &Hooks { acquirep: None, find_runnable_gc_worker: None }
    }
}

pub(crate) mod trace {
    use crate::runtime::data::runtime2::{G, P};

    pub(crate) enum Event<'a> {
        GoStart(&'a G),
        GoUnpark(&'a G),
        ProcStart(&'a P),
        ProcStop(&'a P),
    }

    pub(crate) fn trace<'a>(_: impl FnOnce() -> Event<'a>) {}
}
