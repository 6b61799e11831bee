//! Stand-ins: an embedder without hooks, and events without a tracer.

pub(crate) mod hooks {
    use crate::runtime::data::runtime2::P;

    pub(crate) struct Hooks {
        pub(crate) acquirep: Option<fn(&'static P)>,
    }

    pub(crate) fn hooks() -> &'static Hooks {
        &Hooks { acquirep: None }
    }
}

pub(crate) mod trace {
    use crate::runtime::data::runtime2::{G, M, P};

    pub(crate) enum Event<'a> {
        GoStart(&'a G),
        GoSysCall(&'a G),
        GoSysExit(&'a G, bool),
        GoUnpark(&'a G),
        ProcDetach(&'a P),
        ProcStart(&'a P),
        ProcSteal(&'a P),
        ProcStop(&'a P),
        ProcTurn(&'a P, &'a M),
        StwDone,
        StwStart(&'static str),
    }

    pub(crate) fn tracing() -> bool {
        false
    }

    pub(crate) fn trace<'a>(_: impl FnOnce() -> Event<'a>) {}
}
