//! Stand-in for the kernel's descriptors: a table of numbers, their descriptions, and an epoll
//! instance.
//!
//! A registration belongs to a number and a description, and ends with the description. A
//! registration with `EPOLLONESHOT` is level-triggered, and reports once each time that it is
//! armed. A registration with `EPOLLET` reports each change, and the state at its making.
//!
//! A call looks its number up without a lock, and a close changes the number last. So loom also
//! tries a call that has looked too early, and nothing here orders a close before the closer's next
//! step.

use std::io;
use std::os::fd::RawFd;

use libc::{EAGAIN, EPOLLERR, EPOLLHUP, EPOLLIN};
use libc::{
    EBADF, EEXIST, ENOENT, EPERM, EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, EPOLLET, c_int, c_short,
};
use loom::sync::{Condvar, Mutex as LoomMutex, MutexGuard};

use crate::runtime::data::atomic::{AtomicU32, Ordering};

/// The number of numbers. At first each has the description of the same index.
pub(crate) const NUMBERS: usize = 2;

/// A number that has no description.
const NONE: u32 = u32::MAX;

struct Kernel {
    table: [AtomicU32; NUMBERS],
    state: LoomMutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    descriptions: Vec<Description>,
    registrations: Vec<Registration>,
    /// The number of goroutines that haven't ended.
    goroutines: u32,
    /// How often a registration was armed.
    arms: u32,
    reports: u32,
}

#[derive(Default)]
struct Description {
    /// The number of units to read.
    units: u32,
    /// The other events for which it is ready.
    ready: u32,
    is_file: bool,
    is_gone: bool,
}

struct Registration {
    fd: RawFd,
    description: usize,
    data: u64,
    /// The events to report, if it is armed.
    armed: Option<u32>,
    /// Whether there was an unreported change.
    changed: bool,
}

loom::lazy_static! {
    static ref KERNEL: Kernel = Kernel {
        table: std::array::from_fn(|i| AtomicU32::new(i as u32)),
        state: LoomMutex::new(State {
            descriptions: (0..NUMBERS).map(|_| Description::default()).collect(),
            ..State::default()
        }),
        changed: Condvar::new(),
    };
}

impl Description {
    fn ready(&self) -> u32 {
        self.ready | if self.units > 0 { EPOLLIN as u32 } else { 0 }
    }
}

impl State {
    /// Takes the report of a registration, which is disarmed then.
    fn report(&mut self) -> Option<(u64, u32)> {
        for registration in &mut self.registrations {
            let Some(events) = registration.armed else { continue };
            if !std::mem::replace(&mut registration.changed, events & EPOLLET as u32 == 0) {
                continue;
            }
            let ready = self.descriptions[registration.description].ready();
            let seen = ready & (events | (EPOLLERR | EPOLLHUP) as u32);
            if seen != 0 {
                if events & EPOLLET as u32 == 0 {
                    registration.armed = None;
                }
                self.reports += 1;
                return Some((registration.data, seen));
            }
        }
        None
    }
}

fn lock() -> MutexGuard<'static, State> {
    KERNEL.state.lock().unwrap()
}

fn error<T>(number: c_int) -> io::Result<T> {
    Err(io::Error::from_raw_os_error(number))
}

fn description_of(fd: RawFd) -> io::Result<usize> {
    match KERNEL.table[fd as usize].load(Ordering::Relaxed) {
        NONE => error(EBADF),
        description => Ok(description as usize),
    }
}

/// The call of this name. It always sets the registration's `data`. Without events it disarms.
pub(crate) fn epoll_ctl(op: c_int, fd: RawFd, events: Option<u32>, data: u64) -> io::Result<()> {
    let description = description_of(fd)?;
    let mut state = lock();
    if state.descriptions[description].is_file {
        return error(EPERM);
    }
    let registrations = &mut state.registrations;
    let at = registrations.iter().position(|one| (one.fd, one.description) == (fd, description));
    if let Some(at) = at
        && op != EPOLL_CTL_ADD
    {
        assert_eq!(registrations[at].data, data, "the registration is somebody else's");
    }
    match (op, at) {
        (EPOLL_CTL_ADD, Some(_)) => return error(EEXIST),
        (EPOLL_CTL_MOD | EPOLL_CTL_DEL, None) => return error(ENOENT),
        (EPOLL_CTL_ADD, None) => {
            registrations.push(Registration { fd, description, data, armed: events, changed: true })
        }
        (EPOLL_CTL_MOD, Some(at)) => (registrations[at].armed, registrations[at].changed) = (events, true),
        (_, Some(at)) => _ = registrations.swap_remove(at),
        _ => unreachable!(),
    }
    state.arms += u32::from(events.is_some());
    // The last call on a description ends it, and its registrations.
    if state.descriptions[description].is_gone {
        state.registrations.retain(|one| one.description != description);
    }
    drop(state);
    KERNEL.changed.notify_all();
    Ok(())
}

/// Waits for an event. Returns None once all goroutines have ended.
pub(crate) fn epoll_wait() -> Option<(u64, u32)> {
    let mut state = lock();
    loop {
        if state.goroutines == 0 {
            return None;
        }
        if let Some(event) = state.report() {
            return Some(event);
        }
        state = KERNEL.changed.wait(state).unwrap();
    }
}

/// Waits until registrations were armed this often. The goroutines that armed them may still hold
/// the locks of their entries.
pub(crate) fn until_armed(times: u32) {
    let mut state = lock();
    while state.arms < times {
        state = KERNEL.changed.wait(state).unwrap();
    }
}

/// Returns how often registrations were armed.
pub(crate) fn arms() -> u32 {
    lock().arms
}

/// Returns how many events were reported.
pub(crate) fn reports() -> u32 {
    lock().reports
}

/// Returns the events for which a number is ready.
pub(crate) fn poll(fd: RawFd, events: c_short) -> c_short {
    match description_of(fd) {
        Ok(description) => {
            lock().descriptions[description].ready() as c_short & (events | EPOLLHUP as c_short)
        }
        Err(_) => libc::POLLNVAL,
    }
}

/// Reads a unit, or the end. Doesn't block.
pub(crate) fn read(fd: RawFd) -> io::Result<()> {
    let description = description_of(fd)?;
    let description = &mut lock().descriptions[description];
    if description.units > 0 {
        description.units -= 1;
        Ok(())
    } else if description.ready & EPOLLHUP as u32 != 0 {
        Ok(())
    } else {
        error(EAGAIN)
    }
}

/// Changes a description, as a writer at the other end does.
fn change(description: usize, f: impl FnOnce(&mut Description)) {
    let mut state = lock();
    f(&mut state.descriptions[description]);
    let registrations = state.registrations.iter_mut().filter(|one| one.description == description);
    registrations.for_each(|one| one.changed = true);
    drop(state);
    KERNEL.changed.notify_all();
}

/// Adds units.
pub(crate) fn write(description: usize, units: u32) {
    change(description, |description| description.units += units);
}

/// Makes it ready for these events, for good.
pub(crate) fn becomes_ready(description: usize, events: c_int) {
    change(description, |description| description.ready |= events as u32);
}

/// Makes it a regular file, which epoll refuses.
pub(crate) fn becomes_file(description: usize) {
    lock().descriptions[description].is_file = true;
}

/// Returns how many units are left.
pub(crate) fn units(description: usize) -> u32 {
    lock().descriptions[description].units
}

/// Returns whether a number is registered with this data.
pub(crate) fn is_registered(fd: RawFd, data: u64) -> bool {
    lock().registrations.iter().any(|one| one.fd == fd && one.data == data)
}

/// Returns whether any number is registered.
pub(crate) fn has_registrations() -> bool {
    !lock().registrations.is_empty()
}

/// Makes a new description, which has no number.
pub(crate) fn new_description() -> usize {
    let mut state = lock();
    state.descriptions.push(Description::default());
    state.descriptions.len() - 1
}

/// Makes the next close of its number the close of a description's last descriptor.
pub(crate) fn end_description(description: usize) {
    let mut state = lock();
    state.descriptions[description].is_gone = true;
    state.registrations.retain(|one| one.description != description);
}

/// Closes a number, or gives it to another description.
pub(crate) fn set_number(fd: RawFd, description: Option<usize>) {
    let description = description.map_or(NONE, |description| description as u32);
    KERNEL.table[fd as usize].store(description, Ordering::Relaxed);
}

pub(crate) fn goroutine_begins() {
    lock().goroutines += 1;
}

pub(crate) fn goroutine_ends() {
    let mut state = lock();
    state.goroutines -= 1;
    let last = state.goroutines == 0;
    drop(state);
    if last {
        KERNEL.changed.notify_all();
    }
}
