//! Channels whose receivers each get every value, in many schedules.

use crate::chan::broadcast::*;

explored! {
    each_kind_of_wait
    who_waits_learns_of_the_end
    nothing_is_lost_or_doubled
    what_was_missed_and_what_was_received_is_all
}
