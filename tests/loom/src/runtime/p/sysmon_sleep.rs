//! Sysmon's sleep as it ships. In models of M's and P's it doesn't sleep.

pub(crate) use crate::runtime::p::sysmon_asleep::*;

use crate::runtime::made::goroutines_are_threads;

pub(crate) fn wake_sysmon() {}

pub(crate) fn wake_sysmon_from_signal() {
    if goroutines_are_threads() {
        crate::runtime::p::sysmon_asleep::wake_sysmon_from_signal();
    }
}
