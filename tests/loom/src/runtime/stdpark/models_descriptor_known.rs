//! Known sockets: no change is lost, although no wait arms the registration.

use std::sync::Arc;

use libc::{EPOLLHUP, EPOLLOUT};
use loom::thread;

use crate::runtime::data::atomic::{AtomicU32, Ordering};
use crate::runtime::kernel::{arms, becomes_ready, new_description, set_number, until_armed, write};
use crate::runtime::netpoll::epoll::{close_poll_desc, open_poll_desc};
use crate::runtime::stdpark::descriptors::renew_waits;
use crate::runtime::stdpark::known::Word;
use crate::runtime::stdpark::numbers::{
    End, check_numbers, close, close_shared, dup_to, ends_of, is_known, is_own, may_have_changed, polls,
    reader, reader_of, was_closed, word, writer,
};

/// A reader that finds nothing makes the socket known, and needs no other call for the next event.
#[test]
fn units_one_after_the_other() {
    check_numbers(3, || {
        is_own(0);
        let reader = reader_of(0, 3, || ());
        let writer = thread::spawn(|| (0..3).for_each(|_| write(0, 1)));
        assert_eq!(ends_of([reader]), [End::Done]);
        assert!(arms() <= 1);
        writer.join().unwrap();
    });
}

/// A unit comes while nobody waits, and the next while a reader waits.
#[test]
fn units_at_once_and_later() {
    check_numbers(3, || {
        is_own(0);
        let reader = reader_of(0, 3, || ());
        until_armed(1);
        write(0, 2);
        write(0, 1);
        assert_eq!(ends_of([reader]), [End::Done]);
        assert_eq!(arms(), 1);
        assert!(is_known(0));
    });
}

/// A reader and a writer wait, each for its direction.
#[test]
fn a_reader_and_a_writer() {
    check_numbers(2, || {
        is_own(0);
        let both = [reader_of(0, 2, || ()), writer(0)];
        write(0, 1);
        becomes_ready(0, EPOLLOUT);
        write(0, 1);
        assert_eq!(ends_of(both), [End::Done, End::Done]);
    });
}

/// With a second reader the socket is no longer known, and neither reader misses a unit.
#[test]
fn two_readers() {
    check_numbers(2, || {
        is_own(0);
        let readers = [reader(0), reader(0)];
        write(0, 2);
        assert_eq!(ends_of(readers), [End::Done, End::Done]);
    });
}

/// The units come when both readers wait. One event is reported for both, and both are read.
#[test]
fn two_readers_that_wait() {
    check_numbers(2, || {
        is_own(0);
        let first = reader(0);
        until_armed(1);
        let second = reader(0);
        until_armed(2);
        write(0, 2);
        assert_eq!(ends_of([first, second]), [End::Done, End::Done]);
        assert!(!is_known(0));
    });
}

/// Two readers wait when a writer's wait might make the socket known. One event is reported for
/// both units, and both are read.
#[test]
fn a_writer_beside_two_readers() {
    check_numbers(1, || {
        let first = reader(0);
        until_armed(1);
        let second = reader(0);
        until_armed(2);
        is_own(0);
        let writer = writer(0);
        until_armed(3);
        write(0, 2);
        becomes_ready(0, EPOLLOUT);
        assert_eq!(ends_of([first, second, writer]), [End::Done; 3]);
        assert!(!is_known(0));
    });
}

/// A poll waits beside a reader: both learn of the unit.
#[test]
fn a_poll_beside_a_reader() {
    check_numbers(2, || {
        is_own(0);
        let both = [reader(0), polls([0], None)];
        write(0, 2);
        assert_eq!(ends_of(both), [End::Done, End::Done]);
    });
}

/// The end of the connection.
#[test]
fn the_other_side_hangs_up() {
    check_numbers(3, || {
        is_own(0);
        let reader = reader_of(0, 2, || ());
        write(0, 1);
        becomes_ready(0, EPOLLHUP);
        assert_eq!(ends_of([reader]), [End::Done]);
    });
}

/// A close ends the wait at a known socket, or the read finds that the number is closed.
fn closed(close: fn(i32)) {
    check_numbers(2, move || {
        is_own(0);
        let reader = reader_of(0, 2, || ());
        let closer = thread::spawn(move || {
            write(0, 1);
            close(0);
        });
        let [end] = ends_of([reader]);
        assert!(was_closed(end), "{end:?}");
        closer.join().unwrap();
        assert!(!is_known(0));
    });
}

#[test]
fn a_close() {
    closed(close);
}

#[test]
fn a_close_of_a_shared_description() {
    closed(close_shared);
}

/// The number goes to another description.
#[test]
fn the_number_is_given_away() {
    check_numbers(2, || {
        is_own(0);
        let next = new_description();
        write(next, 2);
        let reader = reader_of(0, 2, || ());
        let closer = thread::spawn(move || {
            write(0, 1);
            dup_to(0, next);
        });
        let [end] = ends_of([reader]);
        assert!(end == End::Done || was_closed(end), "{end:?}");
        closer.join().unwrap();
    });
}

/// A call changes a setting while a wait makes the socket known. The next wait asks again, and no
/// event is lost.
#[test]
fn a_change_beside_the_first_wait() {
    check_numbers(2, || {
        is_own(0);
        let reader = reader_of(0, 2, || ());
        let other = thread::spawn(|| may_have_changed(0));
        write(0, 1);
        write(0, 1);
        assert_eq!(ends_of([reader]), [End::Done]);
        other.join().unwrap();
    });
}

/// Answers from before a change, or before an event, make no socket known.
#[test]
fn a_change_after_the_question() {
    check_numbers(0, || {
        let word = word(0);
        let changes = [Word::ask_again, Word::count_event, Word::forget, Word::share, Word::end, Word::begin];
        for change in changes {
            word.begin();
            let look = word.look();
            change(word);
            assert!(!word.is_still(look));
            assert!(!word.make_known(look));
            assert!(!word.note_nonblocking(look));
        }
    });
}

/// A call changes the mode while another thread asks for it: the old mode isn't remembered.
#[test]
fn a_change_of_the_mode() {
    check_numbers(3, || {
        let nonblocking = Arc::new(AtomicU32::new(1));
        let kernel_s = nonblocking.clone();
        let other = thread::spawn(move || {
            kernel_s.store(0, Ordering::Relaxed);
            may_have_changed(0);
        });
        let word = word(0);
        let look = word.look();
        if nonblocking.load(Ordering::Relaxed) == 1 {
            word.note_nonblocking(look);
        }
        other.join().unwrap();
        assert!(!word.look().is_nonblocking());
    });
}

/// The mode of a description that has two numbers isn't remembered, because a call on the other
/// number may change it.
#[test]
fn a_mode_that_two_numbers_share() {
    check_numbers(0, || {
        let word = word(0);
        word.share();
        for change in [Word::ask_again, Word::count_event, Word::forget] {
            change(word);
            assert!(!word.note_nonblocking(word.look()));
        }
        word.end();
        assert!(word.note_nonblocking(word.look()));
        assert!(word.look().is_nonblocking());
    });
}

/// Unseen calls give the number to another description: the wait begins anew.
#[test]
fn a_close_that_is_not_seen() {
    check_numbers(2, || {
        is_own(0);
        let next = new_description();
        let reader = reader_of(0, 2, move || set_number(0, Some(next)));
        write(0, 1);
        let watch = thread::spawn(move || {
            while !renew_waits() {
                thread::yield_now();
            }
            renew_waits();
            write(next, 1);
        });
        assert_eq!(ends_of([reader]), [End::Done]);
        watch.join().unwrap();
    });
}

/// The poller has the number between two reads: the second read arms it anew.
#[test]
fn the_poller_takes_it_for_a_while() {
    check_numbers(2, || {
        is_own(0);
        let reader = reader_of(0, 2, || {
            open_poll_desc(0).unwrap();
            close_poll_desc(0);
        });
        let writer = thread::spawn(|| {
            for i in 1..3 {
                until_armed(i);
                write(0, 1);
            }
        });
        assert_eq!(ends_of([reader]), [End::Done]);
        writer.join().unwrap();
    });
}
