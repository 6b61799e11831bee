//! Signal masks of goroutines that are threads. In Go no goroutine has a mask.
//!
//! The kernel keeps a mask for each thread of the system. A goroutine whose mask isn't the *usual*
//! one, that of the thread that started the runtime, has its mask in its thread-locals
//! (`left_signals.rs`). An M sets the mask of its thread before it runs a goroutine with another
//! mask. Where all goroutines have the same mask, that is one look at two flags for each switch.
//!
//! A signal for the process is delivered to any thread that doesn't block it. So a thread without a
//! goroutine, such as an idle M, blocks what *all* goroutines block ([`Population`]): such a signal
//! is for a goroutine that waits for it by `sigwait`, or for the next that doesn't block it. The
//! goroutines that count for that are main goroutines, those that are threads, and others once they
//! have changed their mask.
//!
//! - The runtime's own signals ([`NEVER`]) aren't blocked, whatever a goroutine's mask says.
//! - When goroutines come to block one more signal, M's that are idle already are told by a signal,
//!   and the goroutine waits until they block it ([`tell_idle_ms`]).
//! - A thread that isn't ours has a mask that the runtime doesn't touch.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, compiler_fence};

use crate::runtime::arch::syscall::syscall;
use crate::runtime::base::debug::patience;
use crate::runtime::base::os::{
    SIG_PREEMPT, barrier_in_all_threads, light_barrier, nanotime, osyield, signal_m,
};
use crate::runtime::base::this::hold_p;
use crate::runtime::data::runtime2::{G, M, Mutex};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::left_signals::signals_of;
use crate::runtime::m::sigstack::{FAULTS, init_sigmask, sigsave};
use crate::runtime::m::thread::ALLM;

/// In [`GExt::as_thread`](crate::runtime2::GExt): the goroutine counts for what idle M's block.
const COUNTED: u8 = 1;
/// The same: its mask isn't the usual one.
const OWN_MASK: u8 = 2;

/// The bit of a signal in a mask, as the kernel has it.
pub(in crate::runtime) const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// The signals that no thread of the runtime's blocks, and those that the C library doesn't let a
/// program block.
const NEVER: u64 =
    bit(FAULTS[0]) | bit(FAULTS[1]) | bit(SIG_PREEMPT) | bit(libc::SIGPROF) | bit(32) | bit(33);

/// Whether a goroutine has had a mask of its own.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// What a thread without a goroutine blocks, if masks are [`IN_USE`].
static IDLE_MASK: AtomicU64 = AtomicU64::new(0);

/// The masks of the goroutines that count.
struct Population {
    lock: Mutex,
    masks: UnsafeCell<[Counted; MASKS]>,
}

/// How many masks are counted.
const MASKS: usize = 32;

/// A mask, and how many goroutines have it.
#[derive(Clone, Copy)]
struct Counted {
    mask: u64,
    count: usize,
}

// SAFETY: the masks are only used with the lock held.
unsafe impl Sync for Population {}

static POPULATION: Population =
    Population { lock: Mutex::new(), masks: UnsafeCell::new([Counted { mask: 0, count: 0 }; MASKS]) };

impl Population {
    /// Counts a goroutine with the mask `new`, and one less with the mask `old`. Returns whether
    /// all block a signal now that not all blocked before.
    fn change(&self, old: Option<u64>, new: Option<u64>) -> bool {
        lock(&self.lock);
        // SAFETY: the lock is held, and nothing else here refers to the masks.
        let masks = unsafe { &mut *self.masks.get() };
        if let Some(new) = new {
            place_to_add(masks, new).count += 1;
        }
        if let Some(old) = old {
            place_to_remove(masks, old).count -= 1;
        }
        let all = masks.iter().filter(|counted| counted.count > 0);
        let all = all.fold(u64::MAX, |all, counted| all & counted.mask) & !NEVER;
        let before = IDLE_MASK.swap(all, Ordering::Relaxed);
        unlock(&self.lock);
        all & !before != 0
    }
}

/// Returns where a goroutine with this mask is counted. If there are too many masks, that is the
/// first place, whose mask blocks nothing.
fn place_to_add(masks: &mut [Counted; MASKS], mask: u64) -> &mut Counted {
    let is_it = |counted: &Counted| counted.count > 0 && counted.mask == mask;
    let free = |masks: &[Counted]| masks.iter().skip(1).position(|counted| counted.count == 0);
    let place = masks.iter().position(is_it).or_else(|| free(masks).map(|i| i + 1)).unwrap_or(0);
    if place > 0 {
        masks[place].mask = mask;
    }
    &mut masks[place]
}

/// Returns where a goroutine with this mask was counted, or one like it.
fn place_to_remove(masks: &mut [Counted; MASKS], mask: u64) -> &mut Counted {
    let place = masks.iter().position(|counted| counted.count > 0 && counted.mask == mask);
    &mut masks[place.unwrap_or(0)]
}

/// Returns the mask of the thread that started the runtime.
pub(in crate::runtime) fn usual_mask() -> u64 {
    mask_of_set(init_sigmask())
}

/// Returns the first signals of a set, which are all that the kernel has.
pub(in crate::runtime) fn mask_of_set(set: MaybeUninit<libc::sigset_t>) -> u64 {
    // SAFETY: the first word of a set, which is initialised.
    unsafe { set.as_ptr().cast::<u64>().read() }
}

/// Returns the signals in which the mask of `gp`, which has thread-locals of its own, differs from
/// the usual one.
fn own(gp: &G) -> &AtomicU64 {
    &signals_of(gp).other_mask
}

/// Returns the mask of `gp`, as the program has set it. `gp` runs here, or doesn't run.
fn mask_of(gp: &G) -> u64 {
    if gp.ext.as_thread.get() & OWN_MASK == 0 {
        return usual_mask();
    }
    own(gp).load(Ordering::Relaxed) ^ usual_mask()
}

/// The same of a goroutine with thread-locals of its own, which may run on any thread.
pub(super) fn mask_of_any(gp: &G) -> u64 {
    // SeqCst pairs with set_mask_of: see `left_signals.rs`.
    own(gp).load(Ordering::SeqCst) ^ usual_mask()
}

/// Notes the mask of `gp`. `gp` runs here, or doesn't run.
fn set_mask_of(gp: &G, mask: u64) {
    let other = mask ^ usual_mask();
    let flag = if other == 0 { 0 } else { OWN_MASK };
    gp.ext.as_thread.set(gp.ext.as_thread.get() & !OWN_MASK | flag);
    own(gp).store(other, Ordering::SeqCst);
    if flag != 0 {
        IN_USE.store(true, Ordering::Relaxed);
    }
}

/// Returns the mask that a thread inherits from the caller.
pub(in crate::runtime) fn mask_to_inherit(caller: Option<&G>) -> u64 {
    match caller {
        Some(gp) if gp.ext.tp.get() != 0 => mask_of(gp),
        _ => mask_of_set(MaybeUninit::new(sigsave())),
    }
}

/// Notes the mask of a new goroutine that is a thread, or a main goroutine, and counts it. `gp`
/// doesn't run yet.
pub(in crate::runtime) fn begin(gp: &G, mask: u64) {
    gp.ext.as_thread.set(gp.ext.as_thread.get() | COUNTED);
    if gp.ext.tp.get() != 0 {
        set_mask_of(gp, mask);
    }
    // With one more, there is no further signal that all block.
    POPULATION.change(None, Some(mask_of(gp)));
}

/// Uncounts `gp`, which has ended.
#[cold]
#[inline(never)]
pub(in crate::runtime) fn end(gp: &G) {
    let mask = mask_of(gp);
    gp.ext.as_thread.set(0);
    if POPULATION.change(Some(mask), None) && IN_USE.load(Ordering::Relaxed) {
        // They needn't block it at once.
        signal_idle_ms();
    }
}

/// The change of a mask by `pthread_sigmask`.
#[derive(Clone, Copy)]
pub(in crate::runtime) enum Change {
    Block(u64),
    Unblock(u64),
    Set(u64),
    Nothing,
}

/// Changes the mask of `gp`, which runs on this thread and has thread-locals of its own. Returns
/// the former mask.
pub(in crate::runtime) fn change_mask(gp: &'static G, mp: &'static M, change: Change) -> u64 {
    let held = hold_p(mp);
    let old = mask_of(gp);
    let new = match change {
        Change::Block(mask) => old | mask,
        Change::Unblock(mask) => old & !mask,
        Change::Set(mask) => mask,
        Change::Nothing => old,
    };
    // The kernel doesn't block these, and doesn't say that it does.
    let new = new & !(bit(libc::SIGKILL) | bit(libc::SIGSTOP) | bit(32) | bit(33));
    let mut more = false;
    if new != old {
        let counted = gp.ext.as_thread.get() & COUNTED != 0;
        set_mask_of(gp, new);
        gp.ext.as_thread.set(gp.ext.as_thread.get() | COUNTED);
        more = POPULATION.change(counted.then_some(old), Some(new));
    }
    // Also without a change: the kernel still blocks the signal of a handler that was left by
    // longjmp. Signals that are unblocked, and have come, are handled here.
    if !matches!(change, Change::Nothing) {
        set_mask_of_thread(mp, new & !NEVER);
    }
    drop(held);
    if more {
        tell_idle_ms();
    }
    old
}

/// Calls `f` with the mask that the kernel is to have while it waits, so that `gp`, as after
/// `sigsuspend`, blocks only the signals of `mask` meanwhile. `gp` runs on this thread, has
/// thread-locals of its own, and stays here.
pub(in crate::runtime) fn with_mask_in_kernel<R>(gp: &G, mask: u64, f: impl FnOnce(u64) -> R) -> R {
    /// No signal of these ends a wait.
    const RUNTIMES: u64 = bit(SIG_PREEMPT) | bit(libc::SIGPROF);
    let former = mask_of(gp);
    set_mask_of(gp, mask);
    let result = f(mask & !NEVER | RUNTIMES);
    set_mask_of(gp, former);
    result
}

/// Notes the first mask of this thread, that of `mp`, for which others can find the thread. `usual`
/// is the usual mask, and is changed to the mask that the thread is to have.
pub(super) fn choose_first_mask(mp: &M, usual: &mut MaybeUninit<libc::sigset_t>) {
    let mask = note_idle_mask(mp);
    if IN_USE.load(Ordering::Relaxed) {
        // SAFETY: the first word of a set.
        unsafe { usual.as_mut_ptr().cast::<u64>().write(mask) };
    }
}

/// Notes that this thread, that of `mp`, blocks what all goroutines block, and returns that. The
/// caller makes the thread block it.
fn note_idle_mask(mp: &M) -> u64 {
    loop {
        let mask = idle_mask();
        note_mask_of_thread(mp, mask);
        // Pairs with the barrier in tell_idle_ms: either that finds what was noted, or this finds
        // the new mask.
        light_barrier();
        if idle_mask() == mask {
            return mask;
        }
    }
}

/// Returns what a thread without a goroutine blocks.
fn idle_mask() -> u64 {
    if IN_USE.load(Ordering::Relaxed) { IDLE_MASK.load(Ordering::Relaxed) } else { usual_mask() & !NEVER }
}

fn note_mask_of_thread(mp: &M, mask: u64) {
    mp.ext.mask.store(mask, Ordering::Relaxed);
    mp.ext.has_other_mask.set(mask != usual_mask() & !NEVER);
}

/// Sets the mask of this thread, that of `mp`. `mp.locks` isn't 0, or this is in a signal handler.
fn set_mask_of_thread(mp: &M, mask: u64) {
    note_mask_of_thread(mp, mask);
    set_kernel_mask(mask);
}

/// Sets the mask of this thread, and returns the former one.
fn set_kernel_mask(mask: u64) -> u64 {
    let mut old = 0_u64;
    // SAFETY: the kernel reads the mask, and writes the former one.
    unsafe {
        syscall!(SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, &raw mut old, size_of::<u64>())
    };
    old
}

/// Gives this thread the mask of `gp`, which it is about to run, if the mask is another. Called on
/// g0, when `gp` is the goroutine of `mp`.
#[inline(always)]
pub(in crate::runtime) fn take_mask_of(mp: &'static M, gp: &'static G) {
    // A signal that has come before this has seen that there was no goroutine, and has changed the
    // flag; one that comes later changes nothing.
    compiler_fence(Ordering::SeqCst);
    if gp.ext.as_thread.get() & OWN_MASK != 0 || mp.ext.has_other_mask.get() {
        take_other_mask(mp, gp);
    }
}

#[cold]
#[inline(never)]
fn take_other_mask(mp: &'static M, gp: &'static G) {
    let mask = mask_of(gp) & !NEVER;
    if mask != mp.ext.mask.load(Ordering::Relaxed) {
        let held = hold_p(mp);
        set_mask_of_thread(mp, mask);
        drop(held);
    }
}

/// Lets this thread, that of `mp`, which has no goroutine and is about to sleep, block what all
/// goroutines block.
#[inline(always)]
pub(in crate::runtime) fn leave_signals(mp: &M) {
    if IN_USE.load(Ordering::Relaxed) {
        leave_signals_to_goroutines(mp);
    }
}

#[cold]
#[inline(never)]
fn leave_signals_to_goroutines(mp: &M) {
    // The handler of a signal that comes meanwhile changes nothing.
    mp.locks.set(mp.locks.get() + 1);
    compiler_fence(Ordering::SeqCst);
    let before = mp.ext.mask.load(Ordering::Relaxed);
    let mask = note_idle_mask(mp);
    if mask != before {
        set_kernel_mask(mask);
    }
    compiler_fence(Ordering::SeqCst);
    mp.locks.set(mp.locks.get() - 1);
}

/// The same in the handler of the signal by which [`tell_idle_ms`] asks for it. `context` has the
/// mask that the thread gets when the handler returns.
pub(in crate::runtime) fn leave_signals_in_handler(mp: &M, context: &mut libc::ucontext_t) {
    if IN_USE.load(Ordering::Relaxed) && mp.curg.is_null() && mp.locks.get() == 0 && mp.lockedg.is_null() {
        let mask = note_idle_mask(mp);
        // SAFETY: the first word of the set, which is all that the kernel reads.
        unsafe { (&raw mut context.uc_sigmask).cast::<u64>().write(mask) };
    }
}

/// While this lives, this thread, which isn't ours, leaves all signals for the process to others.
pub(in crate::runtime) struct SignalsBlocked(u64);

impl SignalsBlocked {
    /// Blocks the signals.
    pub(in crate::runtime) fn new() -> Self {
        SignalsBlocked(set_kernel_mask(!NEVER))
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        set_kernel_mask(self.0);
    }
}

/// Signals each M that doesn't run a goroutine, and doesn't block what all goroutines block.
/// Returns whether there was any.
fn signal_idle_ms() -> bool {
    let mask = IDLE_MASK.load(Ordering::Relaxed);
    let mut any = false;
    let mut next = ALLM.0.load(Ordering::Acquire);
    while let Some(mp) = next {
        next = mp.alllink.get();
        let procid = mp.procid.load(Ordering::Relaxed);
        let blocks_it = mask & !mp.ext.mask.load(Ordering::Relaxed) == 0;
        if procid != 0 && !mp.isextra.get() && mp.curg.is_null() && mp.lockedg.is_null() && !blocks_it {
            any = true;
            signal_m(procid, SIG_PREEMPT);
        }
    }
    any
}

/// Makes M's that are idle already block what all goroutines block, and waits until they do. A
/// thread of the system that gets no processor for long isn't waited for.
#[cold]
#[inline(never)]
fn tell_idle_ms() {
    /// How long this waits, in nanoseconds.
    const PATIENCE: i64 = 100_000_000;

    // An M that becomes idle finds the new mask, or is found here.
    barrier_in_all_threads();
    let until = nanotime() + patience(PATIENCE);
    while signal_idle_ms() && nanotime() < until {
        osyield();
    }
}
