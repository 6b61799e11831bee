//! Unseen calls close a number, or give it to another description. A wait that begins later still
//! gets its own description's events, and ends the waits for the old one.

use loom::thread;

use crate::runtime::kernel::{end_description, new_description, set_number, units, until_armed, write};
use crate::runtime::stdpark::numbers::{
    End, check_numbers, ends_of, limited_reader, polls, reader, reader_of, was_closed,
};

/// Nobody sees the close of a number, and the description becomes ready. The reader that the event
/// doesn't wake can't be waiting for the next description.
#[test]
fn an_event_after_a_close_that_is_not_seen() {
    check_numbers(2, || {
        let readers = [(); 2].map(|()| reader(0));
        until_armed(2);
        set_number(0, None);
        write(0, 2);
        let ends = ends_of(readers);
        // A call that has begun before the close may end as if there were no close.
        assert!(ends.into_iter().all(|end| end == End::Done || was_closed(end)));
    });
}

/// Between two waits, unseen calls give the number to another description.
fn unseen(ends: bool) {
    check_numbers(2, move || {
        let next = new_description();
        let reader = reader_of(0, 2, move || {
            if ends {
                end_description(0);
            }
            set_number(0, Some(next));
        });
        write(0, 1);
        write(next, 1);
        assert_eq!(ends_of([reader]), [End::Done]);
    });
}

#[test]
fn a_close_that_is_not_seen() {
    unseen(true);
}

#[test]
fn a_close_of_a_shared_description_that_is_not_seen() {
    unseen(false);
}

/// A reader waits for the old description, and another one begins to wait for the next.
fn two_descriptions(ends: bool) {
    check_numbers(3, move || {
        let next = new_description();
        let old = reader(0);
        until_armed(1);
        if ends {
            end_description(0);
        }
        set_number(0, Some(next));
        let new = reader(0);
        until_armed(2);
        write(next, 1);
        assert_eq!(ends_of([old, new]), [End::Closed, End::Done]);
    });
}

#[test]
fn a_wait_for_the_next_description() {
    two_descriptions(true);
}

#[test]
fn a_wait_for_the_next_description_beside_a_shared_one() {
    two_descriptions(false);
}

#[test]
fn a_wait_for_the_next_description_beside_a_poll() {
    check_numbers(2, || {
        let next = new_description();
        let old = polls([0, 1], None);
        until_armed(2);
        end_description(0);
        set_number(0, Some(next));
        let new = reader(0);
        until_armed(3);
        // The poll has ended, or begins again.
        write(1, 1);
        write(next, 1);
        assert_eq!(ends_of([old, new]), [End::Done; 2]);
    });
}

/// The registration lives on, and its event may come at any time.
#[test]
fn an_event_of_the_old_description() {
    check_numbers(2, || {
        let next = new_description();
        let old = reader(0);
        until_armed(1);
        set_number(0, Some(next));
        let writer = thread::spawn(|| write(0, 1));
        let new = reader(0);
        write(next, 2);
        let [old, new] = ends_of([old, new]);
        writer.join().unwrap();
        // The event wakes a reader, which then reads from the next description.
        assert_eq!(new, End::Done);
        assert_eq!(units(0), 1);
        assert_eq!(units(next), if old == End::Done { 0 } else { 1 });
    });
}

/// An event wakes one of two readers. The other can't be waiting for the next description.
#[test]
fn an_event_of_the_old_description_for_one_of_two() {
    check_numbers(2, || {
        let next = new_description();
        let readers = [(); 2].map(|()| reader(0));
        until_armed(2);
        set_number(0, Some(next));
        write(0, 1);
        write(next, 1);
        let mut ends = ends_of(readers);
        ends.sort_by_key(|end| *end == End::Closed);
        assert_eq!(ends, [End::Done, End::Closed]);
        assert_eq!((units(0), units(next)), (1, 0));
    });
}

/// A wait that the kernel refuses leaves no wait for the number's earlier description.
#[test]
fn a_wait_that_finds_the_number_closed() {
    check_numbers(3, || {
        let next = new_description();
        let old = reader(0);
        until_armed(1);
        end_description(0);
        set_number(0, None);
        let refused = limited_reader(0);
        assert_eq!(refused.join().unwrap(), End::Cannot);
        set_number(0, Some(next));
        let new = reader(0);
        until_armed(2);
        write(next, 1);
        let [_, new] = ends_of([old, new]);
        assert_eq!(new, End::Done);
    });
}
