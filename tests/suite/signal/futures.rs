//! Signals that futures wait for: what one has got that is dropped comes to who receives next, and none is lost; and a
//! waker does what it likes.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use gosched::chan::bounded;
use gosched::run;
use gosched::signal::{self, Signal};

use super::{kill, notify};
use crate::harness::futures::Task;
use crate::harness::goroutines::wait_until;
use crate::harness::tests;

tests! {
    one_that_comes_back
    more_than_there_is_room_for
    a_waker_that_asks_for_signals
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

fn a_waker_that_asks_for_signals() {
    struct Asks;
    impl Wake for Asks {
        fn wake(self: Arc<Self>) {
            drop(signal::notify([Signal::USR2]));
        }
    }

    run(|| {
        let signals = notify(&[Signal::USR1]);
        let mut future = pin!(signals.c().recv_async());
        let waker = Waker::from(Arc::new(Asks));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        kill(Signal::USR1);
        let (tx, rx) = bounded(0);
        gosched::go(move || {
            drop(signal::notify([Signal::HUP]));
            tx.send(()).unwrap();
        });
        rx.recv().unwrap();
        assert_eq!(gosched::block_on(future), Ok(Signal::USR1));
    });
}
