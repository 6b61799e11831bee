//! The parts of `select!` that Go's lacks: a fixed order, conditions, and handles that may be
//! missing.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gosched::chan::{Receiver, RecvError, Select, SendError, Sender, bounded, never};
use gosched::{go, run, select};

use crate::harness::explored::{in_any_order, times};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::panics;
use crate::harness::storm::turns;
use crate::harness::tests;

tests! {
    in_order_the_first_that_is_ready_is_done
    in_order_a_set_does_the_first_that_is_ready
    in_order_a_select_waits
    in_order_what_was_sent_first_comes_first
    an_arm_with_a_false_condition_takes_no_part
    a_condition_is_evaluated_before_the_value
    an_arm_without_a_handle_takes_no_part
    a_set_takes_handles_that_may_be_missing
    handles_are_found_behind_what_dereferences
    a_result_is_taken_apart_by_any_pattern
    a_value_is_made_what_the_channel_carries
    a_forgotten_choice_is_dropped_once
    a_set_of_as_many_as_there_may_be
    names_are_the_macros_own
}

fn in_order_the_first_that_is_ready_is_done() {
    run(|| {
        let (a_tx, a) = bounded(1);
        let (b_tx, b) = bounded(1);
        for round in 0..100 {
            a_tx.send(round).unwrap();
            b_tx.send(round).unwrap();
            let both_ready = select! {
                biased;
                recv(never::<()>()) -> _ => unreachable!(),
                recv(b) -> value => { assert_eq!(value, Ok(round)); 'b' }
                send(a_tx, 0) -> _ => unreachable!("it is full"),
                recv(a) -> _ => 'a',
                default(Duration::from_secs(3600)) => unreachable!(),
            };
            assert_eq!(both_ready, 'b');
            let one_ready = select! {
                biased;
                recv(b) -> _ => 'b',
                recv(a) -> value => { assert_eq!(value, Ok(round)); 'a' }
                send(b_tx, 0) -> _ => unreachable!("it comes after"),
                default => unreachable!(),
            };
            assert_eq!(one_ready, 'a');
            select! {
                biased;
                send(b_tx, 1) -> sent => sent.unwrap(),
                send(a_tx, 1) -> _ => unreachable!("it comes after"),
            }
            assert_eq!((a.len(), b.recv()), (0, Ok(1)));
            let none_ready = select! { biased; recv(a) -> _ => 'a', recv(b) -> _ => 'b', default => 'd' };
            assert_eq!(none_ready, 'd');
            let none_ready = select! { recv(a) -> _ => 'a', default() => 'd', recv(b) -> _ => 'b', };
            assert_eq!(none_ready, 'd');
            assert_eq!(select! { default() => 'd' }, 'd');
            let late = select! { biased; recv(a) -> _ => 'a', default(Duration::from_nanos(1)) => 'd' };
            assert_eq!(late, 'd');
        }
    });
}

fn in_order_a_set_does_the_first_that_is_ready() {
    run(|| {
        let channels: Vec<_> = (0..5).map(|_| bounded(2)).collect();
        for _ in 0..100 {
            let mut set = Select::new_biased();
            for (i, (tx, rx)) in channels.iter().enumerate() {
                if i % 2 == 0 {
                    set.recv(rx)
                } else {
                    set.send(tx, 0)
                };
            }
            // The sends have room, but the receive from the first channel comes before them.
            channels[0].0.send(0).unwrap();
            assert_eq!(set.select().recv(&channels[0].1), Ok(0));
            assert_eq!(set.select().send(&channels[1].0), Ok(()));
            channels[2].0.send(0).unwrap();
            channels[4].0.send(0).unwrap();
            assert_eq!(set.select_timeout(Duration::from_secs(3600)).unwrap().recv(&channels[2].1), Ok(0));
            assert_eq!(set.try_select().unwrap().send(&channels[3].0), Ok(()));
            assert_eq!(set.select().recv(&channels[4].1), Ok(0));
            assert!(set.try_select().is_none() && set.select_timeout(Duration::from_nanos(1)).is_none());
            channels[1].1.recv().unwrap();
            channels[3].1.recv().unwrap();
        }
    });
}

fn in_order_a_select_waits() {
    fn first(off: Option<&Receiver<u32>>, a: &Receiver<u32>, b: &Receiver<u32>) -> (char, u32) {
        select! {
            biased;
            recv(off) -> _ => unreachable!(),
            recv(a) -> value => ('a', value.unwrap()),
            recv(b) -> value => ('b', value.unwrap()),
        }
    }
    run(|| {
        let ((a_tx, a), (b_tx, b)) = (bounded(0), bounded(0));
        let waiting = {
            let (a, b) = (a.clone(), b.clone());
            go_until_it_waits(move || first(None, &a, &b))
        };
        b_tx.try_send(1).unwrap();
        assert_eq!(waiting.join().unwrap(), ('b', 1));
        // A thread tries first, and only then becomes a goroutine that waits.
        let waiting = thread::spawn(move || [first(None, &a, &b), first(None, &a, &b)]);
        a_tx.send(2).unwrap();
        b_tx.send(3).unwrap();
        assert_eq!(waiting.join().unwrap(), [('a', 2), ('b', 3)]);
    });
}

/// A select looks at all channels at the same moment. If it looked at one after the other, it would
/// see the second value, but not the first.
fn in_order_what_was_sent_first_comes_first() {
    const TIMES: usize = if cfg!(debug_assertions) { 20_000 } else { 200_000 };
    run(|| {
        let ((a_tx, a), (b_tx, b)) = (bounded(1), bounded(1));
        let sender = go(move || {
            for i in turns(TIMES, || true) {
                a_tx.send(i + 1).unwrap();
                b_tx.send(i + 1).unwrap();
            }
        });
        let (mut a, mut first, mut second) = (Some(a), 0, 0);
        loop {
            select! {
                biased;
                recv(a) -> value => match value {
                    Ok(value) => first = value,
                    Err(RecvError) => a = None,
                },
                recv(b) -> value => match value {
                    Ok(value) => { second = value; assert!(first >= second, "{first} {second}") }
                    Err(RecvError) => break,
                },
                default(Duration::from_secs(first as u64 % 2)) => {}
            }
        }
        assert_eq!(first, second);
        sender.join().unwrap();
    });
}

pub fn an_arm_with_a_false_condition_takes_no_part() {
    in_any_order(|| {
        let ((tx, rx), (full, _rx)) = (bounded(1), bounded(0));
        for on in [false, true, false] {
            let sent = select! {
                send(tx, 5) -> sent, if on => sent.is_ok(),
                send(full, 5) -> _, if !on => unreachable!("it is full"),
                default => false,
            };
            assert_eq!((sent, rx.len()), (on, on.into()));
            let received = select! {
                recv(rx) -> value, if on => value == Ok(5),
                recv(rx) -> _, if rx.is_empty() && on => { unreachable!() }
                default(Duration::ZERO) => false,
            };
            assert_eq!((received, rx.len()), (on, 0));
        }
        let waiting = go_until_it_waits(move || {
            select! {
                recv(rx) -> _, if false => unreachable!(),
                recv(rx) -> value, if true => value,
            }
        });
        tx.send(7).unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(7));
    });
}

fn a_condition_is_evaluated_before_the_value() {
    run(|| {
        let ((tx, rx), mut queue) = (bounded(1), Vec::new());
        let pass_on = |queue: &mut Vec<String>| {
            select! {
                send(tx, queue[0].clone()) -> sent, if !queue.is_empty() => { sent.unwrap(); queue.remove(0); true }
                default => false,
            }
        };
        assert!(!pass_on(&mut queue), "there is no first one");
        queue.push("first".to_owned());
        assert!(pass_on(&mut queue) && queue.is_empty());
        assert_eq!(rx.recv().as_deref(), Ok("first"));
    });
}

pub fn an_arm_without_a_handle_takes_no_part() {
    in_any_order(|| {
        let (tx, rx) = bounded(1);
        let (mut input, mut output) = (None::<Receiver<usize>>, None::<Sender<usize>>);
        let step = |input: &Option<Receiver<usize>>, output: Option<&Sender<usize>>| {
            select! {
                recv(input) -> value => Some(value),
                send(output, 3) -> sent => sent.map(|()| None).unwrap(),
                default => Some(Err(RecvError)),
            }
        };
        assert_eq!(step(&input, output.as_ref()), Some(Err(RecvError)));
        output = Some(tx);
        assert_eq!(step(&input, output.as_ref()), None);
        input = Some(rx);
        assert_eq!(step(&input, output.as_ref()), Some(Ok(3)));
        // Runs until both inputs have ended: an input that has ended is switched off.
        let n = times(10, 3);
        let mut open = [(); 2].map(|()| {
            let (tx, rx) = bounded(0);
            go(move || (0..n).for_each(|i| tx.send(i).unwrap()));
            Some(rx)
        });
        let mut sum = 0;
        while open.iter().any(Option::is_some) {
            let (i, value) = select! {
                recv(open[0]) -> value => (0, value),
                recv(open[1].as_ref()) -> value => (1, value),
            };
            match value {
                Ok(value) => sum += value,
                Err(RecvError) => open[i] = None,
            }
        }
        assert_eq!(sum, n * (n - 1));
    });
}

fn a_set_takes_handles_that_may_be_missing() {
    let ((tx, rx), value) = (bounded(1), Arc::new(()));
    let receiver = Some(rx);
    let mut set = Select::new();
    assert_eq!(set.send(None, value.clone()), 0);
    assert_eq!(set.recv(None::<&Receiver<u8>>), 1);
    assert!(set.try_select().is_none());
    assert_eq!(set.send(Some(&tx), value.clone()), 2);
    assert_eq!(set.select().send(&tx), Ok(()));
    assert_eq!(set.recv(&receiver), 3);
    assert!(set.select().recv(receiver.as_ref().unwrap()).is_ok());
    assert_eq!(Arc::strong_count(&value), 2);
    drop(set);
    assert_eq!(Arc::strong_count(&value), 1);
}

fn handles_are_found_behind_what_dereferences() {
    struct Both(Arc<(Sender<u8>, Receiver<u8>)>);
    impl std::ops::Deref for Both {
        type Target = Receiver<u8>;
        fn deref(&self) -> &Receiver<u8> {
            &self.0.1
        }
    }
    let (tx, rx) = bounded(1);
    let both = Both(Arc::new((tx, rx)));
    for _ in 0..3 {
        select! { send(both.0.0, 1) -> sent => sent.unwrap() }
        assert_eq!(select! { recv(both) -> value => value }, Ok(1));
        select! { send(Box::new(&&both.0.0), 2) -> sent => sent.unwrap() }
        assert_eq!(select! { recv(&mut &both.0.1) -> value => value }, Ok(2));
    }
}

fn a_result_is_taken_apart_by_any_pattern() {
    run(|| {
        let (tx, rx) = bounded(1);
        let sent = select! { send(tx, 7) -> Ok(()) | Err(SendError(_)) => tx.len() };
        assert_eq!(sent, 1);
        let received = select! {
            recv(rx) -> result @ (Ok(_) | Err(RecvError)) => result,
            default => unreachable!(),
        };
        assert_eq!(received, Ok(7));
    });
}

fn a_value_is_made_what_the_channel_carries() {
    let (tx, rx) = bounded::<Box<dyn Fn() -> u8 + Send>>(1);
    select! { send(tx, Box::new(|| 1)) -> sent => sent.unwrap_or_else(|SendError(_)| unreachable!()) }
    assert_eq!(rx.recv().unwrap()(), 1);
    select! {
        send(tx, Box::new(|| 2)) -> sent, if rx.is_empty() => sent.unwrap_or_else(|SendError(_)| unreachable!()),
    }
    assert_eq!(rx.recv().unwrap()(), 2);
    let text = String::from("a text");
    let (tx, rx) = bounded::<&str>(1);
    select! { send(tx, &text) -> sent => sent.unwrap() }
    assert_eq!(rx.recv(), Ok("a text"));
}

fn a_forgotten_choice_is_dropped_once() {
    let ((tx, rx), value) = (bounded(2), Arc::new(()));
    tx.send(value.clone()).unwrap();
    tx.send(value.clone()).unwrap();
    tx.close();
    let mut set = Select::new();
    set.recv(&rx);
    for left in [3, 3, 2, 1] {
        assert_eq!(Arc::strong_count(&value), left);
        std::mem::forget(set.select());
    }
    drop(set);
    assert_eq!(Arc::strong_count(&value), 1);
}

fn a_set_of_as_many_as_there_may_be() {
    run(|| {
        let (tx, rx) = bounded(1);
        for mut set in [Select::new(), Select::new_biased()] {
            for _ in 1..u16::MAX {
                set.recv(None::<&Receiver<()>>);
            }
            assert_eq!(set.recv(&rx), 65_534);
            assert!(panics(|| set.recv(&rx)).contains("at most 65,535 operations"));
            assert!(set.select_timeout(Duration::from_nanos(1)).is_none());
            tx.send(5).unwrap();
            assert_eq!(set.select_timeout(Duration::from_secs(3600)).unwrap().recv(&rx), Ok(5));
        }
    });
}

/// A caller may have these names, and no prelude.
#[no_implicit_prelude]
#[expect(dead_code, non_upper_case_globals, unused_imports, unused_macros)]
mod other_names {
    use ::gosched::chan::bounded;
    use ::gosched::select;
    use ::std::time::Duration;

    macro_rules! unreachable {
        ($($any:tt)*) => {
            ::std::compile_error!("the caller's own")
        };
    }
    use unreachable;

    struct Some;
    struct None;

    const arm: () = ();
    const result: () = ();
    const timeout: () = ();
    const deadline: () = ();
    const place: () = ();
    const late: () = ();

    pub fn chosen() -> [u32; 4] {
        let (tx, rx) = bounded(1);
        let sent =
            select! { send(tx, 7,) -> sent => if let ::std::result::Result::Ok(()) = sent { 1 } else { 0 } };
        let received = select! {
            recv(rx,) -> value => value.unwrap(),
            default(Duration::from_secs(3600),) => 0,
        };
        let late_one = select! {
            recv(rx) -> _ => 0,
            send(tx, 8) -> _, if false => 0,
            default(Duration::from_nanos(1)) => 2,
        };
        let nothing = select! { recv(rx) -> _ => 0, default => 3 };
        [sent, received, late_one, nothing]
    }
}

fn names_are_the_macros_own() {
    assert_eq!(run(other_names::chosen), [1, 7, 2, 3]);
}
