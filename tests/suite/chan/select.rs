//! `select!`: one of several channel operations, done once.

use std::sync::Arc;

use gosched::chan::{Receiver, RecvError, SendError, TrySendError, bounded, never};
use gosched::{blocking, go, run, scope, select};

use crate::harness::explored::{each, in_any_order, times};
use crate::harness::goroutines::go_until_it_waits;
use crate::harness::panics::panics;
use crate::harness::tests;

tests! {
    what_is_ready_is_done
    a_closed_channel_is_ready
    a_select_that_waits_is_woken_by_any_arm
    what_is_ready_gets_its_share
    a_value_that_is_not_sent_is_dropped_once
    a_value_that_was_sent_is_not_dropped_with_its_arm
    large_and_over_aligned_values_go_through
    a_channel_may_be_in_several_arms
    send_and_recv_on_one_channel
    never_is_never_chosen_and_switches_an_arm_off
    bodies_may_leave
    every_form_of_an_arm
    many_goroutines_select_at_once
}

#[derive(Debug, PartialEq)]
enum Did {
    Received(Result<u32, RecvError>),
    Sent(Result<(), SendError<u32>>),
    Nothing,
}

fn what_is_ready_is_done() {
    run(|| {
        let (tx, rx) = bounded(1);
        let (_idle_tx, idle) = bounded::<u32>(0);
        let both = |value| {
            select! {
                recv(idle) -> value => Did::Received(value),
                send(tx, value) -> sent => Did::Sent(sent),
                default => Did::Nothing,
            }
        };
        assert_eq!(both(1), Did::Sent(Ok(())));
        assert_eq!(both(2), Did::Nothing);
        let received = select! {
            recv(idle) -> value => Did::Received(value),
            recv(rx) -> value => Did::Received(value),
        };
        assert_eq!(received, Did::Received(Ok(1)));
    });
}

fn a_closed_channel_is_ready() {
    run(|| {
        let (tx, rx) = bounded(1);
        tx.send(1).unwrap();
        tx.close();
        let recv = || {
            select! {
                recv(rx) -> value => value,
                default => unreachable!(),
            }
        };
        assert_eq!((recv(), recv(), recv()), (Ok(1), Err(RecvError), Err(RecvError)));
        let sent = select! {
            send(tx, 2) -> sent => sent,
            default => unreachable!(),
        };
        assert_eq!(sent, Err(SendError(2)));
    });
}

pub fn a_select_that_waits_is_woken_by_any_arm() {
    in_any_order(|| {
        for wake in each([0, 1, 2, 3]) {
            let (tx, rx) = bounded(0);
            let (out_tx, out_rx) = bounded(0);
            let waiting = {
                let (rx, out_tx) = (rx.clone(), out_tx.clone());
                go_until_it_waits(move || {
                    select! {
                        recv(rx) -> value => Did::Received(value),
                        send(out_tx, 5) -> sent => Did::Sent(sent),
                        recv(never::<u32>()) -> _ => unreachable!(),
                    }
                })
            };
            let (expected, off_the_other) = match wake {
                0 => {
                    tx.try_send(1).unwrap();
                    (Did::Received(Ok(1)), out_rx.try_recv().is_err())
                }
                1 => {
                    assert_eq!(out_rx.try_recv(), Ok(5));
                    (Did::Sent(Ok(())), tx.try_send(1) == Err(TrySendError::Full(1)))
                }
                2 => {
                    tx.close();
                    (Did::Received(Err(RecvError)), out_rx.try_recv().is_err())
                }
                _ => {
                    out_tx.close();
                    (Did::Sent(Err(SendError(5))), tx.try_send(1) == Err(TrySendError::Full(1)))
                }
            };
            assert_eq!(waiting.join().unwrap(), expected);
            assert!(off_the_other, "it still waits at the other channel: {wake}");
        }
    });
}

fn what_is_ready_gets_its_share() {
    run(|| {
        let (a_tx, a_rx) = bounded(1);
        let (b_tx, b_rx) = bounded(1);
        let mut received = [0; 2];
        for _ in 0..10_000 {
            let _ = (a_tx.try_send(()), b_tx.try_send(()));
            select! {
                recv(a_rx) -> _ => received[0] += 1,
                recv(b_rx) -> _ => received[1] += 1,
            }
        }
        assert!(received.iter().all(|&n| n > 2500), "{received:?}");

        let mut sent = [0; 2];
        for _ in 0..10_000 {
            let _ = (a_rx.try_recv(), b_rx.try_recv());
            select! {
                send(a_tx, ()) -> _ => sent[0] += 1,
                send(b_tx, ()) -> _ => sent[1] += 1,
            }
        }
        assert!(sent.iter().all(|&n| n > 2500), "{sent:?}");
    });
}

fn a_value_that_is_not_sent_is_dropped_once() {
    run(|| {
        let value = Arc::new(());
        let (tx, rx) = bounded(1);
        for round in 0..100 {
            let mut mine = false;
            select! {
                send(tx, value.clone()) -> sent => { sent.unwrap(); mine = true },
                send(tx, value.clone()) -> sent => sent.unwrap(),
            }
            assert_eq!(Arc::strong_count(&value), 2, "{round}, {mine}");
            select! {
                send(tx, value.clone()) -> _ => unreachable!(),
                default => assert_eq!(Arc::strong_count(&value), 2, "dropped before the body"),
            }
            drop(rx.recv());
            assert_eq!(Arc::strong_count(&value), 1);
        }
        drop(rx);
        let failed = select! { send(tx, value.clone()) -> sent => sent };
        assert_eq!(Arc::strong_count(&value), 2);
        drop(failed);
        assert_eq!(Arc::strong_count(&value), 1);
    });
    // Where the select can't wait it panics, and drops the value.
    run(|| {
        let value = Arc::new(());
        let (tx, rx) = bounded(0);
        let message = blocking(|| {
            panics(|| {
                select! {
                    send(tx, value.clone()) -> _ => (),
                    recv(rx) -> _ => (),
                }
            })
        });
        assert!(message.contains("select would have to wait"));
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

fn a_value_that_was_sent_is_not_dropped_with_its_arm() {
    struct PanicsWhenDropped;
    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    run(|| {
        let value = Arc::new(());
        let (full, _rx) = bounded(0);
        let (tx, rx) = bounded(1);
        let message = panics(|| {
            select! {
                send(full, PanicsWhenDropped) -> _ => (),
                send(tx, value.clone()) -> _ => (),
            }
        });
        assert!(message.contains("dropped"));
        assert_eq!(Arc::strong_count(&value), 2, "one is in the channel");
        drop(rx.recv());
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

fn large_and_over_aligned_values_go_through() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(128))]
    struct Aligned(u8);
    run(|| {
        let (tx, rx) = bounded(1);
        let (big_tx, big_rx) = bounded(1);
        for i in 0..100 {
            let mut big = 0;
            select! {
                send(tx, Aligned(i)) -> sent => sent.unwrap(),
                send(big_tx, [i; 70_000]) -> sent => { sent.unwrap(); big = 1 },
            }
            let received = select! {
                recv(rx) -> value => value.unwrap().0,
                recv(big_rx) -> value => value.unwrap()[69_999],
            };
            assert_eq!(received, i, "{big}");
        }
    });
}

pub fn a_channel_may_be_in_several_arms() {
    in_any_order(|| {
        let (tx, rx) = bounded(0);
        let waiting = {
            let rx = rx.clone();
            go_until_it_waits(move || {
                select! {
                    recv(rx) -> value => value,
                    recv(rx) -> value => value,
                }
            })
        };
        tx.try_send(1).unwrap();
        assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)), "it has received once");
        assert_eq!(waiting.join().unwrap(), Ok(1));
    });
}

pub fn send_and_recv_on_one_channel() {
    in_any_order(|| {
        // With a buffer, one select may receive the value that it has sent before.
        let (tx, rx) = bounded(1);
        let mut held = 0;
        for i in 0..times(1000, 4) {
            select! {
                send(tx, i) -> sent => { sent.unwrap(); held += 1 },
                recv(rx) -> value => { value.unwrap(); held -= 1 },
            }
            assert_eq!(held, rx.len());
        }
        // Without a buffer it takes two selects: one sends what the other receives.
        let (tx, rx) = bounded(0);
        let exchange = || {
            let mut sums = [0; 2];
            for i in 0..times(1000, 4) {
                select! {
                    send(tx, i) -> sent => { sent.unwrap(); sums[0] += i },
                    recv(rx) -> value => sums[1] += value.unwrap(),
                }
            }
            sums
        };
        let [one, other] = scope(|s| [s.go(exchange), s.go(exchange)].map(|handle| handle.join().unwrap()));
        assert_eq!(one[0] + other[0], one[1] + other[1]);
    });
}

pub fn never_is_never_chosen_and_switches_an_arm_off() {
    in_any_order(|| {
        let (a_tx, mut a) = bounded(0);
        let (b_tx, mut b) = bounded(0);
        let [n, m] = [times(100, 4), times(50, 2)];
        go(move || (0..n).for_each(|i| a_tx.send(i).unwrap()));
        go(move || (0..m).for_each(|i| b_tx.send(i).unwrap()));
        let (mut open, mut values) = (2, 0);
        while open > 0 {
            select! {
                recv(a) -> value => match value {
                    Ok(_) => values += 1,
                    Err(RecvError) => { a = never(); open -= 1 }
                },
                recv(b) -> value => match value {
                    Ok(_) => values += 1,
                    Err(RecvError) => { b = never(); open -= 1 }
                },
            }
        }
        assert_eq!(values, n + m);
    });
}

fn control_flow(rx: &Receiver<Result<u32, String>>) -> Result<u32, String> {
    let mut sum = 0;
    'outer: loop {
        for _ in 0..10 {
            let value: u32 = select! {
                recv(rx) -> value => match value {
                    Ok(value) => value?,
                    Err(RecvError) => return Ok(sum),
                },
                recv(never::<()>()) -> _ => unreachable!(),
            };
            select! {
                default => match value {
                    0 => continue,
                    1 => continue 'outer,
                    2 => break 'outer,
                    _ => sum += value,
                },
            }
        }
        sum += 1000;
    }
    Ok(sum + 1)
}

fn bodies_may_leave() {
    run(|| {
        let flow = |values: &[Result<u32, &str>]| {
            let (tx, rx) = bounded(100);
            for value in values {
                tx.send(value.map_err(str::to_owned)).unwrap();
            }
            drop(tx);
            control_flow(&rx)
        };
        assert_eq!(flow(&[Ok(5), Ok(0), Ok(6)]), Ok(11), "return");
        assert_eq!(flow(&[Ok(5), Ok(2), Ok(6)]), Ok(6), "break");
        assert_eq!(flow(&[[Ok(0); 9].as_slice(), &[Ok(1), Ok(7)]].concat()), Ok(7), "continue 'outer");
        assert_eq!(flow(&[Ok(0); 10]), Ok(1000), "continue");
        assert_eq!(flow(&[Ok(5), Err("no")]), Err("no".to_owned()), "?");
    });
}

fn every_form_of_an_arm() {
    run(|| {
        let (tx, rx) = bounded(1);
        let mut evaluated = Vec::new();
        select! {
            send(*{ evaluated.push(1); &tx }, { evaluated.push(2); 'a' }) -> sent => { assert!(sent.is_ok()) }
            recv({ evaluated.push(3); never::<u8>() }) -> _ => (),
            default => { unreachable!() }
        }
        assert_eq!(evaluated, [1, 2, 3]);
        select! { recv(&rx) -> mut value => { value = value.map(|c| c.to_ascii_uppercase()); assert_eq!(value, Ok('A')) } }
        let name = select! {
            default => "default",
            recv(rx.clone()) -> _value => "recv",
        };
        assert_eq!(name, "default");
        let chosen = select! { default => 1 };
        assert_eq!(chosen, 1);
        let owned = (bounded(1), "with a field");
        select! { send(owned.0.0, owned.1) -> _ => {} };
        assert_eq!(select! { recv(owned.0.1) -> value => value }, Ok("with a field"));
    });
}

pub fn many_goroutines_select_at_once() {
    in_any_order(|| {
        let (crowd, values) = (times(8, 3), times(500, 2));
        let channels: Vec<_> = (0..4).map(bounded::<usize>).collect();
        let (stop, stopped) = bounded::<()>(0);
        let received = scope(|s| {
            let receivers: Vec<_> = (0..crowd)
                .map(|_| {
                    s.go(|| {
                        let mut sum = 0;
                        loop {
                            sum += select! {
                                recv(channels[0].1) -> value => value.unwrap(),
                                recv(channels[1].1) -> value => value.unwrap(),
                                recv(channels[2].1) -> value => value.unwrap(),
                                recv(channels[3].1) -> value => value.unwrap(),
                                recv(stopped) -> _ => return sum,
                            };
                        }
                    })
                })
                .collect();
            scope(|senders| {
                for sender in 0..crowd {
                    let channels = &channels;
                    senders.go(move || {
                        for i in 0..values {
                            select! {
                                send(channels[sender % 4].0, i) -> sent => sent.unwrap(),
                                send(channels[(sender + 1) % 4].0, i) -> sent => sent.unwrap(),
                            }
                        }
                    });
                }
            });
            drop(stop);
            receivers.into_iter().map(|receiver| receiver.join().unwrap()).sum::<usize>()
        });
        let left: usize = channels.iter().flat_map(|(_, rx)| rx.try_iter()).sum();
        assert_eq!(received + left, crowd * (0..values).sum::<usize>());
    });
}
