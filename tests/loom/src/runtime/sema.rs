//! Stand-ins for semaphores and lists of waiters; and the wait that any thread may end.

mod models_parker;
#[path = "../../../../src/runtime/sema/parker.rs"]
mod parker;

pub(crate) use parker::Parker;

/// The semaphores of a mutex, of a lock for readers and writers, or of a wait group. Their sleepers
/// are in order, and a limit comes when the model says so.
pub(crate) mod of_mutex {
    use std::ptr;

    use loom::sync::{Condvar, Mutex};
    use loom::thread::{self, ThreadId};

    use crate::runtime::data::atomic::{AtomicU32, Ordering};
    use crate::runtime::data::runtime2::WaitReason;

    /// A sleeper, by its wait's number, and its semaphore's address.
    #[derive(Clone, Copy, PartialEq)]
    struct Sleeper(usize, usize);

    #[derive(Default)]
    struct Sleepers {
        next: usize,
        queue: Vec<Sleeper>,
        /// The sleepers that were taken from the queue, and whether each has got the release.
        woken: Vec<(Sleeper, bool)>,
        /// The number of releases that no sleeper has taken yet.
        released: usize,
        /// Whether the only limit has come, and the sleeper that waits with it.
        over: bool,
        /// The thread whose waits an abort ends, which is the limit then.
        aborted: Option<ThreadId>,
        limited: Option<Sleeper>,
    }

    loom::lazy_static! {
        static ref SLEEPERS: (Mutex<Sleepers>, Condvar) = (Mutex::new(Sleepers::default()), Condvar::new());
    }

    /// Ends a wait with a limit, at once or when the wait begins.
    #[derive(Clone, Copy)]
    pub(crate) struct Limit<'a>(pub(crate) &'a ());

    /// Makes the limit come.
    pub(crate) fn limit_comes() {
        let (sleepers, changed) = &*SLEEPERS;
        let mut sleepers = sleepers.lock().unwrap();
        sleepers.over = true;
        if let Some(limited) = sleepers.limited {
            sleepers.queue.retain(|sleeper| *sleeper != limited);
        }
        changed.notify_all();
    }

    /// Makes the limit an abort of the goroutine that calls this: no other can be aborted.
    pub(crate) fn limit_is_an_abort() {
        SLEEPERS.0.lock().unwrap().aborted = Some(thread::current().id());
    }

    /// Returns whether all releases were taken.
    pub(crate) fn nothing_is_released() -> bool {
        SLEEPERS.0.lock().unwrap().released == 0
    }

    impl Sleepers {
        fn cansemacquire(&mut self, addr: &AtomicU32) -> bool {
            let can = addr.fetch_update(Ordering::AcqRel, Ordering::Acquire, |v| v.checked_sub(1)).is_ok();
            self.released -= usize::from(can);
            can
        }
    }

    pub(crate) fn cansemacquire(addr: &AtomicU32) -> bool {
        SLEEPERS.0.lock().unwrap().cansemacquire(addr)
    }

    pub(crate) fn semacquire1(addr: &AtomicU32, lifo: bool, _: WaitReason) {
        assert!(sleep(addr, lifo, false));
    }

    pub(crate) fn semacquire_limited(
        addr: &AtomicU32,
        lifo: bool,
        _: WaitReason,
        limit: Option<Limit<'_>>,
    ) -> bool {
        let is_aborted = SLEEPERS.0.lock().unwrap().aborted == Some(thread::current().id());
        sleep(addr, lifo, limit.is_some() || is_aborted)
    }

    pub(crate) fn semacquire(addr: &AtomicU32) {
        assert!(sleep(addr, false, false));
    }

    pub(crate) fn semrelease(addr: &AtomicU32) {
        semrelease1(addr, false);
    }

    fn sleep(addr: &AtomicU32, lifo: bool, is_limited: bool) -> bool {
        let (sleepers, changed) = &*SLEEPERS;
        let mut sleepers = sleepers.lock().unwrap();
        loop {
            if sleepers.cansemacquire(addr) {
                return true;
            }
            if is_limited && sleepers.over {
                return false;
            }
            sleepers.next += 1;
            let me = Sleeper(sleepers.next, ptr::from_ref(addr).addr());
            let at = if lifo { 0 } else { sleepers.queue.len() };
            sleepers.queue.insert(at, me);
            if is_limited {
                sleepers.limited = Some(me);
            }
            while sleepers.queue.contains(&me) {
                sleepers = changed.wait(sleepers).unwrap();
            }
            let woken = sleepers.woken.iter().position(|(sleeper, _)| *sleeper == me);
            if woken.is_some_and(|i| sleepers.woken.swap_remove(i).1) {
                return true;
            }
        }
    }

    pub(crate) fn semrelease1(addr: &AtomicU32, handoff: bool) {
        let (sleepers, changed) = &*SLEEPERS;
        let mut sleepers = sleepers.lock().unwrap();
        addr.fetch_add(1, Ordering::Release);
        sleepers.released += 1;
        let first = sleepers.queue.iter().position(|sleeper| sleeper.1 == ptr::from_ref(addr).addr());
        if let Some(i) = first {
            let first = sleepers.queue.remove(i);
            let handed = handoff && sleepers.cansemacquire(addr);
            sleepers.woken.push((first, handed));
            changed.notify_all();
        }
    }

    /// Lets others run.
    pub(crate) unsafe fn gosched() {
        thread::yield_now();
    }
}

/// The semaphore that guards stops of the world. In a model, only one thread stops it.
pub(crate) mod semacquire {
    use std::sync::atomic::{AtomicU32, Ordering};

    pub(crate) fn semacquire(addr: &AtomicU32) {
        assert_eq!(addr.swap(0, Ordering::Relaxed), 1);
    }

    pub(crate) fn semrelease1(addr: &AtomicU32, _handoff: bool) {
        addr.store(1, Ordering::Relaxed);
    }
}

pub(crate) mod notify_list {
    use std::cell::OnceCell;

    use loom::sync::{Condvar, Mutex};

    use crate::runtime::data::atomic::{AtomicU32, Ordering};

    pub(crate) struct NotifyList {
        wait: AtomicU32,
        notify: OnceCell<Box<(Mutex<u32>, Condvar)>>,
    }

    // SAFETY: all threads of a model run on one thread of the system's.
    unsafe impl Sync for NotifyList {}

    impl NotifyList {
        pub(crate) const fn new() -> Self {
            NotifyList { wait: AtomicU32::new(0), notify: OnceCell::new() }
        }

        fn notify(&self) -> &(Mutex<u32>, Condvar) {
            self.notify.get_or_init(Box::default)
        }
    }

    // Relaxed, because the protocol has to order a number and a notification.
    pub(crate) fn notify_list_add(l: &NotifyList) -> u32 {
        l.wait.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn notify_list_wait(l: &NotifyList, t: u32) {
        let (notify, changed) = l.notify();
        let mut notify = notify.lock().unwrap();
        while *notify <= t {
            notify = changed.wait(notify).unwrap();
        }
    }

    pub(crate) fn notify_list_notify_all(l: &NotifyList) {
        let (notify, changed) = l.notify();
        *notify.lock().unwrap() = l.wait.load(Ordering::Relaxed);
        changed.notify_all();
    }
}
