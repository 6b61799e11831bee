//! Atomics under loom, and stand-ins for the structs.

pub(crate) mod atomic;

pub(crate) mod runtime2 {
    use std::cell::Cell;

    use loom::sync::{Condvar, Mutex as LoomMutex, MutexGuard};

    use crate::runtime::data::atomic::{AtomicBool, AtomicU32};

    /// A goroutine, that is: a thread.
    pub(crate) struct G {
        pub(crate) m: Cell<Option<&'static M>>,
        pub(crate) ready: LoomMutex<bool>,
        pub(crate) wakes: Condvar,
    }

    /// No thread has one.
    pub(crate) struct M {
        pub(crate) g0: Cell<Option<&'static G>>,
        pub(crate) blocked: Cell<bool>,
    }

    /// A lock that loom knows. Its holder keeps the guard in it.
    pub(crate) struct Mutex {
        pub(crate) held: LoomMutex<()>,
        pub(crate) guard: Cell<Option<MutexGuard<'static, ()>>>,
    }

    pub(crate) struct Note {
        pub(crate) key: AtomicU32,
    }

    pub(crate) struct Schedt {
        pub(crate) lock: Mutex,
        pub(crate) sysmonwait: AtomicBool,
        pub(crate) sysmonnote: Note,
        pub(crate) ext: SchedtExt,
    }

    pub(crate) struct SchedtExt {
        pub(crate) wakes_left: AtomicBool,
    }

    pub(crate) enum WaitReason {
        Futex,
    }

    pub(crate) enum TraceBlockReason {
        Sync,
    }

    // SAFETY: no thread has an M, so nobody touches the cells.
    unsafe impl Sync for G {}
    // SAFETY: the holder of the lock touches the cell, nobody else.
    unsafe impl Sync for Mutex {}

    loom::lazy_static! {
        static ref SCHED: Schedt = Schedt {
            lock: Mutex::new(),
            sysmonwait: AtomicBool::new(false),
            sysmonnote: Note { key: AtomicU32::new(0) },
            ext: SchedtExt { wakes_left: AtomicBool::new(false) },
        };
    }

    loom::thread_local! {
        static THIS: &'static G = Box::leak(Box::new(G {
            m: Cell::new(None),
            ready: LoomMutex::new(false),
            wakes: Condvar::new(),
        }));
    }

    pub(crate) fn sched() -> &'static Schedt {
        &SCHED
    }

    impl G {
        /// This thread.
        pub(crate) fn this() -> &'static G {
            THIS.with(|gp| *gp)
        }
    }
}

pub(crate) mod timer {
    use std::cell::Cell;
    use std::ffi::c_void;
    use std::ptr;
    use std::sync::atomic::{AtomicI64, AtomicUsize};

    use crate::runtime::data::runtime2::Mutex;

    pub(crate) type TimerFn = unsafe extern "C" fn(*mut c_void, usize);

    pub(crate) struct Timer {
        pub(crate) when: Cell<i64>,
        pub(crate) period: Cell<i64>,
        pub(crate) f: Cell<Option<TimerFn>>,
        pub(crate) arg: Cell<*mut c_void>,
        pub(crate) seq: AtomicUsize,
        pub(crate) ext: TimerExt,
    }

    pub(crate) struct TimerExt {
        pub(crate) send_lock: Mutex,
        pub(crate) waiter: Cell<*mut c_void>,
        pub(crate) due: AtomicI64,
        pub(crate) feeds: Cell<bool>,
    }

    // SAFETY: the owner touches the cells, or a thread that holds the lock.
    unsafe impl Sync for Timer {}

    impl Timer {
        pub(crate) fn as_arg(&self) -> *mut c_void {
            ptr::from_ref(self).cast_mut().cast()
        }
    }
}
