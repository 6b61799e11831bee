//! What the shipped files are used with.

pub(crate) mod lock {
    use loom::sync::{Condvar, Mutex as LoomMutex};

    /// A lock that loom knows.
    pub(crate) struct Mutex(LoomMutex<bool>, Condvar);

    impl Mutex {
        pub(crate) fn new() -> Self {
            Mutex(LoomMutex::new(false), Condvar::new())
        }
    }

    pub(crate) fn lock(l: &Mutex) {
        let mut held = l.0.lock().unwrap();
        while *held {
            held = l.1.wait(held).unwrap();
        }
        *held = true;
    }

    pub(crate) fn unlock(l: &Mutex) {
        *l.0.lock().unwrap() = false;
        l.1.notify_one();
    }
}

pub(crate) mod panic {
    pub(crate) fn throw(message: &str) -> ! {
        panic!("{message}")
    }
}

pub(crate) mod os {
    pub(crate) fn nanotime() -> i64 {
        1
    }
}

pub(crate) mod stack {
    pub(crate) fn with_room<R>(f: impl FnOnce() -> R) -> R {
        f()
    }

    pub(crate) mod check {
        pub(crate) fn entry_check() {}
    }
}

pub(crate) mod sync {
    use std::sync::{Mutex as StdMutex, MutexGuard};

    /// Nobody waits for it in a model.
    #[derive(Default)]
    pub(crate) struct Mutex<T>(StdMutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(StdMutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.try_lock().unwrap()
        }
    }
}

pub(crate) mod wait {
    use crate::proc::extram::Guest;

    pub(crate) fn must_wait(_what: &str) -> Option<Guest> {
        None
    }
}

pub(crate) mod runtime2 {
    use std::cell::Cell;
    use std::ffi::c_void;

    use loom::sync::{Condvar, Mutex as LoomMutex};

    pub(crate) use crate::link::Link;
    pub(crate) use crate::lock::Mutex;

    pub(crate) type TimerFn = unsafe extern "C" fn(*mut c_void, usize);

    /// A goroutine, that is: a thread.
    pub(crate) struct G {
        pub(crate) schedlink: Link<G>,
        pub(crate) ready: LoomMutex<bool>,
        pub(crate) wakes: Condvar,
    }

    #[derive(Default)]
    pub(crate) struct Timer {
        pub(crate) f: Cell<Option<TimerFn>>,
        /// What it was set for; it isn't there if it has fired or was stopped.
        pub(crate) set: Cell<Option<(*mut c_void, usize)>>,
    }

    pub(crate) enum WaitReason {
        IOWait,
    }

    pub(crate) enum TraceBlockReason {
        Net,
    }
}

pub(crate) mod time {
    use std::time::{Duration, Instant};

    pub(crate) fn nanos(d: Duration) -> i64 {
        d.as_nanos() as i64
    }

    pub(crate) fn until(deadline: Instant) -> Duration {
        deadline.saturating_duration_since(Instant::now())
    }

    pub(crate) mod modify {
        use std::ffi::c_void;

        use crate::runtime2::{Timer, TimerFn};

        pub(crate) fn modtimer(
            t: &Timer,
            _when: i64,
            _period: i64,
            f: Option<TimerFn>,
            arg: *mut c_void,
            seq: usize,
        ) -> bool {
            t.f.set(f);
            t.set.replace(Some((arg, seq))).is_some()
        }

        pub(crate) fn deltimer(t: &Timer) -> bool {
            t.set.take().is_some()
        }
    }
}

pub(crate) mod proc {
    pub(crate) use crate::gqueue;

    pub(crate) mod extram {
        pub(crate) struct Guest;
    }

    pub(crate) mod park {
        use std::ffi::c_void;
        use std::ptr;

        use loom::sync::{Condvar, Mutex};

        use crate::link::Link;
        use crate::runtime2::{G, TraceBlockReason, WaitReason};

        pub(crate) unsafe fn gopark(
            unlockf: Option<unsafe extern "C" fn(*mut G, *mut c_void) -> bool>,
            lock: *mut c_void,
            _: WaitReason,
            _: TraceBlockReason,
            _: i32,
        ) {
            let gp: &'static G = Box::leak(Box::new(G {
                schedlink: Link::null(),
                ready: Mutex::new(false),
                wakes: Condvar::new(),
            }));
            // SAFETY: the caller's.
            if unsafe { unlockf.unwrap()(ptr::from_ref(gp).cast_mut(), lock) } {
                let mut ready = gp.ready.lock().unwrap();
                while !*ready {
                    ready = gp.wakes.wait(ready).unwrap();
                }
            }
        }

        pub(crate) fn on_goroutine() -> bool {
            true
        }

        pub(crate) fn goready(gp: &'static G) {
            let was = std::mem::replace(&mut *gp.ready.lock().unwrap(), true);
            assert!(!was, "made ready twice");
            gp.wakes.notify_one();
        }
    }
}

pub(crate) mod netpoll {
    pub(crate) use crate::deadline::poll_runtime_poll_set_deadline;
    pub(crate) use crate::ops::*;
    pub(crate) use crate::poll_desc::{Mode, PollDesc, PollError};
    pub(crate) use crate::{block, poll_desc};

    use std::io;

    use std::sync::atomic::{AtomicI32, Ordering};

    loom::lazy_static! {
        static ref WAITERS: AtomicI32 = AtomicI32::new(0);
    }

    pub(crate) fn netpoll_generic_init() -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn netpollinited() -> bool {
        true
    }

    pub(crate) fn netpoll_adjust_waiters(delta: i32) {
        WAITERS.fetch_add(delta, Ordering::SeqCst);
    }

    pub(crate) fn netpoll_waiters() -> i32 {
        WAITERS.load(Ordering::SeqCst)
    }

    /// Who gives one back is the next to get it.
    pub(crate) mod cache {
        use std::cell::Cell;
        use std::io;
        use std::sync::atomic::{AtomicUsize, Ordering};

        use loom::sync::Mutex as LoomMutex;

        use crate::atomic::{AtomicPtr, AtomicU32};
        use crate::link::Link;
        use crate::lock::{Mutex, lock, unlock};
        use crate::poll_desc::{PD_NIL, PollDesc, TAGGED_POINTER_BITS};
        use crate::runtime2::Timer;

        pub(crate) struct PollCache;

        pub(crate) static POLLCACHE: PollCache = PollCache;

        loom::lazy_static! {
            static ref UNUSED: LoomMutex<Option<&'static PollDesc>> = LoomMutex::new(None);
        }

        impl PollCache {
            pub(crate) fn alloc(&self) -> io::Result<&'static PollDesc> {
                Ok(UNUSED.lock().unwrap().take().unwrap_or_else(|| {
                    Box::leak(Box::new(PollDesc {
                        link: Link::null(),
                        fd: Cell::new(0),
                        fdseq: AtomicUsize::new(0),
                        atomic_info: AtomicU32::new(0),
                        rg: AtomicPtr::new(PD_NIL),
                        wg: AtomicPtr::new(PD_NIL),
                        lock: Mutex::new(),
                        closing: Cell::new(false),
                        user: Cell::new(0),
                        rseq: Cell::new(0),
                        rt: Timer::default(),
                        rd: Cell::new(0),
                        wseq: Cell::new(0),
                        wt: Timer::default(),
                        wd: Cell::new(0),
                        self_: Link::null(),
                    }))
                }))
            }

            /// As in the file that ships.
            pub(crate) fn free(&self, pd: &'static PollDesc) {
                lock(&pd.lock);
                let fdseq =
                    pd.fdseq.load(Ordering::Relaxed).wrapping_add(1) & ((1 << TAGGED_POINTER_BITS) - 1);
                pd.fdseq.store(fdseq, Ordering::SeqCst);
                pd.publish_info();
                unlock(&pd.lock);
                *UNUSED.lock().unwrap() = Some(pd);
            }
        }
    }

    /// A kernel that says something of itself if a model has it do that.
    pub(crate) mod epoll {
        use std::io;
        use std::os::fd::RawFd;
        use std::sync::Mutex;
        use std::sync::atomic::Ordering;

        use crate::event::tagged_pointer_pack;
        use crate::poll_desc::PollDesc;

        loom::lazy_static! {
            /// What was registered last, and what comes back with an event of that.
            static ref REGISTERED: Mutex<Option<(&'static PollDesc, u64)>> = Mutex::new(None);
        }

        pub(crate) fn netpollopen(_: RawFd, pd: &'static PollDesc) -> io::Result<()> {
            let data = tagged_pointer_pack(pd, pd.fdseq.load(Ordering::Relaxed));
            *REGISTERED.lock().unwrap() = Some((pd, data));
            Ok(())
        }

        pub(crate) fn registered() -> (&'static PollDesc, u64) {
            REGISTERED.lock().unwrap().unwrap()
        }

        pub(crate) fn netpollclose(_: RawFd) {}
    }
}
