//! The table of waiting goroutines by their words, as the kernel's table of futexes is for threads.
//!
//! Words are hashed to buckets, each with a lock and a list. A waiter counts itself in its bucket,
//! and only then looks at the word. A waker has changed the word, and then looks at the count. Both
//! are SeqCst, so one of the two sees the other. (The kernel does the same.) A waker that takes the
//! lock needs no count: if it is first to take the lock, the waiter sees the change.
//!
//! Only the thread that has taken a waiter off its list wakes it. So wakes are counted exactly. No
//! wait ends without a reason, except if there was no room for a wake that was left to sysmon.
//!
//! Threads wait in the kernel at the same words. A wake asks here first and the kernel for the
//! rest. A wake that finds enough goroutines makes no system call. While threads wait at words of a
//! bucket, every second wake of a single waiter asks the kernel first. Otherwise goroutines that
//! come again and again would keep a thread waiting forever.
//!
//! Wakes may be left to sysmon. A signal handler leaves its wakes, and so does code that runs with
//! a lock of the runtime's held: for example a program's allocator, which the runtime calls with a
//! lock held, and which releases its own lock there. There is room for [`PLACES`] such wakes. If
//! that isn't enough, all goroutines that wait are woken. Callers tolerate this, since the kernel's
//! waits may also end for no reason.
//!
//! `loom` checks this file (`tests/loom`).

use std::ptr;
use std::sync::atomic::AtomicU64;

use crate::runtime::base::os::futexwakeup;
use crate::runtime::data::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Cell, Ordering, fence};
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::runtime2::{G, Mutex, TraceBlockReason, WaitReason, sched};
use crate::runtime::explore::clock::now;
use crate::runtime::g::extent::can_be_aborted;
use crate::runtime::lock::mutex::lock_ranked;
use crate::runtime::lock::rank::LockRank;
use crate::runtime::lock::unlock;
use crate::runtime::m::checkdead::counted;
use crate::runtime::m::signaled::waits_for_signals;
use crate::runtime::p::sysmon_sleep::wake_sysmon_from_signal;
#[cfg(pthreads)]
use crate::runtime::sched::abort::end_waits_of_marked;
use crate::runtime::sched::abort::until_ended;
use crate::runtime::sched::park::goparkunlock;
use crate::runtime::sched::ready::{goready, ready_last};
use crate::runtime::stdpark::{BUCKET_BITS, PLACES};
use crate::runtime::time::fire::{Limit, with_limit};

/// All bits of a waiter's set: the set of a wait that names none.
pub(in crate::runtime) const ANY_BIT: u32 = u32::MAX;

/// The goroutines that wait at words with the same hash. A bucket has a cache line of its own.
#[repr(align(64))]
pub(super) struct Bucket {
    lock: Mutex,
    /// How many goroutines wait here, or are about to look at their word; read without the lock.
    // SeqCst: pairs with the word. See the top of the page, and `may_have_waiters`.
    pub(super) nwait: AtomicU32,
    /// How many threads wait in the kernel: a hint.
    nthreads: AtomicU32,
    /// How many wakes of a single waiter there were while threads waited.
    turn: AtomicU32,
    /// How often a goroutine has parked here.
    parks: AtomicU64,
    first: Cell<*const Waiter>,
    last: Cell<*const Waiter>,
}

// SAFETY: the lock protects the cells.
unsafe impl Sync for Bucket {}

/// A goroutine or a thread that waits, on its stack. Its bucket's lock protects the cells.
pub(super) struct Waiter {
    /// The goroutine; none for a thread, which sleeps while `woken` is 0.
    pub(super) gp: Option<&'static G>,
    pub(super) woken: AtomicU32,
    bits: u32,
    /// The word's address.
    pub(super) addr: Cell<usize>,
    /// Written with the locks of both buckets held, the old one's and this one's.
    bucket: AtomicPtr<Bucket>,
    prev: Cell<*const Waiter>,
    next: Cell<*const Waiter>,
    pub(super) state: Cell<State>,
}

/// How far a wait is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It isn't on a list yet.
    Begins,
    /// It is on its bucket's list, but the goroutine hasn't parked yet: see `queued.rs`.
    #[cfg_attr(not(any(pthreads, loom)), allow(dead_code))]
    Queued,
    /// It is on its bucket's list, and has to be woken: a goroutine that has parked, or a thread.
    Asleep,
    /// A thread has taken it off the list, and wakes it if it was asleep.
    Woken,
    /// Its time was up before a wake.
    TimedOut,
}

static TABLE: [Bucket; 1 << BUCKET_BITS] = [const {
    Bucket {
        lock: Mutex::new(),
        nwait: AtomicU32::new(0),
        nthreads: AtomicU32::new(0),
        turn: AtomicU32::new(0),
        parks: AtomicU64::new(0),
        first: Cell::new(ptr::null()),
        last: Cell::new(ptr::null()),
    }
}; 1 << BUCKET_BITS];

/// Returns the bucket of a word.
#[inline(always)]
pub(super) fn bucket_of(addr: usize) -> &'static Bucket {
    // Fibonacci hashing: the upper bits of the product depend on all bits of the address.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    &TABLE[((addr as u64 >> 2).wrapping_mul(GOLDEN) >> (u64::BITS - BUCKET_BITS)) as usize]
}

impl Bucket {
    pub(super) fn lock(&self) {
        lock_ranked(&self.lock, LockRank::FUTEX);
    }

    pub(super) fn unlock(&self) {
        unlock(&self.lock);
    }

    /// Puts a waiter at the end of the list. The waiter is counted already, and the caller sets its
    /// state. The lock is held.
    pub(super) fn push(&self, waiter: &Waiter) {
        let last = self.last.replace(waiter);
        waiter.prev.set(last);
        waiter.next.set(ptr::null());
        // SAFETY: null, or a waiter on the list, which stays where it is until it has been taken
        // off.
        match unsafe { last.as_ref() } {
            Some(last) => last.next.set(waiter),
            None => self.first.set(waiter),
        }
    }

    /// Takes a waiter off the list, and sets its state to `state`. The lock is held.
    pub(super) fn remove(&self, waiter: &Waiter, state: State) {
        let (prev, next) = (waiter.prev.get(), waiter.next.get());
        // SAFETY: null, or a waiter on the list, which stays where it is until it has been taken
        // off.
        unsafe {
            match prev.as_ref() {
                Some(prev) => prev.next.set(next),
                None => self.first.set(next),
            }
            match next.as_ref() {
                Some(next) => next.prev.set(prev),
                None => self.last.set(prev),
            }
        }
        waiter.state.set(state);
        self.nwait.fetch_sub(1, Ordering::Relaxed);
    }

    /// Calls `f` for the first `n` waiters for which `is_meant` is true, in their order. `f` may
    /// take the waiter off the list. Returns the number of these waiters. The lock is held.
    fn each(&self, n: u32, is_meant: impl Fn(&Waiter) -> bool, mut f: impl FnMut(&Waiter)) -> u32 {
        let (mut at, mut found) = (self.first.get(), 0);
        while found < n {
            // SAFETY: null, or a waiter on the list, which stays where it is until it has been
            // taken off.
            let Some(waiter) = (unsafe { at.as_ref() }) else { break };
            at = waiter.next.get();
            if is_meant(waiter) {
                found += 1;
                f(waiter);
            }
        }
        found
    }

    /// Takes the first `n` waiters for which `is_meant` is true off the list. The lock is held.
    fn take(&self, n: u32, is_meant: impl Fn(&Waiter) -> bool) -> Taken {
        let mut taken = Taken { first: ptr::null(), last: ptr::null(), n: 0 };
        self.each(n, is_meant, |waiter| {
            let is_asleep = waiter.state.get() == State::Asleep;
            self.remove(waiter, State::Woken);
            if is_asleep {
                taken.push(waiter);
            } else {
                // It sees its state when it takes the lock, and may be gone then.
                taken.n += 1;
            }
        });
        taken
    }
}

/// Waiters that were taken off their lists. Those that are asleep are linked by `next`, to be woken
/// when no lock is held.
struct Taken {
    first: *const Waiter,
    last: *const Waiter,
    n: u32,
}

impl Taken {
    fn push(&mut self, waiter: &Waiter) {
        waiter.next.set(ptr::null());
        // SAFETY: null, or a waiter that was taken off and isn't woken yet, so it stays where it
        // is.
        match unsafe { self.last.as_ref() } {
            Some(last) => last.next.set(waiter),
            None => self.first = waiter,
        }
        self.last = waiter;
        self.n += 1;
    }

    /// Wakes those that are asleep, and returns the number of all. `asked` is how many the caller
    /// wanted to wake.
    ///
    /// After a wake of one, the goroutine runs next. After a wake of several, the goroutines come
    /// behind all that are ready. Goroutines that want a lock may wake all others and wait again:
    /// if they came before the lock's owner, which is ready, they would keep it out.
    fn wake(self, asked: u32) -> u32 {
        let (behind, mut n) = (GQueue::default(), 0);
        let mut at = self.first;
        // SAFETY: as in push. From ready_last, goready, or the store, on the waiter may be gone.
        while let Some(waiter) = unsafe { at.as_ref() } {
            at = waiter.next.get();
            match waiter.gp {
                Some(gp) if asked == 1 => goready(gp),
                Some(gp) => {
                    behind.push_back(gp);
                    n += 1;
                }
                None => {
                    let woken = ptr::from_ref(&waiter.woken);
                    waiter.woken.store(1, Ordering::Release);
                    // SAFETY: a wake reads nothing.
                    futexwakeup(unsafe { &*woken }, 1);
                }
            }
        }
        if n != 0 {
            ready_last(&behind, n);
        }
        self.n
    }
}

/// How a wait has ended.
pub(super) enum Waited {
    Woken,
    /// The word had another value.
    Changed,
    /// One of its [`Ends`] has come, or a signal.
    TimedOut,
}

/// What ends a wait if no wake does. In a wait that signals end (`m/signaled.rs`), they do, too.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) time: Option<i64>,
    /// Whether an abort of the goroutine ends it: the goroutine is a thread, and may be canceled.
    pub(super) by_abort: bool,
}

impl Ends {
    /// Whether only a wake ends a wait of `gp`, which runs here.
    fn are_none(&self, gp: &G) -> bool {
        self.time.is_none() && !self.by_abort && !waits_for_signals(gp)
    }

    /// Whether the time has come.
    pub(super) fn have_come(&self) -> bool {
        self.time.is_some_and(|time| time <= now())
    }
}

/// Parks `gp`, the running goroutine, while the word at `addr` is `value`, until it is woken, or
/// until its ends.
///
/// # Safety
/// There is such a word, until this has looked at it. `gp` may park here.
pub(super) unsafe fn wait(gp: &'static G, addr: usize, value: u32, bits: u32, ends: Ends) -> Waited {
    let waiter = Waiter::new(Some(gp), addr, bits);
    let sleep = || {
        let bucket = bucket_of(addr);
        // The waiter counts itself before it looks at the word: see may_have_waiters.
        bucket.nwait.fetch_add(1, Ordering::SeqCst);
        bucket.lock();
        // SAFETY: as the caller says. The kernel would look at it now, too.
        let is_same = unsafe { load(addr) } == value;
        if !is_same || waiter.state.get() == State::TimedOut {
            bucket.nwait.fetch_sub(1, Ordering::Relaxed);
            bucket.unlock();
            return if is_same { Waited::TimedOut } else { Waited::Changed };
        }
        bucket.push(&waiter);
        waiter.park(bucket)
    };
    if ends.are_none(gp) {
        return sleep();
    }
    if ends.have_come() {
        // SAFETY: the caller says that there is such a word.
        return if unsafe { load(addr) } == value { Waited::TimedOut } else { Waited::Changed };
    }
    // SAFETY: `sleep` waits, and the waiter stays meanwhile.
    unsafe { waiter.limited(gp, ends, sleep) }
}

impl Waiter {
    /// Makes a waiter for wakes at `addr` with one of these bits: the running goroutine, which may
    /// park here, or this thread.
    pub(super) fn new(gp: Option<&'static G>, addr: usize, bits: u32) -> Self {
        Waiter {
            gp,
            woken: AtomicU32::new(0),
            bits,
            addr: Cell::new(addr),
            bucket: AtomicPtr::new(ptr::from_ref(bucket_of(addr)).cast_mut()),
            prev: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
            state: Cell::new(State::Begins),
        }
    }

    /// Parks the running goroutine, which is on the list. Releases the bucket's lock.
    pub(super) fn park(&self, bucket: &'static Bucket) -> Waited {
        self.state.set(State::Asleep);
        bucket.parks.fetch_add(1, Ordering::Relaxed);
        goparkunlock(&bucket.lock, WaitReason::Futex, TraceBlockReason::Sync, 4);
        self.result()
    }

    /// Returns how the wait has ended.
    pub(super) fn result(&self) -> Waited {
        if self.state.get() == State::TimedOut { Waited::TimedOut } else { Waited::Woken }
    }

    /// Calls `sleep`, unless the wait's ends come first.
    ///
    /// # Safety
    /// `sleep` parks the goroutine as this waiter, and doesn't unwind.
    pub(super) unsafe fn limited(
        &self,
        gp: &'static G,
        ends: Ends,
        sleep: impl FnOnce() -> Waited,
    ) -> Waited {
        let give_up = || {
            let bucket = self.lock_bucket();
            let state = self.state.get();
            match state {
                State::Queued | State::Asleep => bucket.remove(self, State::TimedOut),
                State::Begins => self.state.set(State::TimedOut),
                State::Woken | State::TimedOut => {}
            }
            bucket.unlock();
            (state == State::Asleep).then_some(|| goready(gp))
        };
        // SAFETY: the state is read and written with the bucket's lock held. Only the thread that
        // has taken the waiter off the list wakes the goroutine.
        unsafe {
            let by_abort = ends.by_abort && can_be_aborted(gp);
            let sleep = || until_ended(gp, by_abort, &give_up, sleep);
            match ends.time {
                Some(time) => with_limit(Limit::Time(time), &give_up, sleep),
                None => sleep(),
            }
        }
    }

    /// Locks the bucket that the waiter is in.
    pub(super) fn lock_bucket(&self) -> &'static Bucket {
        loop {
            let at = self.bucket.load(Ordering::Acquire);
            // SAFETY: a bucket of the table.
            let bucket: &'static Bucket = unsafe { &*at };
            bucket.lock();
            if self.bucket.load(Ordering::Relaxed) == at {
                return bucket;
            }
            // The waiter was moved meanwhile.
            bucket.unlock();
        }
    }
}

/// Returns the value of a word.
///
/// # Safety
/// There is an aligned word at `addr`.
unsafe fn load(addr: usize) -> u32 {
    // SAFETY: the caller says that there is an aligned word, and a futex's word is used by atomics.
    // SeqCst: a waiter has counted itself before, see `Bucket::nwait`.
    unsafe { (*ptr::with_exposed_provenance::<AtomicU32>(addr)).load(Ordering::SeqCst) }
}

/// Wakes up to `n` goroutines that wait at `addr` with one of these bits, and returns how many.
/// Doesn't read the word, which may be gone. Called where goroutines may be made ready.
pub(super) fn wake(addr: usize, n: u32, bits: u32) -> u32 {
    let bucket = bucket_of(addr);
    bucket.lock();
    let taken = bucket.take(n, |waiter| waiter.addr.get() == addr && waiter.bits & bits != 0);
    bucket.unlock();
    taken.wake(n)
}

/// Whether a wake at `addr` might find a goroutine.
#[inline(always)]
pub(super) fn may_have_waiters(addr: usize) -> bool {
    // Pairs with the waiter in `wait`, which counts itself and then looks at the word. The caller
    // has changed the word before, perhaps without SeqCst. So there is a fence.
    fence(Ordering::SeqCst);
    bucket_of(addr).nwait.load(Ordering::SeqCst) != 0
}

/// Wakes all goroutines that wait.
fn wake_all() {
    for bucket in TABLE.iter() {
        bucket.lock();
        let taken = bucket.take(u32::MAX, |_| true);
        bucket.unlock();
        taken.wake(u32::MAX);
    }
}

/// Wakes up to `n` goroutines that wait at `from`, and makes up to `most` others wait at `to`
/// instead. Returns the numbers of both. If there is a `value`, and the word at `from` has another
/// one, does nothing and returns none. Called where goroutines may be made ready.
///
/// # Safety
/// If there is a value, there is a word at `from`.
pub(super) unsafe fn requeue(
    from: usize,
    n: u32,
    to: usize,
    most: u32,
    value: Option<u32>,
) -> Option<(u32, u32)> {
    let (old, new) = (bucket_of(from), bucket_of(to));
    let is_same = ptr::eq(old, new);
    let (first, second) = if ptr::from_ref(old) < ptr::from_ref(new) { (old, new) } else { (new, old) };
    first.lock();
    if !is_same {
        second.lock();
    }
    // SAFETY: the caller says that there is a word at `from` if there is a value.
    let goes_on = value.is_none_or(|value| unsafe { load(from) } == value);
    let done = goes_on.then(|| {
        let waits = |waiter: &Waiter| waiter.addr.get() == from;
        let taken = old.take(n, waits);
        let moved = old.each(most, waits, |waiter| {
            waiter.addr.set(to);
            if !is_same {
                // A wake at `to` that finds no goroutine comes before this. SeqCst: see
                // `Bucket::nwait`.
                new.nwait.fetch_add(1, Ordering::SeqCst);
                old.remove(waiter, waiter.state.get());
                waiter.bucket.store(ptr::from_ref(new).cast_mut(), Ordering::Release);
                new.push(waiter);
            }
        });
        (taken, moved)
    });
    if !is_same {
        second.unlock();
    }
    first.unlock();
    done.map(|(taken, moved)| (taken.wake(n), moved))
}

/// Calls `f`, in which this thread waits in the kernel at the word at `addr`.
pub(super) fn as_thread<R>(addr: usize, f: impl FnOnce() -> R) -> R {
    let bucket = bucket_of(addr);
    bucket.nthreads.fetch_add(1, Ordering::Relaxed);
    let result = f();
    bucket.nthreads.fetch_sub(1, Ordering::Relaxed);
    result
}

/// Whether a wake of a single waiter at `addr` is to ask the kernel first.
pub(super) fn kernel_is_next(addr: usize) -> bool {
    let bucket = bucket_of(addr);
    bucket.nthreads.load(Ordering::Relaxed) != 0
        && bucket.turn.fetch_add(1, Ordering::Relaxed).is_multiple_of(2)
}

/// How often goroutines have parked at words.
pub(in crate::runtime) fn parks() -> u64 {
    TABLE.iter().map(|bucket| bucket.parks.load(Ordering::Relaxed)).sum()
}

/// A wake that was left to sysmon. Free if its address is 0.
struct Wake {
    addr: AtomicUsize,
    n: AtomicU32,
    bits: AtomicU32,
}

/// The address in a wake that is being filled. No word has this address.
const TAKEN: usize = 1;

static WAKES: [Wake; PLACES] =
    [const { Wake { addr: AtomicUsize::new(0), n: AtomicU32::new(0), bits: AtomicU32::new(0) } }; PLACES];

/// Whether there was no room for a wake.
static ALL: AtomicBool = AtomicBool::new(false);

/// Whether waits of goroutines that have a mark are to end.
#[cfg(pthreads)]
static MARKED: AtomicBool = AtomicBool::new(false);

/// Makes sysmon end the waits of goroutines that have a mark. Takes no lock and allocates nothing.
#[cfg(pthreads)]
pub(in crate::runtime) fn end_waits_later() {
    // Release pairs with wake_those: the marks are there.
    MARKED.swap(true, Ordering::Release);
    wake_sysmon_for_wakes();
}

/// Makes sysmon wake up to `n` goroutines at `addr`. Takes no lock and allocates nothing.
pub(super) fn wake_later(addr: usize, n: u32, bits: u32) {
    let free =
        |wake: &&Wake| wake.addr.compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok();
    match WAKES.iter().find(free) {
        Some(wake) => {
            wake.n.store(n, Ordering::Relaxed);
            wake.bits.store(bits, Ordering::Relaxed);
            // Release pairs with wake_those: the other fields are there.
            wake.addr.store(addr, Ordering::Release);
        }
        // Release pairs with wake_those: the caller has changed the word.
        None => _ = ALL.swap(true, Ordering::Release),
    }
    wake_sysmon_for_wakes();
}

/// Makes sysmon do the wakes that were left.
fn wake_sysmon_for_wakes() {
    // SeqCst, as are sysmon's accesses of `sysmonwait`: either sysmon sees this before it sleeps,
    // or this sees that sysmon sleeps. A swap, because after a plain store sysmon would see the
    // wakes that this thread has left, but not those of other threads.
    sched().ext.wakes_left.swap(true, Ordering::SeqCst);
    wake_sysmon_from_signal();
}

/// Does the wakes that were left. Called on sysmon's thread.
pub(in crate::runtime) fn wake_those() {
    // SeqCst: see `Schedt::sysmonwait`.
    if !sched().ext.wakes_left.load(Ordering::SeqCst) {
        return;
    }
    counted(|| {
        // Cleared before the wakes are taken: wake_later sets it again for a wake that comes
        // afterwards.
        sched().ext.wakes_left.swap(false, Ordering::SeqCst);
        // Acquire pairs with wake_later.
        if ALL.swap(false, Ordering::Acquire) {
            wake_all();
        }
        #[cfg(pthreads)]
        if MARKED.swap(false, Ordering::Acquire) {
            end_waits_of_marked();
        }
        for left in WAKES.iter() {
            // Likewise.
            let addr = left.addr.load(Ordering::Acquire);
            if addr > TAKEN {
                let (n, bits) = (left.n.load(Ordering::Relaxed), left.bits.load(Ordering::Relaxed));
                left.addr.store(0, Ordering::Release);
                wake(addr, n, bits);
            }
        }
    });
}
