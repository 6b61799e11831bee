//! The faults of connections in memory.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gosched::chan::bounded;
use gosched::explore::{Explorer, FailureKind, Link, Pipe, explore, pipe};
use gosched::net::TcpListener;
use gosched::synctest;
use gosched::time::{now, sleep};
use gosched::{go, run};

use crate::harness::panics::panics;
use crate::harness::tests;

use super::pipe::{SECOND, Seen, everything, exactly, read_all};

tests! {
    a_reset_is_found
    a_reset_may_come_with_any_operation
    no_more_resets_than_allowed
    a_reset_loses_what_is_under_way
    who_retries_survives
    a_retry_may_be_once_too_often
    a_partition_loses_a_heartbeat
    a_partition_is_of_one_way
    a_partition_hides_an_end
    a_partition_loses_nothing
    a_partition_is_no_longer_than_allowed
    it_also_is_of_later_connections
    the_same_choices_are_the_same_run
    without_choices_there_are_no_faults
    outside_of_explorations
    real_sockets_are_refused
    limits_that_make_no_sense
    no_time_is_too_long
}

/// A program that trusts its connection.
fn asks(link: &Link) {
    let (mut client, mut server) = link.pipe();
    go(move || {
        server.read_exact(&mut [0]).unwrap();
        server.write_all(b"yes!").unwrap();
    });
    client.write_all(b"?").unwrap();
    let mut answer = [0; 4];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"yes!");
}

fn a_reset_is_found() {
    let failure = Explorer::new().check(|| asks(&Link::new().resets(1))).unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Panic);
    assert!(failure.to_string().contains("ConnectionReset"), "{failure}");
    explore(|| asks(&Link::new()));
}

fn a_reset_may_come_with_any_operation() {
    let seen = Seen::default();
    let sees = seen.clone();
    Explorer::new().iterations(2_000).run(move || {
        let (mut here, mut there) = Link::new().resets(1).pipe();
        for operation in 0..40 {
            let result = if operation % 2 == 0 { here.write(&[0]) } else { there.read(&mut [0]) };
            if let Err(error) = result {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                for end in [&mut here, &mut there] {
                    assert_eq!(end.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
                    assert_eq!(end.write(&[0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
                    assert_eq!(end.shutdown(Shutdown::Both).unwrap_err().kind(), ErrorKind::NotConnected);
                }
                return sees.add(operation);
            }
        }
        sees.add(40);
    });
    // The test sees each of the first faults. The later ones are rarer, but occur. Some schedules
    // have none.
    let seen = seen.all();
    assert!((0..16).all(|operation| seen.contains(&operation)), "{seen:?}");
    assert!(seen.iter().filter(|operation| (32..40).contains(*operation)).count() >= 2, "{seen:?}");
    assert!(seen.contains(&40), "{seen:?}");
}

fn no_more_resets_than_allowed() {
    let seen = Seen::default();
    let sees = seen.clone();
    explore(move || {
        let link = Link::new().resets(3);
        let resets = (0..8).filter(|_| {
            let (mut here, mut there) = link.pipe();
            here.write_all(b"abc").and_then(|_| there.read_exact(&mut [0; 3])).is_err()
        });
        sees.add(resets.count());
    });
    assert_eq!(seen.all(), [0, 1, 2, 3]);
}

fn a_reset_loses_what_is_under_way() {
    let seen = Seen::default();
    let sees = seen.clone();
    explore(move || {
        let (here, mut there) = Link::new().resets(1).pipe();
        let sent = go(move || there.write_all(b"once").is_ok());
        let got = read_all(&here, 9).is_ok();
        sees.add((sent.join().unwrap(), got));
    });
    // The bytes were written, but not read. If the last read fails, they were read.
    assert_eq!(seen.all(), [(false, false), (true, false), (true, true)]);
}

/// Asks until there is an answer. The server counts the requests that it hasn't seen before.
fn ask_until_answered(link: &Link, count: impl Fn() + Clone + Send + 'static) {
    let ask = |mut server: Pipe| {
        server.set_read_timeout(Some(10 * SECOND))?;
        server.write_all(b"+")?;
        server.read_exact(&mut [0; 2])
    };
    for _ in 0..3 {
        let ((client, mut server), count) = (link.pipe(), count.clone());
        go(move || {
            server.read_exact(&mut [0])?;
            count();
            server.write_all(b"ok")
        });
        if ask(client).is_ok() {
            return;
        }
    }
    panic!("no answer");
}

fn who_retries_survives() {
    let survives =
        |resets| move || ask_until_answered(&Link::new().latency(SECOND..=2 * SECOND).resets(resets), || {});
    Explorer::new().run(survives(2));
    let failure = Explorer::new().iterations(10_000).check(survives(3)).unwrap_err();
    assert!(failure.to_string().contains("no answer"), "{failure}");
}

fn a_retry_may_be_once_too_often() {
    let counts = |once: bool| {
        move || {
            let (count, known) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
            let counted = count.clone();
            ask_until_answered(&Link::new().resets(1), move || {
                if !(once && known.swap(true, Relaxed)) {
                    counted.fetch_add(1, Relaxed);
                }
            });
            assert_eq!(count.load(Relaxed), 1, "counted twice");
        }
    };
    let failure = Explorer::new().check(counts(false)).unwrap_err();
    assert!(failure.to_string().contains("counted twice"), "{failure}");
    Explorer::new().run(counts(true));
}

/// One end says each second that it is alive. The other expects to hear from it within each
/// `patience`.
fn heartbeat(link: &Link, patience: Duration) {
    let (here, mut there) = link.pipe();
    go(move || {
        for _ in 0..5 {
            there.write_all(b".").unwrap();
            sleep(SECOND);
        }
    });
    here.set_read_timeout(Some(patience)).unwrap();
    assert_eq!(read_all(&here, 9).expect("a heartbeat"), b".....");
}

fn a_partition_loses_a_heartbeat() {
    let check = |partitions, patience| {
        let link = move || Link::new().partitions(partitions, 10 * SECOND..=30 * SECOND);
        Explorer::new().check(move || heartbeat(&link(), patience * SECOND))
    };
    let failure = check(1, 5).unwrap_err();
    assert!(failure.to_string().contains("TimedOut"), "{failure}");
    assert!(check(0, 5).is_ok());
    assert!(check(1, 31).is_ok());
    assert!(check(1, 29).is_err());
}

fn a_partition_is_of_one_way() {
    let seen = Seen::default();
    let sees = seen.clone();
    explore(move || {
        let (mut here, mut there) = Link::new().partitions(1, exactly(60 * SECOND)).pipe();
        here.write_all(b"!").unwrap();
        there.write_all(b"!").unwrap();
        let late = |end: &mut Pipe| {
            end.set_read_timeout(Some(SECOND)).unwrap();
            end.read(&mut [0]).is_err()
        };
        sees.add((late(&mut here), late(&mut there)));
    });
    assert_eq!(seen.all(), [(false, false), (false, true), (true, false)]);
}

fn a_partition_hides_an_end() {
    let seen = Seen::default();
    let sees = seen.clone();
    explore(move || {
        let (mut here, there) = Link::new().partitions(1, exactly(60 * SECOND)).pipe();
        let start = now();
        drop(there);
        let written = here.write(b"!").is_ok();
        assert_eq!(here.read(&mut [0]).unwrap(), 0);
        sees.add((written, (now() - start).as_secs()));
        assert_eq!(here.write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
    assert_eq!(seen.all(), [(false, 0), (true, 60)]);
}

fn a_partition_loses_nothing() {
    explore(|| {
        let link = Link::new().latency(SECOND..=9 * SECOND).partitions(3, SECOND..=60 * SECOND);
        let (here, mut there) = link.pipe();
        go(move || {
            for byte in 0..20 {
                there.write_all(&[byte]).unwrap();
                sleep(SECOND);
            }
        });
        assert!(read_all(&here, 9).unwrap().into_iter().eq(0..20));
    });
}

fn a_partition_is_no_longer_than_allowed() {
    let longest = Arc::new(Mutex::new(Duration::ZERO));
    let max = longest.clone();
    explore(move || {
        let (mut here, mut there) = Link::new().partitions(1, SECOND..=9 * SECOND).pipe();
        for _ in 0..3 {
            let start = now();
            there.write_all(b"!").unwrap();
            here.read_exact(&mut [0]).unwrap();
            let mut max = max.lock().unwrap();
            *max = (*max).max(now() - start);
        }
    });
    assert_eq!(*longest.lock().unwrap(), 9 * SECOND);
}

fn it_also_is_of_later_connections() {
    let seen = Seen::default();
    let sees = seen.clone();
    explore(move || {
        let link = Link::new().partitions(1, exactly(60 * SECOND));
        let start = now();
        link.pipe().0.write_all(b"!").unwrap();
        let (mut here, there) = link.pipe();
        here.write_all(b"!").unwrap();
        drop(here);
        assert_eq!(read_all(&there, 9).unwrap(), b"!");
        sees.add((now() - start).as_secs());
    });
    assert_eq!(seen.all(), [0, 60]);
}

fn the_same_choices_are_the_same_run() {
    let fails = || {
        let link = everything().resets(2);
        asks(&link);
        asks(&link);
    };
    for seed in 0..20 {
        let found = || Explorer::new().seed(seed).check(fails).unwrap_err();
        let (one, other) = (found(), found());
        assert_eq!((one.token(), one.story()), (other.token(), other.story()));
        assert!(!one.to_string().contains("didn't fail again"), "{one}");
    }
}

fn without_choices_there_are_no_faults() {
    synctest::test(|| {
        let (mut here, mut there) = everything().capacity(100).resets(100).pipe();
        let start = now();
        go(move || {
            assert_eq!(there.write(&[7; 200]).unwrap(), 100);
            synctest::wait();
        });
        let mut buf = [0; 200];
        assert_eq!(here.read(&mut buf).unwrap(), 100);
        assert_eq!(now() - start, SECOND);
        assert_eq!(here.read(&mut buf).unwrap(), 0);
    });
}

fn outside_of_explorations() {
    run(|| {
        let link = Link::new().capacity(1_000).resets(100).partitions(100, exactly(SECOND));
        let pairs: Vec<_> = (0..8_u8)
            .map(|seed| {
                let (here, mut there) = link.pipe();
                let sent: Vec<u8> = (0..300_000_u32).map(|n| (n * 7) as u8 ^ seed).collect();
                let sends = sent.clone();
                go(move || sends.chunks(1_234).for_each(|chunk| there.write_all(chunk).unwrap()));
                go(move || assert!(read_all(&here, 777).unwrap() == sent))
            })
            .collect();
        pairs.into_iter().for_each(|pair| pair.join().unwrap());

        let (mut here, mut there) = Link::new().latency(exactly(Duration::from_millis(20))).pipe();
        here.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let start = Instant::now();
        there.write_all(b"!").unwrap();
        // On a slow machine, the byte may come before the read begins.
        if let Err(error) = here.read(&mut [0]) {
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            here.set_read_timeout(None).unwrap();
            here.read_exact(&mut [0]).unwrap();
        }
        assert!(start.elapsed() >= Duration::from_millis(20));
    });
}

fn real_sockets_are_refused() {
    let failure = Explorer::new().check(|| drop(TcpListener::bind("127.0.0.1:0"))).unwrap_err();
    assert!(failure.to_string().contains("gosched::explore::pipe"), "{failure}");
    // A channel accepts the connections.
    explore(|| {
        let (dials, accepts) = bounded::<Pipe>(8);
        go(move || {
            for end in accepts {
                go(move || io::copy(&mut &end, &mut &end).unwrap());
            }
        });
        let (mut client, server) = pipe();
        dials.send(server).unwrap();
        client.write_all(b"echo").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read_all(&client, 9).unwrap(), b"echo");
    });
}

fn limits_that_make_no_sense() {
    assert!(panics(|| Link::new().capacity(0)).contains("Link::capacity of 0"));
    let backwards = 2 * SECOND..=SECOND;
    assert!(panics(|| Link::new().latency(backwards.clone())).contains("Link::latency of an empty range"));
    assert!(panics(|| Link::new().partitions(1, backwards)).contains("Link::partitions of an empty range"));
}

fn no_time_is_too_long() {
    let never = Duration::MAX..=Duration::MAX;
    let waits = |link: fn() -> Link| {
        let found = Explorer::new().check(move || {
            let (mut here, mut there) = link().pipe();
            here.write_all(b"!").unwrap();
            there.set_read_timeout(Some(SECOND)).unwrap();
            assert_eq!(there.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
            there.set_read_timeout(None).unwrap();
            let _ = there.read(&mut [0]);
        });
        found.unwrap_err().kind()
    };
    assert_eq!(waits(|| Link::new().latency(Duration::MAX..=Duration::MAX)), FailureKind::Deadlock);
    Explorer::new().run(move || {
        let link = Link::new().latency(Duration::ZERO..=Duration::MAX).partitions(2, never.clone());
        let (mut here, there) = link.pipe();
        here.write_all(b"!").unwrap();
        drop(there);
        here.shutdown(Shutdown::Both).unwrap();
    });
}
