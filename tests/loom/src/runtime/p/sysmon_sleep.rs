//! Stand-in: sysmon doesn't sleep.

pub(crate) fn wake_sysmon() {}

pub(crate) fn wake_sysmon_from_signal() {}
