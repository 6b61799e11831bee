//! Bugs with contexts, and with waits that give up.

programs! {
    result_for_nobody
    checked_then_waits
    woken_outside_the_lock
    cleanup_taken_for_done
    canceler_dropped
    done_again_after_timeout
    second_best
    commits_when_canceled
    waits_for_a_failed_one
}

/// The goroutine that asked has been canceled, and doesn't receive the result.
mod result_for_nobody {
    use std::sync::Arc;

    use gosched::chan::bounded;
    use gosched::context::Context;
    use gosched::{go, select};

    fn program(room: usize) {
        let (ctx, cancel) = Context::background().with_cancel();
        let result = Arc::new(bounded(room));
        let theirs = result.clone();
        go(move || cancel.cancel());
        go(move || theirs.0.send(42).unwrap());
        select! {
            recv(result.1) -> value => assert_eq!(value, Ok(42)),
            recv(ctx.done()) -> _ => {}
        }
    }

    pub fn wrong() {
        program(0);
    }

    pub fn right() {
        program(1);
    }
}

/// The context hasn't ended when it is asked. It ends during a wait that doesn't observe the
/// context.
mod checked_then_waits {
    use gosched::chan::{Receiver, bounded};
    use gosched::context::Context;
    use gosched::scope;

    fn program(receive: fn(&Context, &Receiver<u32>)) {
        let (ctx, cancel) = Context::background().with_cancel();
        let (_tx, rx) = bounded(0);
        scope(|s| {
            s.go(|| receive(&ctx, &rx));
            s.go(|| cancel.cancel());
        });
    }

    pub fn wrong() {
        program(|ctx, rx| {
            if ctx.err().is_none() {
                rx.recv().ok();
            }
        });
    }

    pub fn right() {
        program(|ctx, rx| _ = ctx.with(rx).recv());
    }
}

/// The end of a context should wake a goroutine that waits for a condition. The end comes between
/// the look at the context and the wait.
mod woken_outside_the_lock {
    use std::sync::Arc;

    use gosched::context::Context;
    use gosched::go;
    use gosched::sync::{Condvar, Mutex};

    type State = (Mutex<bool>, Condvar);

    fn program(wake: fn(&State)) {
        let (ctx, cancel) = Context::background().with_cancel();
        let state = Arc::new(State::default());
        let theirs = state.clone();
        let _woken = ctx.after_func(move || wake(&theirs));
        go(move || cancel.cancel());
        let (filled, changed) = &*state;
        let mut guard = filled.lock();
        while !*guard && ctx.err().is_none() {
            guard = changed.wait(guard);
        }
    }

    pub fn wrong() {
        program(|(_, changed)| changed.notify_all());
    }

    pub fn right() {
        program(|(filled, changed)| {
            let _guard = filled.lock();
            changed.notify_all();
        });
    }
}

/// The function that runs at the end of a context can't be stopped any more. The program takes it
/// for done.
mod cleanup_taken_for_done {
    use std::sync::Arc;

    use gosched::chan::{Receiver, bounded};
    use gosched::context::Context;
    use gosched::go;
    use gosched::sync::Mutex;

    fn program(until_done: fn(&Receiver<()>)) {
        let (ctx, cancel) = Context::background().with_cancel();
        let (files, (tx, rx)) = (Arc::new(Mutex::new(1)), bounded(1));
        let theirs = files.clone();
        let cleanup = ctx.after_func(move || {
            *theirs.lock() = 0;
            tx.send(()).unwrap();
        });
        let canceling = go(move || cancel.cancel());
        if !cleanup.stop() {
            until_done(&rx);
            assert_eq!(*files.lock(), 0);
        }
        canceling.join().unwrap();
    }

    pub fn wrong() {
        program(|_| ());
    }

    pub fn right() {
        program(|done| done.recv().unwrap());
    }
}

/// The goroutine that makes the context returns, which ends the context. The goroutine that works
/// under it may not have begun.
mod canceler_dropped {
    use gosched::context::{Canceler, Context};
    use gosched::{JoinHandle, go};

    fn start() -> (JoinHandle<bool>, Canceler) {
        let (ctx, cancel) = Context::background().with_cancel();
        (go(move || ctx.err().is_none()), cancel)
    }

    pub fn wrong() {
        let (works, _) = start();
        assert!(works.join().unwrap());
    }

    pub fn right() {
        let (works, _cancel) = start();
        assert!(works.join().unwrap());
    }
}

/// The reply is late, so the client asks again. The first request is served all the same.
mod done_again_after_timeout {
    use std::time::Duration;

    use gosched::chan::bounded;
    use gosched::scope;
    use gosched::sync::Mutex;
    use gosched::time::sleep;

    const MS: Duration = Duration::from_millis(1);

    fn program(charge: fn(charged: &mut Vec<u32>, request: u32)) {
        let (charged, (requests, served)) = (Mutex::new(Vec::new()), bounded::<u32>(2));
        let (replies, replied) = bounded(2);
        scope(|s| {
            s.go(|| {
                for request in served {
                    sleep(MS);
                    charge(&mut charged.lock(), request);
                    replies.send(()).unwrap();
                }
            });
            for _attempt in 0..2 {
                requests.send(1).unwrap();
                if replied.recv_timeout(MS).is_ok() {
                    break;
                }
            }
            drop(requests);
        });
        assert!(charged.lock().len() <= 1);
    }

    pub fn wrong() {
        program(|charged, request| charged.push(request));
    }

    pub fn right() {
        program(|charged, request| {
            if !charged.contains(&request) {
                charged.push(request);
            }
        });
    }
}

/// Two servers are asked. If one is slower than the other, and than the end, nobody receives its
/// reply.
mod second_best {
    use std::sync::Arc;

    use gosched::chan::bounded;
    use gosched::context::Context;
    use gosched::{go, select};

    fn program(told: bool) {
        let (ctx, cancel) = Context::background().with_cancel();
        let reply = Arc::new(bounded(1));
        let ask = |i| {
            let (reply, ctx) = (reply.clone(), if told { ctx.clone() } else { Context::background() });
            go(move || {
                select! {
                    send(reply.0, i) -> sent => sent.unwrap(),
                    recv(ctx.done()) -> _ => {}
                }
            });
        };
        ask(1);
        let stopping = go(move || cancel.cancel());
        ask(2);
        select! {
            recv(reply.1) -> value => assert!(value.is_ok()),
            recv(ctx.done()) -> _ => {}
        }
        stopping.join().unwrap();
    }

    pub fn wrong() {
        program(false);
    }

    pub fn right() {
        program(true);
    }
}

/// The work takes effect although it was canceled, and its canceler relies on the cancellation.
mod commits_when_canceled {
    use gosched::context::Context;
    use gosched::scope;
    use gosched::sync::Mutex;

    /// The commits, and the cancellations before them.
    type Log = Mutex<Vec<&'static str>>;

    fn program(commit: fn(&Context, &Log)) {
        let (ctx, cancel) = Context::background().with_cancel();
        let log = Log::default();
        scope(|s| {
            s.go(|| commit(&ctx, &log));
            s.go(|| {
                let mut log = log.lock();
                cancel.cancel();
                log.push("canceled");
            });
        });
        assert_ne!(*log.lock(), ["canceled", "committed"]);
    }

    pub fn wrong() {
        program(|ctx, log| {
            if ctx.err().is_none() {
                log.lock().push("committed");
            }
        });
    }

    pub fn right() {
        program(|ctx, log| {
            let mut log = log.lock();
            if ctx.err().is_none() {
                log.push("committed");
            }
        });
    }
}

/// One goroutine of a group fails before it has sent a value for which another waits.
mod waits_for_a_failed_one {
    use gosched::chan::{Receiver, bounded};
    use gosched::context::Context;
    use gosched::scope;
    use gosched::sync::{Mutex, err_group};

    fn program(receive: fn(&Context, &Receiver<u32>) -> Option<u32>) {
        let (broken, (tx, rx)) = (Mutex::new(false), bounded(1));
        scope(|s| {
            err_group(&Context::background(), |group| {
                group.go(|_| {
                    if *broken.lock() {
                        return Err("broken");
                    }
                    tx.send(7).map_err(|_| "nobody receives")
                });
                s.go(|| *broken.lock() = true);
                group.go(|ctx| receive(ctx, &rx).map(drop).ok_or("nothing to receive"));
                Ok(())
            })
            .ok();
        });
    }

    pub fn wrong() {
        program(|_, rx| rx.recv().ok());
    }

    pub fn right() {
        program(|ctx, rx| ctx.with(rx).recv().ok());
    }
}
