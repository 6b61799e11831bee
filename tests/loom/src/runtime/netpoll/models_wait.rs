//! Waiting, and what ends a wait.

use crate::runtime::netpoll::pipe::*;

#[test]
fn no_byte_is_waited_for_in_vain() {
    check(|| {
        let (pd, pipe) = (open(), Arc::new(Pipe(AtomicU32::new(0))));
        let writer = {
            let pipe = pipe.clone();
            thread::spawn(move || (0..2).for_each(|_| pipe.write(pd)))
        };
        for _ in 0..2 {
            assert_eq!(pipe.read(pd), Ok(()));
        }
        writer.join().unwrap();
    });
}

#[test]
fn two_tell_that_it_is_ready() {
    check(|| {
        let (pd, pipe) = (open(), Arc::new(Pipe(AtomicU32::new(0))));
        let writers = [(); 2].map(|()| {
            let pipe = pipe.clone();
            thread::spawn(move || pipe.write(pd))
        });
        for _ in 0..2 {
            assert_eq!(pipe.read(pd), Ok(()));
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

#[test]
fn a_reader_and_a_writer() {
    check(|| {
        let pd = open();
        let ready = thread::spawn(move || reports_ready(pd));
        let writer = thread::spawn(move || assert_eq!(wait(pd, Mode::Write), Ok(())));
        assert_eq!(wait(pd, Mode::Read), Ok(()));
        ready.join().unwrap();
        writer.join().unwrap();
    });
}

#[test]
fn a_close() {
    check(|| {
        let pd = open();
        let closes = thread::spawn(move || close(pd));
        assert_eq!(wait(pd, Mode::Read), Err(PollError::Closing));
        closes.join().unwrap();
        // SAFETY: nobody waits.
        unsafe { poll_runtime_poll_close(pd) };
    });
}

#[test]
fn a_close_when_it_becomes_ready() {
    check(|| {
        let pd = open();
        let ready = thread::spawn(move || reports_ready(pd));
        let closes = thread::spawn(move || close(pd));
        while wait(pd, Mode::Read).is_ok() {}
        ready.join().unwrap();
        closes.join().unwrap();
    });
}

/// The wait ends when the descriptor becomes ready, or earlier, or not yet. The next wait goes on
/// waiting.
#[test]
fn an_end_when_it_becomes_ready() {
    check(|| {
        let (pd, pipe) = (open(), Arc::new(Pipe(AtomicU32::new(0))));
        let writer = {
            let pipe = pipe.clone();
            thread::spawn(move || pipe.write(pd))
        };
        let ends = thread::spawn(move || poll_runtime_poll_end(pd, Mode::Read));
        let read = pipe.read(pd);
        ends.join().unwrap();
        poll_runtime_poll_go_on(pd, Mode::Read);
        if read.is_err() {
            assert_eq!((read, pipe.read(pd)), (Err(PollError::Timeout), Ok(())));
        }
        writer.join().unwrap();
    });
}

#[test]
fn an_end() {
    check(|| {
        let pd = open();
        let ends = thread::spawn(move || poll_runtime_poll_end(pd, Mode::Write));
        assert_eq!(wait(pd, Mode::Write), Err(PollError::Timeout));
        ends.join().unwrap();
    });
}

#[test]
fn a_deadline_for_both() {
    check(|| {
        let pd = open();
        set_deadline(pd, LATER, true, true);
        let timer = thread::spawn(fires(&pd.rt));
        let writer = thread::spawn(move || assert_eq!(wait(pd, Mode::Write), Err(PollError::Timeout)));
        assert_eq!(wait(pd, Mode::Read), Err(PollError::Timeout));
        timer.join().unwrap();
        writer.join().unwrap();
    });
}

#[test]
fn a_deadline_when_it_becomes_ready() {
    check(|| {
        let (pd, pipe) = (open(), Arc::new(Pipe(AtomicU32::new(0))));
        set_deadline(pd, LATER, true, false);
        let timer = thread::spawn(fires(&pd.rt));
        let writer = {
            let pipe = pipe.clone();
            thread::spawn(move || pipe.write(pd))
        };
        if pipe.read(pd).is_err() {
            // The thread that moves the deadline can read the byte.
            set_deadline(pd, 0, true, false);
            assert_eq!(pipe.read(pd), Ok(()));
        }
        timer.join().unwrap();
        writer.join().unwrap();
    });
}

#[test]
fn a_deadline_that_is_moved_to_the_past() {
    check(|| {
        let pd = open();
        let moves = thread::spawn(move || set_deadline(pd, -1, true, true));
        assert_eq!(wait(pd, Mode::Read), Err(PollError::Timeout));
        moves.join().unwrap();
    });
}

/// The first timer comes too late to do anything.
#[test]
fn a_deadline_that_is_moved_while_it_passes() {
    check(|| {
        let (pd, pipe) = (open(), Arc::new(Pipe(AtomicU32::new(0))));
        set_deadline(pd, LATER, true, false);
        let timer = thread::spawn(fires(&pd.rt));
        let moves = {
            let pipe = pipe.clone();
            thread::spawn(move || {
                set_deadline(pd, 2 * LATER, true, false);
                pipe.write(pd);
            })
        };
        match pipe.read(pd) {
            Ok(()) => {}
            Err(error) => assert_eq!(error, PollError::Timeout),
        }
        timer.join().unwrap();
        moves.join().unwrap();
        assert!(poll_runtime_poll_reset(pd, Mode::Read).is_ok(), "it is in the future");
    });
}

/// The deadline does nothing once the descriptor is closed.
#[test]
fn a_deadline_that_passes_during_a_close() {
    check(|| {
        let pd = open();
        set_deadline(pd, LATER, true, false);
        let timer = thread::spawn(fires(&pd.rt));
        let closes = thread::spawn(move || close(pd));
        assert!(wait(pd, Mode::Read).is_err());
        closes.join().unwrap();
        timer.join().unwrap();
        assert_eq!(poll_runtime_poll_reset(pd, Mode::Write), Err(PollError::Closing));
    });
}
