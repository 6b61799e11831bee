//! Which goroutine waits for which descriptor: a table indexed by the descriptor's number, and
//! registrations in the poller's epoll instance.
//!
//! ```text
//! a call finds its descriptor not ready
//!     -> node in the entry's list, epoll_ctl(ONESHOT) -> the goroutine parks
//! an M polls, and the kernel reports the number
//!     -> event -> nodes off the list, goroutines ready, registration armed again for the rest
//! ```
//!
//! Knowledge about a number lasts only for one wait. Other code may close a number by a call that
//! isn't seen here, and another description may get the number. So each wait arms the registration
//! again. The kernel then compares the description, and a description that isn't registered is
//! added. Registrations are level-triggered, so an armed one also reports earlier changes.
//! (Edge-triggered registrations save the system call. But with them a wait on a reused number
//! would hang, so only sockets that are known have them: see `known.rs`.)

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::RawFd;
use std::ptr;

use libc::{
    EPOLLIN, EPOLLMSG, EPOLLOUT, EPOLLPRI, EPOLLRDBAND, EPOLLRDHUP, EPOLLRDNORM, EPOLLWRBAND, EPOLLWRNORM,
    pollfd,
};

use crate::runtime::arch::syscall::syscall;
use crate::runtime::base::os::{name_mapping, poll_now};
use crate::runtime::data::atomic::{AtomicPtr, AtomicU32, Ordering, fence};
use crate::runtime::data::gqueue::GQueue;
use crate::runtime::data::runtime2::{G, TraceBlockReason, WaitReason};
use crate::runtime::explore::clock::now;
use crate::runtime::g::extent::run_is_over;
use crate::runtime::m::signaled::until_signaled;
use crate::runtime::netpoll::epoll::{has_epoll, remove_marked};
use crate::runtime::netpoll::marked::{Owner, set_owner};
use crate::runtime::netpoll::{netpoll_adjust_waiters, netpoll_generic_init};
use crate::runtime::p::timer::has_timers;
use crate::runtime::sched::park::gopark;
use crate::runtime::sched::ready::goready;
use crate::runtime::stdpark::entry::{
    ANEW, CLOSED, Description, Entry, Found, How, Node, Queued, READY, TIMED_OUT, WAITS, Wait, Woken, wake,
};
use crate::runtime::stdpark::gate::may_ready;
use crate::runtime::stdpark::watch::watch;
use crate::runtime::time::fire::Limit;
use crate::runtime::time::in_run::with_limit_in_run;

/// How many numbers have entries: the kernel's own limit, unless the administrator has raised the
/// limit. A wait on a higher number blocks its thread.
const ENTRIES: usize = 1 << 20;

/// The entries, in memory that the kernel provides as they are used; null until waits park.
static TABLE: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

/// All entries from this number on are unused.
static TOP: AtomicU32 = AtomicU32::new(0);

/// Makes the table, unless there is one.
///
/// # Errors
/// If the process can't map the memory: 64 MiB, of which nearly all is never touched.
pub(super) fn make_table() -> io::Result<()> {
    if !TABLE.load(Ordering::Acquire).is_null() {
        return Ok(());
    }
    let (len, access) = (ENTRIES * size_of::<Entry>(), libc::PROT_READ | libc::PROT_WRITE);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, which no other code uses.
    let table = unsafe { syscall!(SYS_mmap, 0, len, access, flags, -1_isize, 0) };
    if table < 0 {
        return Err(io::Error::last_os_error());
    }
    name_mapping(ptr::with_exposed_provenance(table as usize), len, c"gosched: descriptors");
    // Release pairs with entry_of. If two threads are here at once, one table is used, and the
    // other is leaked.
    let _ = TABLE.compare_exchange(
        ptr::null_mut(),
        ptr::with_exposed_provenance_mut(table as usize),
        Ordering::Release,
        Ordering::Relaxed,
    );
    set_owner(Owner { event, claim });
    Ok(())
}

/// Returns the entry of a number, if it has one.
#[inline(always)]
fn entry_of(fd: RawFd) -> Option<&'static Entry> {
    let table = TABLE.load(Ordering::Acquire);
    let has_one = !table.is_null() && (fd as usize) < ENTRIES;
    // SAFETY: within the mapping, which is never unmapped; all zero is an entry.
    has_one.then(|| unsafe { &*table.add(fd as usize) })
}

/// Returns the entry of a number for a call that may park. Returns none if the number has no entry,
/// or if a `PollDesc` has the number: that descriptor doesn't block, and its owner waits.
#[inline(always)]
pub(super) fn entry_for_call(fd: RawFd) -> Option<&'static Entry> {
    entry_to_note(fd).filter(|entry| !entry.owned.load(Ordering::Relaxed))
}

/// Returns the entry of a number, if it has one, for a caller that will note something there.
#[inline(always)]
fn entry_to_note(fd: RawFd) -> Option<&'static Entry> {
    let entry = entry_of(fd)?;
    if fd as u32 >= TOP.load(Ordering::Relaxed) {
        TOP.fetch_max(fd as u32 + 1, Ordering::Relaxed);
    }
    Some(entry)
}

/// Returns the entry of a number, if a call has used the entry.
fn used_entry(fd: RawFd) -> Option<&'static Entry> {
    if (fd as u32) < top() { entry_of(fd) } else { None }
}

/// All entries from this number on are unused.
pub(super) fn top() -> u32 {
    TOP.load(Ordering::Relaxed)
}

/// How often goroutines have parked at descriptors.
pub(in crate::runtime) fn parks() -> u64 {
    (0..top() as RawFd).filter_map(entry_of).map(|entry| entry.parks.load(Ordering::Relaxed)).sum()
}

/// Handles events that the kernel has reported for a number: [`Owner::event`].
fn event(to_run: &GQueue, fd: RawFd, events: u32) -> i32 {
    let Some(entry) = entry_of(fd) else { return 0 };
    let mut woken = Woken { to_run, n: 0 };
    entry.lock();
    entry.word.count_event();
    entry.report(events, &mut woken);
    if !entry.first.get().is_null() && !entry.word.look().is_known() {
        match entry.arm(fd) {
            Ok(Description::Same) => {}
            Ok(Description::Another) => entry.end_all(CLOSED, &mut woken),
            // A registration that can't be armed any more reports nothing, so the callers try
            // again.
            Err(_) => entry.end_all(READY, &mut woken),
        }
    }
    entry.unlock();
    -woken.n
}

/// Notes that a `PollDesc` is about to take the number, or has given it back: [`Owner::claim`].
/// Goroutines that wait in std's code try again.
fn claim(fd: RawFd, claimed: bool) {
    let Some(entry) = entry_of(fd) else { return };
    wake(entry, |woken| {
        entry.owned.store(claimed, Ordering::Relaxed);
        entry.word.forget();
        entry.end_all(READY, woken);
        if entry.registered.replace(false) {
            remove_marked(fd);
        }
    });
}

/// Ends the waits for a number that is about to be closed, or to get another description. Where
/// goroutines can't be made ready, ends no wait, as for a close that isn't seen.
pub(super) fn before_close(fd: RawFd) {
    let Some(entry) = used_entry(fd) else { return };
    entry.word.end();
    if !may_ready() {
        return;
    }
    entry.kind.store(0, Ordering::Relaxed);
    entry.accepting.store(0, Ordering::Relaxed);
    wake(entry, |woken| {
        entry.end_all(CLOSED, woken);
        // Otherwise the registration would live as long as the description, which another process
        // may share.
        if entry.registered.replace(false) && !entry.owned.load(Ordering::Relaxed) {
            remove_marked(fd);
        }
    });
}

/// Makes goroutines that have begun to wait since [`before_close`] try again, as the number was
/// closed.
pub(super) fn after_close(fd: RawFd) {
    // Pairs with the fence in Node::queue.
    fence(Ordering::SeqCst);
    if fd as u32 >= top() {
        return;
    }
    let Some(entry) = entry_of(fd) else { return };
    if entry.queued.load(Ordering::Relaxed) != 0 && may_ready() {
        wake(entry, |woken| entry.end_all(READY, woken));
    }
}

/// Notes that the number is that of a socket that was just made or accepted: no other number has
/// its description.
pub(super) fn is_new(fd: RawFd) {
    if let Some(entry) = entry_to_note(fd) {
        entry.word.begin();
    }
}

/// Notes that the program's settings of the number's description may have changed.
pub(super) fn may_have_changed(fd: RawFd) {
    if let Some(entry) = used_entry(fd) {
        entry.word.ask_again();
    }
}

/// Notes that the number's description has other numbers, too.
pub(super) fn is_shared(fd: RawFd) {
    if let Some(entry) = entry_to_note(fd) {
        entry.word.share();
    }
}

/// Makes waits at known sockets begin anew if they were there at the last call of this. Returns
/// whether there are others.
pub(super) fn renew_waits() -> bool {
    let mut others = false;
    for entry in (0..top() as RawFd).filter_map(entry_of) {
        // Looked at again with the lock held: see `watch`. A socket becomes known by an earlier
        // wait.
        if entry.word.look().is_known() {
            wake(entry, |woken| others |= entry.word.look().is_known() && entry.renew(woken));
        }
    }
    others
}

/// Whether a goroutine waits for the number.
pub(super) fn is_waited_for(fd: RawFd) -> bool {
    entry_of(fd).is_some_and(|entry| entry.queued.load(Ordering::Relaxed) != 0)
}

/// How a wait has ended.
pub(super) enum Waited {
    /// One of the descriptors may be ready. For a single descriptor, the events that were seen, if
    /// any.
    Ready(u32),
    TimedOut,
    /// The run that the goroutine is in is over, or the goroutine was aborted.
    Canceled,
    /// A signal for the goroutine has come, if no handler has run yet: see `m/signaled.rs`.
    Signaled,
    /// A descriptor was closed.
    Closed,
    /// The wait has lasted long: the caller asks again for the program's settings.
    Anew,
    /// The kernel can't wait for one of the descriptors by epoll, or there is no memory for the
    /// wait's limit.
    Cannot,
}

/// Parks `gp`, the running goroutine, until `fd` is ready for one of `events`, which are `poll`'s,
/// or until the time, if there is one. The wait may end spuriously, and signals may have come: the
/// caller lets them be handled ([`handle_signals`](crate::runtime::m::signaled::handle_signals)).
pub(super) fn wait_for_one(
    gp: &'static G,
    fd: RawFd,
    events: libc::c_short,
    exclusive: bool,
    how: How,
    reason: WaitReason,
    until: Option<i64>,
) -> Waited {
    let Some(entry) = entry_for_call(fd) else { return Waited::Cannot };
    let wait = Wait { gp, state: AtomicPtr::new(WAITS) };
    let node = Node::new(&wait, fd, entry, epoll_events(events), exclusive, how);
    let waited = wait_at(&wait, std::slice::from_ref(&node), reason, until);
    if let Waited::Ready(_) = waited { Waited::Ready(node.seen.get()) } else { waited }
}

/// [`wait_for_one`] for several descriptors, as `poll` has them.
pub(super) fn wait_for_any(gp: &'static G, fds: &[pollfd], reason: WaitReason, until: Option<i64>) -> Waited {
    let wait = Wait { gp, state: AtomicPtr::new(WAITS) };
    let mut nodes = Vec::with_capacity(fds.len());
    for one in fds.iter().filter(|one| one.fd >= 0) {
        let Some(entry) = entry_for_call(one.fd) else { return Waited::Cannot };
        nodes.push(Node::new(&wait, one.fd, entry, epoll_events(one.events), false, How::Armed));
    }
    wait_at(&wait, &nodes, reason, until)
}

/// Returns epoll's events for `poll`'s: the same bits, except bits that are always reported, and
/// bits that have another meaning in epoll.
fn epoll_events(events: libc::c_short) -> u32 {
    const NORMAL: c_int = EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM;
    const OTHERS: c_int = EPOLLPRI | EPOLLRDBAND | EPOLLWRBAND | EPOLLMSG | EPOLLRDHUP;
    events as u32 & (NORMAL | OTHERS) as u32
}

fn wait_at(wait: &Wait, nodes: &[Node], reason: WaitReason, until: Option<i64>) -> Waited {
    if !has_epoll() && netpoll_generic_init().is_err() {
        return Waited::Cannot;
    }
    let sleep = || {
        let (mut n, mut queued) = (0, Queued::Waits);
        while queued == Queued::Waits && n < nodes.len() {
            queued = nodes[n].queue();
            n += usize::from(queued == Queued::Waits);
        }
        if queued == Queued::Waits {
            let arg = ptr::from_ref(wait).cast_mut().cast();
            if let Some(node) = nodes.first() {
                node.entry.parks.fetch_add(1, Ordering::Relaxed);
                if let How::Known(_) = node.how {
                    watch();
                }
            }
            // SAFETY: on a goroutine that may park. commit returns false if the wait has ended, and
            // then no thread makes the goroutine ready; otherwise the thread that ends the wait
            // does.
            unsafe { gopark(Some(commit), arg, reason, TraceBlockReason::Net, 5) };
        }
        // An event or a close that has ended the wait of a single descriptor has taken its node off
        // the list.
        let state = wait.state.load(Ordering::Acquire);
        if nodes.len() > 1 || queued != Queued::Waits || state == TIMED_OUT {
            nodes[..n].iter().for_each(Node::leave);
        }
        queued
    };
    let give_up = || match wait.end(TIMED_OUT) {
        Found::Parked(gp) => Some(move || {
            netpoll_adjust_waiters(-1);
            goready(gp);
        }),
        Found::Running | Found::Ended => None,
    };
    let queued = until_signaled(wait.gp, || {
        if until.is_some() && !has_timers() {
            return Queued::Cannot;
        }
        // SAFETY: a wait ends once, and the thread that ends it wakes the goroutine.
        unsafe { with_limit_in_run(until.map(Limit::Time), &give_up, sleep) }
    });
    match queued {
        Queued::Waits => {}
        Queued::Again => return Waited::Ready(0),
        Queued::Cannot => return Waited::Cannot,
    }
    match wait.state.load(Ordering::Acquire) {
        state if state == TIMED_OUT && run_is_over() => Waited::Canceled,
        state if state == TIMED_OUT && until.is_some_and(|until| until <= now()) => Waited::TimedOut,
        // Or a timer has fired early, by another clock: then no signal is found.
        state if state == TIMED_OUT => Waited::Signaled,
        state if state == CLOSED => Waited::Closed,
        state if state == ANEW => Waited::Anew,
        _ => Waited::Ready(0),
    }
}

/// The part of a park of [`wait_at`] on g0.
///
/// # Safety
/// `wait` is the [`Wait`] of `gp`.
unsafe extern "C" fn commit(gp: *mut G, wait: *mut c_void) -> bool {
    // SAFETY: as the caller says; it is on the goroutine's stack, and stays until that goes on.
    let wait = unsafe { &*wait.cast::<Wait>() };
    // Release pairs with Wait::end: the goroutine has left its stack.
    let parked = wait.state.compare_exchange(WAITS, gp, Ordering::AcqRel, Ordering::Acquire).is_ok();
    if parked {
        // Makes an M without work sleep in the poller.
        netpoll_adjust_waiters(1);
    }
    parked
}

/// Whether the descriptor is ready for one of these events, or has an error.
pub(super) fn is_ready(fd: RawFd, events: libc::c_short) -> bool {
    poll_now(fd, events) != 0
}
