//! Linux: Go's `os_linux.go`.

use std::ffi::{CStr, c_int, c_short, c_void};
use std::io::{self, ErrorKind, Write};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence, fence};

#[cfg(not(feature = "std"))]
use libc::clock_gettime;

use crate::runtime::arch::page_size;
use crate::runtime::arch::syscall::syscall;
use crate::runtime::base::fatal::throw;
use crate::runtime::base::print::eprintln;
use crate::runtime::base::real::{pthread_create, pthread_getattr_np, pthread_sigmask, uncount_thread};
#[cfg(feature = "std")]
use crate::runtime::base::vdso::clock_gettime;
use crate::runtime::data::runtime2::Stack;

/// Whether `membarrier` was found to work; see `lock/key.rs`.
static BARRIERS_WORK: AtomicBool = AtomicBool::new(false);

/// The bytes of a thread's stack, which is its g0's. Reports are made there, and an embedder's
/// hooks run there.
pub(in crate::runtime) const G0_STACK: usize = 256 << 10;

/// The signal that makes a thread look whether its goroutine can be stopped. Go's `sigPreempt`.
pub(in crate::runtime) const SIG_PREEMPT: c_int = libc::SIGURG;

/// Names a new mapping, so that `/proc/self/maps` and tools that read it show `[anon:NAME]`. Does
/// nothing where the kernel has no names (`CONFIG_ANON_VMA_NAME`, since Linux 5.17).
pub(in crate::runtime) fn name_mapping(start: *const u8, len: usize, name: &'static CStr) {
    // SAFETY: the kernel copies the name, and doesn't touch the mapping's memory.
    unsafe { syscall!(SYS_prctl, libc::PR_SET_VMA, libc::PR_SET_VMA_ANON_NAME, start, len, name.as_ptr()) };
}

/// Sleeps while `*addr == val`, at most `ns` nanoseconds, or without a limit if `ns` is negative.
/// May wake for no reason. Go's `futexsleep`.
pub(in crate::runtime) fn futexsleep(addr: &AtomicU32, val: u32, ns: i64) {
    let timeout = libc::timespec { tv_sec: ns.max(0) / 1_000_000_000, tv_nsec: ns.max(0) % 1_000_000_000 };
    let timeout = if ns < 0 { ptr::null() } else { ptr::from_ref(&timeout) };
    // SAFETY: the kernel reads the word and the timeout, both of which live until this returns.
    unsafe {
        syscall!(SYS_futex, addr.as_ptr(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, val, timeout);
    }
}

/// Wakes at most `cnt` threads that sleep on `addr`. The word isn't read, and may be gone. Go's
/// `futexwakeup`.
pub(in crate::runtime) fn futexwakeup(addr: &AtomicU32, cnt: u32) {
    // SAFETY: the kernel looks for sleepers with this address, and reads nothing there.
    let ret = unsafe { syscall!(SYS_futex, addr.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, cnt) };
    // EFAULT: the word was on the stack of a thread that has gone on since, and is unmapped.
    if ret < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT) {
        eprintln!("futexwakeup addr={addr:p} returned {}", io::Error::last_os_error());
        throw("futexwakeup failed")
    }
}

/// Registers the process for `membarrier`. Before that, and if the kernel refuses, each unlock has
/// a fence.
pub(in crate::runtime) fn init_barriers() {
    // SAFETY: no memory is passed.
    let ret = unsafe { syscall!(SYS_membarrier, libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) };
    // Release pairs with barriers_work: an unlock that skips the fence comes after the
    // registration. So it also sees a sleeping thread whose barrier was refused before.
    BARRIERS_WORK.store(ret == 0, Ordering::Release);
}

/// Whether an unlock may skip the fence. Acquire pairs with [`init_barriers`].
#[inline(always)]
pub(in crate::runtime) fn barriers_work() -> bool {
    BARRIERS_WORK.load(Ordering::Acquire)
}

/// The cheap side of [`barrier_in_all_threads`]: orders the accesses before it and after it, for
/// the compiler, and also for the processor whenever another thread calls that function.
#[inline(always)]
pub(in crate::runtime) fn light_barrier() {
    compiler_fence(Ordering::SeqCst);
}

/// Makes every running thread of this process execute a full memory barrier. If the kernel can't do
/// that, only the caller executes one, and the other side has a fence ([`barriers_work`]).
pub(in crate::runtime) fn barrier_in_all_threads() {
    // Pairs with the fence in `unlock` (`lock/key.rs`), if the kernel refuses the barrier.
    fence(Ordering::SeqCst);
    // SAFETY: no memory is passed.
    unsafe { syscall!(SYS_membarrier, libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) };
}

/// Returns the monotonic time in nanoseconds. Go's `nanotime`.
pub(crate) fn nanotime() -> i64 {
    let mut now = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the kernel fills `now`: Linux always has CLOCK_MONOTONIC.
    let now = unsafe {
        clock_gettime(libc::CLOCK_MONOTONIC, now.as_mut_ptr());
        now.assume_init()
    };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Gives this thread's processor to another thread, if one waits for it. Go's `osyield`.
pub(in crate::runtime) fn osyield() {
    // SAFETY: no arguments.
    unsafe { syscall!(SYS_sched_yield) };
}

/// Puts this thread to sleep for about `usec` microseconds. Go's `usleep`.
pub(in crate::runtime) fn usleep(usec: u32) {
    let time =
        libc::timespec { tv_sec: i64::from(usec / 1_000_000), tv_nsec: i64::from(usec % 1_000_000) * 1000 };
    // SAFETY: the kernel reads `time`.
    unsafe { syscall!(SYS_nanosleep, &raw const time, 0) };
}

/// Returns how many processors the thread `tid` may use; 0 stands for the caller. Returns none if a
/// sandbox refuses the call. Go's `getproccount`.
pub(in crate::runtime) fn getproccount(tid: u64) -> Option<i32> {
    // The kernel refuses a set that has no room for all possible processors.
    [16, 128, 1024, 8192].into_iter().find_map(|words| {
        let mut set = vec![0_u64; words];
        // SAFETY: the kernel writes to the set, at most its size.
        let got = unsafe { libc::sched_getaffinity(tid as i32, 8 * words, set.as_mut_ptr().cast()) };
        (got == 0).then(|| set.iter().map(|word| word.count_ones() as i32).sum::<i32>().max(1))
    })
}

/// Returns the kernel's id of this thread. If a sandbox refuses the call, returns 0 and writes a
/// line on stderr.
pub(in crate::runtime) fn gettid() -> u64 {
    // SAFETY: no arguments.
    let tid = unsafe { syscall!(SYS_gettid) };
    if tid < 0 {
        cannot_signal(&io::Error::last_os_error());
    }
    tid.max(0) as u64
}

/// Returns how many threads this process has, if /proc tells: the link count of the directory that
/// lists them, less the two links that every directory has.
pub(in crate::runtime) fn thread_count() -> Option<i32> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path ends in a zero byte; `stat` is read only if the kernel has filled it.
    let links = unsafe {
        if libc::stat(c"/proc/self/task".as_ptr(), stat.as_mut_ptr()) != 0 {
            return None;
        }
        stat.assume_init().st_nlink
    };
    i32::try_from(links).ok()?.checked_sub(2)
}

/// Turns the result of a function that returns its error number into a `Result`.
fn check(errno: c_int) -> io::Result<()> {
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}

/// Makes a thread that starts in `mstart(g0)`, with all signals blocked: the new M sets its own
/// mask. Go's `newosproc`.
pub(in crate::runtime) fn newosproc(g0: *mut c_void) -> io::Result<()> {
    let mut thread = MaybeUninit::uninit();
    let mut attr = MaybeUninit::uninit();
    let mut all = MaybeUninit::uninit();
    let mut old = MaybeUninit::uninit();
    // SAFETY: each object is initialised by the first call that takes it, and `attr` is destroyed
    // once. `g0` is part of an M, which is never freed, so it outlives the thread.
    unsafe {
        check(libc::pthread_attr_init(attr.as_mut_ptr()))?;
        libc::pthread_attr_setdetachstate(attr.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        libc::sigfillset(all.as_mut_ptr());
        pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr());
        let mut size = G0_STACK;
        let made = loop {
            libc::pthread_attr_setstacksize(attr.as_mut_ptr(), size);
            let made = pthread_create(thread.as_mut_ptr(), attr.as_ptr(), crate::runtime::arch::MSTART, g0);
            // EINVAL: the program's thread-locals, which are also on the stack, don't fit.
            if made != libc::EINVAL || size >= 64 * G0_STACK {
                break made;
            }
            size *= 2;
        };
        pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), ptr::null_mut());
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        check(made)?;
        // The process ends with the last thread of the program's, whatever threads the runtime has.
        if uncount_thread() {
            libc::exit(0);
        }
        Ok(())
    }
}

/// Returns the bounds of this thread's stack. Fails if the C library has no memory to find out, or
/// can't read `/proc` on the process's first thread.
pub(in crate::runtime) fn thread_stack() -> io::Result<Stack> {
    // SAFETY: the pointers are to locals. If pthread_getattr_np returns 0, it has filled the
    // attributes; then they are read, and destroyed once.
    unsafe {
        let mut attr = std::mem::MaybeUninit::uninit();
        let mut lo = std::ptr::null_mut();
        let mut size = 0;
        check(pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr()))?;
        libc::pthread_attr_getstack(attr.as_ptr(), &mut lo, &mut size);
        libc::pthread_attr_destroy(attr.as_mut_ptr());
        Ok(Stack { lo: lo.addr(), hi: lo.addr() + size })
    }
}

/// Returns the part of the stack that is certain for a thread that [`newosproc`] has made, and that
/// has just begun: from here down, half of the requested size. The program's thread-locals may have
/// the other half.
pub(in crate::runtime) fn stack_from_here() -> Stack {
    let here = 0_u8;
    let hi = (&raw const here).addr().next_multiple_of(page_size());
    Stack { lo: hi - G0_STACK / 2, hi }
}

/// Returns how long the thread of this process with this id has been on a processor, in
/// nanoseconds; none if there is no such thread.
pub(in crate::runtime) fn thread_cpu_time(procid: u64) -> Option<i64> {
    clock_time(thread_clock(procid))
}

/// Returns the same for this thread.
pub(in crate::runtime) fn this_thread_cpu_time() -> i64 {
    clock_time(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Returns the kernel's number of the clock that counts the time of the thread with this id on a
/// processor: CPUCLOCK_SCHED of a thread.
pub(in crate::runtime) fn thread_clock(procid: u64) -> libc::clockid_t {
    (!(procid as c_int) << 3) | 6
}

/// Whether the thread with this id sleeps, and doesn't just wait for a processor; true if /proc
/// doesn't tell. Allocates nothing.
pub(in crate::runtime) fn thread_sleeps(procid: u64) -> bool {
    thread_state(procid) != Some(b'R')
}

/// Whether the thread with this id waits where no signal wakes it: for a disk, or for the kernel's
/// lock of the process's memory. So it waits for nothing that a goroutine holds. Allocates nothing.
pub(in crate::runtime) fn waits_for_kernel(procid: u64) -> bool {
    thread_state(procid) == Some(b'D')
}

/// Returns the state of the thread with this id, as /proc names it.
fn thread_state(procid: u64) -> Option<u8> {
    let (mut path, mut stat) = ([0_u8; 48], [0_u8; 128]);
    // A path that doesn't fit is cut off, before the zero at the end.
    let _fits = write!(&mut path[..47], "/proc/self/task/{procid}/stat");
    // SAFETY: the path ends in a zero; the descriptor is ours, and the kernel writes to `stat`.
    let read = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let read = syscall!(SYS_read, file, stat.as_mut_ptr(), stat.len());
        syscall!(SYS_close, file);
        read
    };
    // The state is behind the name. The name is in parentheses, and may contain parentheses.
    let stat = &stat[..read.max(0) as usize];
    let name_ends = stat.iter().rposition(|&byte| byte == b')');
    name_ends.and_then(|at| stat.get(at + 2)).copied()
}

pub(in crate::runtime) fn clock_time(clock: libc::clockid_t) -> Option<i64> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: `time` is read only if the kernel has filled it.
    let time = unsafe {
        if clock_gettime(clock, time.as_mut_ptr()) != 0 {
            return None;
        }
        time.assume_init()
    };
    Some(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// Returns which of `events`, and of the errors that `poll` always reports, hold for the descriptor
/// now. Returns `POLLNVAL` if a sandbox refuses the call.
pub(in crate::runtime) fn poll_now(fd: RawFd, events: c_short) -> c_short {
    let mut fds = libc::pollfd { fd, events, revents: 0 };
    let mut no_time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    loop {
        // SAFETY: the kernel reads and writes one pollfd and one timespec, and gets no mask.
        if unsafe { syscall!(SYS_ppoll, &raw mut fds, 1, &raw mut no_time, 0, 0) } >= 0 {
            return fds.revents;
        }
        // A signal that comes at that moment ends the call, although the call doesn't wait.
        if io::Error::last_os_error().kind() != ErrorKind::Interrupted {
            return libc::POLLNVAL;
        }
    }
}

/// Sends a signal to the thread of an M. Returns false if the thread has ended, if its id isn't
/// known, or if a sandbox refuses, which a line on stderr reports. Go's `signalM`.
pub(in crate::runtime) fn signal_m(procid: u64, sig: c_int) -> bool {
    if procid == 0 {
        return false;
    }
    // SAFETY: no memory is passed.
    let sent = unsafe {
        match syscall!(SYS_getpid) {
            refused @ ..0 => refused,
            pid => syscall!(SYS_tgkill, pid, procid, sig),
        }
    };
    let error = io::Error::last_os_error();
    if sent < 0 && error.raw_os_error() != Some(libc::ESRCH) {
        cannot_signal(&error);
    }
    sent == 0
}

/// Reports once that goroutines can't be stopped by signals.
#[cold]
fn cannot_signal(why: &io::Error) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        eprintln!(
            "gosched: a thread can't be sent a signal ({why}): goroutines stop at checks and where they wait, \
             and nowhere else in preemptible code"
        );
    }
}
