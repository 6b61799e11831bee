//! Connections in memory, in explorations.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gosched::explore::{Explorer, FailureKind, Link, Pipe, Strategy, explore, pipe};
use gosched::go;
use gosched::time::{now, sleep};

use crate::harness::{rounds, tests};

tests! {
    bytes_arrive_in_order_and_whole
    both_ways_at_once
    how_much_is_done_is_a_choice
    the_end_comes_behind_the_bytes
    nobody_reads_any_more
    halves_are_shut_down
    shutting_down_ends_waits
    the_news_of_an_end_takes_its_time
    the_news_of_an_end_overtakes_no_bytes
    one_that_waits_for_ever_is_left_behind
    a_writer_waits_for_room
    two_that_write_first_are_a_deadlock
    timeouts
    latency_takes_no_real_time
    every_latency_is_chosen
}

pub const SECOND: Duration = Duration::from_secs(1);

pub fn exactly(time: Duration) -> RangeInclusive<Duration> {
    time..=time
}

/// Reads until the end, in pieces of at most `piece`, and returns the bytes.
pub fn read_all(mut from: &Pipe, piece: usize) -> io::Result<Vec<u8>> {
    let (mut all, mut buf) = (Vec::new(), vec![0; piece]);
    loop {
        match from.read(&mut buf)? {
            0 => return Ok(all),
            n => all.extend(&buf[..n]),
        }
    }
}

/// The values seen in the schedules of a test.
#[derive(Clone, Default)]
pub struct Seen<T>(Arc<Mutex<BTreeSet<T>>>);

impl<T: Ord + Clone> Seen<T> {
    pub fn add(&self, what: T) {
        self.0.lock().unwrap().insert(what);
    }

    pub fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().iter().cloned().collect()
    }
}

/// Returns a link with everything that may slow a connection down.
pub fn everything() -> Link {
    Link::new().capacity(7).latency(SECOND..=9 * SECOND).partitions(2, SECOND..=60 * SECOND)
}

fn bytes_arrive_in_order_and_whole() {
    let strategies =
        [Strategy::Mixed, Strategy::Random, Strategy::Pct { depth: 1 }, Strategy::Pct { depth: 4 }];
    for strategy in strategies {
        Explorer::new().strategy(strategy).iterations(rounds(1_000) as u64).run(|| {
            let (here, mut there) = everything().pipe();
            let sent: Vec<u8> = (0..40).collect();
            let sends = sent.clone();
            go(move || sends.chunks(9).for_each(|chunk| there.write_all(chunk).unwrap()));
            assert_eq!(read_all(&here, 5).unwrap(), sent);
        });
    }
    // A tiny program is seen in each of its schedules.
    let tiny = Explorer::new().strategy(Strategy::Exhaustive { preemptions: 1 }).iterations(1_000_000);
    let schedules = tiny.check(|| {
        let (here, mut there) = Link::new().capacity(2).latency(SECOND..=9 * SECOND).pipe();
        go(move || there.write_all(b"ab").unwrap());
        assert_eq!(read_all(&here, 2).unwrap(), b"ab");
    });
    assert!((100..1_000_000).contains(&schedules.unwrap()));
}

fn both_ways_at_once() {
    explore(|| {
        let (here, there) = everything().pipe();
        go(move || io::copy(&mut &there, &mut &there).unwrap());
        let sender = here.try_clone().unwrap();
        let sends = go(move || {
            (&sender).write_all(b"back and forth").unwrap();
            sender.shutdown(Shutdown::Write).unwrap();
        });
        assert_eq!(read_all(&here, 4).unwrap(), b"back and forth");
        sends.join().unwrap();
    });
}

fn how_much_is_done_is_a_choice() {
    let (reads, writes) = (Seen::default(), Seen::default());
    let (read, wrote) = (reads.clone(), writes.clone());
    explore(move || {
        let (mut here, mut there) = pipe();
        let n = there.write(&[0; 4]).unwrap();
        wrote.add(n);
        if n == 4 {
            read.add(here.read(&mut [0; 3]).unwrap());
        }
    });
    assert_eq!((reads.all(), writes.all()), (vec![1, 2, 3], vec![1, 2, 3, 4]));
    let trusts = || {
        let (mut here, mut there) = pipe();
        let _ = there.write(b"all of it").unwrap();
        drop(there);
        let mut all = Vec::new();
        here.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"all of it");
    };
    assert_eq!(Explorer::new().check(trusts).unwrap_err().kind(), FailureKind::Panic);
}

fn the_end_comes_behind_the_bytes() {
    explore(|| {
        let (mut here, mut there) = everything().pipe();
        let mut other = there.try_clone().unwrap();
        there.write_all(b"one ").unwrap();
        drop(there);
        go(move || other.write_all(b"other").unwrap());
        assert_eq!(read_all(&here, 9).unwrap(), b"one other");
        assert_eq!(here.read(&mut [0]).unwrap(), 0, "it stays at its end");
        assert_eq!(here.read(&mut []).unwrap(), 0);
    });
}

fn nobody_reads_any_more() {
    explore(|| {
        let (mut here, there) = pipe();
        go(move || drop(there));
        // There is more data than room: some of it may be written before the error.
        let error = here.write_all(&[0; 100_000]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert_eq!(here.write(&[]).unwrap(), 0);
        here.flush().unwrap();
    });
}

fn halves_are_shut_down() {
    explore(|| {
        let (mut here, mut there) = pipe();
        here.write_all(b"last").unwrap();
        here.shutdown(Shutdown::Write).unwrap();
        here.shutdown(Shutdown::Write).unwrap();
        assert_eq!(here.write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(read_all(&there, 9).unwrap(), b"last");
        there.write_all(b"answer").unwrap();
        let mut buf = [0; 3];
        here.read_exact(&mut buf).unwrap();
        here.shutdown(Shutdown::Read).unwrap();
        assert_eq!(here.read(&mut buf).unwrap(), 0, "the rest is lost");
        assert_eq!(there.write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
    explore(|| {
        let (mut here, mut there) = pipe();
        here.shutdown(Shutdown::Both).unwrap();
        assert_eq!((here.read(&mut [0]).unwrap(), there.read(&mut [0]).unwrap()), (0, 0));
        assert_eq!(here.write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(there.write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

fn shutting_down_ends_waits() {
    explore(|| {
        let (here, there) = Link::new().capacity(1).pipe();
        let (reads, writes) = (here.try_clone().unwrap(), here.try_clone().unwrap());
        let reader = go(move || (&reads).read(&mut [0]).unwrap());
        let writer = go(move || (&writes).write_all(b"two").unwrap_err().kind());
        here.shutdown(Shutdown::Both).unwrap();
        assert_eq!((reader.join().unwrap(), writer.join().unwrap()), (0, ErrorKind::BrokenPipe));
        drop(there);
    });
}

fn the_news_of_an_end_takes_its_time() {
    explore(|| {
        let (mut here, there) = Link::new().latency(exactly(SECOND)).pipe();
        let start = now();
        drop(there);
        assert!(here.write(b"into the void").is_ok());
        assert_eq!(here.read(&mut [0]).unwrap(), 0);
        assert_eq!(now() - start, SECOND);
        assert_eq!(here.write(b"!").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
    // A write without room waits for it.
    explore(|| {
        let (mut here, there) = Link::new().capacity(1).latency(exactly(SECOND)).pipe();
        let start = now();
        drop(there);
        assert_eq!(here.write_all(b"void").unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(now() - start, SECOND);
    });
}

fn the_news_of_an_end_overtakes_no_bytes() {
    explore(|| {
        let (mut here, mut there) = Link::new().latency(SECOND..=9 * SECOND).pipe();
        there.write_all(b"bye").unwrap();
        drop(there);
        while here.write(b"!").is_ok() {
            sleep(SECOND);
        }
        let told = now();
        assert_eq!(read_all(&here, 9).unwrap(), b"bye");
        assert_eq!(now(), told);
    });
}

fn one_that_waits_for_ever_is_left_behind() {
    let forgets = || {
        let (mut here, there) = pipe();
        go(move || here.read(&mut [0]));
        std::mem::forget(there);
    };
    assert_eq!(Explorer::new().check(forgets).unwrap_err().kind(), FailureKind::Leak);
}

fn a_writer_waits_for_room() {
    let fullest = Arc::new(AtomicUsize::new(0));
    let max = fullest.clone();
    explore(move || {
        let (mut here, mut there) = Link::new().capacity(4).pipe();
        let (written, read) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let writes = written.clone();
        go(move || {
            let mut left = 20;
            while left > 0 {
                let n = there.write(&[0; 20][..left]).unwrap();
                writes.fetch_add(n, Relaxed);
                left -= n;
            }
        });
        while read.load(Relaxed) < 20 {
            let n = here.read(&mut [0; 3]).unwrap();
            let under_way = written.load(Relaxed).saturating_sub(read.load(Relaxed));
            // The bytes that were read may have made room already.
            assert!(under_way <= 4 + n, "{under_way}");
            max.fetch_max(under_way, Relaxed);
            read.fetch_add(n, Relaxed);
        }
    });
    assert!(fullest.load(Relaxed) >= 4, "nobody has waited");
}

fn two_that_write_first_are_a_deadlock() {
    let exchange = |capacity| {
        move || {
            let swap = |mut end: Pipe| {
                end.write_all(b"hello").unwrap();
                end.read_exact(&mut [0; 5]).unwrap();
            };
            let (here, there) = Link::new().capacity(capacity).latency(exactly(SECOND)).pipe();
            go(move || swap(there));
            swap(here);
        }
    };
    assert_eq!(Explorer::new().check(exchange(4)).unwrap_err().kind(), FailureKind::Deadlock);
    assert_eq!(Explorer::new().check(exchange(5)).unwrap(), 1_000);
}

fn timeouts() {
    explore(|| {
        let (mut here, mut there) = Link::new().capacity(3).latency(exactly(SECOND)).pipe();
        /// Returns the time until the operation gave up.
        fn timed_out<T: std::fmt::Debug>(operation: impl FnOnce() -> io::Result<T>) -> Duration {
            let start = now();
            assert_eq!(operation().unwrap_err().kind(), ErrorKind::TimedOut);
            now() - start
        }
        here.set_read_timeout(Some(5 * SECOND)).unwrap();
        assert_eq!(timed_out(|| here.read(&mut [0])), 5 * SECOND);
        there.write_all(b"!").unwrap();
        here.read_exact(&mut [0]).unwrap();
        here.set_write_timeout(Some(7 * SECOND)).unwrap();
        assert_eq!(timed_out(|| here.write_all(b"four")), 7 * SECOND);

        // Data that come at the last moment come in time.
        here.set_read_timeout(Some(SECOND)).unwrap();
        there.write_all(b"?").unwrap();
        here.read_exact(&mut [0]).unwrap();

        let mut patient = here.try_clone().unwrap();
        let late = go(move || {
            sleep(3600 * SECOND);
            there.write_all(b"late").unwrap();
        });
        let mut buf = [0; 4];
        patient.read_exact(&mut buf).unwrap();
        assert_eq!(&buf, b"late");
        late.join().unwrap();

        let refused = here.set_read_timeout(Some(Duration::ZERO)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        assert_eq!(here.set_write_timeout(Some(Duration::ZERO)).unwrap_err().kind(), ErrorKind::InvalidInput);
        here.set_read_timeout(None).unwrap();
        here.set_read_timeout(Some(Duration::MAX)).unwrap();
        assert_eq!(here.read(&mut [0]).unwrap(), 0);
    });
}

fn latency_takes_no_real_time() {
    // In real time it would take years.
    explore(|| {
        let day = 24 * 3600 * SECOND;
        let (mut here, mut there) = Link::new().latency(exactly(day)).pipe();
        let start = now();
        go(move || there.write_all(b"a letter").unwrap());
        here.read_exact(&mut [0]).unwrap();
        assert_eq!(now() - start, day);
    });
}

fn every_latency_is_chosen() {
    let seen = Seen::default();
    let sees = seen.clone();
    explore(move || {
        let (mut here, mut there) = Link::new().latency(SECOND..=9 * SECOND).pipe();
        let start = now();
        there.write_all(b"!").unwrap();
        here.read_exact(&mut [0]).unwrap();
        sees.add((now() - start).as_secs());
    });
    assert_eq!(seen.all(), [1, 3, 5, 7, 9]);
}
