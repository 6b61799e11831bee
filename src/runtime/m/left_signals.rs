//! Signals that are left to a goroutine, because the kernel can't keep them for it: its thread
//! changes. `threads/signals.rs` sends them.
//!
//! What is known of a goroutine's signals is in its thread-locals ([`Signals`]), where senders find
//! it. To handle a signal that was left, the goroutine sends it to the thread that runs it at that
//! time. It does so where it has unblocked the signal, where it begins, and after a wait that
//! signals end (`signaled.rs`).

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicIsize, AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::runtime::arch::syscall::{keeping_errno, sigaction};
use crate::runtime::arch::{raw, thread_pointer};
use crate::runtime::base::os::{gettid, osyield};
use crate::runtime::data::runtime2::G;
use crate::runtime::g::aborted::set_signaled;
use crate::runtime::m::sigmask::{bit, mask_of_any};
use crate::runtime::m::signaled::Handled;

/// The kernel's first real-time signal. The C library's own are real-time signals.
pub(in crate::runtime) const SIGRTMIN: c_int = 32;

/// What is known of the signals of a goroutine with thread-locals of its own.
pub(in crate::runtime) struct Signals {
    /// The signals in which its mask, as the program has set it, differs from the usual one
    /// (`sigmask.rs`). The goroutine changes it, and others look at it.
    pub(super) other_mask: AtomicU64,
    /// A bit for each signal that was left. A signal that is sent again meanwhile comes once, as
    /// from the kernel. No real-time signal, which must come as often as it was sent.
    left: AtomicU32,
    /// Where the goroutine is: [`RUNS`], [`BEGINS`], [`WAITS`].
    state: AtomicU8,
    /// The signals for one of which it waits in the kernel, as in [`left`](Self::left).
    waits_for: AtomicU32,
    /// How often another thread has begun or ended to send it a signal: odd while one does.
    sends: AtomicU32,
    /// What [`sends`](Self::sends) was when the goroutine last had got all that was sent.
    sends_seen: AtomicU32,
}

/// In [`Signals::state`]: it runs, or is in a wait that no signal ends.
const RUNS: u8 = 0;
/// It hasn't begun.
const BEGINS: u8 = 1;
/// It is in a wait that a signal ends.
const WAITS: u8 = 2;

thread_local! {
    static SIGNALS: Signals = const {
        Signals {
            other_mask: AtomicU64::new(0),
            left: AtomicU32::new(0),
            state: AtomicU8::new(RUNS),
            waits_for: AtomicU32::new(0),
            sends: AtomicU32::new(0),
            sends_seen: AtomicU32::new(0),
        }
    };
}

/// The offset of [`SIGNALS`] from the thread pointer, which is the same in each thread.
static OFFSET: AtomicIsize = AtomicIsize::new(0);

/// Finds out where signals are. Called before there is a goroutine.
pub(in crate::runtime) fn init() {
    let own = SIGNALS.with(|own| ptr::from_ref(own).expose_provenance());
    OFFSET.store(own.wrapping_sub(thread_pointer()) as isize, Ordering::Relaxed);
}

/// Returns what is known of the signals of `gp`, which has thread-locals of its own.
pub(in crate::runtime) fn signals_of(gp: &G) -> &Signals {
    // Not by `with`, which in a shared library calls a function that a handler mustn't call.
    let addr = gp.ext.tp.get().wrapping_add_signed(OFFSET.load(Ordering::Relaxed));
    // SAFETY: one of the goroutine's thread-locals, whose memory is there as long as the G.
    unsafe { &*ptr::with_exposed_provenance(addr) }
}

/// The signals of a mask that can be left to a goroutine.
fn that_can_be_left(mask: u64) -> u32 {
    mask as u32 & i32::MAX as u32
}

impl Signals {
    /// Notes that the goroutine is a thread that hasn't begun.
    pub(in crate::runtime) fn begin(&self) {
        self.state.store(BEGINS, Ordering::Relaxed);
    }

    /// Notes that the goroutine enters a wait that a signal ends. No signal that was sent to its
    /// thread before comes in the wait, in which the runtime holds locks.
    #[inline(always)]
    pub(super) fn wait(&self) {
        loop {
            // SeqCst: see `leave` and `sending`.
            self.state.store(WAITS, Ordering::SeqCst);
            if self.sends.load(Ordering::SeqCst) == self.sends_seen.load(Ordering::Relaxed) {
                return;
            }
            self.state.store(RUNS, Ordering::SeqCst);
            self.get_what_was_sent();
        }
    }

    /// Gets the signals that other threads have sent to this goroutine's thread.
    #[cold]
    #[inline(never)]
    fn get_what_was_sent(&self) {
        let sends = loop {
            let sends = self.sends.load(Ordering::SeqCst);
            if sends.is_multiple_of(2) {
                break sends;
            }
            osyield();
        };
        self.sends_seen.store(sends, Ordering::Relaxed);
        // The kernel has the signals. It delivers them at the latest when a call returns.
        pid();
    }

    /// Calls `send`, which may send a signal to the thread of the goroutine. That goroutine is
    /// another one, and can't change its state.
    ///
    /// The caller's look at the state is in `send`. So either that finds the goroutine in a wait,
    /// or the goroutine finds this before it waits.
    pub(in crate::runtime) fn sending<R>(&self, send: impl FnOnce() -> R) -> R {
        self.sends.fetch_add(1, Ordering::SeqCst);
        let result = send();
        self.sends.fetch_add(1, Ordering::SeqCst);
        result
    }

    /// Notes that the goroutine has begun, or that its wait has ended.
    pub(in crate::runtime) fn run(&self) {
        // SeqCst: see `leave`.
        self.state.store(RUNS, Ordering::SeqCst);
    }

    /// Whether the goroutine is in a wait that a signal ends.
    pub(super) fn is_in_wait(&self) -> bool {
        self.state.load(Ordering::SeqCst) == WAITS
    }

    /// Returns the signals that are left to the goroutine, as a mask.
    pub(in crate::runtime) fn left(&self) -> u64 {
        // SeqCst: see `leave`.
        self.left.load(Ordering::SeqCst).into()
    }

    fn add(&self, signal: c_int) {
        self.left.fetch_or(bit(signal) as u32, Ordering::SeqCst);
    }

    /// Takes the signal back. Returns whether it was there.
    fn remove(&self, signal: c_int) -> bool {
        let bit = bit(signal) as u32;
        self.left.fetch_and(!bit, Ordering::SeqCst) & bit != 0
    }

    /// Takes the first signal of `mask`.
    pub(in crate::runtime) fn take_one_of(&self, mask: u64) -> Option<c_int> {
        let signals = |left: u64| (1..SIGRTMIN).filter(move |&signal| left & bit(signal) != 0);
        signals(self.left() & mask).find(|&signal| self.remove(signal))
    }

    /// Notes for which signals the goroutine waits in the kernel; none of them if it doesn't wait.
    pub(in crate::runtime) fn wait_for(&self, mask: u64) {
        // SeqCst: see `leave`.
        self.waits_for.store(that_can_be_left(mask), Ordering::SeqCst);
    }
}

/// What has become of a signal that was to be left.
#[derive(Clone, Copy)]
pub(in crate::runtime) enum Left {
    /// It can't be left: the goroutine runs, or is in a wait that no signal ends.
    No,
    /// It was left, and the goroutine is marked if that is to end a wait.
    Yes,
    /// It was left to a goroutine that waits for it in the kernel.
    WaitsInKernel,
}

/// Leaves `signal` to `gp`, if it blocks the signal, begins, or is in a wait that a signal ends.
/// `gp` can't change its state meanwhile.
///
/// `gp` notes its new state, and then looks at what was left. So either it finds the signal, or
/// this finds the new state: all of that is SeqCst.
pub(in crate::runtime) fn leave(gp: &'static G, signal: c_int) -> Left {
    let signals = signals_of(gp);
    signals.add(signal);
    if mask_of_any(gp) & bit(signal) != 0 {
        let waits = signals.waits_for.load(Ordering::SeqCst) & bit(signal) as u32 != 0;
        return if waits { Left::WaitsInKernel } else { Left::Yes };
    }
    match signals.state.load(Ordering::SeqCst) {
        BEGINS => Left::Yes,
        WAITS => {
            set_signaled(gp);
            Left::Yes
        }
        // It may have handled the signal meanwhile.
        _ if signals.remove(signal) => Left::No,
        _ => Left::Yes,
    }
}

/// Whether a signal was left to `gp` that it doesn't block.
pub(super) fn is_to_handle(gp: &G) -> bool {
    signals_of(gp).left() & !mask_of_any(gp) != 0
}

/// Handles the signals that were left to `gp`, the running goroutine, and that it doesn't block.
pub(in crate::runtime) fn handle_unblocked(gp: &'static G) -> Handled {
    if is_to_handle(gp) { handle(gp) } else { Handled::Nothing }
}

/// Sends the signals that were left to `gp`, the running goroutine, and that it doesn't block, to
/// its thread.
#[cold]
#[inline(never)]
pub(in crate::runtime) fn handle(gp: &'static G) -> Handled {
    let process = pid();
    let mut handled = Handled::Nothing;
    // A handler may fork. The child inherits no signals.
    while pid() == process
        && let Some(signal) = signals_of(gp).take_one_of(!mask_of_any(gp))
    {
        handled = handled.max(what_becomes_of(signal));
        // A handler that runs now may be the program's.
        keeping_errno(|| send_to_this_thread(signal));
    }
    handled
}

/// Returns what becomes of a wait that `signal` has ended.
fn what_becomes_of(signal: c_int) -> Handled {
    let mut action = MaybeUninit::uninit();
    // SAFETY: the C library writes the action, if it returns 0.
    let action = unsafe {
        if sigaction(signal, ptr::null(), action.as_mut_ptr()) != 0 {
            return Handled::Nothing;
        }
        action.assume_init()
    };
    match action.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => Handled::Nothing,
        _ if action.sa_flags & libc::SA_RESTART != 0 => Handled::Restarts,
        _ => Handled::Ends,
    }
}

/// Sends `signal` to the thread of the system on which the caller runs.
fn send_to_this_thread(signal: c_int) {
    // SAFETY: no memory is passed.
    unsafe { raw(libc::SYS_tgkill, [pid(), gettid() as usize, signal as usize, 0, 0, 0]) };
}

/// Returns the id of the process.
pub(in crate::runtime) fn pid() -> usize {
    // SAFETY: no memory is passed.
    unsafe { raw(libc::SYS_getpid, [0; 6]) as usize }
}
