//! What a signal handler finds before each instruction of a switch: whose thread it is on, and the
//! callers of that instruction.

use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use gosched::proc::{self, preemptall};
use gosched::{go, run, yield_now};

use super::claims::switch;
use crate::detach::stepper::{TRAP_FLAG, blocks_signals, handle};
use crate::harness::interrupts::this_thread;
use crate::harness::{Test, tests};

tests! {
    #[slow] a_handler_finds_whose_thread_it_is
    #[slow] a_handler_finds_the_callers
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
/// those whose callers a handler has looked for; and those before which a handler has found another
/// thread's M, or callers that are none.
static STEPS: AtomicUsize = AtomicUsize::new(0);
static CLAIMED: AtomicUsize = AtomicUsize::new(0);
static WALKED: AtomicUsize = AtomicUsize::new(0);
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
        step_on(registers);
    }
}

/// Sets the trap flag of the interrupted code, or clears it when there are enough steps.
unsafe fn step_on(registers: &mut [i64; 23]) {
    let (pc, rax) = (registers[libc::REG_RIP as usize], registers[libc::REG_RAX as usize]);
    let flags = &mut registers[libc::REG_EFL as usize];
    // SAFETY: the thread is at this instruction.
    if !goes_on() || unsafe { blocks_signals(pc as usize, rax) } {
        *flags &= !(TRAP_FLAG as i64);
    } else {
        *flags |= TRAP_FLAG as i64;
    }
}

unsafe extern "C" {
    fn _Unwind_Backtrace(frame: extern "C" fn(*mut c_void, *mut c_void) -> c_int, walk: *mut c_void)
    -> c_int;
    fn _Unwind_GetIPInfo(context: *mut c_void, before: *mut c_int) -> usize;
    fn _Unwind_FindEnclosingFunction(pc: *mut c_void) -> *mut c_void;
    static __executable_start: u8;
    static etext: u8;
}

/// Whether the instruction at `pc` is in a function that an unwinder knows.
fn is_known(pc: usize) -> bool {
    // SAFETY: the address is only looked up. The unwinder takes it for a return address.
    !unsafe { _Unwind_FindEnclosingFunction(ptr::without_provenance_mut(pc + 1)) }.is_null()
}

/// A walk from a signal handler: the interrupted instruction; whether the walk has come there; and
/// whether all frames from there on are functions'.
struct Walk {
    pc: usize,
    begun: bool,
    sound: bool,
}

extern "C" fn frame(context: *mut c_void, walk: *mut c_void) -> c_int {
    let mut before = 0;
    // SAFETY: the unwinder's context, and the walk that `on_trap_walk` has passed.
    let (walk, pc) = unsafe { (&mut *walk.cast::<Walk>(), _Unwind_GetIPInfo(context, &mut before)) };
    walk.begun |= pc == walk.pc;
    // The frame behind the last one has no address.
    walk.sound &= !walk.begun || pc == 0 || is_known(if before == 0 { pc - 1 } else { pc });
    0
}

/// SIGTRAP's handler: walks the stack as a profiler does.
extern "C" fn on_trap_walk(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments, and the linker's symbols. The walk is only used here.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let pc = registers[libc::REG_RIP as usize] as usize;
        let of_this_program =
            ((&raw const __executable_start).addr()..(&raw const etext).addr()).contains(&pc);
        if of_this_program && is_known(pc) {
            let mut walk = Walk { pc, begun: false, sound: true };
            _Unwind_Backtrace(frame, (&raw mut walk).cast());
            WALKED.fetch_add(1, Ordering::Relaxed);
            WRONG.fetch_add(usize::from(!walk.begun || !walk.sound), Ordering::Relaxed);
        }
        STEPS.fetch_add(1, Ordering::Relaxed);
        step_on(registers);
    }
}

/// Makes this thread call SIGTRAP's handler before each instruction. (The handler sets the flag, so
/// the stack pointer of the code here never moves, and an unwinder finds the callers.)
fn step() {
    // SAFETY: the handler is installed.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), this_thread(), libc::SIGTRAP) };
}

fn goes_on() -> bool {
    STEPS.load(Ordering::Relaxed) < ENOUGH
}

fn a_handler_finds_whose_thread_it_is(test: Test) {
    step_through_switches(test, || handle(libc::SIGTRAP, on_trap), &CLAIMED);
}

fn a_handler_finds_the_callers(test: Test) {
    step_through_switches(test, || handle(libc::SIGTRAP, on_trap_walk), &WALKED);
}

/// Runs on one P and on two. A goroutine is stopped in its code, and continues on any M. The
/// handler counts in `seen` what it was made for.
fn step_through_switches(test: Test, install: fn(), seen: &'static AtomicUsize) {
    for procs in ["1", "2"] {
        let process = test.process(move || {
            install();
            run(|| {
                let switching = [(); 2].map(|()| {
                    go(|| {
                        step();
                        switch(goes_on);
                    })
                });
                let counting = go(|| {
                    step();
                    while goes_on() {
                        // SAFETY: no lock is held, and no thread-local in use.
                        black_box(unsafe { count(black_box(100)) });
                    }
                });
                while goes_on() {
                    step();
                    preemptall();
                    yield_now();
                }
                counting.join().unwrap();
                switching.into_iter().for_each(|goroutine| goroutine.join().unwrap());
                assert_eq!(WRONG.load(Ordering::Relaxed), 0);
                assert!(seen.load(Ordering::Relaxed) > 1_000, "{seen:?}");
            });
        });
        process.env("GOMAXPROCS", procs).env("GODEBUG", "detach=0").end().with("exit status: 0");
    }
}
