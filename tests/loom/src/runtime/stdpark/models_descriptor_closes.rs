//! A number is closed while goroutines wait for it, or gets another description: each wait ends.

use loom::thread;

use crate::runtime::kernel::{has_registrations, new_description, set_number, units, until_armed, write};
use crate::runtime::stdpark::descriptors::is_waited_for;
use crate::runtime::stdpark::numbers::{
    End, check_new_numbers, check_numbers, close, close_beside_open, close_shared, dup_to, ends_of, polls,
    reader, was_closed,
};

#[test]
fn a_close_beside_a_wait() {
    check_numbers(4, || {
        let reader = reader(0);
        let is_queued = is_waited_for(0);
        close(0);
        let [end] = ends_of([reader]);
        assert!(was_closed(end));
        assert!(end == End::Closed || !is_queued);
    });
}

/// The closer may not know yet that the number was in use.
#[test]
fn a_close_beside_the_first_wait() {
    check_new_numbers(4, || {
        let reader = reader(0);
        close(0);
        assert!(ends_of([reader]).into_iter().all(was_closed));
    });
}

#[test]
fn a_close_beside_two_waits() {
    check_numbers(2, || {
        let waiters = [reader(0), polls([0], None)];
        close(0);
        let [read, poll] = ends_of(waiters);
        assert!(was_closed(read));
        assert!(matches!(poll, End::Done | End::Cannot));
    });
}

#[test]
fn a_close_beside_an_event() {
    check_numbers(2, || {
        let reader = reader(0);
        until_armed(1);
        let closer = thread::spawn(|| close(0));
        write(0, 1);
        let [end] = ends_of([reader]);
        closer.join().unwrap();
        assert_eq!(end == End::Done, units(0) == 0);
    });
}

#[test]
fn a_close_of_one_of_two() {
    check_numbers(3, || {
        let poll = polls([0, 1], None);
        close(0);
        let [end] = ends_of([poll]);
        assert!(matches!(end, End::Done | End::Cannot));
    });
}

#[test]
fn closes_of_two() {
    check_numbers(2, || {
        let poll = polls([0, 1], None);
        until_armed(2);
        let closer = thread::spawn(|| close(0));
        close(1);
        let [end] = ends_of([poll]);
        closer.join().unwrap();
        assert!(matches!(end, End::Done | End::Cannot));
    });
}

#[test]
fn a_close_and_an_event_of_two() {
    check_numbers(2, || {
        let poll = polls([0, 1], None);
        until_armed(2);
        let closer = thread::spawn(|| close(0));
        write(1, 1);
        let [end] = ends_of([poll]);
        closer.join().unwrap();
        assert!(matches!(end, End::Done | End::Cannot));
    });
}

/// The number gets another description, as by `dup2`.
#[test]
fn another_description() {
    check_numbers(3, || {
        let reader = reader(0);
        let next = new_description();
        let is_queued = is_waited_for(0);
        dup_to(0, next);
        write(next, 1);
        let [end] = ends_of([reader]);
        assert_eq!(end == End::Done, units(next) == 0);
        assert!(end == End::Closed || end == End::Done && !is_queued);
    });
}

/// A wait begins on the next description, perhaps before the closer looks for waits.
#[test]
fn an_open_before_the_close_is_over() {
    check_numbers(2, || {
        let reader = reader(0);
        let next = new_description();
        let writer = thread::spawn(move || write(next, 1));
        close_beside_open(0, next);
        let [end] = ends_of([reader]);
        writer.join().unwrap();
        assert_eq!(end == End::Done, units(next) == 0);
    });
}

/// The registration may live on, and report the old description.
#[test]
fn a_close_of_a_shared_description() {
    check_numbers(3, || {
        let reader = reader(0);
        let writer = thread::spawn(|| write(0, 1));
        close_shared(0);
        let [end] = ends_of([reader]);
        writer.join().unwrap();
        assert_eq!(end == End::Done, units(0) == 0);
    });
}

#[test]
fn another_description_beside_the_old_one() {
    check_numbers(3, || {
        let reader = reader(0);
        let writer = thread::spawn(|| write(0, 1));
        let next = new_description();
        close_shared(0);
        set_number(0, Some(next));
        write(next, 1);
        let [end] = ends_of([reader]);
        writer.join().unwrap();
        assert_eq!(units(0) + units(next), if end == End::Done { 1 } else { 2 });
    });
}

/// Otherwise the kernel would report the other process's uses of the description forever.
#[test]
fn the_registration_of_a_shared_description() {
    check_numbers(3, || {
        let reader = reader(0);
        write(0, 1);
        assert_eq!(ends_of([reader]), [End::Done]);
        close_shared(0);
        assert!(!has_registrations());
    });
}

/// Two goroutines close it, as each believes that it is its own.
#[test]
fn two_closes_of_a_number() {
    check_numbers(2, || {
        let reader = reader(0);
        let closer = thread::spawn(|| close(0));
        close(0);
        let [end] = ends_of([reader]);
        closer.join().unwrap();
        assert!(was_closed(end));
    });
}
