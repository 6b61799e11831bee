//! Stand-ins for the rest of what the shipped files use.

/// Settings.
pub(crate) mod debug {
    pub(crate) fn randomize_scheduler() -> bool {
        false
    }
}

/// Random numbers, which no model asks for.
pub(crate) mod rand {
    pub(crate) fn cheaprandn(_: u32) -> u32 {
        unreachable!("nothing is random under loom")
    }
}

/// Fatal errors.
pub(crate) mod panic {
    pub(crate) fn throw(message: &str) -> ! {
        panic!("{message}")
    }
}

/// Messages before a fatal error.
pub(crate) mod print {
    pub(crate) use std::eprintln;
}

/// Who runs, which nobody asks.
pub(crate) mod arch {
    use crate::runtime2::G;

    pub(crate) fn getg() -> Option<&'static G> {
        None
    }
}

/// Stacks, of which a thread has enough.
pub(crate) mod stack {
    pub(crate) const STACK_PREEMPT: usize = usize::MAX;

    /// Checks of compilers, which are in no model.
    pub(crate) mod limit {
        use crate::runtime2::M;

        pub(crate) fn poison_stack_limit(_: &M) {}
    }

    /// Memory, of which no model takes any.
    pub(crate) mod arena {
        pub(crate) struct Arena;

        impl Arena {
            pub(crate) const fn new(_size: usize, _at: usize) -> Self {
                Arena
            }
        }
    }

    pub(crate) fn with_room<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}

/// The kernel: futexes, barriers, time that doesn't pass.
pub(crate) mod os {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use crate::atomic::{AtomicU32, Ordering, fence};
    use loom::sync::{Condvar, Mutex};

    loom::lazy_static! {
        static ref KERNEL: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    /// Whether the kernel has `membarrier`: a model's setting.
    pub(crate) static MEMBARRIER: AtomicBool = AtomicBool::new(true);

    pub(crate) fn futexsleep(addr: &AtomicU32, val: u32, _forever: i64) {
        let (lock, asleep) = &*KERNEL;
        let held = lock.lock().unwrap();
        if addr.load(Ordering::SeqCst) == val {
            drop(asleep.wait(held).unwrap());
        }
    }

    pub(crate) fn futexwakeup(_: &AtomicU32, _one: u32) {
        let (lock, asleep) = &*KERNEL;
        let _held = lock.lock().unwrap();
        asleep.notify_one();
    }

    pub(crate) fn barriers_work() -> bool {
        MEMBARRIER.load(Relaxed)
    }

    /// What `membarrier` makes of this when it falls here: a full barrier.
    pub(crate) fn light_barrier() {
        fence(Ordering::SeqCst);
    }

    pub(crate) fn barrier_in_all_threads() {
        fence(Ordering::SeqCst);
    }

    pub(crate) fn nanotime() -> i64 {
        1
    }

    pub(crate) fn osyield() {
        loom::thread::yield_now();
    }

    pub(crate) fn usleep(_: u32) {
        loom::thread::yield_now();
    }
}

/// All P's: two of them, in a model of waking.
pub(crate) mod procs {
    use crate::proc::pmask::PMask;
    use crate::runtime2::P;

    pub(crate) struct Procs {
        pub(crate) allp: Box<[&'static P]>,
        pub(crate) idlep_mask: PMask,
        pub(crate) timerp_mask: PMask,
    }

    // SAFETY: P's are made to be shared.
    unsafe impl Sync for Procs {}

    loom::lazy_static! {
        static ref PROCS: Procs = Procs {
            allp: (0..gomaxprocs()).map(P::new).collect(),
            idlep_mask: PMask::new(gomaxprocs()),
            timerp_mask: PMask::new(gomaxprocs()),
        };
    }

    pub(crate) fn procs() -> &'static Procs {
        &PROCS
    }

    pub(crate) fn gomaxprocs() -> i32 {
        3
    }
}

/// Making P's, which no model does.
pub(crate) mod procresize {
    use crate::runtime2::Mutex;

    pub(crate) static ALLP_LOCK: (Mutex,) = (Mutex(4),);
}

/// This thread's M, if it has one.
pub(crate) mod m {
    use std::cell::Cell;

    use crate::runtime2::M;

    loom::thread_local! {
        static THIS: Cell<Option<&'static M>> = Cell::new(None);
    }

    /// This thread is the one of `mp`.
    pub(crate) fn minit(mp: &'static M) {
        THIS.with(|this| this.set(Some(mp)));
    }

    pub(crate) fn this_m() -> Option<&'static M> {
        THIS.with(Cell::get)
    }

    pub(crate) fn acquirem() -> Option<&'static M> {
        this_m()
    }

    pub(crate) fn releasem(_: Option<&M>) {}
}

/// Stopping for others, which no model asks for.
pub(crate) mod safepoint {
    use crate::runtime2::P;

    pub(crate) fn asked_to_stop(_: &P) -> bool {
        false
    }
}

/// A monitor that never sleeps.
pub(crate) mod sysmon {
    pub(crate) fn wake_sysmon() {}
}

/// What an embedder wants to know: nothing.
pub(crate) mod hooks {
    use crate::runtime2::P;

    pub(crate) struct Hooks {
        pub(crate) acquirep: Option<fn(&'static P)>,
    }

    pub(crate) fn hooks() -> &'static Hooks {
        &Hooks { acquirep: None }
    }
}

/// Events, which nobody traces.
pub(crate) mod trace {
    use crate::runtime2::{G, P};

    pub(crate) enum Event<'a> {
        GoUnpark(&'a G),
        ProcStart(&'a P),
        ProcStop(&'a P),
    }

    pub(crate) fn trace<'a>(_: impl FnOnce() -> Event<'a>) {}
}

/// Signals: what was sent.
pub(crate) mod signal_unix {
    use crate::runtime2::M;

    loom::lazy_static! {
        static ref SENT: std::sync::Mutex<Vec<u64>> = std::sync::Mutex::default();
    }

    pub(crate) fn preempt_m(mp: &M) {
        if mp.isextra.get() {
            return;
        }
        if let Some(thread) = mp.send_signal() {
            SENT.lock().unwrap().push(thread);
        }
    }

    /// Whether a signal was sent to that thread.
    pub(crate) fn was_sent(thread: u64) -> bool {
        SENT.lock().unwrap().contains(&thread)
    }
}

/// The poller: who sleeps there wakes when it is told to, and not before [`SOON`].
pub(crate) mod netpoll {
    use crate::atomic::{AtomicU32, Ordering};

    use crate::os::{futexsleep, futexwakeup};
    use crate::proc::gqueue::GList;

    /// A sleep that is as short is as good as none.
    pub(crate) const SOON: i64 = 10;

    loom::lazy_static! {
        static ref WAKE_SIG: AtomicU32 = AtomicU32::new(0);
    }

    pub(crate) fn netpollinited() -> bool {
        true
    }

    pub(crate) fn netpoll_generic_init() -> std::io::Result<()> {
        Ok(())
    }

    pub(crate) fn netpoll_any_waiters() -> bool {
        false
    }

    pub(crate) fn netpoll_adjust_waiters(_delta: i32) {}

    pub(crate) fn netpoll_break() {
        if WAKE_SIG.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            futexwakeup(&WAKE_SIG, 1);
        }
    }

    pub(crate) fn netpoll(delay: i64) -> (GList, i32) {
        if !(0..=SOON).contains(&delay) {
            futexsleep(&WAKE_SIG, 0, delay);
            WAKE_SIG.store(0, Ordering::SeqCst);
        }
        (GList::default(), 0)
    }
}

/// Semaphores.
pub(crate) mod sema {
    use crate::atomic::{AtomicU32, Ordering};

    use crate::os::{futexsleep, futexwakeup};

    pub(crate) fn semacquire(addr: &AtomicU32) {
        loop {
            let v = addr.load(Ordering::SeqCst);
            if v == 0 {
                futexsleep(addr, 0, -1);
            } else if addr.compare_exchange(v, v - 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return;
            }
        }
    }

    pub(crate) fn semrelease(addr: &AtomicU32) {
        addr.fetch_add(1, Ordering::SeqCst);
        futexwakeup(addr, 1);
    }
}

/// The right to wait, which everybody has.
pub(crate) mod wait {
    pub(crate) struct Guest;

    pub(crate) fn must_wait(_what: &str) -> Option<Guest> {
        None
    }
}

/// One-shot events.
pub(crate) mod note {
    use crate::atomic::Ordering;
    use crate::os::futexwakeup;
    use crate::runtime2::Note;

    pub(crate) fn noteclear(n: &Note) {
        n.key.store(0, Ordering::Relaxed);
    }

    pub(crate) fn notewakeup(n: &Note) {
        assert_eq!(n.key.swap(1, Ordering::Release), 0, "double wakeup");
        futexwakeup(&n.key, 1);
    }
}

/// System calls, in which a thread may sleep.
pub(crate) mod syscall {
    use crate::atomic::Ordering;
    use crate::os::futexsleep;
    use crate::runtime2::Note;

    pub(crate) unsafe fn notetsleepg(n: &Note, ns: i64) -> bool {
        while n.key.load(Ordering::Acquire) == 0 {
            futexsleep(&n.key, 0, ns);
        }
        true
    }
}

/// Letting others run.
pub(crate) mod gosched {
    pub(crate) unsafe fn gosched() {
        loom::thread::yield_now();
    }
}

/// What the process does on a signal: a model decides when a handler runs.
pub(crate) mod sigaction {
    use std::ffi::c_int;
    use std::io;

    pub(crate) fn sigenable(_: c_int) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn sigdisable(_: c_int) {}

    pub(crate) fn sigignore(_: c_int) -> io::Result<()> {
        Ok(())
    }
}

/// Ranks of locks, which loom doesn't need.
pub(crate) mod rank {
    use crate::runtime2::Mutex;

    pub(crate) struct LockRank;

    impl LockRank {
        pub(crate) const TIMER_SEND: LockRank = LockRank;
    }

    pub(crate) fn lock_init(_: &Mutex, _: LockRank) {}
}

/// Pools: what is given back to one has a mark, where it would be linked.
pub(crate) mod pool {
    use std::ffi::c_void;
    use std::marker::PhantomData;
    use std::ptr::{self, NonNull};

    use crate::atomic::Cell;
    use crate::runtime2::P;
    use crate::stack::arena::Arena;

    pub(crate) struct FreeList<T>(PhantomData<T>);
    pub(crate) struct Pool<T>(PhantomData<T>);

    pub(crate) trait Linked: Sized + 'static {
        unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void>;
    }

    pub(crate) trait Pooled: Linked {
        fn cache(pp: &P) -> &FreeList<Self>;
        fn pool() -> &'static Pool<Self>;
        fn arena() -> &'static Arena;
    }

    pub(crate) fn alloc<T: Pooled>() -> Option<NonNull<T>> {
        unreachable!("models have timers of their own")
    }

    pub(crate) fn free<T: Pooled>(thing: NonNull<T>) {
        // SAFETY: it is one of a pool's things.
        let mark = unsafe { T::next(thing) };
        assert!(mark.get().is_null(), "given back twice");
        mark.set(ptr::dangling_mut());
    }

    impl<T> Default for FreeList<T> {
        fn default() -> Self {
            FreeList(PhantomData)
        }
    }

    impl<T> Default for Pool<T> {
        fn default() -> Self {
            Pool(PhantomData)
        }
    }
}

/// Goroutines from the network, of which there are none.
pub(crate) mod inject {
    use crate::proc::gqueue::GList;

    pub(crate) fn injectglist(list: &GList) {
        assert!(list.empty());
    }
}

/// States of G's, which no model looks at.
pub(crate) mod status {
    use crate::runtime2::G;

    pub(crate) fn casgstatus(_: &G, _old: u32, _new: u32) {}
}

/// Waking M's: a count of those that were.
pub(crate) mod startstop {
    use crate::atomic::{AtomicU32, Ordering};

    use crate::runtime2::{M, P};

    loom::lazy_static! {
        static ref STARTED: AtomicU32 = AtomicU32::new(0);
    }

    pub(crate) fn startm(pp: Option<&'static P>, spinning: bool, _lockheld: bool) {
        assert!(pp.is_some() && spinning);
        STARTED.fetch_add(1, Ordering::SeqCst);
    }

    /// No model wakes an M that has stopped; it ends.
    pub(crate) fn stopm(_: &M) {}

    /// How many M's were woken.
    pub(crate) fn started() -> u32 {
        STARTED.load(Ordering::SeqCst)
    }
}
