//! Who is told of what: Go's `os/signal/signal.go`.

use std::collections::VecDeque;
use std::io;

use crate::chan::{Receiver, Sender, bounded};
use crate::go::Builder;
use crate::proc::disable::become_system_goroutine;
use crate::signal::kind::Signal;
use crate::signal::mask::SigM;
use crate::sigqueue::{bit, signal_disable, signal_enable, signal_ignore, signal_recv};
use crate::sync::Mutex;

/// All who have asked. Go's `handlers`.
pub(super) static HANDLERS: Mutex<Handlers> =
    Mutex::new(Handlers { list: Vec::new(), last_id: 0, watched: false, sig_m: None });

pub(super) struct Handlers {
    list: Vec<Handler>,
    last_id: u64,
    /// Whether there is a goroutine that receives.
    watched: bool,
    /// The thread for signals that all others block.
    sig_m: Option<SigM>,
}

/// One who has asked. Go's `handler`.
struct Handler {
    id: u64,
    /// The bits of the signals. Go's `mask`.
    mask: u64,
    tx: Sender<Signal>,
    /// What was sent last, of which some may be in the channel yet.
    sent: VecDeque<Signal>,
    /// Whether it asks for nothing any more, and gets what has come before.
    stopping: bool,
}

impl Handler {
    fn want(&self, signal: Signal) -> bool {
        self.mask & bit(signal.as_raw()) != 0
    }

    /// Sends a signal, unless it is in the channel already. So each is in there once, and there is room.
    fn send(&mut self, signal: Signal) {
        let unread = self.tx.len();
        self.sent.drain(..self.sent.len() - unread);
        if !self.sent.contains(&signal) && self.tx.try_send(signal).is_ok() {
            self.sent.push_back(signal);
        }
    }
}

impl Handlers {
    /// Whether somebody wants a signal.
    fn wanted(&self, signal: Signal) -> bool {
        self.list.iter().any(|handler| handler.want(signal) && !handler.stopping)
    }

    /// One more who asks: its number and its channel. Go's `Notify`.
    pub(super) fn add(&mut self, signals: &[Signal]) -> io::Result<(u64, Receiver<Signal>)> {
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

    /// Makes the goroutine that receives, unless there is one.
    fn watch(&mut self) -> io::Result<()> {
        if !self.watched {
            // SAFETY: it is the only one, and keeps nothing of a thread-local.
            Builder::new().name("signals").go(|| unsafe { watch_signal_loop() })?;
            self.watched = true;
        }
        Ok(())
    }

    /// Go's `enableSignal`.
    fn enable(&mut self, signal: Signal) -> io::Result<()> {
        SigM::unblock(&mut self.sig_m, signal)?;
        signal_enable(signal.as_raw()).inspect_err(|_| SigM::block(&self.sig_m, signal))
    }

    /// Those of the signals that nobody wants do again what they did before. Go's `disableSignal`.
    fn disable_unwanted(&self, signals: &[Signal]) {
        for &signal in signals.iter().filter(|signal| !self.wanted(**signal)) {
            SigM::block(&self.sig_m, signal);
            signal_disable(signal.as_raw());
        }
    }

    /// Passes on a signal that has come. Go's `process`.
    fn process(&mut self, signal: Signal) {
        self.list.iter_mut().filter(|handler| handler.want(signal)).for_each(|handler| handler.send(signal));
    }

    /// Nobody is told of these any more. Go's `cancel`.
    fn cancel(&mut self, signals: &[Signal]) {
        let mask = mask_of(signals);
        self.list.iter_mut().for_each(|handler| handler.mask &= !mask);
        self.list.retain(|handler| handler.mask != 0);
    }

    /// Go's `Ignore`.
    pub(super) fn ignore(&mut self, signals: &[Signal]) -> io::Result<()> {
        self.cancel(signals);
        signals.iter().try_for_each(|signal| signal_ignore(signal.as_raw()))
    }

    /// Go's `Reset`.
    pub(super) fn reset(&mut self, signals: &[Signal]) {
        self.cancel(signals);
        self.disable_unwanted(signals);
    }

    /// The first half of Go's `Stop`: from here on nothing that comes is for that one; what has come may be on
    /// its way. Says whether there is such a one.
    pub(super) fn stop(&mut self, id: u64) -> bool {
        let Some(handler) = self.list.iter_mut().find(|handler| handler.id == id) else { return false };
        handler.stopping = true;
        let mask = handler.mask;
        self.disable_unwanted(&signals_of(mask));
        true
    }

    /// Forgets one, and closes its channel.
    pub(super) fn remove(&mut self, id: u64) {
        let Some(i) = self.list.iter().position(|handler| handler.id == id) else { return };
        let handler = self.list.remove(i);
        if !handler.stopping {
            self.disable_unwanted(&signals_of(handler.mask));
        }
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

/// Receives what comes, and passes it on. Go's `loop`.
///
/// # Safety
/// As [`signal_recv`].
unsafe fn watch_signal_loop() {
    become_system_goroutine();
    loop {
        // SAFETY: the caller's.
        let number = unsafe { signal_recv() };
        if let Some(signal) = Signal::from_raw(number) {
            HANDLERS.lock().process(signal);
        }
    }
}
