//! Goroutines of the raw face, on copying stacks.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use gosched::chan::hchan::{Hchan, Type, chanrecv2, chansend1, closechan, freechan, makechan};
use gosched::proc::{self, GList};
use gosched::runtime2::{G, TraceBlockReason, WaitReason};
use gosched::yield_now;

use crate::rng::Rng;
use crate::tally::{Op, count};

/// A goroutine that parks `times` times. While it is parked, `parked` points to it.
struct Parker {
    parked: AtomicPtr<G>,
    times: usize,
    woken: AtomicUsize,
}

unsafe extern "C" fn publish(gp: *mut G, parked: *mut c_void) -> bool {
    // SAFETY: `parks` passes the address of a Parker's field. The goroutine keeps the Parker.
    unsafe { &*parked.cast::<AtomicPtr<G>>() }.store(gp, Ordering::Release);
    true
}

/// Parks `times` times, and counts how often it was woken.
unsafe extern "C" fn parks(parker: *mut c_void) {
    // SAFETY: `start` passes an Arc's pointer.
    let parker = unsafe { Arc::from_raw(parker.cast::<Parker>()) };
    for _ in 0..parker.times {
        let lock = (&raw const parker.parked).cast_mut().cast();
        // SAFETY: on a goroutine. `publish` writes an atomic that isn't on this stack.
        unsafe { proc::gopark(Some(publish), lock, WaitReason::Sleep, TraceBlockReason::Sleep, 0) };
        parker.woken.fetch_add(1, Ordering::Release);
        count(Op::Park);
    }
}

fn start(rng: &mut Rng) -> Arc<Parker> {
    let parker = Parker { parked: AtomicPtr::default(), times: rng.up_to(40), woken: AtomicUsize::new(0) };
    let parker = Arc::new(parker);
    // SAFETY: `parks` fits its stack and doesn't panic.
    unsafe { proc::newproc(Some(parks), Arc::into_raw(parker.clone()).cast_mut().cast()) };
    parker
}

/// Takes the goroutine, if it is parked. The caller must then wake it.
fn take(parker: &Parker) -> Option<NonNull<G>> {
    NonNull::new(parker.parked.swap(ptr::null_mut(), Ordering::Acquire))
}

/// Wakes goroutines one by one.
pub fn hand_off(rng: &mut Rng) {
    let parkers: Vec<_> = (0..rng.up_to(10)).map(|_| start(rng)).collect();
    while parkers.iter().any(|parker| parker.woken.load(Ordering::Acquire) < parker.times) {
        if let Some(gp) = take(&parkers[rng.below(parkers.len())]) {
            // SAFETY: the goroutine is parked, and `take` returns it to one caller only.
            unsafe { proc::goready(gp.as_ptr(), 0) };
        }
        yield_now();
    }
}

/// Wakes goroutines all at once.
pub fn injected(rng: &mut Rng) {
    let parkers: Vec<_> = (0..rng.up_to(20)).map(|_| start(rng)).collect();
    while parkers.iter().any(|parker| parker.woken.load(Ordering::Acquire) < parker.times) {
        let list = GList::default();
        for gp in parkers.iter().filter_map(|parker| take(parker)) {
            // SAFETY: G's are never freed.
            list.push(unsafe { gp.as_ref() });
        }
        // SAFETY: all these goroutines are parked, and `take` returns each to one caller only.
        unsafe { proc::injectglist(&list) };
        yield_now();
    }
}

static WORD: Type = Type { size_: size_of::<u64>(), align_: align_of::<u64>() };

/// A channel of words, and how many senders and receivers still use it.
struct Words {
    c: NonNull<Hchan>,
    each: u64,
    sum: AtomicU64,
    senders: AtomicUsize,
    receivers: AtomicUsize,
}

// SAFETY: any thread may use a channel.
unsafe impl Send for Words {}
// SAFETY: see `Send`.
unsafe impl Sync for Words {}

unsafe extern "C" fn sender(words: *mut c_void) {
    // SAFETY: the function `words` passes an Arc's pointer.
    let words = unsafe { Arc::from_raw(words.cast::<Words>()) };
    for word in 1..=words.each {
        // SAFETY: the channel is one of words, and `word` is one.
        unsafe { chansend1(Some(words.c), (&raw const word).cast()) };
        count(Op::Send);
    }
    words.senders.fetch_sub(1, Ordering::Release);
}

unsafe extern "C" fn receiver(words: *mut c_void) {
    // SAFETY: the function `words` passes an Arc's pointer.
    let words = unsafe { Arc::from_raw(words.cast::<Words>()) };
    let mut word = 0u64;
    // SAFETY: the channel is one of words, and `word` has room for one.
    while unsafe { chanrecv2(Some(words.c), (&raw mut word).cast()) } {
        words.sum.fetch_add(word, Ordering::Relaxed);
        count(Op::Receive);
    }
    words.receivers.fetch_sub(1, Ordering::Release);
}

pub fn words(rng: &mut Rng) {
    let (senders, receivers) = (rng.up_to(6), rng.up_to(6));
    let words = Arc::new(Words {
        c: makechan(&WORD, rng.below(3)).expect("memory for a channel"),
        each: rng.up_to(100) as u64,
        sum: AtomicU64::new(0),
        senders: AtomicUsize::new(senders),
        receivers: AtomicUsize::new(receivers),
    });
    let arg = || Arc::into_raw(words.clone()).cast_mut().cast();
    // SAFETY: `sender` and `receiver` fit their stacks and don't panic. The channel is freed when
    // all of them have ended.
    unsafe {
        (0..senders).for_each(|_| proc::newproc(Some(sender), arg()));
        (0..receivers).for_each(|_| proc::newproc(Some(receiver), arg()));
        while words.senders.load(Ordering::Acquire) > 0 {
            yield_now();
        }
        closechan(words.c);
        while words.receivers.load(Ordering::Acquire) > 0 {
            yield_now();
        }
        freechan(words.c);
    }
    let each = words.each;
    assert_eq!(words.sum.load(Ordering::Relaxed), senders as u64 * each * (each + 1) / 2);
}
