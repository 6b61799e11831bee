//! Signals: of each kind that is sent, at least one is received.

use std::mem;

use gosched::signal::{Signal, Signals, notify};

use crate::rng::Rng;
use crate::tally::{Op, count};

const KINDS: [Signal; 3] = [Signal::USR1, Signal::USR2, Signal::HUP];

fn all() -> Signals {
    notify(KINDS).expect("a program can ask for these signals")
}

/// Asks for the signals and never gives them back, so that they don't end the process while no
/// scenario has asked for them.
pub fn hold() {
    gosched::run(|| ());
    mem::forget(all());
}

/// Sends many signals of three kinds, and waits until it has received each kind. Other scenarios
/// send the same kinds, and receive what this one sends.
pub fn bursts(rng: &mut Rng) {
    let signals = all();
    for _ in 0..rng.up_to(5) {
        for kind in KINDS {
            let to_process = rng.one_in(2);
            for _ in 0..rng.up_to(100) {
                send(kind, to_process);
                count(Op::Signal);
            }
            rng.pause();
        }
        let mut missing = KINDS.to_vec();
        while !missing.is_empty() {
            let signal = signals.c().recv().expect("nobody stops it");
            missing.retain(|other| *other != signal);
        }
    }
}

/// Sends a signal to the process, or to this thread.
fn send(signal: Signal, to_process: bool) {
    // SAFETY: no memory is passed.
    let sent = unsafe {
        if to_process { libc::kill(libc::getpid(), signal.as_raw()) } else { libc::raise(signal.as_raw()) }
    };
    assert_eq!(sent, 0);
}
