//! What a switch preserves: every callee-saved register and both floating-point control words,
//! with the shipped mcall and gogo in between, a million times on two threads.

use std::arch::{asm, naked_asm};
use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use gosched::proc;
use gosched::sync::{Mutex, WaitGroup};

/// What [`with_registers`] loads and stores.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Registers {
    rbx: u64,
    rbp: u64,
    r12: u64,
    r13: u64,
    r14: u64,
    r15: u64,
    mxcsr: u32,
    fcw: u16,
    pad: u16,
}

/// Calls `f` with the registers as in `loaded`, and notes in `found` what they are when it
/// returns.
///
/// ```text
///     | return address             |
///     | caller's rbp, rbx, r12-r15 |
///     | found                      |
///     | caller's mxcsr, fcw        | <- rsp at the call
/// ```
///
/// # Safety
/// `f` keeps the C ABI; both pointers are valid.
#[unsafe(naked)]
unsafe extern "C" fn with_registers(
    f: unsafe extern "C" fn(),
    loaded: *const Registers,
    found: *mut Registers,
) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push rdx",
        "sub rsp, 16",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov rax, rdi",
        "mov rbx, [rsi]",
        "mov rbp, [rsi + 8]",
        "mov r12, [rsi + 16]",
        "mov r13, [rsi + 24]",
        "mov r14, [rsi + 32]",
        "mov r15, [rsi + 40]",
        "ldmxcsr [rsi + 48]",
        "fldcw [rsi + 52]",
        "call rax",
        "mov rdx, [rsp + 16]",
        "mov [rdx], rbx",
        "mov [rdx + 8], rbp",
        "mov [rdx + 16], r12",
        "mov [rdx + 24], r13",
        "mov [rdx + 32], r14",
        "mov [rdx + 40], r15",
        "stmxcsr [rdx + 48]",
        "fnstcw [rdx + 52]",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 24",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

unsafe extern "C" fn switch() {
    // SAFETY: on a goroutine, with no thread-local in use.
    unsafe { proc::gosched() }
}

unsafe extern "C" fn switch_locally() {
    // SAFETY: likewise.
    unsafe { proc::goyield() }
}

/// The defaults, which every goroutine starts with.
const MXCSR: u32 = 0x1f80;
const FCW: u16 = 0x037f;

/// Values that no two switches of any two goroutines share. The control words go through all
/// roundings, flush-to-zero and denormals-are-zero, and the x87's precisions; every other time
/// they are the default ones.
fn sentinels(goroutine: u64, round: u64) -> Registers {
    let word =
        |register: u64| (goroutine << 56) ^ (round << 8) ^ (register.wrapping_mul(0x0101_0101_0101_0101));
    let own_words = round.is_multiple_of(2);
    let pattern = (round / 2) as u32;
    Registers {
        rbx: word(1),
        rbp: word(2),
        r12: word(3),
        r13: word(4),
        r14: word(5),
        r15: word(6),
        mxcsr: if own_words {
            MXCSR | (pattern & 3) << 13 | (pattern >> 2 & 1) << 15 | (pattern >> 3 & 1) << 6
        } else {
            MXCSR
        },
        fcw: if own_words {
            FCW & !0x0f00 | (pattern as u16 & 3) << 10 | (pattern as u16 >> 1 & 2) << 8
        } else {
            FCW
        },
        pad: 0,
    }
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

fn two_threads() {
    // SAFETY: each test is the first in its process to touch the runtime or the environment of
    // it, and every one sets the same.
    unsafe { std::env::set_var("GOMAXPROCS", "2") };
}

#[test]
fn a_million_switches_preserve_the_registers() {
    two_threads();
    static THREADS: Mutex<Option<HashSet<u64>>> = Mutex::new(None);
    // SAFETY: no thread-local is kept across a switch.
    unsafe {
        gosched::run(|| {
            gosched::scope(|s| {
                for goroutine in 0..GOROUTINES {
                    s.go(move || {
                        for _ in 0..25 {
                            torture(goroutine, 5_000);
                            // SAFETY: on a goroutine, which has an M.
                            let thread = (*proc::getm()).procid.load(Ordering::Relaxed);
                            THREADS.lock().get_or_insert_default().insert(thread);
                        }
                    });
                }
            });
        })
    };
    let threads = THREADS.try_lock().and_then(|threads| threads.as_ref().map(HashSet::len));
    assert!(threads >= Some(2), "the goroutines ran on one thread: {threads:?}");
}

#[test]
fn so_do_switches_of_copying_goroutines() {
    two_threads();
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

    // SAFETY: `raw` fits its stack and doesn't panic; no thread-local is kept.
    unsafe {
        gosched::run(|| {
            DONE.add(GOROUTINES as u32);
            for goroutine in 1..=GOROUTINES {
                proc::newproc(Some(raw), std::ptr::without_provenance_mut(goroutine as usize));
            }
            DONE.wait();
        })
    };
    assert_eq!(WRONG.load(Ordering::Relaxed), 0);
}

#[test]
fn a_goroutine_starts_with_the_default_control_words() {
    two_threads();
    static WORDS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

    unsafe extern "C" fn note_words() {
        let (mut mxcsr, mut fcw) = (0u32, 0u16);
        // SAFETY: stores both words.
        unsafe { asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut mxcsr, in(reg) &raw mut fcw) };
        WORDS[0].store(mxcsr & 0xffc0, Ordering::Relaxed);
        WORDS[1].store(u32::from(fcw), Ordering::Relaxed);
    }

    unsafe extern "C" fn make_one_and_leave() {
        // SAFETY: the closure is 'static; a switch lets it run.
        gosched::go(|| unsafe { note_words() });
        // SAFETY: as in `switch`.
        unsafe { proc::gosched() }
    }

    // SAFETY: no thread-local is kept across a switch.
    unsafe {
        gosched::run(|| {
            let own = Registers { mxcsr: MXCSR | 0xe040, fcw: 0x0c7f, ..Registers::default() };
            let mut found = Registers::default();
            with_registers(make_one_and_leave, &own, &mut found);
            while WORDS[0].load(Ordering::Relaxed) == 0 {
                gosched::yield_now();
            }
        })
    };
    let words = WORDS.each_ref().map(|word| word.load(Ordering::Relaxed));
    assert_eq!(words, [MXCSR, u32::from(FCW)]);
}

#[test]
fn a_goroutine_that_ends_leaves_no_control_words() {
    two_threads();
    static LEFT: AtomicUsize = AtomicUsize::new(0);

    /// As a C function does that sets the rounding and returns.
    unsafe extern "C" fn spoil(_: *mut c_void) {
        // SAFETY: nothing computes before this returns.
        unsafe { asm!("ldmxcsr [{}]", "fldcw [{}]", in(reg) &(MXCSR | 0xe040), in(reg) &0x0c7f_u16) };
    }

    unsafe extern "C" fn look(_: *mut c_void) {
        let (mut mxcsr, mut fcw) = (0u32, 0u16);
        // SAFETY: stores both words.
        unsafe { asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut mxcsr, in(reg) &raw mut fcw) };
        LEFT.fetch_add(usize::from(mxcsr & 0xffc0 == MXCSR && fcw == FCW), Ordering::Relaxed);
    }

    // SAFETY: both fit their stacks; no thread-local is kept.
    unsafe {
        gosched::run(|| {
            for round in 1..=1000 {
                proc::newproc(Some(look), std::ptr::null_mut());
                proc::newproc(Some(spoil), std::ptr::null_mut());
                while gosched::num_goroutine() > 1 && LEFT.load(Ordering::Relaxed) < round {
                    gosched::yield_now();
                }
            }
        })
    };
    assert_eq!(LEFT.load(Ordering::Relaxed), 1000);
}
