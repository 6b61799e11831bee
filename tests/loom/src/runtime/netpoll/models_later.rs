//! Waiting without a goroutine: a goroutine is made, once, when the wait is over.

use crate::runtime::data::runtime2::{G, WaitReason};
use crate::runtime::netpoll::pipe::*;
use crate::runtime::netpoll::poll_desc::Later;
use crate::runtime::sched::park::sleep_until_ready;

/// A goroutine to be made later. It exists already, and waits to be made ready.
#[repr(C)]
struct Rest {
    later: Later,
    gp: &'static G,
}

impl Rest {
    unsafe fn make(later: *mut Later) -> Option<&'static G> {
        // SAFETY: the box of wait_later. Only this function has it.
        Some(unsafe { Box::from_raw(later.cast::<Rest>()) }.gp)
    }
}

/// Waits as [`wait`] does, in a goroutine that is made when the wait is over. (goready fails if
/// that happens twice.)
fn wait_later(pd: &'static PollDesc) {
    let gp = G::new(0);
    gp.waitreason.set(WaitReason::IOWait);
    let rest = Box::into_raw(Box::new(Rest { later: Later { make: Rest::make }, gp }));
    // SAFETY: `rest` is made for this call.
    unsafe { poll_runtime_poll_later(pd, Mode::Read, rest.cast()) };
    sleep_until_ready(gp);
}

/// Does what [`Pipe::read`] does, but waits in this way.
fn read_later(pipe: &Pipe, pd: &'static PollDesc) -> Result<(), PollError> {
    loop {
        poll_runtime_poll_reset(pd, Mode::Read)?;
        if pipe.try_read() {
            return Ok(());
        }
        wait_later(pd);
    }
}

fn pipe() -> Arc<Pipe> {
    Arc::new(Pipe(AtomicU32::new(0)))
}

#[test]
fn no_byte_is_waited_for_in_vain() {
    check(|| {
        let (pd, pipe) = (open(), pipe());
        let writer = {
            let pipe = pipe.clone();
            thread::spawn(move || (0..2).for_each(|_| pipe.write(pd)))
        };
        for _ in 0..2 {
            assert_eq!(read_later(&pipe, pd), Ok(()));
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_close_when_it_becomes_ready() {
    check(|| {
        let (pd, pipe) = (open(), pipe());
        let ready = thread::spawn(move || reports_ready(pd));
        let closes = thread::spawn(move || close(pd));
        assert_eq!(read_later(&pipe, pd), Err(PollError::Closing));
        ready.join().unwrap();
        closes.join().unwrap();
        // SAFETY: nobody waits.
        unsafe { poll_runtime_poll_close(pd) };
    });
}

#[test]
fn a_deadline_when_it_becomes_ready() {
    check(|| {
        let (pd, pipe) = (open(), pipe());
        set_deadline(pd, LATER, true, false);
        let timer = thread::spawn(fires(&pd.rt));
        let writer = {
            let pipe = pipe.clone();
            thread::spawn(move || pipe.write(pd))
        };
        if read_later(&pipe, pd).is_err() {
            // The thread that moves the deadline can read the byte.
            set_deadline(pd, 0, true, false);
            assert_eq!(read_later(&pipe, pd), Ok(()));
        }
        timer.join().unwrap();
        writer.join().unwrap();
    });
}

#[test]
fn a_deadline_that_is_moved_to_the_past() {
    check(|| {
        let (pd, pipe) = (open(), pipe());
        let moves = thread::spawn(move || set_deadline(pd, -1, true, true));
        assert_eq!(read_later(&pipe, pd), Err(PollError::Timeout));
        moves.join().unwrap();
    });
}

#[test]
fn an_end() {
    check(|| {
        let (pd, pipe) = (open(), pipe());
        let ends = thread::spawn(move || poll_runtime_poll_end(pd, Mode::Read));
        assert_eq!(read_later(&pipe, pd), Err(PollError::Timeout));
        ends.join().unwrap();
    });
}
