//! Bugs with the values that channels carry.

programs! {
    reply_too_late
    first_error
    send_under_lock
    lost_notification
    shared_reply
    peek_then_receive
    order_of_arrival
}

/// The wait for a reply times out, so nobody receives the reply, and the channel has no room for
/// it.
mod reply_too_late {
    use std::sync::Arc;
    use std::time::Duration;

    use gosched::chan::bounded;
    use gosched::go;
    use gosched::time::sleep;

    fn program(room: usize) {
        // The server has both ends, as in Go: the channel doesn't close when the client is gone.
        let reply = Arc::new(bounded(room));
        let server = reply.clone();
        go(move || {
            sleep(Duration::from_millis(1));
            server.0.send(42).unwrap();
        });
        reply.1.recv_timeout(Duration::from_millis(1)).ok();
    }

    pub fn wrong() {
        program(0);
    }

    pub fn right() {
        program(1);
    }
}

/// The receiver of an error returns. The other goroutines try forever to send their results.
mod first_error {
    use std::sync::Arc;

    use gosched::chan::bounded;
    use gosched::go;

    const N: usize = 3;

    fn program(room: usize) {
        let results = Arc::new(bounded(room));
        for i in 0..N {
            let results = results.clone();
            go(move || results.0.send(if i == 1 { Err(i) } else { Ok(i) }).unwrap());
        }
        for _ in 0..N {
            if results.1.recv().unwrap().is_err() {
                return;
            }
        }
    }

    pub fn wrong() {
        program(0);
    }

    pub fn right() {
        program(N);
    }
}

/// The sender holds a lock that the receiver takes first.
mod send_under_lock {
    use gosched::chan::bounded;
    use gosched::scope;
    use gosched::sync::Mutex;

    fn program(holds: bool) {
        let (sent, (tx, rx)) = (Mutex::new(0), bounded(0));
        scope(|s| {
            s.go(|| {
                let mut sent = sent.lock();
                *sent += 1;
                let held = holds.then_some(sent);
                tx.send(7).unwrap();
                drop(held);
            });
            s.go(|| {
                assert!(*sent.lock() <= 1);
                rx.recv().unwrap();
            });
        });
    }

    pub fn wrong() {
        program(true);
    }

    pub fn right() {
        program(false);
    }
}

/// The notifier doesn't wait for the goroutine that it notifies, and nothing keeps the notification
/// until that goroutine waits.
mod lost_notification {
    use gosched::chan::bounded;
    use gosched::scope;

    fn program(room: usize) {
        let (tx, rx) = bounded(room);
        scope(|s| {
            s.go(|| tx.try_send(()).ok());
            s.go(|| rx.recv().unwrap());
        });
    }

    pub fn wrong() {
        program(0);
    }

    pub fn right() {
        program(1);
    }
}

/// All clients receive from one channel: a reply goes to the first client that comes.
mod shared_reply {
    use gosched::chan::{Receiver, Sender, bounded};
    use gosched::scope;

    type Channel = (Sender<u32>, Receiver<u32>);

    fn program(own_channels: bool) {
        let (requests, served) = bounded::<(u32, Sender<u32>)>(0);
        let shared: Channel = bounded(1);
        scope(|s| {
            for i in 0..2 {
                let (requests, shared) = (requests.clone(), &shared);
                s.go(move || {
                    let own = bounded(0);
                    let (tx, rx) = if own_channels { &own } else { shared };
                    requests.send((i, tx.clone())).unwrap();
                    assert_eq!(rx.recv(), Ok(i));
                });
            }
            drop(requests);
            s.go(move || served.iter().for_each(|(request, reply)| reply.send(request).unwrap()));
        });
    }

    pub fn wrong() {
        program(false);
    }

    pub fn right() {
        program(true);
    }
}

/// The channel isn't empty when a goroutine looks, but is empty when it receives.
mod peek_then_receive {
    use gosched::chan::{Receiver, bounded};
    use gosched::scope;

    fn program(drain: fn(&Receiver<u32>)) {
        let (tx, rx) = bounded(3);
        (0..3).for_each(|i| tx.send(i).unwrap());
        scope(|s| {
            s.go(|| drain(&rx));
            s.go(|| drain(&rx));
        });
    }

    pub fn wrong() {
        program(|rx| {
            while !rx.is_empty() {
                rx.recv().unwrap();
            }
        });
    }

    pub fn right() {
        program(|rx| while rx.try_recv().is_ok() {});
    }
}

/// The program assumes that results come in the order in which the work was given out.
mod order_of_arrival {
    use gosched::chan::bounded;
    use gosched::scope;

    fn program(sort: fn(&mut Vec<u32>)) {
        let (tx, rx) = bounded(2);
        scope(|s| {
            for i in (0..2).rev() {
                let tx = tx.clone();
                s.go(move || tx.send(i).unwrap());
            }
        });
        drop(tx);
        let mut results = rx.iter().collect();
        sort(&mut results);
        assert_eq!(results, [0, 1]);
    }

    pub fn wrong() {
        program(|_| ());
    }

    pub fn right() {
        program(|results| results.sort());
    }
}
