//! Models of the queue of signals: each signal is received after it comes, alone or together with
//! others of its kind.

use loom::thread;

use crate::runtime::data::atomic::{AtomicU32, Ordering, check};
use crate::runtime::signal::sigqueue::{
    signal_disable, signal_enable, signal_recv, signal_wait_until_idle, sigsend,
};

const INT: i32 = 2;
const TERM: i32 = 15;

// The progress of each sender when it sent.
static SENT: AtomicU32 = AtomicU32::new(0);

/// Receives the next signal.
fn recv() -> i32 {
    // SAFETY: one thread of the model receives.
    unsafe { signal_recv() }
}

#[test]
fn two_kinds_are_received() {
    check(Some(2), || {
        signal_enable(INT).unwrap();
        signal_enable(TERM).unwrap();
        let senders = [INT, TERM].map(|sig| thread::spawn(move || assert!(sigsend(sig))));
        let mut received = [recv(), recv()];
        received.sort();
        assert_eq!(received, [INT, TERM]);
        for sender in senders {
            sender.join().unwrap();
        }
    });
}

/// The receiver of the last signal sees everything that was done before that signal was sent.
#[test]
fn the_last_of_a_burst_is_received() {
    check(Some(3), || {
        signal_enable(INT).unwrap();
        let sender = thread::spawn(|| {
            for n in 1..=2 {
                SENT.store(n, Ordering::Relaxed);
                assert!(sigsend(INT));
            }
        });
        while {
            assert_eq!(recv(), INT);
            SENT.load(Ordering::Relaxed) != 2
        } {}
        sender.join().unwrap();
    });
}

#[test]
fn who_waits_until_idle_finds_all_received() {
    check(Some(2), || {
        signal_enable(INT).unwrap();
        signal_enable(TERM).unwrap();
        let receiver = thread::spawn(|| {
            while recv() != TERM {
                SENT.store(1, Ordering::Relaxed);
            }
        });
        let handler = thread::spawn(|| sigsend(INT));
        signal_disable(INT);
        // SAFETY: the receiver is another thread.
        unsafe { signal_wait_until_idle() };
        let received = SENT.load(Ordering::Relaxed) == 1;
        assert_eq!(handler.join().unwrap(), received);
        assert!(sigsend(TERM));
        receiver.join().unwrap();
    });
}
