//! What a channel orders, and what it doesn't.

programs! {
    written_after_the_send signaled_too_soon buffered_signal selected broadcast_too_soon watched_too_soon
}

/// The sender of a value writes to it later, through a pointer that it has kept.
mod written_after_the_send {
    use std::hint::black_box;

    use gosched::chan::bounded;
    use gosched::go;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "reads"]);

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: main gets it back, and in `right` nobody else has it yet. `bug` breaks this: that
        // is the bug.
        unsafe { *number.get() = 8 };
    }

    #[inline(never)]
    fn reads(number: &u64) {
        black_box(*number);
    }

    fn send(writes_first: bool) {
        let (tx, rx) = bounded(1);
        let receiver = go(move || {
            let number: Box<u64> = rx.recv().unwrap();
            reads(&number);
            number
        });
        let mut number = Box::new(7);
        let kept = Alias::new(&raw mut *number);
        if writes_first {
            writes(kept);
        }
        tx.send(number).unwrap();
        if !writes_first {
            writes(kept);
        }
        drop(receiver.join().unwrap());
    }

    pub fn bug() {
        send(false);
    }

    pub fn right() {
        send(true);
    }
}

/// A goroutine says that it has written, and only then writes.
mod signaled_too_soon {
    use std::hint::black_box;

    use gosched::chan::bounded;
    use gosched::go;

    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "reads"]);

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` nobody reads yet. `bug` breaks this: that is
        // the bug.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: it is never freed, and it was written. The latter isn't kept in `bug`.
        black_box(unsafe { *number.get() });
    }

    pub fn bug() {
        let number = Alias::boxed(0);
        let (tx, rx) = bounded(0);
        let writer = go(move || {
            tx.send(()).unwrap();
            writes(number);
        });
        rx.recv().unwrap();
        reads(number);
        writer.join().unwrap();
    }

    pub fn right() {
        let number = Alias::boxed(0);
        let (tx, rx) = bounded(0);
        let writer = go(move || {
            writes(number);
            tx.send(()).unwrap();
        });
        rx.recv().unwrap();
        reads(number);
        writer.join().unwrap();
    }
}

/// The sender assumes that the receiver is there already, but the channel has room for the value.
mod buffered_signal {
    use std::hint::black_box;

    use gosched::chan::bounded;
    use gosched::go;

    use crate::alias::Alias;
    use crate::hint::Hint;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "reads"]);

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` nobody reads yet. `bug` breaks this: that is
        // the bug.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: it is never freed, and it was written. The latter isn't kept in `bug`.
        black_box(unsafe { *number.get() });
    }

    pub fn bug() {
        static SENT: Hint = Hint::new();
        let number = Alias::boxed(0);
        let (tx, rx) = bounded(1);
        let receiver = go(move || {
            // A receiver that waits would be handed the value: that orders them.
            SENT.wait();
            writes(number);
            rx.recv().unwrap();
        });
        tx.send(()).unwrap();
        SENT.set();
        reads(number);
        receiver.join().unwrap();
    }

    pub fn right() {
        let number = Alias::boxed(0);
        let (tx, rx) = bounded(0);
        let receiver = go(move || {
            writes(number);
            rx.recv().unwrap();
        });
        tx.send(()).unwrap();
        reads(number);
        receiver.join().unwrap();
    }
}

/// A server stores the value that a select has given it, while its client reads it.
mod selected {
    use std::hint::black_box;

    use gosched::chan::{Receiver, Sender, bounded};
    use gosched::{go, select};

    use crate::alias::Alias;
    use crate::hint::Hint;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "reads"]);

    #[inline(never)]
    fn writes(last: Alias<u64>, value: u64) {
        // SAFETY: it is never freed, and in `right` nobody reads before it is told. Not kept in
        // `bug`.
        unsafe { *last.get() = value };
    }

    #[inline(never)]
    fn reads(last: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` the server has answered. `bug` breaks this:
        // that is the bug.
        black_box(unsafe { *last.get() });
    }

    /// Says that a request was sent to a server that doesn't answer. The channel's lock would order
    /// them.
    static SENT: Hint = Hint::new();

    fn serve(last: Alias<u64>, requests: &Receiver<u64>, answers: Option<&Sender<u64>>, stop: &Receiver<()>) {
        loop {
            select! {
                recv(requests) -> request => {
                    let value = request.unwrap();
                    if answers.is_none() {
                        SENT.wait();
                    }
                    writes(last, value);
                    if let Some(answers) = answers {
                        answers.send(value).unwrap();
                    }
                }
                recv(stop) -> _ => return,
            }
        }
    }

    pub fn bug() {
        let last = Alias::boxed(0);
        let (requests, received) = bounded(0);
        let (stop, stopped) = bounded(0);
        let server = go(move || serve(last, &received, None, &stopped));
        requests.send(1).unwrap();
        SENT.set();
        reads(last);
        drop(stop);
        server.join().unwrap();
    }

    pub fn right() {
        let last = Alias::boxed(0);
        let (requests, received) = bounded(0);
        let (answers, answered) = bounded(0);
        let (stop, stopped) = bounded(0);
        let server = go(move || serve(last, &received, Some(&answers), &stopped));
        for request in 0..10 {
            requests.send(request).unwrap();
            assert_eq!(answered.recv(), Ok(request));
            reads(last);
        }
        drop(stop);
        server.join().unwrap();
    }
}

/// A goroutine tells all receivers that it has written, and only then writes.
mod broadcast_too_soon {
    use std::hint::black_box;

    use gosched::chan::broadcast;

    use super::super::side_by_side;
    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "reads"]);

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` nobody reads yet. `bug` breaks this: that is
        // the bug.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: it is never freed, and it was written. The latter isn't kept in `bug`.
        black_box(unsafe { *number.get() });
    }

    fn tell(writes_first: bool) {
        let number = Alias::boxed(0);
        let (tx, mut rx) = broadcast::channel(1);
        let write = || {
            if writes_first {
                writes(number);
            }
            tx.send(()).unwrap();
            if !writes_first {
                writes(number);
            }
        };
        let read = || {
            rx.recv().unwrap();
            reads(number);
        };
        // The sender is dropped when both are done: its drop would order them.
        side_by_side(write, read);
    }

    pub fn bug() {
        tell(false);
    }

    pub fn right() {
        tell(true);
    }
}

/// A goroutine changes a watched value to say that it has written, and only then writes.
mod watched_too_soon {
    use std::hint::black_box;

    use gosched::chan::watch;

    use super::super::side_by_side;
    use crate::alias::Alias;
    use crate::report::Report;

    pub const REPORT: Report = Report::race(&["writes", "reads"]);

    #[inline(never)]
    fn writes(number: Alias<u64>) {
        // SAFETY: it is never freed, and in `right` nobody reads yet. `bug` breaks this: that is
        // the bug.
        unsafe { *number.get() = 7 };
    }

    #[inline(never)]
    fn reads(number: Alias<u64>) {
        // SAFETY: it is never freed, and it was written. The latter isn't kept in `bug`.
        black_box(unsafe { *number.get() });
    }

    fn tell(writes_first: bool) {
        let number = Alias::boxed(0);
        let (tx, mut rx) = watch::channel(());
        let write = || {
            if writes_first {
                writes(number);
            }
            tx.send(()).unwrap();
            if !writes_first {
                writes(number);
            }
        };
        let read = || {
            rx.changed().unwrap();
            reads(number);
        };
        // The sender is dropped when both are done: its drop would order them.
        side_by_side(write, read);
    }

    pub fn bug() {
        tell(false);
    }

    pub fn right() {
        tell(true);
    }
}
