//! Links and lists as they ship, atomics under loom, and stand-ins for the other structs.

#[allow(unused_imports, unused_macros, reason = "there are more than are modelled")]
#[path = "../../../../src/runtime/data/atomic.rs"]
pub(crate) mod atomic;
#[path = "../../../../../../src/runtime/data/gqueue.rs"]
pub(crate) mod gqueue;
#[path = "../../../../../../src/runtime/data/link.rs"]
pub(crate) mod link;

pub(crate) mod runtime2 {
    use loom::sync::{Condvar, Mutex as LoomMutex};

    use crate::runtime::data::link::Link;

    /// A goroutine, which here is a thread.
    pub(crate) struct G {
        pub(crate) schedlink: Link<G>,
        pub(crate) ready: LoomMutex<bool>,
        pub(crate) wakes: Condvar,
        pub(crate) ext: GExt,
    }

    pub(crate) struct GExt {
        pub(crate) ahead: Link<G>,
    }

    impl G {
        pub(crate) fn new() -> &'static G {
            Box::leak(Box::new(G {
                schedlink: Link::null(),
                ready: LoomMutex::new(false),
                wakes: Condvar::new(),
                ext: GExt { ahead: Link::null() },
            }))
        }
    }

    /// A lock of loom's.
    pub(crate) struct Mutex {
        pub(crate) held: LoomMutex<bool>,
        pub(crate) free: Condvar,
    }

    pub(crate) enum WaitReason {
        IOWait,
    }

    pub(crate) enum TraceBlockReason {
        Net,
    }
}

pub(crate) mod timer {
    use std::cell::Cell;
    use std::ffi::c_void;

    pub(crate) type TimerFn = unsafe extern "C" fn(*mut c_void, usize);

    #[derive(Default)]
    pub(crate) struct Timer {
        pub(crate) f: Cell<Option<TimerFn>>,
        /// The arguments for which it was set; None if it has fired or was stopped.
        pub(crate) set: Cell<Option<(*mut c_void, usize)>>,
    }
}
