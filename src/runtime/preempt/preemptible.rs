//! Where a goroutine may be stopped when a signal comes: Go's `canPreemptM`, `wantAsyncPreempt` and
//! `isAsyncSafePoint`. In preemptible code, that is between any two instructions. Go's compiler
//! knows for each instruction whether it is preemptible (`findfunc`, `PCDATA_UnsafePoint`); here
//! the program says which code is.
//!
//! The signal handler looks up a pc, and can't wait for a lock. So it reads a list that is never
//! changed, only replaced by another. A thread that replaces the list frees the old one when no
//! handler is looking at it any more.

use std::error;
use std::fmt;
use std::hint;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::runtime::arch::{ASYNC_PREEMPT_FRAME, RED_ZONE, SP_ALIGN, preemptible_section, vectors_fit};
use crate::runtime::base::this::with_room;
use crate::runtime::data::runtime2::{G, GRUNNING, GSCAN, M, PRUNNING};
use crate::runtime::g::explored::keeps_p;
use crate::runtime::g::status::readgstatus;
use crate::runtime::preempt::xregs::RESTORE_STACK;

/// How many bytes of the goroutine's stack must be free for an asynchronous preemption. Go's
/// `asyncPreemptStack`.
const ASYNC_PREEMPT_STACK: usize = RED_ZONE + ASYNC_PREEMPT_FRAME + RESTORE_STACK;

/// Whether the goroutine of `mp` may be preempted now. Go's `canPreemptM`.
pub(in crate::runtime) fn can_preempt_m(mp: &M) -> bool {
    mp.locks.get() == 0
        && mp.mallocing.get() == 0
        && mp.preemptoff.get().is_null()
        && mp.p.peek().map_or_else(
            || mp.ext.detached_since.load(Ordering::Relaxed) != 0,
            |pp| pp.status.load(Ordering::Relaxed) == PRUNNING,
        )
}

/// Whether `gp`, which runs on `mp`, was asked to stop. Go's `wantAsyncPreempt`.
pub(in crate::runtime) fn want_async_preempt(mp: &M, gp: &G) -> bool {
    (gp.preempt.load(Ordering::Relaxed) || mp.p.peek().is_some_and(|pp| pp.preempt.load(Ordering::Relaxed)))
        && readgstatus(gp) & !GSCAN == GRUNNING
        && !keeps_p(gp)
}

/// Whether `gp`, which the thread of `mp` ran when a signal came, may be stopped where it is. It
/// may if no lock is held, its stack has room for its registers, and its code is preemptible.
/// Called in a signal handler. Go's `isAsyncSafePoint`.
pub(in crate::runtime) fn is_async_safe_point(mp: &M, gp: &G, pc: usize, sp: usize) -> bool {
    let stack = gp.stack.get();
    mp.runs(gp)
        && can_preempt_m(mp)
        // The stack pointer is in another stack if a handler of the program's has interrupted the
        // goroutine.
        && sp >= stack.lo + ASYNC_PREEMPT_STACK
        && sp < stack.hi
        && sp.is_multiple_of(SP_ALIGN)
        && vectors_fit()
        && contains(pc)
}

/// Whether there is any preemptible code.
pub(super) fn any() -> bool {
    !preemptible_section().is_empty() || !REGISTERED.load(Ordering::Relaxed).is_null()
}

/// Whether a goroutine may be stopped at `pc`. Called in a signal handler.
fn contains(pc: usize) -> bool {
    preemptible_section().contains(&pc) || with_ranges(|ranges| find(ranges, pc).is_some())
}

/// The ranges that were registered, sorted; null if there are none.
static REGISTERED: AtomicPtr<Vec<Range<usize>>> = AtomicPtr::new(ptr::null_mut());
/// How many signal handlers are looking at the list.
static LOOKING: AtomicUsize = AtomicUsize::new(0);
/// Held while the list is being replaced.
static REPLACING: Mutex<()> = Mutex::new(());

/// Returns the range that contains `pc`.
fn find(ranges: &[Range<usize>], pc: usize) -> Option<&Range<usize>> {
    let at = ranges.partition_point(|range| range.end <= pc);
    ranges.get(at).filter(|range| range.contains(&pc))
}

/// Calls `f` with the ranges that are registered now.
fn with_ranges<R>(f: impl FnOnce(&[Range<usize>]) -> R) -> R {
    // Sequentially consistent, as in `replace`. Either `replace` sees that we are looking, or we
    // see its list.
    LOOKING.fetch_add(1, Ordering::SeqCst);
    // SAFETY: null, or a list that isn't freed while LOOKING counts us.
    let ranges = unsafe { REGISTERED.load(Ordering::SeqCst).as_ref() };
    let found = f(ranges.map_or(&[], Vec::as_slice));
    // Release pairs with the load in `replace`, which then frees what we have read.
    LOOKING.fetch_sub(1, Ordering::Release);
    found
}

/// Replaces the list by a copy that `change` has changed.
fn replace<E>(change: impl FnOnce(&mut Vec<Range<usize>>) -> Result<(), E>) -> Result<(), E> {
    with_room(|| {
        let _replacing = REPLACING.lock().unwrap_or_else(PoisonError::into_inner);
        let old = REGISTERED.load(Ordering::Relaxed);
        // SAFETY: null, or a list that only we can free, while we have REPLACING locked.
        let mut ranges = unsafe { old.as_ref() }.cloned().unwrap_or_default();
        change(&mut ranges)?;
        let new = if ranges.is_empty() { ptr::null_mut() } else { Box::into_raw(Box::new(ranges)) };
        // SeqCst: stored before the look at LOOKING, see with_ranges.
        REGISTERED.store(new, Ordering::SeqCst);
        // Not for long: a handler looks for some nanoseconds, and no signal interrupts it.
        while LOOKING.load(Ordering::SeqCst) != 0 {
            hint::spin_loop();
        }
        if !old.is_null() {
            // SAFETY: made by the box above in an earlier call, and nobody looks at it any more.
            drop(unsafe { Box::from_raw(old) });
        }
        Ok(())
    })
}

/// Why a range of code can't be registered as preemptible.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PreemptibleError {
    /// The range is empty, or ends before it begins.
    Empty(Range<usize>),
    /// Some of the range is preemptible already: this part was registered before or made by
    /// [`preemptible!`](crate::preemptible).
    Overlaps(Range<usize>),
}

impl fmt::Display for PreemptibleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(Range { start, end }) => write!(f, "no code is in {start:#x}..{end:#x}"),
            Self::Overlaps(Range { start, end }) => {
                write!(f, "the code overlaps {start:#x}..{end:#x}, which is preemptible already")
            }
        }
    }
}

impl error::Error for PreemptibleError {}

/// A registration by [`register_preemptible`], which lasts until this is dropped.
#[must_use = "dropping it takes the registration back"]
pub struct PreemptibleRegistration(Range<usize>);

impl fmt::Debug for PreemptibleRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreemptibleRegistration({:#x}..{:#x})", self.0.start, self.0.end)
    }
}

impl Drop for PreemptibleRegistration {
    fn drop(&mut self) {
        unregister_preemptible(&self.0);
    }
}

/// Takes back the registration of `code`; false if there is none.
pub(crate) fn unregister_preemptible(code: &Range<usize>) -> bool {
    let removed: Result<(), ()> = replace(|ranges| {
        let at = ranges.iter().position(|range| range == code).ok_or(())?;
        ranges.remove(at);
        Ok(())
    });
    removed.is_ok()
}

/// Registers the machine code in `code` as preemptible, until the returned registration is dropped.
/// A goroutine that is asked to stop while it runs there is stopped between any two instructions.
/// For a compiler's output; Rust functions are registered by [`preemptible!`](crate::preemptible).
///
/// # Errors
/// If the range is empty, or some of it is preemptible already.
///
/// # Safety
/// Between any two instructions of the range the goroutine may park, and go on on another thread.
/// So the code holds no lock of the operating system's threads there, nor anything else that
/// belongs to the thread: the address of a thread-local, what the thread pointer points to, a
/// signal mask. No signal handler runs the code on a goroutine's own stack. The code keeps pointers
/// that a collector must find in registers or on the stack
/// ([`scan_stack`](crate::proc::scan_stack)), and uses no more below its stack pointer than the ABI
/// lets it: 128 bytes on x86-64, nothing on aarch64. It isn't in SME's streaming mode, and its SVE
/// registers have the process's length. It isn't changed, and when the registration is dropped, no
/// goroutine is in it.
pub unsafe fn register_preemptible(code: Range<usize>) -> Result<PreemptibleRegistration, PreemptibleError> {
    if code.is_empty() {
        return Err(PreemptibleError::Empty(code));
    }
    let overlaps = |other: &Range<usize>| other.start < code.end && code.start < other.end;
    if overlaps(&preemptible_section()) {
        return Err(PreemptibleError::Overlaps(preemptible_section()));
    }
    replace(|ranges| {
        if let Some(other) = ranges.iter().find(|other| overlaps(other)) {
            return Err(PreemptibleError::Overlaps(other.clone()));
        }
        ranges.insert(ranges.partition_point(|other| other.start < code.start), code.clone());
        Ok(())
    })?;
    Ok(PreemptibleRegistration(code))
}

/// Makes functions preemptible. A goroutine that is asked to stop while it runs in such a function
/// is stopped between any two instructions, and others run. Without this, and without a
/// [check](crate::morestack_check), a loop goes on until it ends.
///
/// ```
/// gosched::preemptible! {
///     /// How often `byte` is in `bytes`.
///     ///
///     /// # Safety
///     /// As for each preemptible function; it has nothing to do with a thread.
///     pub unsafe fn count(bytes: &[u8], byte: u8) -> usize {
///         let mut n = 0;
///         for i in 0..bytes.len() {
///             n += (bytes[i] == byte) as usize;
///         }
///         n
///     }
/// }
/// // SAFETY: no lock is held, and no thread-local in use.
/// assert_eq!(unsafe { count(b"abracadabra", b'a') }, 5);
/// ```
///
/// The function itself is preemptible, with all that the compiler inlines into it, but not the
/// functions that it calls. Without optimisation nothing is inlined, not even the `next` of a
/// range. A function may have attributes, a visibility, an ABI, and arguments with plain names; it
/// has no type parameters, isn't `const` or `async`, and takes no `self`.
///
/// A signal stops such a function. If a sandbox refuses to send or to handle the signal, a line on
/// stderr says so, once, and goroutines stop only at checks and where they wait.
///
/// # Safety
/// The functions are `unsafe` because each of their instructions can park. Their author and their
/// callers ensure that at no point in them
///
/// - something is kept that was obtained from a thread-local: after the instruction the thread may
///   be another. This includes inlined code, such as an allocation, a print, or a panic's count;
/// - a lock is held that other goroutines need, std's for example. Goroutines that wait for the
///   lock block their threads, and this goroutine may be waiting for one of those threads.
///
/// The linker collects the functions of all crates that are linked together. Where this crate is a
/// dynamic library of its own (`-C prefer-dynamic`), it sees none of the others' functions: there,
/// and for generated code, use [`register_preemptible`].
#[macro_export]
macro_rules! preemptible {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis unsafe $(extern $abi:literal)? fn $name:ident(
            $($argument:ident: $type:ty),* $(,)?
        ) $(-> $result:ty)? $body:block
    )*) => {
        $(
            $(#[$attribute])*
            #[inline(never)]
            #[unsafe(link_section = "gosched_preemptible")]
            $visibility unsafe $(extern $abi)? fn $name($($argument: $type),*) $(-> $result)? $body
        )*
    };
}
