//! The atomics of the protocol code, under loom. `data/mod.rs` takes this file in place of its own.
//!
//! As in the shipped code, a static may have an atomic, and zeroed memory may be one. So an atomic
//! consists of its first value, and of a place for an atomic of loom's. It gets that at its first
//! use in each run of a model.
//!
//! loom treats sequentially consistent accesses as little more than acquire and release, but it
//! does know sequentially consistent fences. So here a fence stands between any two such accesses
//! of a thread, which is the use of their total order. There may be other accesses between the two.
//! The fence orders these as well, although in reality nothing does. So [`check`] runs each model
//! twice: with the fence right before the second access, and with it right after the first.

use std::cell::{Cell as StdCell, RefCell};
use std::fmt;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::AtomicU32 as StdU32;
use std::sync::{Mutex, PoisonError};
use std::thread::panicking;

use loom::sync::atomic as of_loom;
pub(crate) use loom::sync::atomic::{Ordering, fence};

use crate::runtime::data::cell;
pub(crate) use crate::runtime::data::cell::Cell;
use crate::runtime::made;

/// The number of this run, of any model.
static RUN: StdU32 = StdU32::new(0);

thread_local! {
    /// Whether the fence stands after the first of two accesses. All threads of a model run on one
    /// thread of the system's.
    static AFTER_THE_FIRST: StdCell<bool> = const { StdCell::new(false) };

    static ATOMICS: Objects<InLoom> = const { Objects::new() };
}

loom::thread_local! {
    /// Whether this thread has made a sequentially consistent access; if the fence stands after
    /// that access, whether it was the last one.
    static FENCE_IS_DUE: StdCell<bool> = StdCell::new(false);
}

/// Checks a model, with the fences at both places. The bound of preemptions is the model's, or a
/// lower one from the environment (`LOOM_MAX_PREEMPTIONS`).
pub(crate) fn check(preemption_bound: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let model = std::sync::Arc::new(model);
    for after_the_first in [false, true] {
        AFTER_THE_FIRST.set(after_the_first);
        let model = model.clone();
        check_once(preemption_bound, move || model());
    }
}

/// Checks a model with the fences at one of the places: for a model that needs none.
pub(crate) fn check_once(preemption_bound: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    // Models share statics.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _running = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.into_iter().chain(preemption_bound).min();
    // A stop of the world takes many steps.
    builder.max_branches = 10_000;
    builder.check(move || {
        begin_run();
        model();
    });
}

/// Begins a run of a model, on its first thread.
fn begin_run() {
    RUN.fetch_add(1, Ordering::Relaxed);
    ATOMICS.with(|atomics| atomics.begin_run(InLoom::default));
    cell::begin_run();
    made::begin_run();
}

/// loom's objects of one kind. The thread that makes an object has to come before all its other
/// users. So the first thread of a run makes as many as earlier runs of the model have used, and
/// some more, before the model begins.
pub(super) struct Objects<A> {
    made: RefCell<Vec<Rc<A>>>,
    /// How many of them have a place in this run.
    used: StdCell<usize>,
    most: StdCell<usize>,
}

/// How many the first run makes.
const FIRST: usize = 512;

/// How many more the others make.
const SPARE: usize = 32;

impl<A> Objects<A> {
    pub(super) const fn new() -> Self {
        Objects { made: RefCell::new(Vec::new()), used: StdCell::new(0), most: StdCell::new(0) }
    }

    pub(super) fn begin_run(&self, make: impl Fn() -> A) {
        let used = self.used.take();
        self.most.set(self.most.get().max(used));
        let n = if used == 0 { FIRST } else { self.most.get() + SPARE };
        *self.made.borrow_mut() = (0..n).map(|_| Rc::new(make())).collect();
    }

    /// Returns the object of a place. A place that has none in this run gets one.
    pub(super) fn of(&self, place: &Place) -> Rc<A> {
        let run = RUN.load(Ordering::Relaxed);
        let (of_run, i) = place.0.get();
        if of_run == run {
            assert_ne!(i, ENDED, "it is used and has ended");
            return self.made.borrow()[i as usize].clone();
        }
        let i = self.used.replace(self.used.get() + 1);
        place.0.set((run, i as u32));
        self.made.borrow().get(i).expect("more objects: SPARE is too low").clone()
    }

    /// Ends the use of a place, because its memory is about to become another value. `f` gets the
    /// object, if there is one.
    pub(super) fn end(&self, place: &Place, f: impl FnOnce(&mut A)) {
        let run = RUN.load(Ordering::Relaxed);
        let (of_run, i) = place.0.replace((run, ENDED));
        if of_run == run && !panicking() {
            f(Rc::get_mut(&mut self.made.borrow_mut()[i as usize]).expect("no use is going on"));
        }
    }
}

/// The place of an object: the number of the run, and the index of the object in this run. Zero is
/// a place without an object.
#[derive(Default)]
pub(super) struct Place(StdCell<(u32, u32)>);

/// The index of a place whose use has ended.
const ENDED: u32 = u32::MAX;

/// Which use of a place comes now.
pub(super) enum Use {
    First,
    /// It was used in an earlier run.
    FirstOfRun,
    Later,
}

impl Place {
    pub(super) const fn new() -> Self {
        Place(StdCell::new((0, 0)))
    }

    pub(super) fn use_of(&self) -> Use {
        match self.0.get().0 {
            0 => Use::First,
            run if run == RUN.load(Ordering::Relaxed) => Use::Later,
            _ => Use::FirstOfRun,
        }
    }
}

/// An atomic as loom knows it: the difference to its first value. loom remembers the last access to
/// an atomic, and tries another thread's access before it. But a thread that reads and then writes
/// is itself the last one, and loom forgets what other threads have read before. So each access
/// first writes to `turn`.
#[derive(Default)]
struct InLoom {
    value: of_loom::AtomicU64,
    turn: of_loom::AtomicU32,
}

impl InLoom {
    /// Precedes an access in `order`. Returns the order that the access still needs: `without`, if
    /// it was in the total order.
    fn take_turn(&self, order: Ordering, without: Ordering) -> Ordering {
        self.turn.fetch_add(0, Ordering::Relaxed);
        let in_total_order = order == Ordering::SeqCst;
        let fence_now = FENCE_IS_DUE.with(|due| {
            if AFTER_THE_FIRST.get() {
                due.replace(in_total_order)
            } else {
                in_total_order && due.replace(true)
            }
        });
        if fence_now {
            fence(Ordering::SeqCst);
        }
        if in_total_order { without } else { order }
    }
}

/// The type of an atomic's value. Its bits are the highest of a word, so that sums overflow alike.
pub(crate) trait Value: Copy + Eq {
    const ENDS: bool = false;

    fn to_word(self) -> u64;

    fn of_word(word: u64) -> Self;
}

macro_rules! values {
    ($($number:ty: $bits:ty;)*) => { $(
        impl Value for $number {
            fn to_word(self) -> u64 {
                u64::from(self as $bits) << (64 - <$bits>::BITS)
            }

            fn of_word(word: u64) -> Self {
                (word >> (64 - <$bits>::BITS)) as $bits as $number
            }
        }
    )* };
}

values! { i32: u32; i64: u64; u32: u32; u64: u64; u8: u8; }

impl Value for usize {
    fn to_word(self) -> u64 {
        self as u64
    }

    fn of_word(word: u64) -> Self {
        word as usize
    }
}

impl Value for bool {
    fn to_word(self) -> u64 {
        self.into()
    }

    fn of_word(word: u64) -> Self {
        word & 1 != 0
    }
}

/// A pointer may be on the stack of a goroutine. A model fails if it ends while another thread may
/// still use it.
impl<T> Value for *mut T {
    const ENDS: bool = true;

    fn to_word(self) -> u64 {
        self.expose_provenance() as u64
    }

    fn of_word(word: u64) -> Self {
        ptr::with_exposed_provenance_mut(word as usize)
    }
}

pub(crate) type AtomicBool = Atomic<bool>;
pub(crate) type AtomicI32 = Atomic<i32>;
pub(crate) type AtomicI64 = Atomic<i64>;
pub(crate) type AtomicPtr<T> = Atomic<*mut T>;
pub(crate) type AtomicU8 = Atomic<u8>;
pub(crate) type AtomicU32 = Atomic<u32>;
pub(crate) type AtomicU64 = Atomic<u64>;
pub(crate) type AtomicUsize = Atomic<usize>;

/// An atomic, which loom knows from its first use on.
pub(crate) struct Atomic<V: Value> {
    first: V,
    place: Place,
}

// SAFETY: all threads of a model run on one thread of the system's, and models run one at a time.
unsafe impl<V: Value> Send for Atomic<V> {}
// SAFETY: likewise.
unsafe impl<V: Value> Sync for Atomic<V> {}

macro_rules! updates {
    ($($name:ident)*) => { $(
        #[track_caller]
        pub(crate) fn $name(&self, value: V, order: Ordering) -> V {
            let atomic = self.in_loom();
            self.value_of(atomic.value.$name(value.to_word(), atomic.take_turn(order, Ordering::AcqRel)))
        }
    )* };
}

impl<V: Value> Atomic<V> {
    pub(crate) const fn new(value: V) -> Self {
        Atomic { first: value, place: Place::new() }
    }

    #[track_caller]
    fn in_loom(&self) -> Rc<InLoom> {
        ATOMICS.with(|atomics| atomics.of(&self.place))
    }

    fn word_of(&self, value: V) -> u64 {
        value.to_word().wrapping_sub(self.first.to_word())
    }

    fn value_of(&self, word: u64) -> V {
        V::of_word(word.wrapping_add(self.first.to_word()))
    }

    #[track_caller]
    pub(crate) fn load(&self, order: Ordering) -> V {
        let atomic = self.in_loom();
        self.value_of(atomic.value.load(atomic.take_turn(order, Ordering::Acquire)))
    }

    #[track_caller]
    pub(crate) fn store(&self, value: V, order: Ordering) {
        let atomic = self.in_loom();
        atomic.value.store(self.word_of(value), atomic.take_turn(order, Ordering::Release));
    }

    #[track_caller]
    pub(crate) fn swap(&self, value: V, order: Ordering) -> V {
        let atomic = self.in_loom();
        self.value_of(atomic.value.swap(self.word_of(value), atomic.take_turn(order, Ordering::AcqRel)))
    }

    #[track_caller]
    pub(crate) fn compare_exchange(
        &self,
        current: V,
        new: V,
        success: Ordering,
        failure: Ordering,
    ) -> Result<V, V> {
        let atomic = self.in_loom();
        let success = atomic.take_turn(success, Ordering::AcqRel);
        let failure = if failure == Ordering::SeqCst { Ordering::Acquire } else { failure };
        let result =
            atomic.value.compare_exchange(self.word_of(current), self.word_of(new), success, failure);
        result.map(|old| self.value_of(old)).map_err(|now| self.value_of(now))
    }

    #[track_caller]
    pub(crate) fn fetch_update(
        &self,
        success: Ordering,
        failure: Ordering,
        mut f: impl FnMut(V) -> Option<V>,
    ) -> Result<V, V> {
        let mut old = self.load(failure);
        while let Some(new) = f(old) {
            match self.compare_exchange(old, new, success, failure) {
                Ok(old) => return Ok(old),
                Err(now) => old = now,
            }
        }
        Err(old)
    }

    // The first value is 0 where the bits matter, and the values are without a sign where the order
    // does.
    updates! { fetch_add fetch_sub fetch_and fetch_max fetch_or fetch_xor }
}

impl<V: Value> Drop for Atomic<V> {
    fn drop(&mut self) {
        if V::ENDS {
            ATOMICS.with(|atomics| atomics.end(&self.place, |atomic| atomic.value.with_mut(|_| ())));
        }
    }
}

impl<V: Value + Default> Default for Atomic<V> {
    fn default() -> Self {
        Atomic::new(V::default())
    }
}

impl<V: Value> fmt::Debug for Atomic<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Atomic")
    }
}
