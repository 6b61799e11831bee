//! A descriptor becomes ready while goroutines wait for it. None stays asleep while there is
//! something for it, and an event wakes one reader.

use libc::{EPOLLHUP, EPOLLOUT};
use loom::thread;

use crate::runtime::kernel::{becomes_file, becomes_ready, reports, units, until_armed, write};
use crate::runtime::netpoll::epoll::poll_until_all_end;
use crate::runtime::stdpark::numbers::{
    End, assert_one_reader_an_event, assert_only_events, check_numbers, ends_of, polls, reader, reader_of,
    writer,
};

#[test]
fn an_event_beside_a_wait() {
    check_numbers(5, || {
        let reader = reader(0);
        write(0, 1);
        assert_eq!(ends_of([reader]), [End::Done]);
        assert_one_reader_an_event();
    });
}

#[test]
fn two_waits_of_a_reader() {
    check_numbers(3, || {
        let reader = reader_of(0, 2, || ());
        write(0, 1);
        let writer = thread::spawn(|| write(0, 1));
        assert_eq!(ends_of([reader]), [End::Done]);
        assert_one_reader_an_event();
        writer.join().unwrap();
    });
}

#[test]
fn two_readers_of_one_write() {
    check_numbers(2, || {
        let readers = [(); 2].map(|()| reader(0));
        until_armed(2);
        write(0, 2);
        assert_eq!(ends_of(readers), [End::Done; 2]);
        assert_one_reader_an_event();
    });
}

#[test]
fn two_readers_of_two_writes() {
    check_numbers(2, || {
        let readers = [(); 2].map(|()| reader(0));
        let writer = thread::spawn(|| write(0, 1));
        write(0, 1);
        assert_eq!(ends_of(readers), [End::Done; 2]);
        assert_one_reader_an_event();
        writer.join().unwrap();
    });
}

/// Two M's take events at the same time, so one of them is late.
#[test]
fn two_polls_at_once() {
    check_numbers(2, || {
        let readers = [(); 2].map(|()| reader(0));
        let poll = thread::spawn(poll_until_all_end);
        write(0, 2);
        assert_eq!(ends_of(readers), [End::Done; 2]);
        assert_one_reader_an_event();
        poll.join().unwrap();
    });
}

#[test]
fn an_end_of_file() {
    check_numbers(2, || {
        let readers = [(); 2].map(|()| reader(0));
        until_armed(2);
        becomes_ready(0, EPOLLHUP);
        assert_eq!(ends_of(readers), [End::Done; 2]);
        assert_only_events();
        assert_eq!(reports(), 1);
    });
}

#[test]
fn a_reader_and_a_writer_at_once() {
    check_numbers(2, || {
        let waiters = [reader(0), writer(0)];
        until_armed(2);
        write(0, 1);
        becomes_ready(0, EPOLLOUT);
        // The kernel reports the events together.
        assert_eq!(ends_of(waiters), [End::Done; 2]);
        assert_only_events();
        assert_eq!(reports(), 1);
    });
}

/// The event of the first waiter is reported before that of the other.
#[test]
fn a_reader_before_a_writer() {
    check_numbers(2, || {
        let reader = reader(0);
        until_armed(1);
        let writer = writer(0);
        until_armed(2);
        write(0, 1);
        let other = thread::spawn(move || {
            assert_eq!(reader.join().unwrap(), End::Done);
            becomes_ready(0, EPOLLOUT);
        });
        assert_eq!(ends_of([writer]), [End::Done]);
        assert_only_events();
        other.join().unwrap();
    });
}

/// An event wakes one reader, and all goroutines that poll. The reader leaves a unit.
#[test]
fn a_reader_and_a_poll() {
    check_numbers(2, || {
        let waiters = [reader(0), polls([0], None)];
        until_armed(2);
        write(0, 2);
        assert_eq!(ends_of(waiters), [End::Done; 2]);
        assert_one_reader_an_event();
        assert_eq!((units(0), reports()), (1, 1));
    });
}

#[test]
fn a_poll_of_two() {
    check_numbers(5, || {
        let poll = polls([0, 1], None);
        write(0, 1);
        write(1, 1);
        assert_eq!(ends_of([poll]), [End::Done]);
    });
}

#[test]
fn a_poll_of_two_whose_events_two_polls_take() {
    check_numbers(2, || {
        let poll = polls([0, 1], None);
        let poller = thread::spawn(poll_until_all_end);
        until_armed(2);
        write(0, 1);
        write(1, 1);
        assert_eq!(ends_of([poll]), [End::Done]);
        poller.join().unwrap();
    });
}

#[test]
fn a_poll_of_one_twice() {
    check_numbers(5, || {
        let poll = polls([0, 0], None);
        write(0, 1);
        assert_eq!(ends_of([poll]), [End::Done]);
    });
}

/// The reader gets what the poll leaves.
#[test]
fn a_poll_of_two_and_a_reader_of_one() {
    check_numbers(2, || {
        let waiters = [polls([0, 1], None), reader(1)];
        until_armed(3);
        write(1, 2);
        assert_eq!(ends_of(waiters), [End::Done; 2]);
        assert_eq!((units(1), reports()), (1, 1));
    });
}

/// A poll of a file waits for the other descriptors. A read of a file doesn't wait.
#[test]
fn a_file() {
    check_numbers(3, || {
        becomes_file(1);
        let waiters = [polls([0, 1], None), reader(1)];
        write(0, 1);
        assert_eq!(ends_of(waiters), [End::Done, End::Cannot]);
    });
}
