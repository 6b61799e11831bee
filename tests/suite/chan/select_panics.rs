//! Panics in each expression of a `select!`, and in each drop: each value is dropped once, and
//! nothing leaks. The same holds for the macro's parts, in whatever order safe code calls them.

#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

use gosched::chan::{Place, Receiver, RecvArm, SendArm, Sender, arms, arms_in_order, bounded};
use gosched::{blocking, run, select};

use crate::harness::tests;

tests! {
    a_panic_anywhere_drops_each_value_once
    arms_in_safe_hands
}

/// How often each value was dropped, by its number.
static DROPS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

struct Value {
    number: usize,
    bad: bool,
}

impl Value {
    fn new() -> Self {
        let mut drops = DROPS.lock().unwrap();
        drops.push(0);
        Value { number: drops.len() - 1, bad: false }
    }

    /// Makes a value that panics when it is dropped.
    fn bad() -> Self {
        let mut value = Value::new();
        value.bad = true;
        value
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        DROPS.lock().unwrap()[self.number] += 1;
        assert!(!self.bad, "dropped");
    }
}

/// A value that a channel carries in a box.
struct Large(
    #[allow(dead_code, reason = "for its drop")] Value,
    #[allow(dead_code, reason = "for its size")] [u8; 70_000],
);

fn large(value: Value) -> Large {
    Large(value, [0; 70_000])
}

/// Channels for the cases.
struct Channels {
    /// A value can be sent.
    free: Sender<Value>,
    /// A value can be received.
    full: Receiver<Value>,
    closed: Sender<Value>,
    /// Nothing can be sent or received.
    stuck: (Sender<Value>, Receiver<Value>),
    large: (Sender<Large>, Receiver<Large>),
    large_stuck: (Sender<Large>, Receiver<Large>),
    _others: (Receiver<Value>, Sender<Value>),
}

fn channels() -> Channels {
    let ((free, free_rx), (full_tx, full), (closed, _)) = (bounded(1), bounded(1), bounded(1));
    full_tx.send(Value::new()).unwrap_or_else(|_| unreachable!());
    let others = (free_rx, full_tx);
    Channels {
        free,
        full,
        closed,
        stuck: bounded(0),
        large: bounded(1),
        large_stuck: bounded(0),
        _others: others,
    }
}

fn never<T>() -> T {
    panic!("evaluated")
}

/// The name of what panics, and a `select!` that contains it.
type Case = (&'static str, fn(&Channels));

const CASES: &[Case] = &[
    (
        "a receiver",
        |c| select! { send(c.free, Value::new()) -> _ => (), recv(never::<&Receiver<()>>()) -> _ => () },
    ),
    (
        "a sender",
        |c| select! { send(c.free, Value::new()) -> _ => (), send(never::<&Sender<()>>(), ()) -> _ => () },
    ),
    ("a value", |c| select! { send(c.free, Value::new()) -> _ => (), send(c.stuck.0, never()) -> _ => () }),
    ("a value that is made", |c| select! { send(c.free, (Value::new(), never::<Value>()).0) -> _ => () }),
    (
        "a condition",
        |c| select! { send(c.free, Value::new()) -> _ => (), recv(c.full) -> _, if never() => () },
    ),
    (
        "a value's condition",
        |c| select! { send(c.free, Value::new()) -> _ => (), send(c.free, Value::new()) -> _, if never() => () },
    ),
    ("the timeout", |c| select! { send(c.stuck.0, Value::new()) -> _ => (), default(never()) => () }),
    (
        "the body of a receive",
        |c| select! { recv(c.full) -> value => drop((value, never::<()>())), send(c.stuck.0, Value::new()) -> _ => () },
    ),
    (
        "the body of a send",
        |c| select! { send(c.free, Value::new()) -> _ => never(), send(c.stuck.0, Value::new()) -> _ => () },
    ),
    (
        "the body of a send that failed",
        |c| select! { send(c.closed, Value::new()) -> sent => drop((sent, never::<()>())) },
    ),
    ("the default", |c| select! { send(c.stuck.0, Value::new()) -> _ => (), default => never() }),
    (
        "the default after a while",
        |c| select! { send(c.stuck.0, Value::new()) -> _ => (), default(Duration::from_nanos(1)) => never() },
    ),
    ("what was received", |c| {
        let (tx, rx) = bounded(1);
        tx.send(Value::bad()).unwrap_or_else(|_| unreachable!());
        select! { recv(rx) -> _ => (), send(c.stuck.0, Value::new()) -> _ => () }
    }),
    (
        "what wasn't sent, before a send",
        |c| select! { send(c.stuck.0, Value::bad()) -> _ => (), send(c.free, Value::new()) -> _ => () },
    ),
    (
        "what wasn't sent, after a send",
        |c| select! { send(c.free, Value::new()) -> _ => (), send(c.stuck.0, Value::bad()) -> _ => () },
    ),
    (
        "what wasn't sent, before a receive",
        |c| select! { send(c.stuck.0, Value::bad()) -> _ => (), recv(c.full) -> _ => () },
    ),
    (
        "what wasn't sent, after a receive",
        |c| select! { recv(c.full) -> _ => (), send(c.stuck.0, Value::bad()) -> _ => () },
    ),
    (
        "what wasn't sent, before a send that failed",
        |c| select! { send(c.stuck.0, Value::bad()) -> _ => (), send(c.closed, Value::new()) -> _ => () },
    ),
    (
        "what wasn't sent, and a default",
        |c| select! { send(c.stuck.0, Value::bad()) -> _ => (), recv(c.stuck.1) -> _ => (), default => () },
    ),
    (
        "what wasn't sent in time",
        |c| select! { send(c.stuck.0, Value::bad()) -> _ => (), default(Duration::from_nanos(1)) => () },
    ),
    (
        "what was large",
        |c| select! { send(c.large_stuck.0, large(Value::bad())) -> _ => (), send(c.large.0, large(Value::new())) -> _ => () },
    ),
    ("what was large, and is received", |c| {
        c.large.0.send(large(Value::new())).unwrap_or_else(|_| unreachable!());
        select! { biased; send(c.large_stuck.0, large(Value::bad())) -> _ => (), recv(c.large.1) -> _ => () }
    }),
    ("where nothing waits", |c| {
        blocking(|| select! { send(c.stuck.0, Value::new()) -> _ => (), recv(c.stuck.1) -> _ => () })
    }),
];

fn a_panic_anywhere_drops_each_value_once() {
    run(|| {
        for (what, case) in CASES {
            let channels = channels();
            assert!(catch_unwind(AssertUnwindSafe(|| case(&channels))).is_err(), "{what}: no panic");
            drop(channels);
            assert!(DROPS.lock().unwrap().drain(..).all(|drops| drops == 1), "{what}");
        }
    });
}

fn arms_in_safe_hands() {
    fn dropped() -> Vec<u32> {
        DROPS.lock().unwrap().clone()
    }
    for arms in [arms::<1>, arms_in_order::<1>] {
        let (tx, rx) = bounded(5);
        let mut place = Place::empty();
        let mut send = SendArm::new(Some(&tx), &mut place, Some(Value::new()));
        assert!(arms([send.raw()], false));
        assert!(!arms([send.raw()], false), "its value is gone");
        drop(send);
        assert_eq!((rx.len(), dropped()), (1, vec![0]));

        tx.send(Value::new()).unwrap_or_else(|_| unreachable!());
        let mut place = Place::empty();
        let mut recv = RecvArm::new(Some(&rx), true, &mut place);
        assert!(arms([recv.raw()], false));
        assert!(!arms([recv.raw()], false), "its place is full");
        assert_eq!(dropped(), [0, 0]);
        drop(recv);
        assert_eq!((rx.len(), dropped()), (1, vec![1, 0]), "nobody asked");

        let mut recv = RecvArm::new(Some(&rx), true, &mut place);
        assert!(arms([recv.raw()], false));
        let received = recv.chosen();
        assert_eq!(dropped(), [1, 0]);
        drop(received);
        assert_eq!(dropped(), [1, 1]);

        let passed = SendArm::new(Some(&tx), &mut place, Some(Value::new()));
        assert!(passed.chosen().is_none());
        drop(SendArm::new(Some(&tx), &mut place, Some(Value::new())));
        drop(SendArm::new(Some(&tx), &mut place, None));
        assert_eq!(dropped(), [1; 4]);

        tx.close();
        let mut recv = RecvArm::new(Some(&rx), true, &mut place);
        assert!(arms([recv.raw()], false));
        drop(recv);
        let mut send = SendArm::new(Some(&tx), &mut place, Some(Value::new()));
        assert!(arms([send.raw()], false) && !arms([send.raw()], false));
        drop(send);
        assert!(DROPS.lock().unwrap().drain(..).all(|drops| drops == 1));
    }
}
