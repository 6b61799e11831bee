//! Descriptors, and goroutines that read, write, poll and close them.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use libc::{EPOLLHUP, POLLIN, POLLOUT, POLLRDHUP, c_short, pollfd};
use loom::thread::{self, JoinHandle};

use crate::runtime::data::atomic::Ordering;
use crate::runtime::data::runtime2::{G, WaitReason};
use crate::runtime::kernel::{self, NUMBERS};
use crate::runtime::netpoll::epoll::poll_until_all_end;
use crate::runtime::netpoll::netpoll_waiters;
use crate::runtime::stdpark::descriptors::{
    Waited, after_close, before_close, entry_for_call, is_ready, make_table, top, wait_for_any, wait_for_one,
};
use crate::runtime::stdpark::entry::{Entry, How};
use crate::runtime::stdpark::known::{Look, Word};
use crate::runtime::stdpark::words::check;
use crate::runtime::time::modify::LATER;

loom::lazy_static! {
    static ref ENTRIES: Box<[Entry]> = {
        // SAFETY: zeroed memory is an entry.
        unsafe { Box::new_zeroed_slice(NUMBERS).assume_init() }
    };

    /// The number of readers' waits that have ended because the descriptor may be ready.
    static ref READERS_WOKEN: AtomicU32 = AtomicU32::new(0);

    /// The number of all waits for one descriptor that have ended so without an event.
    static ref WOKEN_FOR_NOTHING: AtomicU32 = AtomicU32::new(0);
}

/// The memory of the table.
///
/// # Safety
/// None is needed here.
pub(super) unsafe fn map_entries() -> isize {
    ENTRIES.as_ptr().expose_provenance() as isize
}

/// Checks a model of descriptors whose numbers haven't been used before.
pub(super) fn check_new_numbers(preemption_bound: usize, model: impl Fn() + Sync + Send + 'static) {
    check(Some(preemption_bound), move || {
        make_table().unwrap();
        // Makes here what is made at its first use, so that its making orders no threads.
        assert_eq!((top(), netpoll_waiters()), (0, 0));
        assert_eq!((READERS_WOKEN.load(Relaxed), WOKEN_FOR_NOTHING.load(Relaxed)), (0, 0));
        model();
        for entry in ENTRIES.iter() {
            assert_eq!(entry.queued.load(Ordering::Relaxed), 0, "a node was left on a list");
            assert!(entry.first.get().is_null());
        }
        assert_eq!(netpoll_waiters(), 0, "as many goroutines have parked as were made ready");
    });
}

/// Checks a model of descriptors whose numbers all threads know.
pub(super) fn check_numbers(preemption_bound: usize, model: impl Fn() + Sync + Send + 'static) {
    check_new_numbers(preemption_bound, move || {
        assert!((0..NUMBERS as RawFd).all(|fd| entry_for_call(fd).is_some()));
        model();
    });
}

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The operation is done.
    Done,
    Closed,
    TimedOut,
    /// No wait is possible, so the thread has to do it.
    Cannot,
}

/// Returns whether a close has ended the read. The read may find the number closed before it waits,
/// or while it waits.
pub(super) fn was_closed(end: End) -> bool {
    matches!(end, End::Closed | End::Cannot)
}

fn goroutine(f: impl FnOnce() -> End + 'static) -> JoinHandle<End> {
    kernel::goroutine_begins();
    thread::spawn(move || {
        let end = f();
        kernel::goroutine_ends();
        end
    })
}

/// Returns the word with what is known of a number.
pub(super) fn word(fd: RawFd) -> &'static Word {
    &ENTRIES[fd as usize].word
}

/// Returns how to wait, after a call that followed this look. (A wait asks at once whether the
/// socket may be known.)
fn how(look: Look) -> How {
    if look.is_known() {
        How::Known(look)
    } else if look.may_be_known() {
        How::ToBeKnown(look)
    } else {
        How::Armed
    }
}

/// Waits. Returns the end of the operation, if it has ended.
fn wait(fd: RawFd, look: Look, events: c_short, reason: WaitReason, until: Option<i64>) -> Option<End> {
    match wait_for_one(G::this(), fd, events, true, how(look), reason, until) {
        Waited::Ready(seen) => {
            assert_eq!(seen & !(events as u32 | EPOLLHUP as u32), 0, "events of another wait");
            WOKEN_FOR_NOTHING.fetch_add(u32::from(seen == 0), Relaxed);
            None
        }
        Waited::TimedOut | Waited::Canceled | Waited::Signaled => Some(End::TimedOut),
        Waited::Anew => None,
        Waited::Closed => Some(End::Closed),
        Waited::Cannot => Some(End::Cannot),
    }
}

/// Tries to read a unit. Returns the end of the read, if it has ended.
fn try_read(fd: RawFd) -> Option<End> {
    match kernel::read(fd) {
        Ok(()) => Some(End::Done),
        Err(error) if error.raw_os_error() == Some(libc::EBADF) => Some(End::Closed),
        Err(_) => None,
    }
}

/// Waits, and then reads a unit.
fn wait_and_read(fd: RawFd, mut look: Look, until: Option<i64>) -> End {
    loop {
        if let Some(end) = wait(fd, look, POLLIN | POLLRDHUP, WaitReason::StdRead, until) {
            return end;
        }
        look = word(fd).look();
        READERS_WOKEN.fetch_add(1, Relaxed);
        if let Some(end) = try_read(fd) {
            return end;
        }
    }
}

/// Reads a unit.
fn read(fd: RawFd) -> End {
    let look = word(fd).look();
    try_read(fd).unwrap_or_else(|| wait_and_read(fd, look, None))
}

/// Makes the number that of an accepted connection: the first wait makes it known.
pub(super) fn is_own(fd: RawFd) {
    word(fd).begin();
}

/// Returns whether the number's socket is known.
pub(super) fn is_known(fd: RawFd) -> bool {
    word(fd).look().is_known()
}

/// Notes that settings may change from now on.
pub(super) fn may_have_changed(fd: RawFd) {
    word(fd).ask_again();
}

/// Makes a goroutine that reads a unit.
pub(super) fn reader(fd: RawFd) -> JoinHandle<End> {
    goroutine(move || read(fd))
}

/// Does the same, with a time limit. The goroutine waits first, so that a time is set.
pub(super) fn limited_reader(fd: RawFd) -> JoinHandle<End> {
    goroutine(move || wait_and_read(fd, word(fd).look(), Some(LATER)))
}

/// Makes a goroutine that reads units, one after the other.
pub(super) fn reader_of(fd: RawFd, units: u32, between: impl Fn() + 'static) -> JoinHandle<End> {
    goroutine(move || {
        for i in 0..units {
            if i > 0 {
                between();
            }
            let end = read(fd);
            if end != End::Done {
                return end;
            }
        }
        End::Done
    })
}

/// Makes a goroutine that waits until it can write.
pub(super) fn writer(fd: RawFd) -> JoinHandle<End> {
    goroutine(move || {
        loop {
            let look = word(fd).look();
            if is_ready(fd, POLLOUT) {
                return End::Done;
            }
            if let Some(end) = wait(fd, look, POLLOUT, WaitReason::StdWrite, None) {
                return end;
            }
        }
    })
}

/// Makes a goroutine that polls until one of the descriptors is readable, or is closed. With a time
/// it waits first, as a reader does.
pub(super) fn polls<const N: usize>(fds: [RawFd; N], until: Option<i64>) -> JoinHandle<End> {
    goroutine(move || {
        let fds = fds.map(|fd| pollfd { fd, events: POLLIN, revents: 0 });
        let is_over = || fds.iter().any(|one| is_ready(one.fd, one.events));
        if until.is_none() && is_over() {
            return End::Done;
        }
        loop {
            match wait_for_any(G::this(), &fds, WaitReason::StdPoll, until) {
                Waited::Ready(_) | Waited::Anew | Waited::Closed => {}
                Waited::TimedOut | Waited::Canceled | Waited::Signaled => return End::TimedOut,
                Waited::Cannot => return End::Cannot,
            }
            if is_over() {
                return End::Done;
            }
        }
    })
}

/// Polls until all goroutines have ended. Returns their ends.
pub(super) fn ends_of<const N: usize>(goroutines: [JoinHandle<End>; N]) -> [End; N] {
    poll_until_all_end();
    goroutines.map(|goroutine| goroutine.join().unwrap())
}

/// For a model without closes: fails unless each event has ended at most one reader's wait, and
/// nothing else has ended one.
pub(super) fn assert_one_reader_an_event() {
    assert!(READERS_WOKEN.load(Relaxed) <= kernel::reports(), "an event has woken two readers");
    assert_only_events();
}

/// For a model without closes: fails unless only events and the time have ended waits for one
/// descriptor.
pub(super) fn assert_only_events() {
    assert_eq!(WOKEN_FOR_NOTHING.load(Relaxed), 0);
}

/// Closes a number, and its description, which has no other number.
pub(super) fn close(fd: RawFd) {
    before_close(fd);
    kernel::end_description(fd as usize);
    kernel::set_number(fd, None);
    after_close(fd);
}

/// Gives a number to another description, as `dup2` does, and ends its own.
pub(super) fn dup_to(fd: RawFd, description: usize) {
    before_close(fd);
    kernel::end_description(fd as usize);
    kernel::set_number(fd, Some(description));
    after_close(fd);
}

/// Closes a number, which gets another description before the close ends.
pub(super) fn close_beside_open(fd: RawFd, description: usize) {
    before_close(fd);
    kernel::end_description(fd as usize);
    kernel::set_number(fd, None);
    kernel::set_number(fd, Some(description));
    after_close(fd);
}

/// Closes a number whose description another process has, too.
pub(super) fn close_shared(fd: RawFd) {
    before_close(fd);
    kernel::set_number(fd, None);
    after_close(fd);
}
