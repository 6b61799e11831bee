//! `struct Bridge` of `c/call.h`: the Rust functions that cases call, on a goroutine and on a plain
//! thread.
//!
//! These functions run on a copying stack, partly below its guard. So they are small, and can't
//! panic.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ptr::NonNull;

use gosched::chan::hchan::{Hchan, Type, chanrecv1, chanrecv2, chansend1, closechan, makechan};
use gosched::{go, proc};

type Send = unsafe extern "C" fn(*const Partner, *const u64);
type Receive = unsafe extern "C" fn(*const Partner, *mut u64);
type Yield = unsafe extern "C" fn();
type Back = unsafe extern "C" fn(unsafe extern "C" fn(*mut u64, u64) -> u64, u64) -> u64;
type Scale = unsafe extern "C" fn(*mut u64, u64);

#[repr(C)]
pub(crate) struct Bridge {
    send: Send,
    receive: Receive,
    yield_: Yield,
    back: Back,
    scale: Scale,
}

/// The partner of a case: it answers each word that the case sends.
pub struct Partner(Kind);

enum Kind {
    /// Goroutines that receive questions from one channel and send answers to the other.
    Goroutines { questions: Channel, answers: Channel },
    /// No goroutines: the answers that the case hasn't received yet.
    Thread(RefCell<VecDeque<u64>>),
}

static WORD: Type = Type { size_: size_of::<u64>(), align_: align_of::<u64>() };

/// A channel of words.
#[derive(Clone, Copy)]
struct Channel(NonNull<Hchan>);

// SAFETY: any thread may use a channel, and these are never freed.
unsafe impl std::marker::Send for Channel {}

impl Channel {
    fn new(size: usize) -> Self {
        Channel(makechan(&WORD, size).expect("memory for a channel"))
    }
}

/// How many goroutines answer.
const ANSWERERS: usize = 3;

/// The capacity for answers: the most questions that a case asks before it receives an answer.
const ANSWERS: usize = 16;

fn answer(question: u64) -> u64 {
    question.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(20)
}

impl Partner {
    /// Starts goroutines that answer. They end when the value is dropped.
    pub fn goroutines() -> Self {
        let (questions, answers) = (Channel::new(0), Channel::new(ANSWERS));
        for _ in 0..ANSWERERS {
            go(move || {
                let (Channel(questions), Channel(answers)) = (questions, answers);
                let mut word = 0u64;
                // SAFETY: the channels are of words, and `word` is one, on a fixed stack.
                while unsafe { chanrecv2(Some(questions), (&raw mut word).cast()) } {
                    word = answer(word);
                    // SAFETY: as for the receive.
                    unsafe { chansend1(Some(answers), (&raw const word).cast()) };
                }
            });
        }
        Partner(Kind::Goroutines { questions, answers })
    }

    /// Makes a partner for a case that runs on a plain thread.
    pub fn thread() -> Self {
        Partner(Kind::Thread(RefCell::default()))
    }

    pub(crate) fn bridge(&self) -> &'static Bridge {
        match self.0 {
            Kind::Goroutines { .. } => &GOROUTINE,
            Kind::Thread(_) => &THREAD,
        }
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        if let Kind::Goroutines { questions, .. } = self.0 {
            // SAFETY: the channel is never freed.
            unsafe { closechan(questions.0) };
        }
    }
}

static GOROUTINE: Bridge = Bridge { send, receive, yield_, back, scale };

static THREAD: Bridge =
    Bridge { send: send_here, receive: receive_here, yield_: yield_here, back, scale: scale_here };

unsafe extern "C" fn send(partner: *const Partner, value: *const u64) {
    // SAFETY: the case passes the partner that it was given, and a word for a channel of words.
    unsafe {
        if let Kind::Goroutines { questions, .. } = &(*partner).0 {
            chansend1(Some(questions.0), value.cast());
        }
    }
}

unsafe extern "C" fn receive(partner: *const Partner, place: *mut u64) {
    // SAFETY: the case passes the partner that it was given, and a place for a word.
    unsafe {
        if let Kind::Goroutines { answers, .. } = &(*partner).0 {
            chanrecv1(Some(answers.0), place.cast());
        }
    }
}

unsafe extern "C" fn yield_() {
    // SAFETY: on a goroutine, and a case keeps no reference to a thread-local.
    unsafe { proc::gosched() }
}

unsafe extern "C" fn back(f: unsafe extern "C" fn(*mut u64, u64) -> u64, n: u64) -> u64 {
    let mut local = n;
    // SAFETY: the case passes one of its own functions.
    let returned = unsafe { f(&raw mut local, n) };
    returned.wrapping_add(local)
}

unsafe extern "C" fn scale(place: *mut u64, n: u64) {
    // SAFETY: `place` is a local of the case, whose stack doesn't move meanwhile.
    unsafe { proc::systemstack(|| *place = (*place).wrapping_mul(n)) }
}

unsafe extern "C" fn send_here(partner: *const Partner, value: *const u64) {
    // SAFETY: the case passes the partner that it was given, and a word.
    unsafe {
        if let Kind::Thread(answers) = &(*partner).0 {
            answers.borrow_mut().push_back(answer(*value));
        }
    }
}

unsafe extern "C" fn receive_here(partner: *const Partner, place: *mut u64) {
    // SAFETY: the case passes the partner that it was given, and a place for a word.
    unsafe {
        if let Kind::Thread(answers) = &(*partner).0 {
            *place = answers.borrow_mut().pop_front().expect("a case receives less than it sends");
        }
    }
}

unsafe extern "C" fn yield_here() {}

unsafe extern "C" fn scale_here(place: *mut u64, n: u64) {
    // SAFETY: `place` is a local of the case.
    unsafe { *place = (*place).wrapping_mul(n) };
}

/// A function that split-stack code calls directly, as it calls libc, and not through a pointer.
#[cfg(split_stack)]
#[unsafe(no_mangle)]
unsafe extern "C" fn split_stack_rust_callee(a: u64, b: *mut u64) -> u64 {
    // SAFETY: `b` is a local of the case.
    unsafe { *b = (*b).wrapping_add(a) };
    answer(a)
}
