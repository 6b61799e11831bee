//! Untyped channels, and raw goroutines that use them.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use gosched::chan::hchan::{
    Hchan, Received, Sent, Type, chanrecv, chanrecv1, chanrecv2, chansend, chansend1, closechan, freechan,
    makechan, selectnbrecv, selectnbsend,
};
use gosched::{proc, run};

use crate::harness::goroutines::{arg, wait_until};
use crate::harness::tests;

tests! {
    raw_goroutines_send_and_receive_words
    untyped_operations_say_how_they_ended
}

static WORD: Type = Type { size_: size_of::<u64>(), align_: align_of::<u64>() };

/// A channel of words, shared with raw goroutines.
struct Words {
    c: AtomicPtr<Hchan>,
    sum: AtomicU64,
    left: AtomicU32,
}

impl Words {
    const fn new(goroutines: u32) -> Self {
        Words { c: AtomicPtr::new(ptr::null_mut()), sum: AtomicU64::new(0), left: AtomicU32::new(goroutines) }
    }

    fn make(&self, size: usize) -> Option<NonNull<Hchan>> {
        let c = makechan(&WORD, size);
        self.c.store(c.unwrap().as_ptr(), Ordering::Release);
        c
    }

    fn c(&self) -> Option<NonNull<Hchan>> {
        NonNull::new(self.c.load(Ordering::Acquire))
    }
}

fn raw_goroutines_send_and_receive_words() {
    /// The number of values that each goroutine sends.
    const VALUES: u64 = 100;
    unsafe extern "C" fn send(words: *mut c_void) {
        // SAFETY: the test passes it, and waits until the goroutines have ended.
        let words = unsafe { &*words.cast::<Words>() };
        for i in 1..=VALUES {
            // SAFETY: a word, for a channel of words.
            unsafe { chansend1(words.c(), (&raw const i).cast()) };
        }
        words.left.fetch_sub(1, Ordering::Release);
    }
    unsafe extern "C" fn receive(words: *mut c_void) {
        // SAFETY: likewise.
        let words = unsafe { &*words.cast::<Words>() };
        let mut word = 0u64;
        // SAFETY: a place for a word.
        while unsafe { chanrecv2(words.c(), (&raw mut word).cast()) } {
            words.sum.fetch_add(word, Ordering::Relaxed);
        }
        words.left.fetch_sub(1, Ordering::Release);
    }
    static CHANNELS: [Words; 3] = [const { Words::new(8 + 4) }; 3];
    run(|| {
        for (words, size) in CHANNELS.iter().zip([0, 1, 10]) {
            let c = words.make(size).unwrap();
            // SAFETY: both fit their stacks. The channel is closed after all values were sent, and
            // freed when nobody uses it.
            unsafe {
                (0..8).for_each(|_| proc::newproc(Some(send), arg(words)));
                receive_some(c, words);
                (0..4).for_each(|_| proc::newproc(Some(receive), arg(words)));
                wait_until(|| words.left.load(Ordering::Acquire) == 4);
                assert!(closechan(c));
                assert!(!closechan(c));
                wait_until(|| words.left.load(Ordering::Acquire) == 0);
                freechan(c);
            }
            assert_eq!(words.sum.load(Ordering::Relaxed), 8 * (1..=VALUES).sum::<u64>());
        }
    });

    /// A goroutine on a fixed stack receives, too.
    unsafe fn receive_some(c: NonNull<Hchan>, words: &Words) {
        for _ in 0..100 {
            let mut word = 0u64;
            // SAFETY: a place for a word; the channel stays.
            unsafe { chanrecv1(Some(c), (&raw mut word).cast()) };
            words.sum.fetch_add(word, Ordering::Relaxed);
        }
    }
}

fn untyped_operations_say_how_they_ended() {
    let c = makechan(&WORD, 1);
    let (value, mut place) = (5u64, 7u64);
    let (from, to) = ((&raw const value).cast(), (&raw mut place).cast());
    // SAFETY: words, for a channel of words, which is freed last.
    unsafe {
        assert_eq!(selectnbrecv(to, c), Received::Empty);
        assert_eq!(selectnbsend(c, from), Sent::Done);
        assert_eq!(selectnbsend(c, from), Sent::Full);
        assert_eq!(chansend(c, from, true), Sent::Full, "no goroutine could wait");
        assert_eq!(selectnbrecv(ptr::null_mut(), c), Received::Done);
        assert_eq!(chansend1(c, from), Sent::Done);
        assert_eq!((chanrecv(c, to, true), place), (Received::Done, 5));
        chansend1(c, from);
        assert!(closechan(c.unwrap()));
        assert_eq!(chansend1(c, from), Sent::Closed);
        assert!(chanrecv2(c, to));
        assert!(!chanrecv2(c, to));
        assert_eq!((chanrecv(c, to, false), place), (Received::Closed, 0));
        freechan(c.unwrap());
        assert_eq!(chansend(None, from, false), Sent::Full);
        assert_eq!(chanrecv(None, to, false), Received::Empty);
    }
}
