//! The state that a signal handler finds before each instruction of a switch.

use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::proc::{self, preemptall};
use gosched::{go, run, yield_now};

use super::claims::switch;
use crate::detach::stepper::{TRAP_FLAG, blocks_signals, handle, set_trap_flag};
use crate::harness::interrupts::this_thread;
use crate::harness::{Test, tests};

tests! {
    #[slow] a_handler_finds_whose_thread_it_is
}

gosched::preemptible! {
    /// # Safety
    /// As for each preemptible function; it doesn't depend on a thread.
    unsafe fn count(n: u32) -> u32 {
        let mut i = 0;
        while i < n {
            i += 1;
        }
        i
    }
}

/// The number of instructions to step.
const ENOUGH: usize = 100_000;

/// Counts of stepped instructions: all; those on g0 with the thread pointer of the next goroutine;
/// and those before which a handler has found another thread's M.
static STEPS: AtomicUsize = AtomicUsize::new(0);
static CLAIMED: AtomicUsize = AtomicUsize::new(0);
static WRONG: AtomicUsize = AtomicUsize::new(0);

/// SIGTRAP's handler, called before an instruction.
extern "C" fn on_trap(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments. The memory at the thread pointer has its own address. G's and
    // M's are never freed.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let tp: usize;
        asm!("mov {}, fs:0", out(reg) tp);
        let here = this_thread();
        STEPS.fetch_add(1, Ordering::Relaxed);
        match proc::getg().as_ref().and_then(|gp| Some((gp, gp.m.get()?))) {
            Some((gp, mp)) if mp.procid.load(Ordering::Relaxed) == here as u64 => {
                CLAIMED.fetch_add(
                    usize::from(ptr::eq(gp, &mp.ext.g0) && tp != mp.ext.tp.get()),
                    Ordering::Relaxed,
                );
            }
            _ => _ = WRONG.fetch_add(1, Ordering::Relaxed),
        }
        let (pc, rax) = (registers[libc::REG_RIP as usize], registers[libc::REG_RAX as usize]);
        if !goes_on() || blocks_signals(pc as usize, rax) {
            registers[libc::REG_EFL as usize] &= !(TRAP_FLAG as i64);
        }
    }
}

fn goes_on() -> bool {
    STEPS.load(Ordering::Relaxed) < ENOUGH
}

/// Runs on one P and on two. A goroutine is stopped in its code, and continues on any M.
fn a_handler_finds_whose_thread_it_is(test: Test) {
    for procs in ["1", "2"] {
        let process = test.process(|| {
            handle(libc::SIGTRAP, on_trap);
            run(|| {
                let switching = [(); 2].map(|()| {
                    go(|| {
                        set_trap_flag();
                        switch(goes_on);
                    })
                });
                let counting = go(|| {
                    set_trap_flag();
                    while goes_on() {
                        // SAFETY: no lock is held, and no thread-local in use.
                        black_box(unsafe { count(black_box(100)) });
                    }
                });
                while goes_on() {
                    set_trap_flag();
                    preemptall();
                    yield_now();
                }
                counting.join().unwrap();
                switching.into_iter().for_each(|goroutine| goroutine.join().unwrap());
                assert_eq!(WRONG.load(Ordering::Relaxed), 0);
                assert!(CLAIMED.load(Ordering::Relaxed) > 1_000, "{CLAIMED:?}");
            });
        });
        process.env("GOMAXPROCS", procs).env("GODEBUG", "detach=0").end().with("exit status: 0");
    }
}
