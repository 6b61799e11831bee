//! The sleep of sysmon, and a stand-in for the source of timers.

#[path = "../../../../../src/runtime/p/sysmon_sleep.rs"]
pub(crate) mod sysmon_sleep;

pub(crate) mod timer {
    use std::cell::Cell;
    use std::ptr;

    use crate::runtime::data::runtime2::Mutex;
    use crate::runtime::data::timer::{Timer, TimerExt};

    pub(crate) fn acquire_timer() -> &'static Timer {
        let waiter = Cell::new(ptr::null_mut());
        let ext = TimerExt { send_lock: Mutex::new(), waiter, due: 0.into(), feeds: Cell::new(false) };
        Box::leak(Box::new(Timer {
            when: Cell::new(0),
            period: Cell::new(0),
            f: Cell::new(None),
            arg: Cell::new(ptr::null_mut()),
            seq: 0.into(),
            ext,
        }))
    }

    pub(crate) fn release_timer(_: &'static Timer) {}
}
