//! Makes waits at known sockets that have lasted a second or two begin anew. Each asks again for
//! the program's settings, and arms the registration. So an unseen change delays a wait by no more
//! than that.
//!
//! A timer is set while goroutines wait at known sockets, until all of these waits have begun anew.

use std::ffi::c_void;
use std::ptr;

use crate::runtime::base::debug::period;
use crate::runtime::base::os::nanotime;
use crate::runtime::data::atomic::{AtomicBool, Ordering};
use crate::runtime::data::timer::Timer;
use crate::runtime::stdpark::descriptors::renew_waits;
use crate::runtime::time::fire::{begin_timer, end_timer, fire_timer};

/// The time between two looks at the waits, in nanoseconds.
const PERIOD: i64 = 1_000_000_000;

/// Whether the timer is set.
static SET: AtomicBool = AtomicBool::new(false);

/// Sets the timer, unless it is set. To be called when the wait is on its entry's list: the entry's
/// lock orders this call after a look that hasn't found the wait.
pub(super) fn watch() {
    if !SET.load(Ordering::Relaxed) && !SET.swap(true, Ordering::Relaxed) {
        begin_timer(nanotime().saturating_add(period(PERIOD)), 0, timer_fired, ptr::null_mut());
    }
}

unsafe extern "C" fn timer_fired(t: *mut c_void, seq: usize) {
    // SAFETY: a timer that begin_timer has set has itself as its argument, and is never freed.
    let t = unsafe { &*t.cast::<Timer>() };
    fire_timer(t, seq, |_| ());
    end_timer(t);
    // Cleared before the look: a wait that the look doesn't find sets the timer again.
    SET.store(false, Ordering::Relaxed);
    if renew_waits() {
        watch();
    }
}
