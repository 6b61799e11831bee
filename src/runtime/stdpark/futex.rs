//! The operations of `futex`, and of its successor calls, on words that only this process uses. All
//! other requests go to the kernel: words that other processes use, and robust and
//! priority-inheriting locks.

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::runtime::arch::raw;
#[cfg(pthreads)]
use crate::runtime::arch::syscall::keeping_errno;
use crate::runtime::data::runtime2::G;
use crate::runtime::explore::clock::now;
use crate::runtime::g::explored::exploring;
#[cfg(pthreads)]
use crate::runtime::g::extent::is_aborted_here;
use crate::runtime::m::signaled::{handle_signals, until_signaled};
use crate::runtime::p::timer::has_timers;
use crate::runtime::sched::exploration::point;
use crate::runtime::stdpark::futex_table::{
    ANY_BIT, Ends, Waited, as_thread, kernel_is_next, may_have_waiters, requeue, wait, wake, wake_later,
};
#[cfg(pthreads)]
use crate::runtime::stdpark::gate::is_thread;
use crate::runtime::stdpark::gate::{may_park, may_ready};
use crate::runtime::stdpark::time::{from_now, nanoseconds};

/// The calls that came after `futex`; their numbers are the same on all architectures.
pub(super) const SYS_FUTEX_WAKE: i64 = 454;
pub(super) const SYS_FUTEX_WAIT: i64 = 455;
pub(super) const SYS_FUTEX_REQUEUE: i64 = 456;

/// The flags, in these calls, of a word of 32 bits that only this process uses: `FUTEX2_SIZE_U32`
/// and `FUTEX2_PRIVATE`.
const PRIVATE_U32: usize = 2 | libc::FUTEX_PRIVATE_FLAG as usize;

/// Results of the kernel's. An error is a negative number.
const EAGAIN: isize = -libc::EAGAIN as isize;
#[cfg(pthreads)]
const ECANCELED: isize = -libc::ECANCELED as isize;
const EINTR: isize = -libc::EINTR as isize;
const EINVAL: isize = -libc::EINVAL as isize;
const ENOSYS: isize = -libc::ENOSYS as isize;
const ETIMEDOUT: isize = -libc::ETIMEDOUT as isize;

/// Whether a call is `futex`'s wake at a word for which no goroutine waits. Then the kernel's call
/// is enough. This is the most frequent call, and threads make it, too.
#[inline(always)]
pub(super) fn is_wake_of_threads(number: i64, addr: usize, op: usize) -> bool {
    number == libc::SYS_futex
        && op as i32 == libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG
        && !exploring()
        && !may_have_waiters(addr)
}

/// A call with the kernel's arguments.
pub(super) struct Call {
    pub(super) number: i64,
    pub(super) args: [usize; 6],
}

impl Call {
    /// Makes the kernel do the call.
    ///
    /// # Safety
    /// As that system call.
    unsafe fn by_kernel(&self) -> isize {
        // SAFETY: the caller keeps to the contract of the system call.
        unsafe { raw(self.number, self.args) }
    }

    /// Does the call: goroutines wait and are woken here. Returns what the kernel would.
    ///
    /// # Safety
    /// As that system call.
    // Inlined with the functions that it calls, so that the arguments stay in registers.
    #[inline(always)]
    pub(super) unsafe fn run(&self) -> isize {
        let [addr, second, third, fourth, fifth, sixth] = self.args;
        // A word that isn't aligned is an error, which the kernel is to return.
        if !addr.is_multiple_of(size_of::<u32>()) || addr == 0 {
            // SAFETY: the caller keeps to the contract of the system call.
            return unsafe { self.by_kernel() };
        }
        // SAFETY: the caller keeps to the contract of the system call, which these functions also
        // require.
        unsafe {
            match self.number {
                libc::SYS_futex => self.futex(second as i32, third as u32),
                SYS_FUTEX_WAKE if fourth == PRIVATE_U32 && third == 0 => 0,
                SYS_FUTEX_WAKE if fourth == PRIVATE_U32 => self.wake(addr, third as i32, second as u32),
                SYS_FUTEX_WAIT if fourth == PRIVATE_U32 => {
                    let time = Time { at: fifth, absolute: true, clock: sixth as libc::clockid_t };
                    self.wait(addr, second as u32, third as u32, &time)
                }
                SYS_FUTEX_REQUEUE => self.futex2_requeue(),
                _ => self.by_kernel(),
            }
        }
    }

    /// `futex`.
    #[inline(always)]
    unsafe fn futex(&self, op: i32, value: u32) -> isize {
        let [addr, _, _, fourth, addr2, sixth] = self.args;
        let is_private = op & libc::FUTEX_PRIVATE_FLAG != 0;
        let realtime = op & libc::FUTEX_CLOCK_REALTIME != 0;
        let clock = if realtime { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
        // SAFETY: the caller keeps to the contract of the system call, as `run` requires.
        unsafe {
            match op & libc::FUTEX_CMD_MASK {
                _ if !is_private => self.by_kernel(),
                libc::FUTEX_WAIT if !realtime => {
                    self.wait(addr, value, ANY_BIT, &Time { at: fourth, absolute: false, clock })
                }
                libc::FUTEX_WAIT_BITSET => {
                    self.wait(addr, value, sixth as u32, &Time { at: fourth, absolute: true, clock })
                }
                libc::FUTEX_WAKE => self.wake(addr, value as i32, ANY_BIT),
                libc::FUTEX_WAKE_BITSET => self.wake(addr, value as i32, sixth as u32),
                libc::FUTEX_REQUEUE => self.requeue(addr2, value as i32, fourth as i32, None),
                libc::FUTEX_CMP_REQUEUE => {
                    self.requeue(addr2, value as i32, fourth as i32, Some(sixth as u32))
                }
                libc::FUTEX_WAKE_OP => self.wake_op(addr2, value as i32, fourth as i32, sixth as u32),
                _ => self.by_kernel(),
            }
        }
    }

    /// Waits while the word is `value`, and at most until the time.
    #[inline(always)]
    unsafe fn wait(&self, addr: usize, value: u32, bits: u32, time: &Time) -> isize {
        // SAFETY: the caller keeps to the contract of the system call, as `run` requires.
        let by_kernel = || unsafe { self.by_kernel() };
        let Some(gp) = may_park() else { return as_thread(addr, by_kernel) };
        point("a futex's wait");
        if bits == 0 {
            return EINVAL;
        }
        // SAFETY: the caller of `run` passes no time, or the address of a timespec.
        let ends = match unsafe { time.until() } {
            Ok(until) => Ends { time: until, by_abort: false },
            // A time that isn't understood here.
            Err(()) => return as_thread(addr, by_kernel),
        };
        loop {
            // SAFETY: the word is aligned, and the caller of `run` keeps it; `gp` may park.
            let ret = unsafe { park(gp, addr, value, bits, ends) };
            let Some(ret) = ret else { return as_thread(addr, by_kernel) };
            // Handlers may run for long.
            let is_over = ret != ETIMEDOUT || ends.have_come();
            let handled = handle_signals(gp);
            if is_over {
                return ret;
            }
            if handled.ends(ends.time.is_some()) {
                return EINTR;
            }
        }
    }

    /// Wakes up to `n` goroutines and threads that wait at `addr`.
    #[inline(always)]
    unsafe fn wake(&self, addr: usize, n: i32, bits: u32) -> isize {
        // exploring comes first: there is hardly ever an exploration, and may_park costs more.
        if exploring() && may_park().is_some() {
            point("a futex's wake");
        }
        if bits == 0 {
            return EINVAL;
        }
        // The kernel wakes a waiter before it compares the count, so `n` is at least 1.
        let n = n.max(1) as u32;
        if n == 1 && kernel_is_next(addr) {
            let woken = wake_threads(addr, 1, bits);
            if woken != 0 {
                return woken;
            }
        }
        let woken = if may_ready() {
            wake(addr, n, bits)
        } else {
            wake_later(addr, n, bits);
            0
        };
        if woken == n { woken as isize } else { sum(woken, wake_threads(addr, n - woken, bits)) }
    }

    /// Wakes up to `n` that wait at the call's word, and makes up to `most` others wait at `to`, if
    /// the word still is `value`.
    unsafe fn requeue(&self, to: usize, n: i32, most: i32, value: Option<u32>) -> isize {
        let from = self.args[0];
        let (Ok(n), Ok(most)) = (u32::try_from(n), u32::try_from(most)) else { return EINVAL };
        if !may_ready() || !to.is_multiple_of(size_of::<u32>()) || to == 0 {
            // In a handler the goroutines are woken instead of moved.
            wake_later(from, u32::MAX, ANY_BIT);
            // SAFETY: the caller keeps to the contract of the system call, as `run` requires.
            return unsafe { self.by_kernel() };
        }
        // SAFETY: if there is a value, the caller of `run` keeps a word at `from`.
        let Some((woken, moved)) = (unsafe { requeue(from, n, to, most, value) }) else { return EAGAIN };
        // The rest are threads. The word was compared already.
        let op = libc::FUTEX_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
        let args = [from, op as usize, (n - woken) as usize, (most - moved) as usize, to, 0];
        // SAFETY: a requeue reads no memory.
        sum(woken + moved, unsafe { raw(libc::SYS_futex, args) })
    }

    /// Changes the word at `addr2` as `code` says. Wakes up to `n` at the call's word, and up to
    /// `n2` at `addr2` if the old value there passes the comparison in `code`.
    unsafe fn wake_op(&self, addr2: usize, n: i32, n2: i32, code: u32) -> isize {
        let Some(op) = WakeOp::of(code) else { return ENOSYS };
        if !addr2.is_multiple_of(size_of::<u32>()) {
            return EINVAL;
        }
        // SAFETY: as the caller says: two words.
        unsafe {
            let old = op.change(&*ptr::with_exposed_provenance::<AtomicU32>(addr2));
            let woken = self.wake(self.args[0], n, ANY_BIT);
            let wakes = op.compare(old);
            woken + if wakes { self.wake(addr2, n2, ANY_BIT) } else { 0 }
        }
    }

    /// `futex_requeue`.
    unsafe fn futex2_requeue(&self) -> isize {
        /// The kernel's `struct futex_waitv`.
        #[repr(C)]
        struct Waitv {
            value: u64,
            addr: u64,
            flags: u32,
            reserved: u32,
        }

        let [waiters, flags, n, most, ..] = self.args;
        // SAFETY: two of them, as the caller says.
        let Some([from, to]) = (unsafe { ptr::with_exposed_provenance::<[Waitv; 2]>(waiters).as_ref() })
        else {
            // SAFETY: the caller keeps to the contract of the system call, as `run` requires.
            return unsafe { self.by_kernel() };
        };
        let known = |waiter: &Waitv| waiter.flags as usize == PRIVATE_U32 && waiter.reserved == 0;
        if flags != 0 || !known(from) || !known(to) {
            // SAFETY: the caller keeps to the contract of the system call, as `run` requires.
            return unsafe { self.by_kernel() };
        }
        let op = (libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG) as usize;
        let args = [from.addr as usize, op, n, most, to.addr as usize, from.value as usize];
        // SAFETY: this is the same call as one of `futex`, and the caller of `run` keeps to the
        // contract.
        unsafe { Call { number: libc::SYS_futex, args }.run() }
    }
}

/// The time limit of a wait in the C library: an absolute time.
#[cfg(pthreads)]
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Deadline {
    clock: libc::clockid_t,
    time: libc::timespec,
}

#[cfg(pthreads)]
impl Deadline {
    /// Returns the limit, or none if the C library wouldn't accept it.
    pub(in crate::runtime) fn new(clock: libc::clockid_t, time: &libc::timespec) -> Option<Self> {
        let is_valid = matches!(clock, libc::CLOCK_MONOTONIC | libc::CLOCK_REALTIME)
            && (0..1_000_000_000).contains(&time.tv_nsec);
        // The kernel refuses times before the beginning of the clock.
        let time = if time.tv_sec < 0 { libc::timespec { tv_sec: 0, tv_nsec: 0 } } else { *time };
        is_valid.then_some(Deadline { clock, time })
    }

    /// Returns the limit on the runtime's clock.
    pub(in crate::runtime) fn until(&self) -> i64 {
        let time =
            Time { at: ptr::from_ref(&self.time).expose_provenance(), absolute: true, clock: self.clock };
        // SAFETY: the address of a timespec. Both clocks can be converted.
        unsafe { time.until() }.ok().flatten().unwrap_or(i64::MAX)
    }
}

/// Waits while the word is `value`, at most until the limit: a goroutine that may park here parks,
/// and others wait in the kernel. Returns what the kernel would. A signal ends the wait of a
/// goroutine for nothing.
///
/// If this is a point where a thread may be canceled, the wait of a goroutine that is canceled ends
/// with `ECANCELED`, and a signal ends it with `EINTR` if its handler doesn't let calls go on.
#[cfg(pthreads)]
#[inline(never)]
pub(in crate::runtime) fn wait_at_word(
    word: &AtomicU32,
    value: u32,
    limit: Option<&Deadline>,
    is_point: bool,
) -> isize {
    keeping_errno(|| {
        let Some(gp) = may_park() else { return wait_in_kernel(word, value, limit) };
        point("a futex's wait");
        let ends = Ends { time: limit.map(Deadline::until), by_abort: is_point && is_thread(gp) };
        let addr = ptr::from_ref(word).expose_provenance();
        // SAFETY: the caller keeps the word, and `gp` may park.
        let ret = unsafe { park(gp, addr, value, ANY_BIT, ends) };
        let Some(ret) = ret else { return wait_in_kernel(word, value, limit) };
        // Handlers may run for long.
        let is_over = ends.have_come();
        let handled = handle_signals(gp);
        match ret {
            ETIMEDOUT if is_over => ETIMEDOUT,
            ETIMEDOUT if ends.by_abort && is_aborted_here() => ECANCELED,
            ETIMEDOUT if is_point && handled.ends(limit.is_some()) => EINTR,
            ETIMEDOUT => 0,
            ret => ret,
        }
    })
}

/// [`wait_at_word`] in the kernel.
#[cfg(pthreads)]
#[inline(never)]
pub(in crate::runtime) fn wait_in_kernel(word: &AtomicU32, value: u32, limit: Option<&Deadline>) -> isize {
    let realtime = limit.is_some_and(|limit| limit.clock == libc::CLOCK_REALTIME);
    let op = libc::FUTEX_WAIT_BITSET
        | libc::FUTEX_PRIVATE_FLAG
        | if realtime { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    let time = limit.map_or(0, |limit| ptr::from_ref(&limit.time).expose_provenance());
    let addr = ptr::from_ref(word).expose_provenance();
    let args = [addr, op as usize, value as usize, time, 0, ANY_BIT as usize];
    // SAFETY: the caller keeps the word, and the limit.
    as_thread(addr, || unsafe { raw(libc::SYS_futex, args) })
}

/// Wakes up to `n` goroutines and threads that wait at the word with this address, which may be
/// gone.
#[cfg(pthreads)]
#[inline(never)]
pub(in crate::runtime) fn wake_at_word(addr: usize, n: u32) {
    let op = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    let n = n.min(i32::MAX as u32) as usize;
    let call = Call { number: libc::SYS_futex, args: [addr, op, n, 0, 0, 0] };
    // SAFETY: a wake reads no memory.
    unsafe {
        if is_wake_of_threads(call.number, addr, op) {
            call.by_kernel();
        } else {
            keeping_errno(|| call.run());
        }
    }
}

/// Wakes up to `n` goroutines and threads that have queued themselves at the address with one of
/// these bits.
#[cfg(pthreads)]
#[inline(never)]
pub(in crate::runtime) fn wake_queued(addr: usize, n: u32, bits: u32) {
    keeping_errno(|| {
        if exploring() && may_park().is_some() {
            point("a wake");
        }
        if may_ready() {
            wake(addr, n, bits);
        } else {
            wake_later(addr, n, bits);
        }
    });
}

/// Parks `gp`, and returns what the kernel would; `ETIMEDOUT` also for a wait that an abort or a
/// signal has ended. Returns none if there is no memory for the limit.
///
/// # Safety
/// As [`wait`].
unsafe fn park(gp: &'static G, addr: usize, value: u32, bits: u32, ends: Ends) -> Option<isize> {
    until_signaled(gp, || {
        if ends.time.is_some() && !has_timers() {
            return None;
        }
        // SAFETY: the caller keeps to the contract of `wait`.
        Some(match unsafe { wait(gp, addr, value, bits, ends) } {
            Waited::Woken => 0,
            Waited::Changed => EAGAIN,
            Waited::TimedOut => ETIMEDOUT,
        })
    })
}

/// Returns how many were woken, here and by the kernel. Returns the kernel's error only if none was
/// woken here.
fn sum(here: u32, by_kernel: isize) -> isize {
    if by_kernel < 0 && here > 0 { here as isize } else { here as isize + by_kernel }
}

/// Wakes up to `n` threads that wait at `addr` with one of these bits.
fn wake_threads(addr: usize, n: u32, bits: u32) -> isize {
    let op = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a wake reads no memory.
    unsafe { raw(libc::SYS_futex, [addr, op as usize, n as usize, 0, 0, bits as usize]) }
}

/// A time limit, as the kernel's callers give it.
struct Time {
    /// The address of a timespec; 0 is no limit.
    at: usize,
    absolute: bool,
    clock: libc::clockid_t,
}

impl Time {
    /// Returns the limit on the runtime's clock. Fails if the kernel wouldn't accept the timespec.
    ///
    /// # Safety
    /// `at` is 0, or the address of a timespec.
    unsafe fn until(&self) -> Result<Option<i64>, ()> {
        // SAFETY: the caller says that `at` is 0 or the address of a timespec.
        let Some(time) = (unsafe { ptr::with_exposed_provenance::<libc::timespec>(self.at).as_ref() }) else {
            return Ok(None);
        };
        let known = matches!(self.clock, libc::CLOCK_MONOTONIC | libc::CLOCK_REALTIME);
        let ns = nanoseconds(time).filter(|_| known).ok_or(())?;
        let left = if self.absolute { from_now(self.clock, ns).ok_or(())? } else { ns };
        Ok(Some(now().saturating_add(left)))
    }
}

/// The operation of `FUTEX_WAKE_OP` on the second word.
struct WakeOp {
    op: u32,
    arg: u32,
    cmp: u32,
    cmparg: i32,
}

impl WakeOp {
    /// Decodes the kernel's encoding: 4 bits of operation, 4 of comparison, 12 of each argument,
    /// which are signed.
    fn of(code: u32) -> Option<Self> {
        const SHIFT: u32 = libc::FUTEX_OP_OPARG_SHIFT as u32;
        let signed = |bits: u32| (bits as i32) << 20 >> 20;
        let (op, arg) = (code >> 28, signed(code >> 12 & 0xfff));
        let arg = if op & SHIFT != 0 { 1_u32 << (arg & 31) } else { arg as u32 };
        let this = WakeOp { op: op & !SHIFT, arg, cmp: code >> 24 & 15, cmparg: signed(code & 0xfff) };
        (this.op <= libc::FUTEX_OP_XOR as u32 && this.cmp <= libc::FUTEX_OP_CMP_GE as u32).then_some(this)
    }

    /// Changes the word, and returns its old value.
    fn change(&self, word: &AtomicU32) -> i32 {
        // SeqCst, as the kernel's operations are. The caller looks for waiters afterwards.
        let old = match self.op as i32 {
            libc::FUTEX_OP_SET => word.swap(self.arg, Ordering::SeqCst),
            libc::FUTEX_OP_ADD => word.fetch_add(self.arg, Ordering::SeqCst),
            libc::FUTEX_OP_OR => word.fetch_or(self.arg, Ordering::SeqCst),
            libc::FUTEX_OP_ANDN => word.fetch_and(!self.arg, Ordering::SeqCst),
            _ => word.fetch_xor(self.arg, Ordering::SeqCst),
        };
        old as i32
    }

    fn compare(&self, old: i32) -> bool {
        match self.cmp as i32 {
            libc::FUTEX_OP_CMP_EQ => old == self.cmparg,
            libc::FUTEX_OP_CMP_NE => old != self.cmparg,
            libc::FUTEX_OP_CMP_LT => old < self.cmparg,
            libc::FUTEX_OP_CMP_LE => old <= self.cmparg,
            libc::FUTEX_OP_CMP_GT => old > self.cmparg,
            _ => old >= self.cmparg,
        }
    }
}
