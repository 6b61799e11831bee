//! A value that changes, in many schedules.

use crate::chan::watch::*;

explored! {
    a_borrow_holds_up_a_send
    each_kind_of_wait
    a_condition
    the_last_value_is_never_missed
    who_waits_learns_of_the_end
    who_waits_for_receivers_learns_of_the_last
}
