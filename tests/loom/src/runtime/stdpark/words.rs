//! Words, and goroutines that wait while they are 0.

use std::mem::MaybeUninit;
use std::ptr;

use loom::thread::{self, JoinHandle};

use crate::runtime::data::atomic::{self, AtomicU32, Ordering};
use crate::runtime::data::runtime2::G;
use crate::runtime::made::set_goroutines_are_threads;
use crate::runtime::stdpark::futex_table::{ANY_BIT, Ends, Waited, bucket_of, may_have_waiters, wait, wake};
use crate::runtime::time::modify::LATER;

/// Checks a model of waits.
pub(crate) fn check(preemption_bound: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    atomic::check(preemption_bound, move || {
        set_goroutines_are_threads();
        model();
    });
}

/// A word, which starts as 0.
#[derive(Clone, Copy)]
pub(crate) struct Word(&'static AtomicU32);

/// More words than are used, to find some in one bucket.
type Places = [MaybeUninit<AtomicU32>; 32];

thread_local! {
    /// The places of the words. Each run of a model has them at the same addresses, and so in the
    /// same buckets.
    static PLACES: *mut Places = Box::into_raw(Box::new([const { MaybeUninit::uninit() }; 32]));
}

/// Two words, of one bucket or of two.
pub(crate) fn words(same_bucket: bool) -> [Word; 2] {
    let place = |i: usize| PLACES.with(|places| places.cast::<AtomicU32>().wrapping_add(i));
    let bucket = |i| bucket_of(place(i).expose_provenance());
    let other = (1..32).find(|&i| ptr::eq(bucket(0), bucket(i)) == same_bucket).unwrap();
    [0, other].map(|i| {
        // SAFETY: there is room for a word, and words of earlier runs aren't used any more.
        unsafe {
            place(i).write(AtomicU32::new(0));
            Word(&*place(i))
        }
    })
}

pub(crate) fn word() -> Word {
    words(true)[0]
}

impl Word {
    pub(crate) fn addr(self) -> usize {
        ptr::from_ref(self.0).expose_provenance()
    }

    pub(crate) fn word(self) -> &'static AtomicU32 {
        self.0
    }

    /// Changes the word, so that no wait at it begins. Relaxed, because a wake orders it.
    pub(crate) fn change(self) {
        self.0.store(1, Ordering::Relaxed);
    }

    /// Wakes up to `n` waiters. Returns how many.
    pub(crate) fn wake(self, n: u32) -> u32 {
        if may_have_waiters(self.addr()) { wake(self.addr(), n, ANY_BIT) } else { 0 }
    }

    /// Waits while the word is 0.
    pub(super) fn wait(self, bits: u32, until: Option<i64>) -> Waited {
        self.wait_while(0, bits, until)
    }

    /// Waits while the word is `value`.
    pub(super) fn wait_while(self, value: u32, bits: u32, until: Option<i64>) -> Waited {
        // SAFETY: words stay, and a thread may park.
        unsafe { wait(G::this(), self.addr(), value, bits, Ends { time: until, by_abort: false }) }
    }

    /// Waits while the word is `value`. Fails if the time ends the wait.
    pub(crate) fn sleep(self, value: u32, until: Option<i64>) -> Result<(), ()> {
        if let Waited::TimedOut = self.wait_while(value, ANY_BIT, until) { Err(()) } else { Ok(()) }
    }

    /// Makes a goroutine that waits for any wake. It returns 1 if it was woken.
    pub(crate) fn waiter(self) -> JoinHandle<u32> {
        thread::spawn(move || woken(self.wait(ANY_BIT, None)))
    }

    /// Does the same, with a time limit.
    pub(crate) fn limited_waiter(self) -> JoinHandle<u32> {
        thread::spawn(move || woken(self.wait(ANY_BIT, Some(LATER))))
    }
}

/// Returns 1 if the wait was woken.
pub(super) fn woken(how: Waited) -> u32 {
    u32::from(matches!(how, Waited::Woken))
}
