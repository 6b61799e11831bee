//! A thread is made and runs: `pthread_create`, as far as a goroutine can be the thread.

use std::ffi::{c_int, c_void};

use libc::{pthread_attr_t, pthread_t};

use crate::runtime::arch::getg;
use crate::runtime::arch::syscall::syscall;
use crate::runtime::base::real::{count_thread, uncount_thread, wants_system_thread};
use crate::runtime::data::ext::{IS_THREAD, Name, StackKind};
use crate::runtime::data::runtime2::G;
use crate::runtime::g::values::drop_locals;
use crate::runtime::lock::foreign_locks;
use crate::runtime::m::left_signals::{handle_unblocked, signals_of};
use crate::runtime::m::sigmask::{self, Change, change_mask, mask_to_inherit};
use crate::runtime::mem::sizes::{room_for, with_own_locals};
use crate::runtime::sched::exploration::point;
use crate::runtime::sched::goexit::{finish_goroutine, init_with_handle};
use crate::runtime::sched::newproc::{Maker, newproc1};
use crate::runtime::sched::ready::enqueue;
use crate::runtime::threads::attributes::Wanted;
use crate::runtime::threads::cancel::{end_cancellation, forget_cancellation};
use crate::runtime::threads::live::live;
use crate::runtime::threads::record::{Record, Start, record_of, this_goroutine, this_thread};
use crate::runtime::tls::{number_thread, thread_of_g};

unsafe extern "C" {
    /// Calls the function of a thread and returns its result: `asm/call_thread.c`. If
    /// `pthread_exit` has ended the function, returns what is in `result` then.
    fn gosched_call_thread(start: &Start, result: *const *mut c_void, was_ended: &mut bool) -> *mut c_void;
}

/// Makes a thread of a goroutine, and writes its `pthread_t` to `thread`. Returns the result of
/// `pthread_create`; none if the thread has to be a thread of the system.
///
/// # Safety
/// As `pthread_create`.
#[cold]
#[inline(never)]
pub(super) unsafe fn create(
    thread: *mut pthread_t,
    attr: *const pthread_attr_t,
    start: Start,
) -> Option<c_int> {
    if !may_make_goroutines() {
        return None;
    }
    // SAFETY: null, or attributes, as the caller says.
    let wanted = unsafe { Wanted::of(attr) }?;
    let kind = with_own_locals(room_for(wanted.stack_size)?, false).ok()?;
    let Ok(gp) = new_thread(kind, start, wanted.detached) else { return Some(libc::EAGAIN) };
    signals_of(gp).begin();
    sigmask::begin(gp, wanted.mask.unwrap_or_else(|| mask_to_inherit(getg())));
    count_thread();
    // SAFETY: a place for the thread's name, as the caller says. The thread may look there as soon
    // as it runs.
    unsafe { thread.write(thread_of_g(gp)) };
    enqueue(gp);
    point("go");
    Some(0)
}

/// Whether goroutines may be made here: not for a thread of the runtime's, nor in the middle of the
/// runtime's own code, as when it allocates.
fn may_make_goroutines() -> bool {
    if wants_system_thread() {
        return false;
    }
    let Some(gp) = getg() else { return foreign_locks() == 0 };
    gp.m.get().is_some_and(|mp| {
        mp.runs(gp)
            && mp.locks.get() == 0
            && mp.mallocing.get() == 0
            && !gp.ext.system.get()
            && gp.ext.kind.get() != StackKind::Copying
    })
}

/// Makes a goroutine that is a thread, and doesn't run yet.
fn new_thread(kind: StackKind, start: Start, detached: bool) -> std::io::Result<&'static G> {
    let maker = Maker { name: &Name::NONE, created_at: None, callerpc: 0 };
    let gp = newproc1(thread_main, kind, &maker)?;
    if !detached {
        init_with_handle(gp);
    }
    number_thread(gp);
    gp.ext.as_thread.set(IS_THREAD);
    // SAFETY: the G is new, so its slot is empty, and no code has it yet.
    unsafe { gp.ext.slot.place::<Record>().write(Record::new(start, detached)) };
    gp.sched.ctxt.set(gp.as_ptr().cast());
    Ok(gp)
}

/// The function of a goroutine that is a thread.
pub(super) unsafe extern "C" fn thread_main(gp: *mut c_void) {
    // SAFETY: new_thread has set the argument to the G itself, and G's are never freed.
    let gp: &'static G = unsafe { &*gp.cast::<G>() };
    let record = record_of(gp);
    let mut was_ended = false;
    // SAFETY: the program has passed this function to `pthread_create`, with its argument.
    let result = unsafe { gosched_call_thread(&record.start, record.result.as_ptr(), &mut was_ended) };
    record.result.set(result);
    if was_ended {
        leave_handlers();
    }
    end_cancellation(gp);
    if !live() {
        end_in_child_of_fork(gp);
    }
    // The record has nothing to drop.
    finish_goroutine(gp, || false);
    forget_cancellation(gp);
    if uncount_thread() {
        // SAFETY: all code of the program's has ended, except what it wants to run at exit.
        unsafe { libc::exit(0) };
    }
}

/// Called where the thread can be ended, before the program's function.
#[unsafe(no_mangle)]
extern "C-unwind" fn gosched_thread_begins() {
    if let Some(gp) = this_thread() {
        signals_of(gp).run();
        handle_unblocked(gp);
    }
}

/// Gives this thread the goroutine's mask again. If a signal handler has ended the thread, the
/// kernel still blocks the handler's signal.
#[cold]
#[inline(never)]
fn leave_handlers() {
    if let Some((gp, mp)) = this_goroutine() {
        change_mask(gp, mp, Change::Block(0));
    }
}

/// Ends a goroutine that is a thread, and that is the first thread of a child of `fork`. No other
/// goroutine can run there.
#[cold]
fn end_in_child_of_fork(gp: &G) -> ! {
    drop_locals(gp);
    // SAFETY: all code of the thread has ended. If threads are left, the C library has made them.
    unsafe {
        if uncount_thread() {
            libc::exit(0);
        }
        loop {
            syscall!(SYS_exit, 0);
        }
    }
}
