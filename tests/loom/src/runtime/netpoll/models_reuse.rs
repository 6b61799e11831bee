//! Late events and deadlines of a closed descriptor, when the next descriptor has taken its place.

use libc::{EPOLLERR, EPOLLIN, EPOLLOUT, EPOLLRDHUP};

use crate::runtime::netpoll::pipe::*;

/// Asserts that neither an error nor an end was reported for the descriptor.
fn is_well(pd: &'static PollDesc) {
    assert!(!pd.info().event_err() && !pd.info().event_last());
}

#[test]
fn an_event_after_the_next_open() {
    for events in [EPOLLERR, EPOLLIN | EPOLLOUT | EPOLLRDHUP] {
        check(move || {
            let pd = open();
            let late = told(events);
            reopen(pd);
            late();
            is_well(pd);
            for mode in [Mode::Read, Mode::Write] {
                assert_eq!(poll_runtime_poll_reset(pd, mode), Ok(false), "nothing has become ready");
            }
        });
    }
}

/// The next descriptor may be found ready without a reason. (No thread waits before the event is
/// over. loom lets a thread see the value from before the store of an open, if another thread has
/// changed it meanwhile.)
#[test]
fn an_event_during_the_next_open() {
    for events in [EPOLLERR, EPOLLIN | EPOLLOUT | EPOLLRDHUP] {
        check(move || {
            let (pd, pipe) = (open(), Arc::new(Pipe(AtomicU32::new(0))));
            let late = thread::spawn(told(events));
            reopen(pd);
            late.join().unwrap();
            is_well(pd);
            let writer = {
                let pipe = pipe.clone();
                thread::spawn(move || pipe.write(pd))
            };
            assert_eq!(pipe.read(pd), Ok(()));
            writer.join().unwrap();
        });
    }
}

#[test]
fn a_deadline_during_the_next_open() {
    check(|| {
        let pd = open();
        set_deadline(pd, LATER, true, true);
        let late = thread::spawn(fires(&pd.rt));
        reopen(pd);
        set_deadline(pd, LATER, true, true);
        late.join().unwrap();
        for mode in [Mode::Read, Mode::Write] {
            assert_eq!(poll_runtime_poll_reset(pd, mode), Ok(false), "it is in the future");
        }
    });
}
