//! Atomics under loom, and stand-ins for the structs.

pub(crate) mod atomic;

pub(crate) mod cell {
    use std::cell::OnceCell;
    use std::mem::zeroed;
    use std::thread::panicking;

    use loom::cell::UnsafeCell;

    /// A cell of loom's, made at the first use if the memory is zeroed. A model fails if two
    /// threads use it and nothing orders them, or if it ends while another thread may still use it.
    pub(crate) struct Cell<T>(OnceCell<Box<UnsafeCell<T>>>);

    impl<T> Cell<T> {
        #[track_caller]
        pub(crate) fn new(value: T) -> Self {
            Cell(OnceCell::from(Box::new(UnsafeCell::new(value))))
        }

        #[track_caller]
        fn of_loom(&self) -> &UnsafeCell<T> {
            // SAFETY: zeroed memory is a cell with a zeroed value.
            self.0.get_or_init(|| Box::new(UnsafeCell::new(unsafe { zeroed() })))
        }

        #[track_caller]
        pub(crate) fn set(&self, value: T) {
            drop(self.replace(value));
        }

        #[track_caller]
        pub(crate) fn replace(&self, value: T) -> T {
            // SAFETY: loom notices if another thread uses the cell.
            self.of_loom().with_mut(|at| unsafe { at.replace(value) })
        }

        #[track_caller]
        pub(crate) fn get(&self) -> T
        where
            T: Copy,
        {
            // SAFETY: as above.
            self.of_loom().with(|at| unsafe { *at })
        }

        #[track_caller]
        pub(crate) fn update(&self, f: impl FnOnce(T) -> T)
        where
            T: Copy,
        {
            self.set(f(self.get()));
        }
    }

    impl<T> Drop for Cell<T> {
        fn drop(&mut self) {
            if let Some(cell) = self.0.get()
                && !panicking()
            {
                cell.with_mut(|_| ());
            }
        }
    }
}

pub(crate) mod gqueue {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use crate::runtime::data::runtime2::G;

    /// A queue that only one thread has.
    #[derive(Default)]
    pub(crate) struct GQueue(RefCell<VecDeque<&'static G>>);

    impl GQueue {
        pub(crate) fn push_back(&self, gp: &'static G) {
            self.0.borrow_mut().push_back(gp);
        }

        pub(crate) fn pop(&self) -> Option<&'static G> {
            self.0.borrow_mut().pop_front()
        }
    }
}

pub(crate) mod runtime2 {
    use std::cell::{Cell, OnceCell};
    use std::ops::Deref;

    use loom::sync::{Condvar, Mutex as LoomMutex, MutexGuard};

    use crate::runtime::data::atomic::{AtomicBool, AtomicU32, Cell as LoomCell};

    /// A goroutine, which here is a thread.
    pub(crate) struct G {
        pub(crate) m: Cell<Option<&'static M>>,
        /// Whether it has left its stack, and hasn't been made ready since. Only the call that
        /// makes it ready orders the accesses.
        pub(crate) waits: LoomCell<bool>,
        pub(crate) ready: LoomMutex<bool>,
        pub(crate) wakes: Condvar,
    }

    /// No thread has an M.
    pub(crate) struct M {
        pub(crate) g0: Cell<Option<&'static G>>,
        pub(crate) blocked: Cell<bool>,
    }

    /// A lock of loom's, made at the first use. Zeroed memory is a lock.
    #[derive(Default)]
    pub(crate) struct Mutex(OnceCell<Box<Lock>>);

    /// The place where the holder keeps the guard.
    #[derive(Default)]
    pub(crate) struct Lock {
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
        StdPoll,
        StdRead,
        StdWrite,
    }

    pub(crate) enum TraceBlockReason {
        Net,
        Sync,
    }

    // SAFETY: no thread has an M, so none uses that cell; loom checks the other one.
    unsafe impl Sync for G {}
    // SAFETY: only the holder of the lock uses the cell.
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
            waits: LoomCell::new(false),
            ready: LoomMutex::new(false),
            wakes: Condvar::new(),
        }));
    }

    pub(crate) fn sched() -> &'static Schedt {
        &SCHED
    }

    impl Mutex {
        pub(crate) fn new() -> Self {
            Mutex::default()
        }
    }

    impl Deref for Mutex {
        type Target = Lock;

        fn deref(&self) -> &Lock {
            self.0.get_or_init(Box::default)
        }
    }

    impl G {
        /// Returns this thread.
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

    // SAFETY: only the owner, or a thread that holds the lock, uses the cells.
    unsafe impl Sync for Timer {}

    impl Timer {
        pub(crate) fn as_arg(&self) -> *mut c_void {
            ptr::from_ref(self).cast_mut().cast()
        }
    }
}
