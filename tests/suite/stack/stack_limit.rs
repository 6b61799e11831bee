//! The word with which compilers' checks compare rsp. It is the running goroutine's guard, and 0 on
//! every other stack.

use std::arch::asm;
use std::ffi::c_void;
use std::panic::catch_unwind;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use gosched::chan::bounded;
use gosched::{go, proc, run};

use crate::harness::tests;

tests! {
    a_goroutine_has_its_guard_on_whatever_thread
    g0_and_other_threads_have_none
    a_word_that_is_wrong_is_set_right
    it_follows_a_stack_that_moves
    a_signal_handler_may_have_checks
}

unsafe extern "C" {
    fn gosched_morestack();
}

fn limit() -> usize {
    let limit;
    // SAFETY: reads a word of the thread's descriptor.
    unsafe { asm!("mov {}, fs:[0x70]", out(reg) limit, options(nostack, preserves_flags, readonly)) };
    limit
}

/// Sets the word to a wrong value.
fn disturb(limit: usize) {
    // SAFETY: only checks read the word.
    unsafe { asm!("mov fs:[0x70], {}", in(reg) limit, options(nostack, preserves_flags)) };
}

/// Does what a failed check for a frame of `bytes` does.
fn morestack(bytes: usize) {
    // SAFETY: it changes no register but these.
    unsafe {
        asm!("call {}", sym gosched_morestack, inout("r10") bytes => _, out("r11") _);
    }
}

/// The word, and the guard, while the goroutine is asked to stop.
const ASKED: usize = isize::MAX as usize - 1313;

/// Returns the guard of the running goroutine, which must equal the word, and the low end of its
/// stack.
#[track_caller]
fn guard() -> (usize, usize) {
    loop {
        // SAFETY: on a goroutine.
        let gp = unsafe { &*proc::getg() };
        let (limit, guard) = (limit(), gp.stackguard0.load(Ordering::Relaxed));
        if limit != ASKED && guard != ASKED {
            assert_eq!(limit, guard);
            return (guard, gp.stack.get().lo);
        }
        // SAFETY: on a goroutine. After this the request is gone.
        unsafe { proc::gosched() };
    }
}

fn a_goroutine_has_its_guard_on_whatever_thread() {
    run(|| {
        let (tx, rx) = bounded(0);
        let goroutines: Vec<_> = (0..8)
            .map(|i| {
                let (tx, rx) = (tx.clone(), rx.clone());
                go(move || {
                    for _ in 0..100 {
                        let (guard, lo) = guard();
                        assert!((256..8192).contains(&(guard - lo)), "{}", guard - lo);
                        if i % 2 == 0 {
                            tx.send(()).unwrap()
                        } else {
                            rx.recv().unwrap()
                        }
                        gosched::yield_now();
                    }
                })
            })
            .collect();
        goroutines.into_iter().for_each(|goroutine| goroutine.join().unwrap());
    });
}

fn g0_and_other_threads_have_none() {
    assert_eq!(limit(), 0);
    run(|| {
        // The goroutine may be asked to stop meanwhile.
        let unasked = || Some(limit()).filter(|&limit| limit != ASKED).unwrap_or_default();
        let on_g0 = || (unasked(), thread::spawn(limit).join().unwrap(), unasked());
        // SAFETY: the closures don't park.
        unsafe {
            assert_eq!(proc::systemstack(on_g0), (0, 0, 0));
            guard(); // once more, after systemstack
            let unwound = catch_unwind(|| proc::systemstack(|| panic!("through systemstack")));
            assert!(unwound.is_err());
            guard(); // once more, after an unwind through systemstack
        }
    });
    assert_eq!(limit(), 0);
}

fn a_word_that_is_wrong_is_set_right() {
    const WRONG: usize = usize::MAX - 100;
    let corrected = |right: usize| {
        disturb(WRONG);
        morestack(100);
        let limit = limit();
        // Only a goroutine is asked to stop, even while its M is on g0.
        let asked = limit == ASKED && !proc::getg().is_null();
        assert!(limit == right || asked, "{limit:#x}, and not {right:#x}");
    };
    corrected(0);
    run(|| {
        let before = guard();
        corrected(before.0);
        assert_eq!(guard(), before, "there was room: it hasn't moved");
        // SAFETY: the closure doesn't park.
        unsafe { proc::systemstack(|| corrected(0)) };
        assert_eq!(guard(), before);
    });
    corrected(0);
}

/// How far the stack of `moves` has moved. The limit was right before and after.
static MOVED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn moves(_: *mut c_void) {
    let before = guard();
    morestack(30_000);
    let after = guard();
    MOVED.store(after.1.abs_diff(before.1), Ordering::Release);
}

fn it_follows_a_stack_that_moves() {
    run(|| {
        // SAFETY: `moves` takes little stack and doesn't panic.
        unsafe { proc::newproc(Some(moves), ptr::null_mut()) };
        while MOVED.load(Ordering::Acquire) == 0 {
            gosched::yield_now();
        }
    });
}

fn a_signal_handler_may_have_checks() {
    extern "C" fn handler(_: libc::c_int) {
        // On the alternate stack, nothing happens, whatever the limit is.
        morestack(1 << 40);
        HANDLED.fetch_add(1, Ordering::Relaxed);
    }
    static HANDLED: AtomicUsize = AtomicUsize::new(0);

    run(|| {
        // SAFETY: a handler with one argument, which runs on the alternate stack.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut());
            let before = guard();
            libc::raise(libc::SIGUSR1);
            assert_eq!(guard(), before);
        }
    });
    assert_eq!(HANDLED.load(Ordering::Relaxed), 1);
}
