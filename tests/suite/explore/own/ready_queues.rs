//! Values that wait for goroutines, in many schedules.

use crate::net::ready_queue::*;

explored! {
    values_come_in_order
    who_has_waited_shortest_goes_on
    every_value_is_taken
    one_that_unwinds_is_not_woken
    one_that_unwinds_leaves_its_value_to_another
    a_close_ends_waits
}
