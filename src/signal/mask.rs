//! Signals that are blocked in the thread that started the runtime, and so in all of its threads: one thread
//! is made that doesn't block those that the program has asked for.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use crate::chan::{Receiver, Sender, bounded};
use crate::current::lock_os_thread;
use crate::go::Builder;
use crate::proc::boot::INIT_SIGMASK;
use crate::proc::disable::become_system_goroutine;
use crate::signal::kind::Signal;

/// The goroutine that is locked to that thread.
pub(super) struct SigM {
    /// What is to be done with which signal: `SIG_BLOCK`, `SIG_UNBLOCK`. Go's `enableSigChan` and
    /// `disableSigChan`.
    changes: Sender<(c_int, Signal)>,
    /// It is done. Go's `maskUpdatedChan`.
    mask_updated: Receiver<()>,
}

/// Whether our threads block a signal.
fn blocked(signal: Signal) -> bool {
    // SAFETY: it was set before the runtime started.
    unsafe { libc::sigismember(INIT_SIGMASK.get().as_ptr(), signal.as_raw()) == 1 }
}

impl SigM {
    /// Sees to it that a thread of ours takes a signal.
    pub(super) fn unblock(this: &mut Option<SigM>, signal: Signal) -> io::Result<()> {
        if blocked(signal) {
            ensure_sig_m(this)?;
            SigM::change(this, libc::SIG_UNBLOCK, signal);
        }
        Ok(())
    }

    /// Undoes [`unblock`](Self::unblock).
    pub(super) fn block(this: &Option<SigM>, signal: Signal) {
        if blocked(signal) {
            SigM::change(this, libc::SIG_BLOCK, signal);
        }
    }

    /// Has the thread's mask changed, and waits until it is, if there is such a thread.
    fn change(this: &Option<SigM>, how: c_int, signal: Signal) {
        if let Some(sig_m) = this
            && sig_m.changes.send((how, signal)).is_ok()
        {
            // It goes on for ever.
            let _updated = sig_m.mask_updated.recv();
        }
    }
}

/// Makes that goroutine, unless there is one. Go's `ensureSigM`.
fn ensure_sig_m(this: &mut Option<SigM>) -> io::Result<()> {
    if this.is_none() {
        let (changes, rx) = bounded(0);
        let (tx, mask_updated) = bounded(0);
        Builder::new().name("signal mask").go(move || change_mask(&rx, &tx))?;
        *this = Some(SigM { changes, mask_updated });
    }
    Ok(())
}

/// What that goroutine does.
fn change_mask(changes: &Receiver<(c_int, Signal)>, mask_updated: &Sender<()>) {
    become_system_goroutine();
    let _locked = lock_os_thread();
    for (how, signal) in changes {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the first call fills the set; the thread is this goroutine's.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
            libc::pthread_sigmask(how, set.as_ptr(), ptr::null_mut());
        }
        if mask_updated.send(()).is_err() {
            return;
        }
    }
}
