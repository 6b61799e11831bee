//! The handlers: which channels receive which signals. Go's `os/signal/signal.go`.
//!
//! All threads of the runtime block the signals that the thread that started it did. One thread
//! unblocks those of them that the program has asked for: see [`SigM`]. Go's `ensureSigM`.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use crate::chan::{Receiver, Sender, TrySendError, bounded};
use crate::goroutine::{Builder, lock_os_thread};
use crate::runtime::print::eprintln;
use crate::runtime::{
    SignalReceiver, Woken, become_system_goroutine, bit, claim_signals, init_sigmask, signal_disable,
    signal_enable, signal_ignore, signal_recv, wake_future,
};
use crate::signal::Signal;
use crate::sync::Mutex;

/// The handlers of the process. Go's `handlers`.
pub(super) static HANDLERS: Mutex<Handlers> =
    Mutex::new(Handlers { list: Vec::new(), last_id: 0, watched: false, sig_m: None });

pub(super) struct Handlers {
    list: Vec<Handler>,
    last_id: u64,
    /// Whether there is a goroutine that receives signals.
    watched: bool,
    /// The goroutine on the thread for signals that all other threads block.
    sig_m: Option<SigM>,
}

/// A channel, and the signals that are sent to it. Go's `handler`.
pub(super) struct Handler {
    id: u64,
    /// The bits of the signals. Go's `mask`.
    mask: u64,
    tx: Sender<Signal>,
    /// The signals that were sent last, including all that are still in the channel.
    sent: VecDeque<Signal>,
    /// Whether the handler no longer asks for its signals, and only gets those that came before.
    stopping: bool,
}

impl Handler {
    fn want(&self, signal: Signal) -> bool {
        self.mask & bit(signal.as_raw()) != 0
    }

    /// Sends a signal, unless the channel has it already. So each signal is in the channel at most
    /// once, and there is room for it. The exception is a channel to which a future has returned a
    /// signal: then a goroutine waits for room. Returns the future that got the signal, because no
    /// waker may be called here, with the lock held.
    fn send(&mut self, signal: Signal) -> Option<Woken> {
        // The channel may have more signals than were recorded: a future that was dropped has
        // returned its signal, to the front.
        let read = self.sent.len().saturating_sub(self.tx.len());
        self.sent.drain(..read);
        if self.sent.contains(&signal) {
            return None;
        }
        let (sent, woken) = self.tx.try_send_unwoken(signal);
        if let Err(TrySendError::Full(signal)) = sent {
            let tx = self.tx.clone();
            if let Err(error) = Builder::new().name("signals").go(move || tx.send(signal)) {
                eprintln!("gosched::signal: {signal:?} is lost, as no goroutine can be made: {error}");
                return None;
            }
        }
        self.sent.push_back(signal);
        woken
    }
}

impl Handlers {
    /// Whether a handler wants a signal.
    fn wanted(&self, signal: Signal) -> bool {
        self.list.iter().any(|handler| handler.want(signal) && !handler.stopping)
    }

    /// Adds a handler for these signals, and returns its number and its channel. Go's `Notify`.
    pub(crate) fn add(&mut self, signals: &[Signal]) -> io::Result<(u64, Receiver<Signal>)> {
        self.watch()?;
        let (tx, c) = bounded(signals.len());
        let mask = mask_of(signals);
        for (i, &signal) in signals.iter().enumerate() {
            if !self.wanted(signal)
                && let Err(error) = self.enable(signal)
            {
                self.disable_unwanted(&signals[..i]);
                return Err(error);
            }
        }
        self.last_id += 1;
        let (id, sent) = (self.last_id, VecDeque::with_capacity(signals.len()));
        self.list.push(Handler { id, mask, tx, sent, stopping: false });
        Ok((id, c))
    }

    /// Makes the goroutine that receives signals, unless there is one.
    fn watch(&mut self) -> io::Result<()> {
        if !self.watched {
            if !claim_signals(SignalReceiver::Ours) {
                let why =
                    "the program receives signals by gosched::sigqueue, or from C, and there is one receiver";
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
            }
            // SAFETY: the only goroutine that receives, as `watched` says; watch_signal_loop keeps
            // nothing of a thread-local.
            Builder::new().name("signals").go_alone(|| unsafe { watch_signal_loop() })?;
            self.watched = true;
        }
        Ok(())
    }

    /// Starts to receive a signal, on a thread that doesn't block it. Go's `enableSignal`.
    fn enable(&mut self, signal: Signal) -> io::Result<()> {
        SigM::unblock(&mut self.sig_m, signal)?;
        signal_enable(signal.as_raw()).inspect_err(|_| SigM::block(&self.sig_m, signal))
    }

    /// Restores the former actions of the signals that no handler wants. Go's `disableSignal`.
    fn disable_unwanted(&self, signals: &[Signal]) {
        for &signal in signals.iter().filter(|signal| !self.wanted(**signal)) {
            SigM::block(&self.sig_m, signal);
            signal_disable(signal.as_raw());
        }
    }

    /// Sends a signal that has come to the handlers that want it. Go's `process`.
    fn process(&mut self, signal: Signal) -> Vec<Woken> {
        let wanted = self.list.iter_mut().filter(|handler| handler.want(signal));
        wanted.filter_map(|handler| handler.send(signal)).collect()
    }

    /// Removes these signals from every handler. Go's `cancel`.
    ///
    /// Returns the handlers that have no signals left. Dropping them closes their channels, which
    /// wakes futures; so the caller drops them without the lock.
    #[must_use]
    fn cancel(&mut self, signals: &[Signal]) -> Vec<Handler> {
        let mask = mask_of(signals);
        self.list.iter_mut().for_each(|handler| handler.mask &= !mask);
        self.list.extract_if(.., |handler| handler.mask == 0).collect()
    }

    /// Ignores these signals. Go's `Ignore`.
    pub(super) fn ignore(&mut self, signals: &[Signal]) -> (Vec<Handler>, io::Result<()>) {
        let gone = self.cancel(signals);
        (gone, signals.iter().try_for_each(|signal| signal_ignore(signal.as_raw())))
    }

    /// Restores the former actions of these signals. Go's `Reset`.
    pub(super) fn reset(&mut self, signals: &[Signal]) -> Vec<Handler> {
        let gone = self.cancel(signals);
        self.disable_unwanted(signals);
        gone
    }

    /// The first half of Go's `Stop`: signals that come from here on aren't sent to handler `id`.
    /// Signals that have come may still be on their way. Returns whether there is such a handler.
    pub(crate) fn stop(&mut self, id: u64) -> bool {
        let Some(handler) = self.list.iter_mut().find(|handler| handler.id == id) else { return false };
        handler.stopping = true;
        let mask = handler.mask;
        self.disable_unwanted(&signals_of(mask));
        true
    }

    /// Removes a handler, which closes its channel.
    pub(super) fn remove(&mut self, id: u64) -> Option<Handler> {
        let i = self.list.iter().position(|handler| handler.id == id)?;
        let handler = self.list.remove(i);
        if !handler.stopping {
            self.disable_unwanted(&signals_of(handler.mask));
        }
        Some(handler)
    }
}

/// The bits of signals.
fn mask_of(signals: &[Signal]) -> u64 {
    signals.iter().fold(0, |mask, signal| mask | bit(signal.as_raw()))
}

/// The signals of a mask.
fn signals_of(mask: u64) -> Vec<Signal> {
    Signal::all().filter(|signal| mask & bit(signal.as_raw()) != 0).collect()
}

/// Receives signals and passes them on, forever. Go's `loop`.
///
/// # Safety
/// As [`signal_recv`].
unsafe fn watch_signal_loop() {
    become_system_goroutine();
    loop {
        // SAFETY: the one goroutine that receives, without runtime locks, as the caller says.
        let number = unsafe { signal_recv() };
        if let Some(signal) = Signal::from_raw(number) {
            let woken = HANDLERS.lock().process(signal);
            woken.into_iter().for_each(wake_future);
        }
    }
}

/// The goroutine that is locked to the thread which unblocks signals.
struct SigM {
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
    fn unblock(this: &mut Option<SigM>, signal: Signal) -> io::Result<()> {
        if blocked(signal) {
            ensure_sig_m(this)?;
            SigM::change(this, libc::SIG_UNBLOCK, signal);
        }
        Ok(())
    }

    /// Undoes [`unblock`](Self::unblock).
    fn block(this: &Option<SigM>, signal: Signal) {
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
