//! The time, an event or a close ends a wait for a descriptor with a limit, and only one of them.

use libc::EPOLLOUT;
use loom::thread;

use crate::runtime::kernel::{becomes_ready, reports, units, until_armed, write};
use crate::runtime::stdpark::numbers::{
    End, assert_one_reader_an_event, assert_only_events, check_numbers, close, ends_of, limited_reader,
    polls, reader, writer,
};
use crate::runtime::time::modify::{LATER, time_comes};

#[test]
fn the_time() {
    check_numbers(5, || {
        let reader = limited_reader(0);
        time_comes();
        assert_eq!(ends_of([reader]), [End::TimedOut]);
    });
}

#[test]
fn the_time_beside_an_event() {
    check_numbers(2, || {
        let reader = limited_reader(0);
        until_armed(1);
        let timer = thread::spawn(time_comes);
        write(0, 1);
        let [end] = ends_of([reader]);
        assert!(matches!(end, End::Done | End::TimedOut));
        assert_eq!(end == End::Done, units(0) == 0);
        assert_one_reader_an_event();
        timer.join().unwrap();
    });
}

#[test]
fn the_time_beside_a_close() {
    check_numbers(3, || {
        let reader = limited_reader(0);
        let timer = thread::spawn(time_comes);
        close(0);
        let [end] = ends_of([reader]);
        assert_ne!(end, End::Done);
        timer.join().unwrap();
    });
}

/// If an event finds the first reader's wait ended, it goes to the second reader.
#[test]
fn the_time_of_the_first_reader() {
    check_numbers(2, || {
        let first = limited_reader(0);
        until_armed(1);
        let second = reader(0);
        until_armed(2);
        let timer = thread::spawn(time_comes);
        write(0, 2);
        let ends = ends_of([first, second]);
        let events = match ends {
            [End::Done, End::Done] => 2,
            [End::TimedOut, End::Done] => 1,
            _ => panic!("{ends:?}"),
        };
        assert_eq!(reports(), events);
        assert_one_reader_an_event();
        timer.join().unwrap();
    });
}

#[test]
fn the_time_of_a_poll_of_two() {
    check_numbers(2, || {
        let poll = polls([0, 1], Some(LATER));
        until_armed(2);
        let timer = thread::spawn(time_comes);
        write(0, 1);
        write(1, 1);
        let [end] = ends_of([poll]);
        assert!(matches!(end, End::Done | End::TimedOut));
        timer.join().unwrap();
    });
}

/// An event for the reader isn't reported again and again to the writer.
#[test]
fn the_time_of_a_reader_before_a_writer() {
    check_numbers(2, || {
        let reader = limited_reader(0);
        until_armed(1);
        let writer = writer(0);
        until_armed(2);
        time_comes();
        assert_eq!(reader.join().unwrap(), End::TimedOut);
        let other = thread::spawn(|| becomes_ready(0, EPOLLOUT));
        write(0, 1);
        assert_eq!(ends_of([writer]), [End::Done]);
        assert_only_events();
        assert!(reports() <= 2);
        other.join().unwrap();
    });
}
