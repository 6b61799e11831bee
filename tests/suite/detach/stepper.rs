//! A signal before each instruction of an operation, with nothing in between.
//!
//! The operation runs once with the processor's trap flag set, so that SIGTRAP's handler sees the
//! address of each instruction that its thread executes. The flag stays with the thread when the
//! thread switches to another goroutine. Then the operation runs once for each of these
//! instructions, at full speed, with a breakpoint of the kernel's (`perf_event_open`) for the n-th
//! time that this thread reaches it. SIGTRAP's handler then sends two signals to its own thread.
//! Both arrive when it returns, that is, before the instruction. SIGURG goes to the runtime.
//! SIGWINCH comes next, and if the goroutine has lost its P, SIGWINCH's handler here waits until
//! another thread has it.

use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use gosched::proc;
use gosched::runtime2::{P, PSYSCALL};
use gosched::yield_now;

use super::trace::{self, note};
use crate::harness::interrupts::this_thread;

/// The mode of the next [`begin`].
static NEXT: AtomicU32 = AtomicU32::new(NOTHING);
const NOTHING: u32 = 0;
const RECORD: u32 = 1;
const FIRE: u32 = 2;

/// The current mode, and its thread.
static NOW: AtomicU32 = AtomicU32::new(NOTHING);
static THREAD: AtomicI32 = AtomicI32::new(0);

/// Where the signals must come: the instruction, and the number of the visit.
static PC: AtomicUsize = AtomicUsize::new(0);
static NTH: AtomicU64 = AtomicU64::new(0);
/// The breakpoint's descriptor.
static BREAKPOINT: AtomicI32 = AtomicI32::new(-1);
static FIRED: AtomicBool = AtomicBool::new(false);
/// Whether the thread had a P when it reached the breakpoint.
static HAD_P: AtomicBool = AtomicBool::new(false);
/// How often a goroutine has lost its P there.
static DETACHED: AtomicUsize = AtomicUsize::new(0);

pub const TRAP_FLAG: u64 = 1 << 8;
/// The code of perf's SIGTRAP.
const TRAP_PERF: c_int = 6;
/// SIGWINCH comes after SIGURG: the kernel delivers the lowest number first.
const WAIT: c_int = libc::SIGWINCH;
const _: () = assert!(WAIT > libc::SIGURG);

/// Returns how often a goroutine has lost its P.
pub fn detached() -> usize {
    DETACHED.load(Relaxed)
}

/// Installs the handlers.
pub fn install() {
    handle(libc::SIGTRAP, on_trap);
    handle(WAIT, on_wait);
}

/// Installs a handler that touches nothing but atomics and the context.
pub fn handle(sig: c_int, handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)) {
    // SAFETY: the handler has a stack.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_SIGINFO;
        libc::sigfillset(&mut action.sa_mask);
        assert_eq!(libc::sigaction(sig, &action, ptr::null_mut()), 0);
    }
}

/// Sets the trap flag: from here on, SIGTRAP's handler, which is installed already, is called
/// before each instruction of this thread, until it clears the flag.
#[inline(always)]
pub fn set_trap_flag() {
    // SAFETY: the flag has no other effect.
    unsafe { asm!("pushfq", "or qword ptr [rsp], {}", "popfq", "nop", const TRAP_FLAG) };
}

/// Runs `once`, and returns the instructions that goroutines have executed between [`begin`] and
/// [`end`].
pub fn record(once: &mut dyn FnMut()) -> Vec<trace::Step> {
    trace::clear();
    NEXT.store(RECORD, Relaxed);
    once();
    assert_eq!(NOW.load(Relaxed), NOTHING, "the operation has an end");
    trace::steps()
}

/// Runs `once`, with a signal before that step. Returns whether the step was reached.
pub fn fire(step: trace::Step, once: &mut dyn FnMut()) -> bool {
    PC.store(step.pc, Relaxed);
    NTH.store(step.nth, Relaxed);
    FIRED.store(false, Relaxed);
    NEXT.store(FIRE, Relaxed);
    once();
    assert_eq!(NOW.load(Relaxed), NOTHING, "the operation has an end");
    FIRED.load(Relaxed)
}

/// Runs the operation, in which signals may come.
pub fn operation<R>(f: impl FnOnce() -> R) -> R {
    begin();
    let result = f();
    end();
    result
}

/// Marks the beginning of the operation, on a goroutine that has a P.
#[inline(never)]
pub fn begin() {
    while my_p().is_none() {
        yield_now();
    }
    THREAD.store(this_thread(), Relaxed);
    let now = NEXT.swap(NOTHING, Relaxed);
    if now == FIRE {
        let fd = breakpoint(PC.load(Relaxed), NTH.load(Relaxed)).expect("it could be made before");
        NOW.store(now, Relaxed);
        BREAKPOINT.store(fd.as_raw_fd(), Relaxed);
        enable_once(fd.into_raw_fd());
    } else if now == RECORD {
        NOW.store(now, Relaxed);
        // `end` clears the flag. On a thread that has the flag and doesn't reach `end`, the handler
        // clears it.
        set_trap_flag();
    }
}

/// Marks the end of the operation, on any thread.
#[inline(never)]
pub fn end() {
    // SAFETY: the flag is clear otherwise.
    unsafe { asm!("pushfq", "and qword ptr [rsp], {}", "popfq", const !(TRAP_FLAG as i32)) };
    NOW.store(NOTHING, Relaxed);
    let fd = BREAKPOINT.swap(-1, Relaxed);
    if fd >= 0 {
        // SAFETY: `begin` has opened the descriptor, and has given up its ownership.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
}

/// Returns the P of the caller's M.
fn my_p() -> Option<&'static P> {
    // SAFETY: M's and P's are never freed.
    unsafe { proc::getm().as_ref().and_then(|mp| mp.p.peek()) }
}

/// The kernel's `perf_event_attr`, up to the last field that is used here.
#[repr(C)]
#[derive(Default)]
struct PerfEventAttr {
    type_: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    bp_addr: u64,
    bp_len: u64,
    rest: [u64; 7],
}

/// Returns a breakpoint on this thread, not enabled yet. It sends its signal at the `nth` visit.
pub fn breakpoint(pc: usize, nth: u64) -> io::Result<OwnedFd> {
    const PERF_TYPE_BREAKPOINT: u32 = 5;
    const HW_BREAKPOINT_X: u32 = 4;
    // disabled, exclude_kernel, exclude_hv, remove_on_exec (without which there is no sigtrap),
    // sigtrap
    const FLAGS: u64 = 1 | 1 << 5 | 1 << 6 | 1 << 36 | 1 << 37;
    const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
    let attr = PerfEventAttr {
        type_: PERF_TYPE_BREAKPOINT,
        size: size_of::<PerfEventAttr>() as u32,
        sample_period: nth,
        flags: FLAGS,
        bp_type: HW_BREAKPOINT_X,
        bp_addr: pc as u64,
        bp_len: size_of::<usize>() as u64,
        ..PerfEventAttr::default()
    };
    // SAFETY: the kernel reads the struct.
    let fd =
        unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// Enables a breakpoint until it is hit once, because the handlers may reach it, too. Visits count
/// from here on, so this calls no function that an operation calls.
#[inline(always)]
fn enable_once(fd: c_int) {
    const PERF_EVENT_IOC_REFRESH: u64 = 0x2402;
    let mut result = libc::SYS_ioctl;
    // SAFETY: no memory is passed.
    unsafe {
        asm!(
            "syscall",
            inout("rax") result,
            in("rdi") i64::from(fd),
            in("rsi") PERF_EVENT_IOC_REFRESH,
            in("rdx") 1,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    assert_eq!(result, 0);
}

/// Sends a signal to this thread.
fn send(sig: c_int) {
    let thread = THREAD.load(Relaxed);
    // SAFETY: no memory is passed.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, sig) };
}

/// The handler of SIGTRAP, for the flag and for breakpoints.
extern "C" fn on_trap(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments, and errno, which is put back.
    unsafe {
        let errno = *libc::__errno_location();
        let ucontext = &mut *context.cast::<libc::ucontext_t>();
        let registers = &mut ucontext.uc_mcontext.gregs;
        if (*info).si_code == TRAP_PERF {
            if NOW.load(Relaxed) == FIRE && !FIRED.swap(true, Relaxed) {
                HAD_P.store(my_p().is_some(), Relaxed);
                send(libc::SIGURG);
                send(WAIT);
            }
        } else if NOW.load(Relaxed) == RECORD && libc::gettid() == THREAD.load(Relaxed) {
            let pc = registers[libc::REG_RIP as usize] as usize;
            let sp = registers[libc::REG_RSP as usize] as usize;
            let room = note(pc, counts(sp));
            if !room || blocks_signals(pc, registers[libc::REG_RAX as usize]) {
                registers[libc::REG_EFL as usize] &= !(TRAP_FLAG as i64);
            }
        } else {
            registers[libc::REG_EFL as usize] &= !(TRAP_FLAG as i64);
        }
        *libc::__errno_location() = errno;
    }
}

/// Returns whether signals may come here: on a goroutine, or on its stack.
fn counts(sp: usize) -> bool {
    // SAFETY: G's and M's are never freed.
    unsafe {
        let (Some(gp), Some(mp)) = (proc::getg().as_ref(), proc::getm().as_ref()) else { return false };
        let Some(curg) = mp.curg.get() else { return false };
        let stack = curg.stack.get();
        ptr::eq(curg, gp) || (stack.lo..stack.hi).contains(&sp)
    }
}

/// Returns whether the next instruction is a system call that blocks SIGTRAP, or one that makes a
/// thread, which would inherit the flag. A trap would then end the process.
///
/// # Safety
/// The thread is about to execute the instruction at `pc`.
pub unsafe fn blocks_signals(pc: usize, number: i64) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    // SAFETY: as the caller says. The instruction has at least two bytes, or its first byte
    // differs.
    let next = unsafe { ptr::with_exposed_provenance::<[u8; 2]>(pc).read_unaligned() };
    let numbers = [libc::SYS_rt_sigprocmask, libc::SYS_clone, libc::SYS_clone3, libc::SYS_vfork];
    next == SYSCALL && numbers.contains(&number)
}

/// The handler of the signal after SIGURG. If SIGURG has taken the P, waits until another thread
/// has it.
extern "C" fn on_wait(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: errno is put back; M's and P's are never freed; the kernel reads the time.
    unsafe {
        let errno = *libc::__errno_location();
        if HAD_P.load(Relaxed) && my_p().is_none() {
            DETACHED.fetch_add(1, Relaxed);
            let mp = &*proc::getm();
            let taken = || mp.oldp.get().is_none_or(|pp| pp.status.load(Relaxed) != PSYSCALL);
            let pause = libc::timespec { tv_sec: 0, tv_nsec: 20_000 };
            while !taken() {
                libc::nanosleep(&pause, ptr::null_mut());
            }
        }
        *libc::__errno_location() = errno;
    }
}
