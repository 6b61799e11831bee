//! The structs, as models make them: of zeroed memory, like the runtime's, which each run has anew.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use loom::sync::{Condvar, Mutex};

use crate::runtime::arch::SP;
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::runtime2::{G, M, P, Stack, sched};
use crate::runtime::data::timer::{Timer, TimerFn};
use crate::runtime::lock::rank;
use crate::runtime::p::owner::acquirep;
use crate::runtime::sched::park;

/// The memory of a run.
#[repr(align(4096))]
struct Memory([u8; 1 << 20]);

thread_local! {
    static MEMORY: *mut Memory = Box::leak(Box::<Memory>::new_zeroed()).as_mut_ptr();

    /// How much of it this run uses.
    static USED: Cell<usize> = const { Cell::new(0) };

    static GOROUTINES_ARE_THREADS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this model is about waits, and not about M's and P's: a goroutine is a thread, without
/// an M, and a time comes when the model says so.
pub(crate) fn goroutines_are_threads() -> bool {
    GOROUTINES_ARE_THREADS.get()
}

/// Makes this a model about waits, in this run.
pub(crate) fn set_goroutines_are_threads() {
    GOROUTINES_ARE_THREADS.set(true);
}

/// What loom has for each `K`, by its address: a value that a lock protects, and a condition.
pub(crate) struct Made<K, V>(RefCell<Vec<(*const K, InLoom<V>)>>);

type InLoom<V> = Rc<(Mutex<V>, Condvar)>;

impl<K, V: Default> Made<K, V> {
    pub(crate) const fn new() -> Self {
        Made(RefCell::new(Vec::new()))
    }

    pub(crate) fn begin_run(&self) {
        self.0.borrow_mut().clear();
    }

    /// Returns it for `key`, made at the first use in a run.
    pub(crate) fn of(&self, key: &K) -> InLoom<V> {
        let mut made = self.0.borrow_mut();
        let i = made.iter().position(|(at, _)| ptr::eq(*at, key)).unwrap_or_else(|| {
            made.push((key, Rc::default()));
            made.len() - 1
        });
        made[i].1.clone()
    }
}

/// Begins a run: the memory and the scheduler are zero again.
pub(crate) fn begin_run() {
    let all = MEMORY.with(|memory| memory.cast::<u8>());
    // SAFETY: nobody uses what the last run has left.
    unsafe {
        all.write_bytes(0, USED.take());
        ptr::from_ref(sched()).cast_mut().write_bytes(0, 1);
    }
    GOROUTINES_ARE_THREADS.set(false);
    rank::begin_run();
    park::begin_run();
}

/// Returns a new `T`.
pub(crate) fn zeroed<T>() -> &'static T {
    let at = USED.get().next_multiple_of(align_of::<T>());
    USED.set(at + size_of::<T>());
    assert!(USED.get() <= size_of::<Memory>());
    // SAFETY: no other value has this memory, and all zero is a value of each struct.
    MEMORY.with(|memory| unsafe { &*memory.cast::<u8>().add(at).cast() })
}

loom::thread_local! {
    static THIS: &'static G = G::new(0);
}

impl G {
    /// Returns this thread's goroutine.
    pub(crate) fn this() -> &'static G {
        THIS.with(|gp| *gp)
    }

    /// Makes a new G, written by this thread. Its `gopc` is a payload: it is written before the G
    /// is queued, and by the thread that dequeues the G. loom fails if nothing orders the two.
    pub(crate) fn new(id: u32) -> &'static G {
        let gp: &G = zeroed();
        gp.stack.set(Stack { lo: SP - 1, hi: SP + 1 });
        gp.ext.kind.set(StackKind::Fixed(0));
        gp.goid.set(id.into());
        gp.gopc.set(id as usize);
        gp
    }

    /// Runs the G, which only this thread has.
    pub(crate) fn run(&self) -> u32 {
        assert_eq!(self.gopc.replace(self.goid.get() as usize) as u64, self.goid.get());
        self.goid.get() as u32
    }
}

impl P {
    pub(crate) fn new(id: i32) -> &'static P {
        let pp: &P = zeroed();
        pp.id.set(id);
        pp
    }
}

impl M {
    /// Makes an M that has `pp`, on this thread.
    pub(crate) fn new(pp: &'static P) -> &'static M {
        let mp = M::without_p();
        acquirep(mp, pp);
        mp
    }

    /// Makes an M that has no P yet.
    pub(crate) fn without_p() -> &'static M {
        let mp: &M = zeroed();
        mp.ext.g0.stack.set(Stack { lo: SP - 1, hi: SP + 1 });
        mp
    }
}

/// Makes a timer that isn't started, due at `when`.
pub(crate) fn new_timer(when: i64, f: TimerFn, arg: *mut c_void) -> &'static Timer {
    let timer: &Timer = zeroed();
    timer.when.set(when);
    timer.f.set(Some(f));
    timer.arg.set(arg);
    timer
}
