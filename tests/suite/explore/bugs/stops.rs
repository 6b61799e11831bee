//! Bugs with the ways to tell goroutines to stop.

programs! {
    done_or_data
    stage_gives_up
    send_after_close
    last_one_closes
    stop_for_each
    slot_of_another
    empty_is_the_end
    timer_stopped_too_late
}

/// There are values, and it is time to stop: the select chooses an arm at random.
mod done_or_data {
    use gosched::chan::{Receiver, bounded};
    use gosched::{scope, select};

    fn program(at_the_end: fn(&Receiver<u32>) -> usize) {
        let ((tx, rx), (stop, stopped)) = (bounded(2), bounded::<()>(0));
        scope(|s| {
            let worker = s.go(|| {
                let mut handled = 0;
                loop {
                    select! {
                        recv(rx) -> value => handled += usize::from(value.is_ok()),
                        recv(stopped) -> _ => return handled + at_the_end(&rx),
                    }
                }
            });
            tx.send(1).unwrap();
            tx.send(2).unwrap();
            stop.close();
            assert_eq!(worker.join().unwrap(), 2);
        });
    }

    pub fn wrong() {
        program(|_| 0);
    }

    pub fn right() {
        program(|rx| rx.try_iter().count());
    }
}

/// A stage of a pipeline stops without telling the stage before it.
mod stage_gives_up {
    use std::sync::Arc;

    use gosched::chan::bounded;
    use gosched::{go, select};

    fn program(told: bool) {
        let (values, (stop, stopped)) = (Arc::new(bounded(0)), bounded::<()>(0));
        let first = (values.clone(), told.then(|| stopped.clone()));
        go(move || {
            let (values, stopped) = first;
            for i in 0..2 {
                select! {
                    send(values.0, i) -> sent => sent.unwrap(),
                    recv(stopped) -> _ => return,
                }
            }
        });
        go(move || stop.close());
        let second = go(move || {
            for _ in 0..2 {
                select! {
                    recv(values.1) -> value => assert!(value.is_ok()),
                    recv(stopped) -> _ => return,
                }
            }
        });
        second.join().unwrap();
    }

    pub fn wrong() {
        program(false);
    }

    pub fn right() {
        program(true);
    }
}

/// The receiver closes the channel when it has enough. The sender assumes that it is open.
mod send_after_close {
    use gosched::chan::{Sender, bounded};
    use gosched::scope;

    fn program(produce: fn(&Sender<u32>)) {
        let (tx, rx) = bounded(2);
        scope(|s| {
            s.go(|| produce(&tx));
            s.go(|| {
                rx.recv().ok();
                tx.close();
            });
        });
    }

    pub fn wrong() {
        program(|tx| (0..2).for_each(|i| tx.send(i).expect("it is open")));
    }

    pub fn right() {
        program(|tx| _ = (0..2).try_for_each(|i| tx.send(i)));
    }
}

/// The last producer should close the channel. Two producers that count at the same time count as
/// one.
mod last_one_closes {
    use gosched::chan::bounded;
    use gosched::scope;
    use gosched::sync::Mutex;

    fn program(count: fn(&Mutex<u32>) -> u32) {
        let ((tx, rx), ended) = (bounded(2), Mutex::new(0));
        scope(|s| {
            for i in 0..2 {
                let (tx, ended) = (&tx, &ended);
                s.go(move || {
                    tx.send(i).unwrap();
                    if count(ended) == 2 {
                        tx.close();
                    }
                });
            }
            assert_eq!(rx.iter().sum::<u32>(), 1);
        });
    }

    pub fn wrong() {
        program(|ended| {
            let before = *ended.lock();
            *ended.lock() = before + 1;
            before + 1
        });
    }

    pub fn right() {
        program(|ended| {
            let mut ended = ended.lock();
            *ended += 1;
            *ended
        });
    }
}

/// One stop is sent for each goroutine that has begun. A goroutine that begins later gets none.
mod stop_for_each {
    use gosched::chan::{Sender, bounded};
    use gosched::scope;
    use gosched::sync::Mutex;

    fn program(stop_all: fn(&Sender<()>, &Mutex<u32>)) {
        let ((stop, stopped), begun) = (bounded(2), Mutex::new(0));
        scope(|s| {
            let work = || {
                *begun.lock() += 1;
                stopped.recv().ok();
            };
            s.go(work);
            s.go(|| stop_all(&stop, &begun));
            s.go(work);
        });
    }

    pub fn wrong() {
        program(|stop, begun| {
            let begun = *begun.lock();
            (0..begun).for_each(|_| stop.send(()).unwrap());
        });
    }

    pub fn right() {
        program(|stop, _| stop.close());
    }
}

/// A goroutine that was canceled before it had a slot frees one all the same. It frees another's
/// slot, or waits for a slot to free.
mod slot_of_another {
    use gosched::chan::{Receiver, bounded};
    use gosched::{scope, select};

    fn program(canceled: fn(&Receiver<()>)) {
        let ((slots, taken), (cancel, ended)) = (bounded(1), bounded::<()>(0));
        scope(|s| {
            let work = || {
                select! {
                    send(slots, ()) -> sent => {
                        sent.unwrap();
                        taken.recv().unwrap();
                    },
                    recv(ended) -> _ => canceled(&taken),
                }
            };
            s.go(work);
            s.go(|| cancel.close());
            s.go(work);
        });
    }

    pub fn wrong() {
        program(|taken| taken.recv().unwrap());
    }

    pub fn right() {
        program(|_| ());
    }
}

/// A worker that finds nothing to do closes the channel. Another worker, about to give out work,
/// finds the channel closed.
mod empty_is_the_end {
    use gosched::chan::{Receiver, Sender, bounded};
    use gosched::scope;
    use gosched::sync::Mutex;

    type Work = fn(&Sender<u32>, &Receiver<u32>, &Mutex<u32>);

    /// A job of size 2 makes one of size 1, and so on.
    fn program(work: Work) {
        let ((tx, rx), unfinished) = (bounded(1), Mutex::new(1));
        tx.send(2).unwrap();
        scope(|s| {
            s.go(|| work(&tx, &rx, &unfinished));
            s.go(|| work(&tx, &rx, &unfinished));
        });
    }

    pub fn wrong() {
        program(|tx, rx, _| {
            while let Ok(size) = rx.try_recv() {
                if size > 0 {
                    tx.send(size - 1).expect("there is work");
                }
            }
            tx.close();
        });
    }

    pub fn right() {
        program(|tx, rx, unfinished| {
            for size in rx.iter() {
                if size > 0 {
                    *unfinished.lock() += 1;
                    tx.send(size - 1).expect("there is work");
                }
                let mut unfinished = unfinished.lock();
                *unfinished -= 1;
                if *unfinished == 0 {
                    tx.close();
                }
            }
        });
    }
}

/// A timer that can't be stopped any more has begun to call its function, but the call may still be
/// running.
mod timer_stopped_too_late {
    use std::sync::Arc;
    use std::time::Duration;

    use gosched::chan::{Receiver, bounded};
    use gosched::sync::Mutex;
    use gosched::time::{Timer, sleep};

    fn program(until_called: fn(&Receiver<()>)) {
        let ((tx, rx), calls) = (bounded(1), Arc::new(Mutex::new(0)));
        let counted = calls.clone();
        let timer = Timer::after_func(Duration::from_millis(1), move || {
            *counted.lock() += 1;
            tx.send(()).unwrap();
        });
        sleep(Duration::from_millis(1));
        if !timer.stop() {
            until_called(&rx);
            assert_eq!(*calls.lock(), 1);
        }
    }

    pub fn wrong() {
        program(|_| ());
    }

    pub fn right() {
        program(|called| called.recv().unwrap());
    }
}
