//! Signals that all threads of the runtime block, because the thread that started it did: one
//! thread unblocks those that the program has asked for. Go's `ensureSigM`.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use crate::chan::{Receiver, Sender, bounded};
use crate::goroutine::{Builder, lock_os_thread};
use crate::runtime::{become_system_goroutine, init_sigmask};
use crate::signal::Signal;

/// The goroutine that is locked to the thread which unblocks signals.
pub(super) struct SigM {
    /// Requests to it: to block a signal (`SIG_BLOCK`) or unblock it (`SIG_UNBLOCK`). Go's
    /// `enableSigChan` and `disableSigChan`.
    changes: Sender<(c_int, Signal)>,
    /// Its answer that the mask was changed. Go's `maskUpdatedChan`.
    mask_updated: Receiver<()>,
}

/// Whether the runtime's threads block a signal.
fn blocked(signal: Signal) -> bool {
    // SAFETY: a valid mask: that of the thread that started the runtime, or all zero before.
    unsafe { libc::sigismember(init_sigmask().as_ptr(), signal.as_raw()) == 1 }
}

impl SigM {
    /// Unblocks a signal in one thread, if all threads of the runtime block it.
    pub(crate) fn unblock(this: &mut Option<SigM>, signal: Signal) -> io::Result<()> {
        if blocked(signal) {
            ensure_sig_m(this)?;
            SigM::change(this, libc::SIG_UNBLOCK, signal);
        }
        Ok(())
    }

    /// Undoes [`unblock`](Self::unblock).
    pub(crate) fn block(this: &Option<SigM>, signal: Signal) {
        if blocked(signal) {
            SigM::change(this, libc::SIG_BLOCK, signal);
        }
    }

    /// Makes the thread, if there is one, change its mask, and waits until it has.
    fn change(this: &Option<SigM>, how: c_int, signal: Signal) {
        if let Some(sig_m) = this
            && sig_m.changes.send((how, signal)).is_ok()
        {
            // That goroutine never ends, so it answers.
            let _updated = sig_m.mask_updated.recv();
        }
    }
}

/// Makes the goroutine of [`SigM`], unless there is one. Go's `ensureSigM`.
fn ensure_sig_m(this: &mut Option<SigM>) -> io::Result<()> {
    if this.is_none() {
        let (changes, rx) = bounded(0);
        let (tx, mask_updated) = bounded(0);
        Builder::new().name("signal mask").go_alone(move || change_mask(&rx, &tx))?;
        *this = Some(SigM { changes, mask_updated });
    }
    Ok(())
}

/// The function of that goroutine: changes its thread's mask on request.
fn change_mask(changes: &Receiver<(c_int, Signal)>, mask_updated: &Sender<()>) {
    become_system_goroutine();
    let _locked = lock_os_thread();
    for (how, signal) in changes {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset initialises the set; the goroutine is locked to this thread, so the
        // mask that is changed is its own.
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
