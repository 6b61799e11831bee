//! Waits that end in time, in many schedules.

use crate::chan::impatient::*;
use crate::chan::timeouts::*;

explored! {
    a_receive
    a_send
    a_select
    a_select_of_a_set
    a_condition
    a_notification_finds_who_still_waits
    a_permit
    no_value_is_lost_or_doubled
    no_permit_is_lost_or_doubled
    no_notification_is_lost
}
