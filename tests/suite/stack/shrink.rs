//! A goroutine receives into its own stack, while another sends there, and a third shrinks that
//! stack.

use std::ffi::c_void;
use std::hint::spin_loop;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use gosched::chan::hchan::{Hchan, Type, chanrecv1, chansend1, freechan, makechan};
use gosched::proc::{AdjustInfo, Hooks};
use gosched::runtime2::{G, GSCANWAITING, GWAITING};
use gosched::{morestack_check, proc, run};

use crate::harness::pages::page_size;
use crate::harness::storm::storm;
use crate::harness::tests;

tests! {
    a_receiver_whose_stack_shrinks_gets_every_value
}

/// How many times the stack is made smaller.
const TIMES: usize = 20_000;

/// Returns the bytes that make the stack grow to two pages or more, and so far that everything else
/// fits into a quarter of it.
fn much() -> usize {
    let much = if cfg!(debug_assertions) { 60_000 } else { 15_000 };
    much.max(page_size())
}

/// A bound for the stack of `receive`, with copies of a value.
const FRAME: usize = if cfg!(debug_assertions) { 4096 } else { 2048 };

/// The number of words of a value. Sending that many takes a while. All words are equal.
const WORDS: usize = 32;
static VALUE: Type = Type { size_: WORDS * size_of::<usize>(), align_: align_of::<usize>() };

static CHANNEL: AtomicPtr<Hchan> = AtomicPtr::new(ptr::null_mut());
static RECEIVER: AtomicPtr<G> = AtomicPtr::new(ptr::null_mut());
static RECEIVED: AtomicUsize = AtomicUsize::new(0);
static WRONG: AtomicUsize = AtomicUsize::new(0);
static SHRUNK: AtomicUsize = AtomicUsize::new(0);
static DONE: AtomicBool = AtomicBool::new(false);

fn channel() -> Option<NonNull<Hchan>> {
    NonNull::new(CHANNEL.load(Ordering::Relaxed))
}

fn count_smaller(gp: &G, moved: &AdjustInfo) {
    let stack = gp.stack.get();
    if stack.hi - stack.lo < moved.old.hi - moved.old.lo {
        SHRUNK.fetch_add(1, Ordering::Relaxed);
    }
}

fn nothing() {}

unsafe extern "C" fn receiver(_: *mut c_void) {
    RECEIVER.store(proc::getg(), Ordering::Release);
    morestack_check!(FRAME, receive);
    DONE.store(true, Ordering::Release);
}

/// Receives a value per round, until a value is 0. Its stack grows before each.
fn receive() {
    for round in 1.. {
        morestack_check!(much(), nothing);
        // Each word is an address of the stack: a move adjusts all of them, unless the value has
        // come before.
        let mut value = [0; WORDS];
        let place = &raw mut value;
        value.fill(place.expose_provenance());
        // SAFETY: a place for a value of the channel's type, which stays.
        unsafe { chanrecv1(channel(), place.cast()) };
        // SAFETY: the place, at its present address.
        let value = unsafe { place.read_volatile() };
        if value == [0; WORDS] {
            break;
        }
        if value != [round; WORDS] {
            WRONG.fetch_add(1, Ordering::Relaxed);
        }
        RECEIVED.store(round, Ordering::Release);
    }
}

/// Waits until `ready`, but lets the others run now and then.
fn wait(ready: impl Fn() -> bool) {
    while !(0..1000).any(|_| ready() || (spin_loop(), false).1) {
        gosched::yield_now();
    }
}

fn a_receiver_whose_stack_shrinks_gets_every_value() {
    // SAFETY: before the first run.
    unsafe { proc::set_hooks(Hooks { copystack: Some(count_smaller), ..Hooks::default() }) };
    run(|| {
        let c = makechan(&VALUE, 0).expect("memory for a channel");
        CHANNEL.store(c.as_ptr(), Ordering::Relaxed);
        // SAFETY: `receiver` checks its stack and doesn't panic.
        unsafe { proc::newproc(Some(receiver), ptr::null_mut()) };
        wait(|| !RECEIVER.load(Ordering::Acquire).is_null());
        let gp = RECEIVER.load(Ordering::Relaxed);

        let shrinker = gosched::go(move || {
            while !DONE.load(Ordering::Acquire) {
                let gp = RECEIVER.load(Ordering::Relaxed);
                // SAFETY: while the G has the scan bit, it is ours.
                unsafe {
                    if proc::castogscanstatus(gp, GWAITING, GSCANWAITING) {
                        proc::shrinkstack(gp);
                        proc::casfrom_gscanstatus(gp, GSCANWAITING, GWAITING);
                    }
                }
                gosched::yield_now();
            }
        });
        let mut sent = 0;
        let mut send = || {
            sent += 1;
            // Usually the receiver waits already, and its stack may be moving.
            // SAFETY: a G, and a value of the channel's type.
            unsafe {
                wait(|| proc::readgstatus(gp) & GWAITING != 0);
                (0..sent % 64).for_each(|_| spin_loop());
                let value = [sent; WORDS];
                chansend1(Some(c), (&raw const value).cast());
            }
            wait(|| RECEIVED.load(Ordering::Acquire) == sent);
        };
        for _ in storm(TIMES) {
            let before = SHRUNK.load(Ordering::Relaxed);
            while SHRUNK.load(Ordering::Relaxed) == before {
                send();
            }
        }
        // SAFETY: likewise. After that, nobody uses the channel.
        unsafe {
            let value = [0_usize; WORDS];
            chansend1(Some(c), (&raw const value).cast());
            wait(|| DONE.load(Ordering::Acquire));
            shrinker.join().expect("the shrinker doesn't panic");
            freechan(c);
        }
        println!("{sent} values, {} times smaller", SHRUNK.load(Ordering::Relaxed));
    });
    assert_eq!(WRONG.load(Ordering::Relaxed), 0, "values that are not what was sent");
}
