//! Signals that futures wait for. If a future that has got a signal is dropped, the signal goes to
//! the next receiver, and none is lost. A waker may do anything.

use std::sync::Arc;

use gosched::chan::bounded;
use gosched::signal::{self, Signal, Signals};
use gosched::{block_on, go, run};

use super::{kill, notify};
use crate::harness::futures::{Task, waits_and_calls};
use crate::harness::goroutines::wait_until;
use crate::harness::tests;

tests! {
    one_that_comes_back
    more_than_there_is_room_for
    a_waker_that_asks_for_signals
    a_waker_that_waits_for_signals
}

fn one_that_comes_back() {
    run(|| {
        let signals = notify(&[Signal::USR1, Signal::USR2]);
        let future = Task::waits(signals.c().recv_async());
        kill(Signal::USR1);
        wait_until(|| future.times_woken() == 1);
        kill(Signal::USR2);
        wait_until(|| signals.c().len() == 1);
        drop(future);
        kill(Signal::USR2);
        assert_eq!((signals.c().recv(), signals.c().recv()), (Ok(Signal::USR1), Ok(Signal::USR2)));
        kill(Signal::USR1);
        assert!(
            (0..2).any(|_| signals.c().recv() == Ok(Signal::USR1)),
            "the second SIGUSR2 may have come later"
        );
        // The signal may also be still to come.
        signal::ignore([Signal::USR2]).unwrap();
    });
}

fn more_than_there_is_room_for() {
    run(|| {
        let signals = notify(&[Signal::USR1, Signal::USR2]);
        let futures = [(); 2].map(|()| Task::waits(signals.c().recv_async()));
        for future in &futures {
            kill(Signal::USR1);
            wait_until(|| future.times_woken() == 1);
        }
        drop(futures);
        kill(Signal::USR2);
        let three = [(); 3].map(|()| signals.c().recv().unwrap());
        assert_eq!(three, [Signal::USR1, Signal::USR1, Signal::USR2]);
    });
}

/// Asks for signals, and gives up.
fn asks() {
    drop(signal::notify([Signal::USR2]));
}

fn a_waker_that_asks_for_signals() {
    run(|| {
        let signals = notify(&[Signal::USR1]);
        let future = waits_and_calls(signals.c().recv_async(), asks);
        kill(Signal::USR1);
        go(asks).join().unwrap();
        assert_eq!(block_on(future), Ok(Signal::USR1));
        // The future learns of the end, however the signals end.
        let ends: [fn(Signals); 4] = [
            |signals| signals.stop(),
            drop,
            |_signals| signal::reset([Signal::USR1]).unwrap(),
            |_signals| signal::ignore([Signal::USR1]).unwrap(),
        ];
        for end in ends {
            let signals = notify(&[Signal::USR1]);
            let c = signals.c().clone();
            let future = waits_and_calls(c.recv_async(), asks);
            end(signals);
            assert!(block_on(future).is_err());
        }
    });
}

/// Other signals arrive meanwhile.
fn a_waker_that_waits_for_signals() {
    run(|| {
        let signals = Arc::new(notify(&[Signal::USR1]));
        let (tx, told) = bounded(1);
        let stops = signals.clone();
        let future = waits_and_calls(signals.c().recv_async(), move || {
            stops.stop();
            let others = notify(&[Signal::USR2]);
            kill(Signal::USR2);
            tx.send(others.c().recv()).unwrap();
        });
        kill(Signal::USR1);
        assert_eq!(told.recv().unwrap(), Ok(Signal::USR2));
        assert_eq!(block_on(future), Ok(Signal::USR1));
    });
}
