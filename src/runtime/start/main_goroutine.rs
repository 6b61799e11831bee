//! The main goroutine of a call of `run`: Go's `main`.

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::runtime::base::this::goroutine;
use crate::runtime::data::ext::StackKind;
use crate::runtime::data::runtime2::{Note, sched};
use crate::runtime::g::newproc::{Maker, newproc1};
use crate::runtime::g::values::{Inherited, drop_locals};
use crate::runtime::lock::note::{notesleep, notewakeup};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::m::checkdead::checkdead;
use crate::runtime::m::lockosthread::unwire;
use crate::runtime::m::sigstack::LargerSigstack;
use crate::runtime::sched::newproc::enqueue;
use crate::runtime::trace::session::traced_as_said;

/// A main function, and the thread that waits for it.
struct Main {
    f: unsafe fn(*mut c_void),
    arg: *mut c_void,
    done: Note,
}

/// Runs `f(arg)` on a goroutine of this kind and waits for its end. Called on a thread that isn't
/// ours, when the runtime has started. Fails if no stack can be made.
///
/// # Safety
/// `f(arg)` may be called on another thread, and doesn't unwind.
pub(crate) unsafe fn run_main(
    f: unsafe fn(*mut c_void),
    arg: *mut c_void,
    kind: StackKind,
    maker: &Maker,
) -> io::Result<()> {
    let _traced = traced_as_said();
    let waiting = Main { f, arg, done: Note { key: AtomicU32::new(0) } };
    let _sigstack = LargerSigstack::new();
    let inherited = Inherited::new();
    let newg = newproc1(main, kind, maker)?;
    inherited.give(newg);
    newg.sched.ctxt.set(ptr::from_ref(&waiting).cast_mut().cast());
    enqueue(newg);
    // From here on this thread can't wake a goroutine. That may make a deadlock, and if all M's
    // wait already, none of them will look for it.
    lock(&sched().lock);
    sched().ext.nrunwait.fetch_add(1, Ordering::SeqCst);
    checkdead();
    unlock(&sched().lock);
    notesleep(&waiting.done);
    Ok(())
}

/// The function of a main goroutine. Go's `main`.
unsafe extern "C" fn main(waiting: *mut c_void) {
    // SAFETY: run_main passes a Main, and keeps it until `done` is woken.
    let waiting = unsafe { &*waiting.cast::<Main>() };
    // SAFETY: run_main's caller has promised that `f(arg)` may be called on this thread, and
    // doesn't unwind.
    unsafe { (waiting.f)(waiting.arg) };
    let (gp, _) = goroutine();
    unwire(gp);
    drop_locals(gp);
    // From here on the waiting thread can wake goroutines.
    sched().ext.nrunwait.fetch_sub(1, Ordering::SeqCst);
    notewakeup(&waiting.done);
}
