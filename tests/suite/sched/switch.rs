//! The registers that a switch preserves: every callee-saved register and the floating-point
//! control words, with the shipped mcall and gogo in between, up to a million times on two threads.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::proc;
use gosched::sync::{Mutex, WaitGroup};

use crate::asm::preserved::{Registers, control_words_are_default, spoil_control_words, with_registers};
use crate::harness::{rounds, run_with_procs, tests};

tests! {
    switches_preserve_the_registers
    so_do_switches_of_copying_goroutines
    a_goroutine_starts_with_the_default_control_words
    a_goroutine_that_ends_leaves_no_control_words
}

unsafe extern "C" fn switch() {
    // SAFETY: on a goroutine, with no thread-local in use.
    unsafe { proc::gosched() }
}

unsafe extern "C" fn switch_locally() {
    // SAFETY: likewise.
    unsafe { proc::goyield() }
}

/// Returns values that no other switch of any goroutine has. Every other time the control words
/// have their defaults.
fn sentinels(goroutine: u64, round: u64) -> Registers {
    let word =
        |register: u64| (goroutine << 56) ^ (round << 8) ^ register.wrapping_mul(0x0101_0101_0101_0101);
    Registers::new(word, round.is_multiple_of(2).then_some((round / 2) as u32))
}

fn torture(goroutine: u64, rounds: u64) {
    for round in 0..rounds {
        let loaded = sentinels(goroutine, round);
        let mut found = Registers::default();
        let f = if round % 3 == 0 { switch_locally } else { switch };
        // SAFETY: it keeps the C ABI, whatever f does to registers.
        unsafe { with_registers(f, &loaded, &mut found) };
        assert_eq!(found, loaded, "goroutine {goroutine}, round {round}");
    }
}

const GOROUTINES: u64 = 8;

fn switches_preserve_the_registers() {
    static THREADS: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());
    run_with_procs(2, || {
        gosched::scope(|s| {
            for goroutine in 0..GOROUTINES {
                s.go(move || {
                    let (mut turns, mut threads) = (0, 0);
                    while turns < rounds(25) || threads < 2 {
                        torture(goroutine, 5_000);
                        turns += 1;
                        // SAFETY: on a goroutine, which has an M.
                        let thread = unsafe { (*proc::getm()).procid.load(Ordering::Relaxed) };
                        let mut all = THREADS.lock();
                        all.insert(thread);
                        threads = all.len();
                    }
                });
            }
        });
    });
}

fn so_do_switches_of_copying_goroutines() {
    static DONE: WaitGroup = WaitGroup::new();
    static WRONG: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn raw(goroutine: *mut c_void) {
        for round in 0..5_000 {
            let loaded = sentinels(goroutine.addr() as u64, round);
            let mut found = Registers::default();
            // SAFETY: as above.
            unsafe { with_registers(switch, &loaded, &mut found) };
            if found != loaded {
                WRONG.fetch_add(1, Ordering::Relaxed);
            }
        }
        DONE.done();
    }

    run_with_procs(2, || {
        DONE.add(GOROUTINES as u32);
        for goroutine in 1..=GOROUTINES {
            // SAFETY: `raw` fits its stack and doesn't panic.
            unsafe { proc::newproc(Some(raw), std::ptr::without_provenance_mut(goroutine as usize)) };
        }
        DONE.wait();
    });
    assert_eq!(WRONG.load(Ordering::Relaxed), 0);
}

fn a_goroutine_starts_with_the_default_control_words() {
    static FOUND: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn make_one_and_leave() {
        gosched::go(|| FOUND.store(1 + usize::from(control_words_are_default()), Ordering::Relaxed));
        // SAFETY: as in `switch`.
        unsafe { proc::gosched() }
    }

    run_with_procs(2, || {
        let own = Registers::new(|_| 0, Some(3));
        let mut found = Registers::default();
        // SAFETY: it keeps the C ABI, whatever it does to registers.
        unsafe { with_registers(make_one_and_leave, &own, &mut found) };
        while FOUND.load(Ordering::Relaxed) == 0 {
            gosched::yield_now();
        }
    });
    assert_eq!(FOUND.load(Ordering::Relaxed), 2);
}

fn a_goroutine_that_ends_leaves_no_control_words() {
    static LOOKED: AtomicUsize = AtomicUsize::new(0);
    static LEFT: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn spoil(_: *mut c_void) {
        spoil_control_words();
    }

    unsafe extern "C" fn look(_: *mut c_void) {
        LEFT.fetch_add(usize::from(control_words_are_default()), Ordering::Relaxed);
        LOOKED.fetch_add(1, Ordering::Relaxed);
    }

    run_with_procs(2, || {
        for round in 1..=1000 {
            // SAFETY: both fit their stacks.
            unsafe {
                proc::newproc(Some(look), std::ptr::null_mut());
                proc::newproc(Some(spoil), std::ptr::null_mut());
            }
            while LOOKED.load(Ordering::Relaxed) < round {
                gosched::yield_now();
            }
        }
    });
    assert_eq!(LEFT.load(Ordering::Relaxed), 1000);
}
