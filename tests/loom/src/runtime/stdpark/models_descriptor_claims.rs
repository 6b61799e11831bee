//! A `PollDesc` gets a number for which goroutines wait. Their waits end, and from then on the
//! registration is the `PollDesc`'s.

use loom::thread;

use crate::runtime::kernel::{is_registered, write};
use crate::runtime::netpoll::epoll::{POLL_DESC, close_poll_desc, open_poll_desc};
use crate::runtime::stdpark::descriptors::{after_close, before_close};
use crate::runtime::stdpark::numbers::{End, check_numbers, ends_of, polls, reader};

/// A `PollDesc` has the number, and its registration is unchanged. (The models' kernel notices a
/// change.)
fn open() {
    assert!(open_poll_desc(0).is_ok());
    assert!(is_registered(0, POLL_DESC));
}

#[test]
fn a_claim_beside_a_wait() {
    check_numbers(5, || {
        let reader = reader(0);
        open();
        assert_eq!(ends_of([reader]), [End::Cannot]);
        assert!(is_registered(0, POLL_DESC));
    });
}

#[test]
fn a_claim_beside_an_event() {
    check_numbers(3, || {
        let reader = reader(0);
        let claim = thread::spawn(open);
        write(0, 1);
        let [end] = ends_of([reader]);
        assert!(matches!(end, End::Done | End::Cannot));
        claim.join().unwrap();
        assert!(is_registered(0, POLL_DESC));
    });
}

#[test]
fn a_claim_beside_two_waits() {
    check_numbers(3, || {
        let waiters = [reader(0), polls([0, 1], None)];
        open();
        assert_eq!(ends_of(waiters), [End::Cannot; 2]);
        assert!(is_registered(0, POLL_DESC));
    });
}

/// A wait that begins after the number was given back is like any other.
#[test]
fn a_claim_that_is_given_back() {
    check_numbers(4, || {
        let reader = reader(0);
        open();
        close_poll_desc(0);
        write(0, 1);
        let [end] = ends_of([reader]);
        assert!(matches!(end, End::Done | End::Cannot));
        assert!(!is_registered(0, POLL_DESC));
    });
}

/// A failed close leaves the registration of the `PollDesc`.
#[test]
fn a_claim_beside_a_close_that_fails() {
    check_numbers(3, || {
        let reader = reader(0);
        let closer = thread::spawn(|| {
            before_close(0);
            after_close(0);
        });
        open();
        let [end] = ends_of([reader]);
        assert!(matches!(end, End::Closed | End::Cannot));
        closer.join().unwrap();
        assert!(is_registered(0, POLL_DESC));
    });
}
